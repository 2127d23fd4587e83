"""What review and tests amount to, whatever the worker says."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.kernel import governance as forms
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from sidecar.kernel.governance import (
    ImplementAnswer,
    ImplementedFile,
    MinorFix,
    Nfrs,
    Plan,
    PlannedTask,
    ReviewAnswer,
    ReviewIssue,
)
from sidecar.kernel.settings import ModeRules
from sidecar.systems.governance.policy.verdicts import (
    ClauseResult,
    check_bounds,
    gate_issues,
    parse_clause,
    rule_on_review,
    rule_on_tests,
)
from sidecar.systems.governance.policy.work import TroubleError

LAX = ModeRules(nfr_check=False, manual_review=False, max_iterations=2, forced_human_intervention=False)
SHOWN = forms.TestEvidence(test_output="")
PASSED, FAILED, SILENT = Outcome.PASSED, Outcome.FAILED, Outcome.COULD_NOT_RUN


def ran(outcome: Outcome, kind: Kind = Kind.TESTS) -> GateRun:
    must = kind is Kind.TESTS
    gate = Gate(id=kind, command=f"make {kind}", why="a test", kind=kind, approved=True, required=must)
    return GateRun(gate=gate, outcome=outcome, tree="t", output="1 failed")


def clause(*, holds: bool | None) -> ClauseResult:
    return ClauseResult(clause=parse_clause("file: a.py"), holds=holds, why="so")


@pytest.mark.parametrize(
    ("runs", "weakened", "clauses", "word", "result"),
    [
        ([PASSED], [], [True], "PASSED", "PASSED"),
        ([PASSED], [], [], "PASSED", "PASSED"),
        ([], [], [True], "PASSED", "PASSED"),
        ([], [], [], "PASSED", "EVIDENCE_UNAVAILABLE"),
        ([FAILED], [], [True], "PASSED", "FAILED"),
        ([SILENT], [], [True], "PASSED", "EVIDENCE_UNAVAILABLE"),
        ([PASSED], ["an expectation changed"], [True], "PASSED", "FAILED"),
        ([PASSED], [], [False], "PASSED", "FAILED"),
        ([PASSED], [], [None], "PASSED", "EVIDENCE_UNAVAILABLE"),
        ([FAILED], [], [None], "PASSED", "FAILED"),
        ([PASSED], [], [True], "FAILED", "FAILED"),
        ([PASSED], [], [True], "EVIDENCE_UNAVAILABLE", "EVIDENCE_UNAVAILABLE"),
    ],
)
def test_the_word_of_a_worker_can_only_lower_what_our_evidence_shows(
    runs: list[Outcome], weakened: list[str], clauses: list[bool | None], word: Any, result: str
) -> None:
    held = [clause(holds=one) for one in clauses]
    testing, trouble = rule_on_tests([*map(ran, runs)], weakened, held, word, SHOWN)
    assert testing.result == result
    assert (trouble is None) == (result == "PASSED")


def test_a_linter_that_advises_lowers_nothing_in_a_test() -> None:
    runs = [ran(PASSED), ran(FAILED, Kind.COVERAGE)]
    assert rule_on_tests(runs, (), (), "PASSED", SHOWN)[0].result == "PASSED"


MAJOR = ReviewIssue(task_ref="1", severity="MAJOR", description="it loses data")
MINOR = ReviewIssue(task_ref="1", severity="MINOR", description="the name")
TYPES = gate_issues([ran(FAILED, Kind.TYPES)], ())
PROOF = gate_issues((), ["a test was dropped"])


@pytest.mark.parametrize(
    ("word", "said", "ours", "quick", "result", "fix"),
    [
        ("APPROVED", (), (), True, "APPROVED", None),
        ("APPROVED", (MINOR,), (), True, "APPROVED", None),
        ("APPROVED", (MAJOR,), (), True, "REJECTED", None),
        ("APPROVED", (), PROOF, True, "REJECTED", None),
        ("APPROVED", (), TYPES, True, "APPROVED", None),
        ("REJECTED", (MINOR,), (), True, "REJECTED", "MINOR_FIX_NAMING"),
        ("REJECTED", (MINOR,), (), False, "REJECTED", None),
        ("REJECTED", (MINOR, MAJOR), (), True, "REJECTED", None),
        ("REJECTED", (), (), True, "REJECTED", "MINOR_FIX_NAMING"),
    ],
)
def test_a_review_approves_only_what_nobody_has_something_grave_against(  # noqa: PLR0913 - a column each
    word: Any, said: Any, ours: Any, *, quick: bool, result: str, fix: MinorFix | None
) -> None:
    """The types are checked by a gate that is not required, so it only advises."""
    answer = ReviewAnswer(result=word, issues=said, nfrs=Nfrs(), quick_fix_trigger="MINOR_FIX_NAMING")
    review, trouble = rule_on_review(answer, ours, None, LAX, quick_fix=quick)
    assert (review.result, review.quick_fix_trigger) == (result, fix)
    assert (trouble is None) == (result == "APPROVED")


def test_an_empty_rule_of_the_callers_forbids_nothing_and_hides_no_other() -> None:
    plan = Plan(tasks=(PlannedTask(todo="a", done_when="b", verify_by="c"),))
    answer = ImplementAnswer(files=(ImplementedFile(path="a.py", task_ref="1"),), message="")
    check_bounds(["a.py"], answer, plan, ["", " "])
    with pytest.raises(TroubleError) as broken:
        check_bounds(["a.py"], answer, plan, ["", "never *.py"])
    assert broken.value.values == {"file": "a.py", "rule": "never *.py"}
