"""What an editor offers at a place of a rubric, and what it is told of it; `|` or the end is the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.rubric import EMPTY_RUBRIC_CONTEXT, RubricContext
from sidecar.rubric.outline import parse_outline
from sidecar.servers.rubric_language.assistance import (
    GLOBS_LIMIT,
    CompletionOffer,
    find_completions,
    find_hover_text,
)
from support.table import over_table

AROUND = RubricContext(
    gates=("tests", "lint"),
    rules=("narration",),
    paths=("src/a.py", "src/deep/er/still/b.py", "docs/a.md", "Makefile", ".env", "odd.~1~"),
)
ONE = "## Patterns\n\n### One\n\n"


def offers(text: str, around: RubricContext = AROUND) -> tuple[CompletionOffer, ...]:
    place = text.find("|") if "|" in text else len(text)
    return find_completions(parse_outline(text.replace("|", "")), place, around)


def labels(text: str, around: RubricContext = AROUND) -> list[str]:
    return [offer.label for offer in offers(text, around)]


def completed(text: str, label: str) -> str:
    (offer,) = [each for each in offers(text) if each.label == label]
    clean = text.replace("|", "")
    return clean[: offer.place.begin] + offer.text + clean[offer.place.end :]


PATTERNS, ANTIPATTERNS, LEGITIMATE = "## Patterns", "## Antipatterns", "## Legitimate stops"


@over_table(
    ("text", "found"),
    [
        ("", [PATTERNS, ANTIPATTERNS, LEGITIMATE]),
        ("\ufeff", [PATTERNS, ANTIPATTERNS, LEGITIMATE]),
        ("#", [PATTERNS, ANTIPATTERNS, LEGITIMATE]),
        ("## Pat", [PATTERNS, ANTIPATTERNS, LEGITIMATE]),
        ("## Patterns\n## ", [ANTIPATTERNS, LEGITIMATE]),
        ("## Patterns\nleg", [ANTIPATTERNS, LEGITIMATE]),
        (f"{ONE}## ", [ANTIPATTERNS, LEGITIMATE]),
        ("## Patterns\n## Antipatterns\n## Legitimate stops\n## ", []),
        ("## what, now", []),
        ("Some words", []),
    ],
)
def test_sections_that_are_missing_are_offered_where_one_can_begin(text: str, found: list[str]) -> None:
    assert labels(text) == found


@over_table(
    ("text", "found"),
    [
        (ONE, ["Severity", "Applies to", "When", "Evidence"]),
        (f"{ONE}sev", ["Severity", "Applies to", "When", "Evidence"]),
        (f"{ONE}Applies ", ["Severity", "Applies to", "When", "Evidence"]),
        (f"{ONE}Severity: note\n", ["Applies to", "When", "Evidence"]),
        (f"{ONE}- ", ["Severity", "Applies to", "When", "Evidence"]),
        ("## Patterns\n- **A**: b\n  ", ["Severity", "Applies to", "When", "Evidence"]),
        (f"{ONE}Severity: should|\n", ["must", "should", "note"]),
        (f"{ONE}- **severity**: ", ["must", "should", "note"]),
        (f"{ONE}Severity: must ", []),
        (f"{ONE}When: ", []),
        (f"{ONE}Evidence: ", ["gate:tests", "gate:lint", "rule:narration", "diff", "calls", "message"]),
        (f"{ONE}Evidence: gate:lint, diff and ru", ["gate:tests", "rule:narration", "calls", "message"]),
        (
            f"{ONE}Applies to: ",
            ["src/**", "*.py", "src/deep/**", "src/deep/er/**", "docs/**", "*.md", "*.env"],
        ),
        (
            f"{ONE}applies-to: `*.py`, `src/**`, do",
            ["src/deep/**", "src/deep/er/**", "docs/**", "*.md", "*.env"],
        ),
        (f"{ONE}The text says Severity: ", []),
    ],
)
def test_what_can_be_said_of_a_criterion_is_offered(text: str, found: list[str]) -> None:
    assert labels(text) == found


@over_table(
    ("text", "label", "after"),
    [
        ("x\n\n## pat", "## Patterns", "x\n\n## Patterns"),
        (f"{ONE}Sev", "Severity", f"{ONE}Severity: "),
        ("## Patterns\n- **A**: b\n", "When", "## Patterns\n- **A**: b\n  When: "),
        ("## Patterns\n- **A**: b\n  Wh", "When", "## Patterns\n- **A**: b\n  When: "),
        (f"{ONE}Severity:", "note", f"{ONE}Severity: note"),
        (f"{ONE}Severity: no", "note", f"{ONE}Severity: note"),
        (f"{ONE}Evidence: diff, gate:te", "gate:tests", f"{ONE}Evidence: diff, gate:tests"),
        (f"{ONE}Applies to: sr", "src/**", f"{ONE}Applies to: `src/**`"),
        (f"{ONE}Applies to: `sr|`", "src/**", f"{ONE}Applies to: `src/**`"),
    ],
)
def test_an_offer_takes_the_place_of_what_was_typed_of_it(text: str, label: str, after: str) -> None:
    assert completed(text, label) == after


@pytest.mark.parametrize(
    "text", [f"{ONE}```\nSeverity: ", f"{ONE}<!-- Severity: ", "    # ", "## Patterns\n- a|"]
)
def test_within_code_comments_and_names_nothing_is_offered(text: str) -> None:
    assert labels(text) == []


def test_where_nothing_is_known_of_the_project_only_what_holds_anywhere_is_offered() -> None:
    assert labels(f"{ONE}Evidence: ", EMPTY_RUBRIC_CONTEXT) == ["diff", "calls", "message"]
    assert labels(f"{ONE}Applies to: ", EMPTY_RUBRIC_CONTEXT) == []


def test_of_a_large_project_the_globs_of_the_most_files_are_offered() -> None:
    paths = tuple(f"d{number % 500}/f{number}.py" for number in range(20_000))
    found = labels(f"{ONE}Applies to: ", RubricContext(paths=paths))
    assert len(found) == GLOBS_LIMIT
    assert found[0] == "*.py"


@given(st.text(alphabet="#ab \n-*`:,|SeverityEvidence<>!{}é🎉", max_size=80), st.integers(0, 80))
def test_whatever_the_text_what_is_replaced_is_what_was_typed_before_the_cursor(text: str, at: int) -> None:
    place = min(at, len(text))
    for offer in find_completions(parse_outline(text), place, AROUND):
        assert 0 <= offer.place.begin <= offer.place.end == place
        assert "\n" not in text[offer.place.begin : place]


# --- hover --------------------------------------------------------------------------------------------------

TEXT = """\
## Patterns

