"""What a rubric's editor is told of the place under its cursor, and of its shape and its fixes."""

from __future__ import annotations

import pytest

from sidecar.kernel.rubric import EMPTY_RUBRIC_CONTEXT, Flaw, QuickFix, RubricContext, TextEdit, TextSpan
from sidecar.kernel.stop_history import CriterionStats
from sidecar.rubric.outline import parse_outline
from sidecar.servers.rubric_language.editing.formatting import (
    find_touched_flaws,
    foldable_spans,
    implicit_ids,
    new_rubric_fix,
    safe_edits,
)
from sidecar.servers.rubric_language.editing.hover import HistoryLookup, find_hover_text
from support.table import over_table

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
AROUND = RubricContext(gates=("lint",), paths=("src/a.py", "src/b.py", "README.md"), more=False)
NOTHING = HistoryLookup(lambda _: None, str)


def told(words: str, around: RubricContext = AROUND, past: HistoryLookup = NOTHING) -> str:
    found = find_hover_text(parse_outline(TEXT), TEXT.index(words), around, past)
    return found.text if found else ""


@over_table(
    ("words", "said"),
    [
        ("Patterns", "What a finished piece of work shows"),
        ("Patterns", "1 criterion."),
        ("Antipatterns", "passes for done and is not"),
        ("Antipatterns", "2 criteria."),
        ("Legitimate", "the agent is not sent back"),
        ("Notes", "The judge does not read this section. It reads `## Patterns`"),
        ("Tested", "**Tested** `tested`"),
        ("Tested", "the gate `tests` (this project has none of this name)"),
        (
            "Tested",
            "the rule `narration` (it ends in the middle of an action; 100% of its findings were right",
        ),
        ("Tested", "the rule `nope` (there is none of this name)"),
        ("Tested", "what tools returned"),
        ("Tested", "Severity note: nobody is sent back for it."),
        ("Tested", "`src/**` (2 files of the project), `*.md` (1 file of the project)"),
        ("Tested", "When: it rains"),
        (
            "Permission",
            "Decided by the judge, from the changed files, what tools returned and the last message.",
        ),
        ("Permission", "The rule `permission-seeking` (it asks leave for what was asked for"),
        ("Silence", "Severity must: the agent is sent back where it is not met."),
        ("Severity: note", "**Severity**: how much it weighs"),
        ("src/**", "`src/**` (2 files of the project)"),
        ("rule:narration", "Decided by the rule `narration`"),
        ("calls\n", "Decided by what tools returned."),
        ("it rains", "**When**: a hint"),
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
    assert told("src/**", EMPTY_RUBRIC_CONTEXT) == "`src/**`"
    assert "this project has none" not in told("Tested", EMPTY_RUBRIC_CONTEXT)
    more = RubricContext(paths=AROUND.paths, more=True)
    assert told("src/**", more) == "`src/**` (at least 2 files of the project)"


@pytest.mark.parametrize(
    ("history", "said"),
    [
        (CriterionStats(), None),
        (CriterionStats(fired=0, stops=1), "It spoke at 0 of the last 1 stop here."),
        (
            CriterionStats(fired=3, stops=20, last=7.0),
            "It spoke at 3 of the last 20 stops here, last on day 7.0.",
        ),
        (
            CriterionStats(measured_right=31, measured_of=32, measured_on="2026-11-22", measured_by="rules"),
            "Measured on 2026-11-22 with rules: it was right 31 of 32 times.",
        ),
    ],
)
def test_what_became_of_a_criterion_is_told_where_it_is_known(
    history: CriterionStats, said: str | None
) -> None:
    past = HistoryLookup({"silence": history}.get, lambda seconds: f"day {seconds}")
    text = told("Silence", past=past)
    assert said in text if said else "spoke" not in text and "Measured" not in text
    assert "spoke" not in told("Permission", past=past)


# --- shape --------------------------------------------------------------------------------------------------


def test_sections_and_criteria_are_what_folds() -> None:
    first = [TEXT[span.begin :].split("\n", 1)[0] for span in foldable_spans(parse_outline(TEXT))]
    assert first[:3] == ["## Patterns", "### Tested", "## Notes"]
    assert len(first) == 8


def test_ids_that_the_author_wrote_are_not_said_again() -> None:
    assert [name for _, name in implicit_ids(parse_outline(TEXT))] == ["tested", "silence", "key"]


# --- fixes --------------------------------------------------------------------------------------------------


def flaw(code: str, begin: int, end: int, *edits: tuple[int, int], more: int = 0) -> Flaw:
    fix = QuickFix("Do", tuple(TextEdit(TextSpan(*place), "x") for place in edits))
    return Flaw(code, "why", begin, end, fixes=(fix,) * (1 + more))


def test_a_selection_touches_what_it_borders_on() -> None:
    flaws = [flaw("a", 0, 3), flaw("b", 5, 9), flaw("c", 10, 12)]
    assert [each.code for each in find_touched_flaws(flaws, TextSpan(3, 5))] == ["a", "b"]
    assert [each.code for each in find_touched_flaws(flaws, TextSpan(11, 11))] == ["c"]


def test_only_slips_with_one_cure_that_meet_no_other_are_mended_at_once() -> None:
    flaws = [
        flaw("unread-line", 0, 0, (20, 22)),
        flaw("unread-line", 0, 0, (22, 24)),
        flaw("unknown-section", 0, 0, (5, 7)),
        flaw("unknown-section", 0, 0, (30, 31), more=1),
        flaw("undecidable", 0, 0, (40, 41)),
    ]
    assert [edit.place for edit in safe_edits(flaws)] == [TextSpan(5, 7), TextSpan(20, 22)]


def test_a_text_with_a_section_is_not_started_afresh() -> None:
    assert new_rubric_fix(parse_outline("## Antipatterns\n"), "d") is None
    assert new_rubric_fix(parse_outline("words"), "") is None
    fix = new_rubric_fix(parse_outline("words"), "default\n")
    assert fix is not None
    assert [(edit.place, edit.text) for edit in fix.edits] == [(TextSpan(0, 5), "default\n")]
