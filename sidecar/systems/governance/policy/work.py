"""Where the work under a lock stands: a fold over the entries of its audit, and the decision at its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel import governance as forms
from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.governance import ErrorType, GovernedPhase
from sidecar.kernel.log import AuditEntry
from sidecar.kernel.settings import Mode, ModeRules
from sidecar.systems.governance.policy.table import AFTER_ANSWER, MAY_CALL, NEXT_STAGE, Stage

PHASE_TOOL: Final = "phase_"
"""How the tool of a phase begins in the audit."""
ANSWER_TOOL: Final = "answer"
LOCK_TOOL: Final = "lock"
YES, NO = "yes", "no"


class TroubleError(Exception):
    """An error before it is worded: a section of rubric/governance.md, and what fills it.

    A phase that ends without a payload raises it; one that has a payload returns it beside.
    """

    def __init__(self, error: ErrorType, section: str, **values: str) -> None:
        super().__init__(section)
        self.error, self.section, self.values = error, section, values


class Question(Struct, frozen=True, kw_only=True):
    """What a person is asked: by which phase, why, and about which change. `commands` would be run."""

    phase: GovernedPhase
    error: ErrorType
    message: str
    subject: str = ""
    commands: tuple[str, ...] = ()


class Work(Struct, frozen=True, kw_only=True):
    """The work under one lock.

    `iteration` counts from 1, `extra` is what a person added to the iterations. `subject` names the change
    that was made last, as `implementation` shows it; `review` and `testing` are about that very change, and
    so is what a person `approved` for delivery. `commands` are those that a person let run. `tested_tree` is
    the digest of the files on which it was tested, `fixes` counts the quick fixes of this iteration.
    """

    lock: str
    mode: Mode = Mode.FULL
    stage: Stage = Stage.NEW
    iteration: int = 1
    extra: int = 0
    problem: str = ""
    analysis: forms.Analysis | None = None
    plan: forms.Plan | None = None
    subject: str = ""
    implementation: forms.ImplementedChange | None = None
    review: forms.Review | None = None
    testing: forms.Testing | None = None
    tested_tree: str = ""
    fixes: int = 0
    approved: bool = False
    commands: frozenset[str] = frozenset()
    question: Question | None = None


class PhaseOutput(Struct, frozen=True, omit_defaults=True):
    """What the audit keeps of what a phase put out; see `PhaseDone`."""

    payload: Any
    error: forms.PhaseError | None = None
    commands: tuple[str, ...] = ()
    tree: str = ""

    def read_payload(self, phase: GovernedPhase) -> Any:  # noqa: ANN401 - the Struct of this phase, or None
        """Return a decoded payload as the Struct that it was."""
        return msgspec.convert(self.payload, forms.FORMS[phase].payload | None)


class _Input(Struct, frozen=True):
    """What is read of an input: the problem of analyze, the text of an answer."""

    problem_statement: str = ""
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
    phase = GovernedPhase(entry.tool.removeprefix(PHASE_TOOL))
    shown = msgspec.json.decode(entry.output, type=PhaseOutput)
    payload = shown.read_payload(phase)
    of_this_change = payload if entry.subject == work.subject else None
    after = replace(work, stage=NEXT_STAGE.get((phase, entry.result), work.stage))
    match phase:
        case GovernedPhase.ANALYZE:
            problem = msgspec.json.decode(entry.input, type=_Input).problem_statement
            after = replace(after, analysis=payload or work.analysis, problem=problem)
        case GovernedPhase.PLAN:
            after = replace(after, plan=payload or work.plan)
        case GovernedPhase.IMPLEMENT if entry.subject not in {"", work.subject}:
            after = replace(after, subject=entry.subject, implementation=payload)
            after = replace(after, review=None, testing=None, approved=False)
        case GovernedPhase.REVIEW:
            fixes = work.fixes + (after.stage is Stage.QUICK_FIX)
            after = replace(after, review=of_this_change, fixes=fixes)
        case GovernedPhase.TEST:
            after = replace(after, testing=of_this_change, tested_tree=shown.tree)
        case GovernedPhase.CONDUCT if entry.result == "ITERATE":
            after = replace(after, iteration=work.iteration + 1, fixes=0)
    error = shown.error
    if error is not None and error.action is forms.ErrorAction.STOP:
        return replace(after, stage=Stage.STOPPED)
    if error is not None and error.action is forms.ErrorAction.HUMAN_INTERVENTION:
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
        case GovernedPhase.REVIEW, ErrorType.PERSON_ASKED, False if work.review is not None:
            said = msgspec.json.decode(entry.input, type=_Input).text or "a person said no"
            issue = forms.ReviewIssue(task_ref="person", severity="MAJOR", description=said)
            issues = (*work.review.issues, issue)
            return replace(after, review=replace(work.review, result="REJECTED", issues=issues))
        case _, ErrorType.ITERATION_OVERFLOW, True:
            return replace(after, extra=work.extra + work.iteration, iteration=work.iteration + 1, fixes=0)
        case GovernedPhase.PLAN, _, True:
            return replace(after, commands=work.commands | frozenset(asked.commands))
        case GovernedPhase.CONDUCT, ErrorType.PERSON_ASKED, True:
            return replace(after, approved=asked.subject == work.subject)
        case _:
            return after


# --- what may be called, and the decision -------------------------------------------------------------------


class PhaseRefusedError(ToolRuleError):
    """A phase may not be called now, and nothing was done."""


def check_order(work: Work, phase: GovernedPhase) -> None:
    """Raise PhaseRefusedError, which names what to do first, where a phase may not be called."""
    if work.question is not None:
        raise PhaseRefusedError("governance-waits", lock=work.lock, question=work.question.message)
    allowed = MAY_CALL[work.stage]
    if not allowed:
        raise PhaseRefusedError("governance-over", lock=work.lock, stage=work.stage)
    if phase not in allowed:
        first = f"phase_{allowed[0]}"
        raise PhaseRefusedError("governance-order", phase=phase, stage=work.stage, first=first)


def decide(
    work: Work, rules: ModeRules, said: forms.ConductInput
) -> tuple[forms.Decision, TroubleError | None]:
    """Return what becomes of the change, and the trouble with it. `said`: what the caller believes of it."""
    reviewed = work.review.result if work.review else None
    tested = work.testing.result if work.testing else None
    known = {"review_result": reviewed, "test_result": tested, "iteration_count": work.iteration}
    for name, held in known.items():
        if (given := getattr(said, name)) not in {None, held}:
            values = {"field": name, "given": str(given), "known": str(held or "none")}
            return "STOP", TroubleError(ErrorType.STRUCTURAL_VIOLATION, "contradicted", **values)
    if reviewed == "APPROVED" and tested == "PASSED":
        if rules.forced_human_intervention and not work.approved:
            return "STOP", TroubleError(ErrorType.PERSON_ASKED, "ask-delivery")
        return "DELIVER", None
    most = min(rules.max_iterations, said.max_iterations or rules.max_iterations)
    if work.iteration >= most + work.extra:
        return "STOP", TroubleError(ErrorType.ITERATION_OVERFLOW, "overflow", iteration=str(work.iteration))
    if work.review and reviewed == "REJECTED":
        named = "; ".join(issue.description for issue in work.review.issues)
        return "ITERATE", TroubleError(ErrorType.MAJOR_ISSUE, "rejected", issues=named)
    failed = "; ".join(work.testing.failed_clauses) if work.testing else "nothing was tested"
    return "ITERATE", TroubleError(ErrorType.FAILED_CLAUSE, "tests-failed", failed=failed)