### Tested

Severity: note
Applies to: `src/**`, `*.md`
When: it rains
Evidence: gate:tests, rule:narration, rule:nope, calls

It is tested.

## Notes

## Antipatterns

- **Permission seeking** {#permission-seeking}
- **Silence**: nothing
  is said

## Legitimate stops

- **Key**: only the user has it
"""
PROJECT = RubricContext(gates=("lint",), paths=("src/a.py", "src/b.py", "README.md"), more=False)


def told(words: str, around: RubricContext = PROJECT) -> str:
    found = find_hover_text(parse_outline(TEXT), TEXT.index(words), around)
    return found.text if found else ""


@over_table(
    ("words", "said"),
    [
        ("Patterns", "What a finished piece of work shows"),
        ("Antipatterns", "passes for done and is not"),
        ("Legitimate", "the agent is not sent back"),
        ("Notes", "The judge does not read this section. It reads Patterns, "),
        ("Tested", "Tested (tested)"),
        ("Tested", "the check tests (this project has none of this name)"),
        ("Tested", "the rule narration (it ends in the middle of an action)"),
        ("Tested", "the rule nope (there is none of this name)"),
        ("Tested", "what tools returned"),
        ("Tested", "Severity note: nobody is sent back for it."),
        ("Tested", "src/** (2 files of the project), *.md (1 file of the project)"),
        ("Tested", "When: it rains"),
        ("Permission", "Decided by the judge, from all there is."),
        ("Permission", "The rule permission-seeking (it asks leave for what was asked for"),
        ("Silence", "Severity must: the agent is sent back where it is not met."),
        ("Severity: note", "Severity: how much it weighs"),
        ("src/**", "src/** (2 files of the project)"),
        ("rule:narration", "Decided by the rule narration"),
        ("calls\n", "Decided by what tools returned."),
        ("it rains", "When: a hint"),
    ],
)
def test_a_place_is_explained(words: str, said: str) -> None:
    assert said in told(words)


def test_a_legitimate_stop_has_no_weight() -> None:
    assert "Severity" not in told("Key")


@pytest.mark.parametrize("words", ["It is tested", "is said", "\n## Notes"])
def test_prose_needs_no_explanation(words: str) -> None:
    assert told(words) == ""


def test_where_the_project_is_not_known_nothing_is_counted() -> None:
    assert told("src/**", EMPTY_RUBRIC_CONTEXT) == "src/**"
    assert "this project has none" not in told("Tested", EMPTY_RUBRIC_CONTEXT)
    more = RubricContext(paths=PROJECT.paths, more=True)
    assert told("src/**", more) == "src/** (at least 2 files of the project)"
