"""Advice on words: what is a demand of the author's own, and which demands clash or cannot be decided."""

from __future__ import annotations

from sidecar.kernel.rubric import Flaw
from sidecar.rubric.advice.edits import Code
from sidecar.rubric.advice.passage import stems
from support.advice import WORDING, Case, advised, codes, rubric
from support.table import over_table


def told(text: str, section: str = "Patterns") -> tuple[Flaw, ...]:
    return advised(rubric(Case(section, "", text)))


def said(text: str, section: str = "Patterns") -> list[str]:
    return [flaw.code for flaw in told(text, section)]


# --- what nobody can decide ---------------------------------------------------------------------------------


@over_table(
    "text",
    [
        '### Praise\n\nNo comment says "users are happy".',
        "### Praise\n\nNo comment says \u201cusers are happy\u201d.",
        "### Praise\n\nNo comment says `users are happy`.",
        "### Praise\n\nPraise is left out.\nLooks like: users are happy\nand the team agrees\n",
        "### Praise\n\nPraise is left out. Is not: users are happy.",
        "### Praise\n\nThis was the old wording of it:\n\n> Users are happy.",
        "### Praise\n\nThis was the old wording of it:\n\n```\nUsers are happy.\n```",
        "### Praise\n\nThis was the old wording of it:\n\n    Users are happy.",
        "### Praise\n\nPraise is left out. <!-- users are happy -->",
        "### Praise\n\nWhen: users are happy\n\nPraise is left out of the report.",
        "### Users are happy\n\nThe report of the survey is in `docs`.",
        "### Joy\n\nEvidence: gate:lint\n\nUsers are happy.",
        "### Kwaliteit van code\n\nDe code is stable in production, en de tests zijn groen met het team.",
    ],
)
def test_what_is_no_demand_of_the_author_or_names_its_evidence_is_no_fault(text: str) -> None:
    assert said(text) == []


def test_a_legitimate_stop_may_be_what_nobody_can_decide() -> None:
    text = "- **Users**: whether users are happy is unknown"
    assert said(text, "Legitimate stops") == []
    assert said(text) == [Code.UNDECIDABLE]


def test_the_place_of_what_nobody_can_decide_is_the_words_in_any_line_end_and_after_a_mark() -> None:
    for end in ("\n", "\r\n", "\r"):
        text = "\ufeff" + rubric(
            Case("Patterns", "", "### Joy \U0001f600\n\nThe \u0130\u00df\nis seen. Users are happy.")
        ).replace("\n", end)
        (flaw,) = advised(text)
        assert text[flaw.begin : flaw.end] == "Users are happy"


@over_table(
    "text",
    [
        "The code is clean.",
        "All tests pass and the docs are updated.",
        "Documentation is updated as needed.",
        "Errors are handled properly.",
    ],
)
def test_taste_in_wording_is_the_authors(text: str) -> None:
    assert said(f"### Name of it\n\n{text}") == []
    assert said(f"### Name of it\n\nAlways make sure: {text}", "Antipatterns") == []


# --- the same, and the opposite -----------------------------------------------------------------------------


def test_two_forms_of_a_word_are_one() -> None:
    for forms in ("pass passes passed passing", "commit commits committed", "test tests tested testing"):
        assert len(stems(forms.split(), WORDING)) == 1, forms
    assert len(stems(["bed", "sing", "port", "part"], WORDING)) == 4


@over_table(
    ("pattern", "antipattern"),
    [
        ("Comments are in English.", "Comments are not in English."),
        ("Comments are in English.", "Never comment in English."),
        ("A change has a test.", "A change has no test."),
        ("Force is used.", "No force is used."),
        ("Tests of the API pass.", "Tests of the API pass, and nobody ran the others."),
        ("Never push by force.", "Push by force."),
        ("Logs are in English.", "Comments are in English."),
        ("Comments are not never in English.", "Comments are in English."),
    ],
)
def test_what_agrees_or_cannot_be_told_is_no_contradiction(pattern: str, antipattern: str) -> None:
    text = f"## Patterns\n\n### Of this\n\n{pattern}\n\n## Antipatterns\n\n### Of that\n\n{antipattern}\n"
    expected = pattern.startswith("Comments are in") and antipattern.startswith("Never")
    assert (Code.CONTRADICTION in codes(text)) is expected


def test_a_contradiction_names_the_other_place() -> None:
    text = "## Patterns\n\n### One of it\n\nNever push by force.\n\n## Legitimate stops\n\n- Push by force\n"
    (flaw,) = (flaw for flaw in advised(text) if flaw.code == Code.CONTRADICTION)
    ((place, _),) = flaw.also
    assert (text[flaw.begin : flaw.end], text[place.begin : place.end]) == ("Push by force", "One of it")


def test_criteria_for_other_files_or_with_other_numbers_are_no_duplicates() -> None:
    first = "### Typed API\n\nApplies to: `*.py`\n\nEvery public function says the types of its arguments."
    other = first.replace("*.py", "src/**").replace("Typed API", "Typed web")
    assert Code.DUPLICATE_CRITERION not in said(f"{first}\n\n{other}")
    assert Code.DUPLICATE_CRITERION in said(f"{first}\n\n{other.replace('src/**', '*.py')}")
    port = "### Port {n}\n\nThe server of the shop listens on port {n} of the machine it was started on."
    assert Code.DUPLICATE_CRITERION not in said(port.format(n=80) + "\n\n" + port.format(n=443))
