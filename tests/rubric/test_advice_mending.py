"""What mends a text that cannot serve: it serves afterwards, and nothing the author wrote is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.kernel.rubric import Flaw, FlawSeverity, QuickFix
from sidecar.rubric import reader
from sidecar.rubric.advice.advise import advise
from sidecar.rubric.advice.form import mend
from sidecar.rubric.outline import parse_outline
from sidecar.servers.rubric_language.editing.formatting import new_rubric_fix
from support.advice import SOUND, WORDING, applied
from support.table import over_table

DEFAULT = (Path(__file__).resolve().parents[2] / "rubric" / "rubric.md").read_text(encoding="utf-8")
PATTERNS = f"## Patterns\n\n{SOUND['Patterns']}\n"
ANTIPATTERNS = f"## Antipatterns\n\n{SOUND['Antipatterns']}\n"
LEGITIMATE = f"## Legitimate stops\n\n{SOUND['Legitimate stops']}\n"


def lacking(text: str) -> tuple[Flaw, ...]:
    """What the reader says that a text lacks, as rubric_check has it."""
    return tuple(
        Flaw("missing-section" if lack.place is None else "empty-section", lack.why, 0, 0)
        for lack in reader.missing_sections(text)
    )


def fixes(text: str) -> tuple[QuickFix, ...]:
    return mend(parse_outline(text), lacking(text)[0], WORDING)


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
        f"## Patterns\n\n```\n{ANTIPATTERNS}```\n",
    ],
)
def test_a_text_serves_when_all_that_the_reader_misses_is_mended(text: str, end: str) -> None:
    text = text.replace("\n", end)
    end = end if end in text else "\n"
    kept = [word for word in text.replace("Anti-patterns", "").split() if word.isalpha()]
    while missed := lacking(text):
        (found, *_) = mend(parse_outline(text), missed[0], WORDING)
        text = applied(text, found)
        assert len(lacking(text)) == len(missed) - 1
        assert end == "\n" or "\n" not in text.replace(end, "")
    reader.parse_rubric(text)
    assert not [flaw for flaw in advise(parse_outline(text), WORDING) if flaw.weight is FlawSeverity.WARNING]
    assert set(kept) <= set(text.split())


def test_sections_stand_in_their_order() -> None:
    text = applied(LEGITIMATE, mend(parse_outline(LEGITIMATE), lacking(LEGITIMATE)[1], WORDING)[0])
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
    assert fixes(f"{PATTERNS}\n```\nnever closed") == ()


def test_other_faults_are_left_to_the_author() -> None:
    for code in ("too-big", "not-utf-8", "unusable"):
        assert mend(parse_outline("x"), Flaw(code, "9000 bytes, more than 8192", 0, 1), WORDING) == ()


@pytest.mark.parametrize("text", ["", "essay\r\nof mine", "## Notes"])
def test_the_default_takes_the_place_of_a_text_in_its_line_ends(text: str) -> None:
    fix = new_rubric_fix(parse_outline(text), DEFAULT)
    assert fix is not None
    end = "\r\n" if "\r\n" in text else "\n"
    assert applied(text, fix) == DEFAULT.replace("\n", end)
