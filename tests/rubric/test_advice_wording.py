"""Advice on words: what is a demand of the author's own, how much it weighs, and what is offered for it."""

from __future__ import annotations

import pytest

from sidecar.kernel.rubric import Flaw, FlawSeverity, RubricContext
from sidecar.rubric.advice.edits import Code
from sidecar.rubric.advice.passage import stems
from support.advice import AROUND, Case, advised, applied, codes, rubric
from support.table import over_table


def told(text: str, section: str = "Patterns", around: RubricContext = AROUND) -> tuple[Flaw, ...]:
    return advised(rubric(Case(section, "", text)), around)


def said(text: str, section: str = "Patterns") -> list[str]:
    return [flaw.code for flaw in told(text, section)]


@over_table(
    "text",
    [
        '### Praise\n\nNo comment says "the code is clean".',
        "### Praise\n\nNo comment says \u201cthe code is clean\u201d.",
        "### Praise\n\nNo comment says `the code is clean`.",
        "### Praise\n\nPraise is left out.\nLooks like: the code is clean\nand robust\n",
        "### Praise\n\nPraise is left out. Is not: the code is robust.",
        "### Praise\n\nThis was the old wording of it:\n\n> The code is clean.",
        "### Praise\n\nThis was the old wording of it:\n\n```\nThe code is clean.\n```",
        "### Praise\n\nThis was the old wording of it:\n\n    The code is clean.",
        "### Praise\n\nPraise is left out. <!-- the code is clean -->",
        "### Praise\n\nWhen: the code is clean\n\nPraise is left out of the report.",
    ],
)
def test_a_vague_word_that_is_no_demand_of_the_author_is_no_fault(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The code is clean of debug output.",
        "The page is fast: 200 ms at most.",
        "The call is safe to repeat.",
        "The list is stable so that two runs can be compared.",
        "A clear message names the option that was wrong.",
        "The code is clean, as `make lint` says.",
        "The name is consistent with the table.",
    ],
)
def test_a_sentence_with_something_to_hold_on_to_is_not_vague(text: str) -> None:
    assert said(f"### Name of it\n\n{text}") == []


def test_a_vague_sentence_among_plain_ones_is_a_hint_and_alone_a_warning() -> None:
    vague, plain = "The code is clean.", "No function has more than five parameters."
    assert [flaw.weight for flaw in told(f"### Clean\n\n{vague}")] == [FlawSeverity.WARNING]
    assert [flaw.weight for flaw in told(f"### Clean\n\n{vague} {plain}")] == [FlawSeverity.HINT]


def test_a_criterion_that_names_its_evidence_is_not_called_vague() -> None:
    assert said("### Clean\n\nEvidence: gate:lint\n\nThe code is clean.") == []
    assert said("### Clean\n\nEvidence: gate:lint\n\nUsers are happy.") == []


def test_legitimate_stops_are_not_judged_by_their_words() -> None:
    assert said("- **Taste**: what looks good is for the user to say", "Legitimate stops") == []
    assert said("- **Users**: whether users are happy is unknown", "Legitimate stops") == []


def test_the_gate_that_fits_is_offered_and_else_a_source() -> None:
    text = rubric(Case("Patterns", "", "### Clean\n\nThe code is clean."))
    with_gate, without = (advised(text, around)[0].fixes[-1] for around in (AROUND, RubricContext()))
    assert "### Clean\n\nEvidence: gate:lint\n\nThe code is clean." in applied(text, with_gate)
    assert "### Clean\n\nEvidence: diff\n\nThe code is clean." in applied(text, without)


def test_what_decides_an_item_is_put_below_it_and_beside_other_such_lines() -> None:
    item = rubric(Case("Patterns", "", "-   **Clean**: the code is clean"))
    assert "-   **Clean**: the code is clean\n    - Evidence: gate:lint\n" in applied(
        item, advised(item)[0].fixes[-1]
    )
    text = "- **Clean**: the code is clean\n  * Severity: note\n  * When: it is Tuesday"
    more = rubric(Case("Patterns", "", text))
    assert f"{text}\n  * Evidence: gate:lint\n" in applied(more, advised(more)[0].fixes[-1])


