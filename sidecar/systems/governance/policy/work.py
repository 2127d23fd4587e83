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
    FinalDecision,
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
    ACTIONS,
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
    that a person let run.
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
    approved: str = ""
    commands: frozenset[str] = frozenset()
    question: Question | None = None


class _Shown(Struct, frozen=True):
    """What a phase has put out."""

    payload: msgspec.Raw
    error: PhaseError | None = None
    commands: tuple[str, ...] = ()


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
            after = replace(after, review=_payload(shown, Review), reviewed=entry.subject)
        case Phase.TEST:
            after = replace(after, testing=_payload(shown, Testing), tested=entry.subject)
        case Phase.CONDUCT:
            iterates = entry.result == Decision.ITERATE
            after = replace(after, iteration=work.iteration + iterates)
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
    said = msgspec.json.decode(entry.input, type=_Said).text
    after = replace(work, question=None, stage=stage)
    if not yes and asked.phase is Phase.REVIEW and work.review is not None:
        issue = ReviewIssue(
            task_ref="person", severity=Severity.MAJOR, description=said or "a person said no"
        )
        rejected = replace(work.review, result=ReviewResult.REJECTED, issues=(*work.review.issues, issue))
        return replace(after, review=rejected)
    if not yes:
        return after
    if asked.error is ErrorType.ITERATION_OVERFLOW:
        return replace(after, extra=work.extra + work.iteration, iteration=work.iteration + 1)
    if asked.phase is Phase.PLAN:
        return replace(after, commands=work.commands | frozenset(asked.commands))
    if asked.phase is Phase.CONDUCT and asked.error is ErrorType.PERSON_ASKED:
        return replace(after, approved=asked.subject)
    return after


def _payload(shown: _Shown, kind: type[T]) -> T | None:
    return None if shown.payload == b"null" else msgspec.json.decode(shown.payload, type=kind)


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


def find_error(kind: ErrorType, message: str) -> PhaseError:
    """Return an error with the action of its kind."""
    return PhaseError(type=kind, message=message, action=ACTIONS[kind])


def decide(
    work: Work, rules: ModeRules, said: tuple[ReviewResult | None, TestingResult | None, int | None]
) -> tuple[Decision, PhaseError | None]:
    """Return what becomes of the change, and the error to show.

    `said`: the result of review and test and the iteration as the caller gives them, None where it does not.
    Only evidence about the change that was made last counts.
    """
    reviewed = work.review.result if work.review and work.reviewed == work.subject else None
    tested = work.testing.result if work.testing and work.tested == work.subject else None
    names = ("review_result", "test_result", "iteration_count")
    for name, given, known in zip(names, said, (reviewed, tested, work.iteration), strict=True):
        if given is not None and given != known:
            message = f"{name} is said to be {given}, and the audit holds {known or 'none'}"
            return Decision.STOP, find_error(ErrorType.STRUCTURAL_VIOLATION, message)
    if reviewed is ReviewResult.APPROVED and tested is TestingResult.PASSED:
        if rules.forced_human_intervention and work.approved != work.subject:
            message = "the change was approved and its tests pass. May it be delivered?"
            return Decision.STOP, find_error(ErrorType.PERSON_ASKED, message)
        return Decision.DELIVER, None
    if work.iteration >= rules.max_iterations + work.extra:
        message = f"{work.iteration} iterations were not enough. May there be as many again?"
        return Decision.STOP, find_error(ErrorType.ITERATION_OVERFLOW, message)
    if reviewed is not ReviewResult.APPROVED:
        return Decision.ITERATE, find_error(ErrorType.MAJOR_ISSUE, "the review did not approve the change")
    return Decision.ITERATE, find_error(ErrorType.FAILED_CLAUSE, "the tests did not show what was planned")


def final_decision(decision: Decision, reason: str, work: Work) -> FinalDecision:
    """Return a decision that delivers nothing."""
    following = work.iteration + 1 if decision is Decision.ITERATE else None
    return FinalDecision(decision=decision, reason=reason, next_iteration=following)
