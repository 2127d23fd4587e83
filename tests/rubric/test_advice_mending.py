"""What mends a text that cannot serve: it serves afterwards, and nothing the author wrote is lost."""

from __future__ import annotations

from sidecar.kernel.rubric import FlawSeverity, QuickFix, SectionRole
from sidecar.rubric import reader
from sidecar.rubric.advice.advise import advise_on, mending_fixes
from sidecar.rubric.outline import parse_outline
from support.advice import SOUND, WORDING, applied
from support.table import over_table

PATTERNS = f"## Patterns\n\n{SOUND['Patterns']}\n"
ANTIPATTERNS = f"## Antipatterns\n\n{SOUND['Antipatterns']}\n"
LEGITIMATE = f"## Legitimate stops\n\n{SOUND['Legitimate stops']}\n"


def fixes(text: str, role: SectionRole | None = None) -> tuple[QuickFix, ...]:
    """What mends the first thing that the text lacks, or this section."""
    role = role or reader.missing_sections(text)[0].section
    return tuple(mending_fixes(parse_outline(text), role, WORDING))


@over_table("end", ["\n", "\r\n", "\r"])
@over_table(
    "text",
    [
        "",
        "\ufeff",
        "\n\n",
        "# Rubric\n\nOurs.",
        PATTERNS,
        ANTIPATTERNS,
        f"# Rubric\n\n{ANTIPATTERNS}\n{LEGITIMATE}",
        f"{PATTERNS}\n{LEGITIMATE}",
        f"{LEGITIMATE}\n{PATTERNS}",
        f"{PATTERNS}\n## Notes\n\nOurs.\n",
        f"## Patterns\n\n{ANTIPATTERNS}",
        f"## Patterns\n{ANTIPATTERNS}",
        f"Patterns\n--------\n\nSome words.\n\n{ANTIPATTERNS}",
        f"## Patterns ##\n\nSome words.\n\n{ANTIPATTERNS}",
        f"{PATTERNS}\n## Antipatterns",
        f"{PATTERNS}\n## Anti-patterns\n\n- Hacks of `x`\n",
    ],
)
def test_a_text_serves_when_all_that_the_reader_misses_is_mended(text: str, end: str) -> None:
    text = text.replace("\n", end)
    end = end if end in text else "\n"
    kept = [word for word in text.replace("Anti-patterns", "").split() if word.isalpha()]
    while missed := reader.missing_sections(text):
        text = applied(text, fixes(text)[0])
        assert len(reader.missing_sections(text)) == len(missed) - 1
        assert end == "\n" or "\n" not in text.replace(end, "")
    reader.parse_rubric(text)
    assert not [
        flaw for flaw in advise_on(parse_outline(text), WORDING) if flaw.weight is FlawSeverity.WARNING
    ]
    assert set(kept) <= set(text.split())


def test_sections_stand_in_their_order() -> None:
    text = applied(LEGITIMATE, fixes(LEGITIMATE, SectionRole.ANTIPATTERNS)[0])
    text = applied(text, fixes(text)[0])
    assert [section.name for section in parse_outline(text).sections] == [
        "Patterns",
        "Antipatterns",
        "Legitimate stops",
    ]


def test_a_section_of_nearly_that_name_is_renamed_rather_than_another_put_in() -> None:
    text = f"{PATTERNS}\n## Anti-patterns\n\n- Hacks of `x`\n"
    first, second = fixes(text)
    assert applied(text, first) == text.replace("Anti-patterns", "Antipatterns")
    assert len(parse_outline(applied(text, second)).sections) == 3


def test_a_section_is_not_put_in_where_it_would_be_code() -> None:
    for block in ("```\nnever closed", "```\nclosed\n```\n", "<!--\n"):
        assert fixes(f"{PATTERNS}\n{block}") == ()
