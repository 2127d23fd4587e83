"""What a review and the tests amount to. A worker's word can only lower what our own evidence shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from sidecar.kernel.gate import NOTHING_SHOWN, Gate, GateRun, Kind, Outcome
from sidecar.kernel.governance import (
    Analysis,
    ErrorType,
    Review,
    ReviewIssue,
    ReviewResult,
    Severity,
    TestingResult,
)
from sidecar.systems.governance.policy.clauses import ClauseResult
from sidecar.systems.governance.policy.phases import ReviewAnswer
from sidecar.systems.governance.policy.rules import missing_nfrs, rule_result
from sidecar.systems.governance.policy.table import ModeRules, Rule
from sidecar.systems.governance.policy.work import Trouble

UNSURE: Final = ("what the agent that tested was to find out: it could not",)
TOLD: Final = 5
"""Points that a message names; the payload holds all."""


def is_required(gate: Gate) -> bool:
    """Whether nothing is delivered while this gate fails."""
    return gate.required or gate.kind in {Kind.TESTS, Kind.CHECK}


def failing_gates(runs: Iterable[GateRun]) -> tuple[str, ...]:
    """Return the commands of required gates that did not pass."""
    return tuple(
        f"`{run.gate.command}`" for run in runs if is_required(run.gate) and run.outcome is not Outcome.PASSED
    )


def gate_issues(runs: Iterable[GateRun], weakened: Iterable[str]) -> tuple[ReviewIssue, ...]:
    """Return what our own evidence has against a change."""
    failing = (
        ReviewIssue(
            task_ref=f"gate:{run.gate.id}",
            severity=Severity.MAJOR if is_required(run.gate) else Severity.MINOR,
            description=f"`{run.gate.command}` fails: {'; '.join(run.failures) or run.output.strip()[-500:]}",
        )
        for run in runs
        if run.outcome is Outcome.FAILED
    )
    weak = (ReviewIssue(task_ref="proof", severity=Severity.MAJOR, description=line) for line in weakened)
    return (*failing, *weak)


def rule_on_review(
    answer: ReviewAnswer,
    ours: Iterable[ReviewIssue],
    analysis: Analysis | None,
    rules: ModeRules,
    *,
    quick_fix: bool,
) -> tuple[Review, Trouble | None]:
    """Return the review. `ours`: our own evidence; `quick_fix`: minor issues may be mended at once.

    A person is asked where nothing is found and the mode wants one.
    """
    missing = missing_nfrs(analysis, answer) if rules.nfr_check else ()
    unmet = (
        ReviewIssue(
            task_ref=Rule.NFRS_MET,
            severity=Severity.MAJOR,
            description=f"nothing shows that it is met: {name}",
        )
        for name in missing
    )
    issues = (*answer.issues, *ours, *unmet)
    major = [issue for issue in issues if issue.severity is Severity.MAJOR]
    approved = answer.result is ReviewResult.APPROVED and not major
    asked = approved and rules.manual_review
    review = Review(
        result=ReviewResult.APPROVED if approved else ReviewResult.REJECTED,
        issues=issues,
        quick_fix_trigger=answer.quick_fix_trigger if quick_fix and not approved and not major else None,
        rules=(
            rule_result(
                Rule.NFRS_MET, not missing, f"missing: {', '.join(missing)}" if missing else "none is missing"
            ),
            rule_result(Rule.HUMAN_ON_ERROR, not asked, "a person is asked" if asked else "none is needed"),
        ),
    )
    if asked:
        return review, Trouble(ErrorType.PERSON_ASKED, "ask-review")
    if approved:
        return review, None
    told = (
        "; ".join(issue.description for issue in (major or issues)[:TOLD]) or "the reviewer gives no reason"
    )
    return review, Trouble(ErrorType.MAJOR_ISSUE, "rejected", {"issues": told})


class TestRuling(Struct, frozen=True, kw_only=True):
    """What tests amount to. `failed` did not hold; for `unseen` there is no evidence."""

    __test__ = False

    result: TestingResult
    failed: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def trouble(self) -> Trouble | None:
        """What is to be told, None where all is shown."""
        if self.result is TestingResult.FAILED:
            return Trouble(ErrorType.FAILED_CLAUSE, "tests-failed", {"failed": "; ".join(self.failed[:TOLD])})
        if self.result is TestingResult.EVIDENCE_UNAVAILABLE:
            values = {"unseen": "; ".join(self.unseen[:TOLD])}
            return Trouble(ErrorType.EVIDENCE_UNAVAILABLE, "no-evidence", values)
        return None


def rule_on_tests(
    runs: Iterable[GateRun],
    weakened: Iterable[str],
    clauses: Iterable[ClauseResult],
    word: TestingResult,
) -> TestRuling:
    """Return what runs, clauses and the worker's word amount to. Nothing at all is no evidence."""
    runs, clauses = tuple(runs), tuple(clauses)
    required = [run for run in runs if is_required(run.gate)]
    failed = (
        *(f"`{run.gate.command}` fails" for run in required if run.outcome is Outcome.FAILED),
        *weakened,
        *(f"{one.clause.text}: {one.why}" for one in clauses if one.holds is False),
        *(("the agent that tested says that it failed",) if word is TestingResult.FAILED else ()),
    )
    unseen = (
        *(
            f"`{run.gate.command}`: {run.reason or run.outcome}"
            for run in required
            if run.outcome in NOTHING_SHOWN
        ),
        *(f"{one.clause.text}: {one.why}" for one in clauses if one.holds is None),
        *(UNSURE if word is TestingResult.EVIDENCE_UNAVAILABLE else ()),
        *(() if runs or clauses else ("anything: there is neither a check nor a clause",)),
    )
    result = (
        TestingResult.FAILED
        if failed
        else TestingResult.EVIDENCE_UNAVAILABLE
        if unseen
        else TestingResult.PASSED
    )
    return TestRuling(result=result, failed=failed, unseen=unseen)
