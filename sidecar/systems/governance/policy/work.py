"""Where the work under a lock stands: a fold over the entries of its audit, and the decision at its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.audit import AuditEntry, Mode
from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.governance import (
    Action,
    Analysis,
    Decision,
    ErrorType,
    Phase,
    PhaseError,
    Plan,
    Review,
    ReviewIssue,
    ReviewResult,
    Severity,
    Testing,
    TestingResult,
)
from sidecar.systems.governance.policy.table import (
    AFTER_ANSWER,
    MAY_CALL,
    NEXT_STAGE,
    ModeRules,
    Stage,
)

PHASE_TOOL: Final = "phase_"
"""How the tool of a phase begins in the audit."""
ANSWER_TOOL: Final = "answer"
LOCK_TOOL: Final = "lock"
YES, NO = "yes", "no"

T = TypeVar("T")


class Trouble(Struct, frozen=True):
    """An error before it is worded: a section of rubric/governance.md, and what fills it."""

    type: ErrorType
    section: str
    values: dict[str, str] = {}


class Question(Struct, frozen=True, kw_only=True):
    """What a person is asked: by which phase, why, and about which change. `commands` would be run."""

    phase: Phase
    error: ErrorType
    message: str
    subject: str = ""
    commands: tuple[str, ...] = ()


class Work(Struct, frozen=True, kw_only=True):
    """The work under one lock.

    `iteration` counts from 1, `extra` is what a person added to the iterations. `subject` is the digest of
    the change that was made last; `reviewed` and `tested` are the digests of those that `review` and
    `testing` are about, and `approved` of the one that a person approved for delivery. `commands` are those
    that a person let run. `tested_tree` is the digest of the files on which it was tested, `fixes` counts the
    quick fixes of this iteration.
    """

    lock: str
    mode: Mode = Mode.FULL
    stage: Stage = Stage.NEW
    iteration: int = 1
    extra: int = 0
    problem: str = ""
    analysis: Analysis | None = None
    plan: Plan | None = None
    subject: str = ""
    review: Review | None = None
    reviewed: str = ""
    testing: Testing | None = None
    tested: str = ""
    tested_tree: str = ""
    fixes: int = 0
    approved: str = ""
    commands: frozenset[str] = frozenset()
    question: Question | None = None


class _Shown(Struct, frozen=True):
    """What a phase has put out."""

    payload: msgspec.Raw
    error: PhaseError | None = None
    commands: tuple[str, ...] = ()
    tree: str = ""


class _Asked(Struct, frozen=True):
    problem_statement: str = ""


class _Said(Struct, frozen=True):
    text: str = ""


def fold_work(lock: str, entries: Iterable[AuditEntry]) -> Work:
    """Return where the work under a lock stands after these entries, which are in their order."""
    work = Work(lock=lock)
    for entry in entries:
        if entry.tool == ANSWER_TOOL:
            work = _after_answer(work, entry)
        elif entry.tool.startswith(PHASE_TOOL):
            work = _after_phase(work, entry)
        else:
            ended = entry.result not in {"acquired", "renewed"} and work.stage is not Stage.DELIVERED
            work = replace(work, mode=entry.mode, stage=Stage.STOPPED if ended else work.stage)
    return work


def _after_phase(work: Work, entry: AuditEntry) -> Work:
    phase, shown = Phase(entry.tool.removeprefix(PHASE_TOOL)), msgspec.json.decode(entry.output, type=_Shown)
    after = replace(work, stage=NEXT_STAGE.get((phase, entry.result), work.stage))
    match phase:
        case Phase.ANALYZE:
            problem = msgspec.json.decode(entry.input, type=_Asked).problem_statement
            analysis = _payload(shown, Analysis)
            after = replace(after, analysis=analysis or work.analysis, problem=problem)
        case Phase.PLAN:
            after = replace(after, plan=_payload(shown, Plan) or work.plan)
        case Phase.IMPLEMENT:
            after = replace(after, subject=entry.subject or work.subject)
        case Phase.REVIEW:
            fixes = work.fixes + (after.stage is Stage.QUICK_FIX)
            after = replace(after, review=_payload(shown, Review), reviewed=entry.subject, fixes=fixes)
        case Phase.TEST:
            after = replace(
                after, testing=_payload(shown, Testing), tested=entry.subject, tested_tree=shown.tree
            )
        case Phase.CONDUCT:
            iterates = entry.result == Decision.ITERATE
            after = replace(after, iteration=work.iteration + iterates, fixes=0 if iterates else work.fixes)
    error = shown.error
    if error is not None and error.action is Action.STOP:
        return replace(after, stage=Stage.STOPPED)
    if error is not None and error.action is Action.HUMAN_INTERVENTION:
        question = Question(
            phase=phase,
            error=error.type,
            message=error.message,
            subject=entry.subject,
            commands=shown.commands,
        )
        return replace(after, question=question)
    return after


def _after_answer(work: Work, entry: AuditEntry) -> Work:
    asked = work.question
    if asked is None:
        return work
    yes = entry.result == YES
    stage = AFTER_ANSWER[asked.phase, asked.error][0 if yes else 1]
    after = replace(work, question=None, stage=stage)
    match asked.phase, asked.error, yes:
        case Phase.REVIEW, ErrorType.PERSON_ASKED, False if work.review is not None:
            said = msgspec.json.decode(entry.input, type=_Said).text or "a person said no"
            issue = ReviewIssue(task_ref="person", severity=Severity.MAJOR, description=said)
            issues = (*work.review.issues, issue)
            return replace(after, review=replace(work.review, result=ReviewResult.REJECTED, issues=issues))
        case _, ErrorType.ITERATION_OVERFLOW, True:
            return replace(after, extra=work.extra + work.iteration, iteration=work.iteration + 1, fixes=0)
        case Phase.PLAN, _, True:
            return replace(after, commands=work.commands | frozenset(asked.commands))
        case Phase.CONDUCT, ErrorType.PERSON_ASKED, True:
            return replace(after, approved=asked.subject)
        case _:
            return after


def _payload(shown: _Shown, kind: type[T]) -> T | None:
    return None if bytes(shown.payload) == b"null" else msgspec.json.decode(shown.payload, type=kind)


# --- what may be called, and the decision -------------------------------------------------------------------


class OrderError(ToolRuleError):
    """A phase may not be called now, and nothing was done."""


def check_order(work: Work, phase: Phase) -> None:
    """Raise OrderError, which names what to do first, where a phase may not be called."""
    if work.question is not None:
        raise OrderError("governance-waits", lock=work.lock, question=work.question.message)
    allowed = MAY_CALL[work.stage]
    if not allowed:
        raise OrderError("governance-over", lock=work.lock, stage=work.stage)
    if phase not in allowed:
        raise OrderError("governance-order", phase=phase, stage=work.stage, first=f"phase_{allowed[0]}")


def decide(
    work: Work, rules: ModeRules, said: tuple[ReviewResult | None, TestingResult | None, int | None]
) -> tuple[Decision, Trouble | None]:
    """Return what becomes of the change, and what is to be told.

    `said`: the result of review and test and the iteration as the caller gives them, None where it does not.
    Only evidence about the change that was made last counts.
    """
    reviewed = work.review.result if work.review and work.reviewed == work.subject else None
    tested = work.testing.result if work.testing and work.tested == work.subject else None
    names = ("review_result", "test_result", "iteration_count")
    for name, given, known in zip(names, said, (reviewed, tested, work.iteration), strict=True):
        if given is not None and given != known:
            values = {"field": name, "given": str(given), "known": str(known or "none")}
            return Decision.STOP, Trouble(ErrorType.STRUCTURAL_VIOLATION, "contradicted", values)
    if reviewed is ReviewResult.APPROVED and tested is TestingResult.PASSED:
        if rules.forced_human_intervention and work.approved != work.subject:
            return Decision.STOP, Trouble(ErrorType.PERSON_ASKED, "ask-delivery")
        return Decision.DELIVER, None
    if work.iteration >= rules.max_iterations + work.extra:
        values = {"iteration": str(work.iteration)}
        return Decision.STOP, Trouble(ErrorType.ITERATION_OVERFLOW, "overflow", values)
    if work.review is not None and reviewed is not ReviewResult.APPROVED:
        told = "; ".join(issue.description for issue in work.review.issues)
        return Decision.ITERATE, Trouble(ErrorType.MAJOR_ISSUE, "rejected", {"issues": told})
    failed = "; ".join(work.testing.failed_clauses) if work.testing else "nothing was tested"
    return Decision.ITERATE, Trouble(ErrorType.FAILED_CLAUSE, "tests-failed", {"failed": failed})