def test_a_line_is_not_offered_where_it_would_be_code() -> None:
    above = "## Antipatterns\n\n- **One**: x of `y`\n\n## Patterns"
    text = f"{above}\n\n- **Clean**: the code is clean\n\n  ```\n  x"
    flaw = advised(text)[-1]
    assert (flaw.code, flaw.fixes) == (Code.VAGUE_WORDING, ())


def test_a_line_below_a_heading_stands_alone() -> None:
    text = rubric(Case("Patterns", "", "### Clean\nThe code is clean."))
    mended = applied(text, advised(text)[0].fixes[-1])
    assert "### Clean\n\nEvidence: gate:lint\n\nThe code is clean." in mended


def test_a_criterion_in_another_language_is_not_judged_by_its_words_in_an_english_rubric() -> None:
    assert said("### Kwaliteit van code\n\nDe code is robust, en de tests zijn groen.") == []


def test_two_forms_of_a_word_are_one() -> None:
    for forms in ("pass passes passed passing", "commit commits committed", "test tests tested testing"):
        assert len(stems(forms.split())) == 1, forms


def test_a_phrase_is_replaced_or_left_out_where_the_sentence_stays_one() -> None:
    tested = rubric(Case("Patterns", "", "### Tested\n\nThe change is properly tested."))
    left = rubric(Case("Patterns", "", "- Documentation is updated as needed"))
    assert "is covered by a test that fails without the change." in applied(
        tested, advised(tested)[0].fixes[0]
    )
    assert "- Documentation is updated\n" in applied(left, advised(left)[0].fixes[0])


def test_the_place_of_a_vague_word_is_the_word_in_any_line_end_and_after_a_mark() -> None:
    for end in ("\n", "\r\n", "\r"):
        text = "\ufeff" + rubric(
            Case("Patterns", "", "### Clean \U0001f600\n\nThe \u0130\u00df\nis robust.")
        ).replace("\n", end)
        (flaw,) = advised(text)
        assert text[flaw.begin : flaw.end] == "is robust"


# --- two demands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "The same tests passed before and after the change.",
        "The tests, the build and the lint ran and passed.",
        "If the schema changed and the client was rebuilt, both are in one commit.",
        "The cause is named, the test is there, and the docs are updated.",
        "Every handler is logged and measured.",
        "The old function is gone and nobody misses it in `src`.",
    ],
)
def test_a_list_a_condition_and_one_subject_are_one_demand(text: str) -> None:
    assert Code.COMPOUND_CRITERION not in said(f"### Name of it\n\n{text}")


def test_an_antipattern_may_list_what_is_wrong() -> None:
    assert said("### Weakened\n\nA test was deleted; a threshold was lowered.", "Antipatterns") == []


def test_a_compound_criterion_becomes_two_with_the_same_lines() -> None:
    text = "### Both\n\nSeverity: should\n\nAll tests pass and the docs are updated. Both can be seen."
    whole = rubric(Case("Patterns", "", text))
    mended = applied(whole, advised(whole)[0].fixes[0])
    assert "### Both\n\nSeverity: should\n\nAll tests pass. Both can be seen.\n\n### The docs are" in mended
    assert "### The docs are updated\n\nSeverity: should\n" in mended
    item = rubric(Case("Patterns", "", "* Run the linter and update the changelog"))
    assert "* Run the linter\n* Update the changelog\n" in applied(item, advised(item)[0].fixes[0])


# --- other sections -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "- Never skip a test",
        "- You must not skip a test",
        "- Must-have fields made optional",
        "- No print left",
    ],
)
def test_an_antipattern_that_forbids_is_understood_as_it_is_meant(text: str) -> None:
    assert said(text, "Antipatterns") == []


def test_an_order_among_the_antipatterns_moves_to_the_patterns() -> None:
    text = rubric(Case("Antipatterns", "", "- Always run the tests before you stop"))
    mended = applied(text, advised(text)[0].fixes[0])
    assert "in the evidence.\n- Always run the tests before you stop\n\n## Antipatterns" in mended
    assert mended.count("Always run") == 1


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
