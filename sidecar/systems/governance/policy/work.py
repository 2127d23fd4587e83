"""Where the work under a lock stands: a fold over the entries of its audit, and the decision at its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel import governance as forms
from sidecar.kernel.decoding import read_json
from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.governance import ErrorType, GovernedPhase
from sidecar.kernel.log import AuditEntry
from sidecar.kernel.settings import Mode, ModeRules
from sidecar.systems.governance.policy.table import AFTER_ANSWER, MAY_CALL, NEXT_STAGE, Rule, Stage

PHASE_TOOL: Final = "phase_"
"""How the tool of a phase begins in the audit."""
ANSWER_TOOL: Final = "answer"
LOCK_TOOL: Final = "lock"
YES: Final = "yes"
NOTES: Final = 10
"""The last messages of phases that the next worker is told."""
SHOWN: Final = 200
"""Characters of a value in a message."""


class TroubleError(Exception):
    """An error before it is worded: a section of rubric/governance.md, and what fills it.

    A phase that ends without a payload raises it; one that has a payload returns it beside.
    """

    def __init__(self, error: ErrorType, section: str, **values: str) -> None:
        super().__init__(section)
        self.error, self.section, self.values = error, section, values


class Question(Struct, frozen=True):
    """What a person is asked: by which phase, why, and about which change. `commands` would be run."""

    phase: GovernedPhase
    error: ErrorType
    message: str
    subject: str = ""
    commands: tuple[str, ...] = ()


class Work(Struct, frozen=True, kw_only=True):
    """The work under one lock.

    `iteration` counts from 1, `extra` is what a person added to the iterations. `requirements` are the user's
    besides the problem, and what they said in their answers; `notes` are what phases said since the last
    change was made. `subject` names that change, as `implementation` shows it; `review` and `testing` are
    about that very change, and so is what a person `approved` for delivery. `commands` are those that a
    person let run. `tested_tree` is the digest of the files on which it was tested, `fixes` counts the quick
    fixes of this iteration. `unshown`: the last phase had no evidence, so another way is taken.
    """

    lock: str
    mode: Mode = Mode.FULL
    stage: Stage = Stage.NEW
    iteration: int = 1
    extra: int = 0
    problem: str = ""
    requirements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
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
    unshown: bool = False
    question: Question | None = None


class PhaseOutput(Struct, frozen=True, omit_defaults=True):
    """What the audit keeps of what a phase put out; see `PhaseDone`. `tokens`, `cents`: of its worker."""

    payload: Any = None
    error: forms.PhaseError | None = None
    commands: tuple[str, ...] = ()
    tree: str = ""
    tokens: int = 0
    cents: float | None = 0.0

    def read_payload(self, phase: GovernedPhase) -> Any:  # noqa: ANN401 - the Struct of this phase, or None
        """Return a decoded payload as the Struct that it was."""
        return msgspec.convert(self.payload, forms.FORMS[phase].payload | None)


class _Input(Struct, frozen=True):
    """What is read of an input: the user's words."""

    problem_statement: str = ""
    user_requirements: tuple[str, ...] = ()
    text: str = ""


def phase_output(entry: AuditEntry) -> PhaseOutput:
    """Return what a phase put out; an entry that is none put out nothing."""
    return read_json(entry.output, PhaseOutput) or PhaseOutput()


def describe_cost(entry: AuditEntry) -> str:
    """Say what the worker of a phase took, "" where there was none."""
    took = phase_output(entry)
    cents = "cost unknown" if took.cents is None else f"{took.cents:.2f} cents"
    return f"{took.tokens:,} tokens, {cents}" if took.tokens else ""


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
    payload, error = shown.read_payload(phase), shown.error
    of_this_change = payload if entry.subject == work.subject else None
    after = replace(
        work,
        stage=NEXT_STAGE.get((phase, entry.result), work.stage),
        notes=tuple(dict.fromkeys((*work.notes, error.message)))[-NOTES:] if error else work.notes,
        unshown=error is not None and error.type is ErrorType.EVIDENCE_UNAVAILABLE,
    )
    match phase:
        case GovernedPhase.ANALYZE:
            said = msgspec.json.decode(entry.input, type=_Input)
            after = replace(after, problem=said.problem_statement, requirements=said.user_requirements)
            after = replace(after, analysis=payload or work.analysis)
        case GovernedPhase.PLAN:
            after = replace(after, plan=payload or work.plan)
        case GovernedPhase.IMPLEMENT if entry.subject not in {"", work.subject}:
            after = replace(after, subject=entry.subject, implementation=payload, notes=())
            after = replace(after, review=None, testing=None, approved=False)
        case GovernedPhase.REVIEW:
            fixes = work.fixes + (after.stage is Stage.QUICK_FIX)
            after = replace(after, review=of_this_change, fixes=fixes)
        case GovernedPhase.TEST:
            after = replace(after, testing=of_this_change, tested_tree=shown.tree)
        case GovernedPhase.CONDUCT if entry.result == "ITERATE":
            after = replace(after, iteration=work.iteration + 1, fixes=0)
    if error is not None and error.action is forms.ErrorAction.STOP:
        return replace(after, stage=Stage.STOPPED)
    if error is not None and error.action is forms.ErrorAction.HUMAN_INTERVENTION:
        asked = Question(phase, error.type, error.message, entry.subject, shown.commands)
        return replace(after, question=asked)
    return after


def _after_answer(work: Work, entry: AuditEntry) -> Work:
    asked = work.question
    if asked is None:
        return work
    yes, text = entry.result == YES, msgspec.json.decode(entry.input, type=_Input).text
    stage = AFTER_ANSWER[asked.phase, asked.error][0 if yes else 1]
    said = (*work.requirements, text) if text else work.requirements
    after = replace(work, question=None, stage=stage, requirements=said)
    match asked.phase, asked.error, yes:
        case GovernedPhase.REVIEW, ErrorType.PERSON_ASKED, _ if work.review is not None:
            return replace(after, review=_answered_review(work.review, text, yes=yes))
        case _, ErrorType.ITERATION_OVERFLOW, True:
            return replace(after, extra=work.extra + work.iteration, iteration=work.iteration + 1, fixes=0)
        case GovernedPhase.PLAN, _, True:
            return replace(after, commands=work.commands | frozenset(asked.commands))
        case GovernedPhase.CONDUCT, ErrorType.PERSON_ASKED, True:
            return replace(after, approved=asked.subject == work.subject)
        case _:
            return after


def _answered_review(review: forms.Review, text: str, *, yes: bool) -> forms.Review:
    """Return a review that a person was asked about: R004 holds; a no is a MAJOR issue."""
    held = forms.RuleResult(Rule.HUMAN_ON_ERROR, passed=True, why=f"a person said {YES if yes else 'no'}")
    rules = tuple(held if rule.rule == held.rule else rule for rule in review.rules)
    if yes:
        return replace(review, rules=rules)
    issue = forms.ReviewIssue(task_ref="person", severity="MAJOR", description=text or held.why)
    return replace(review, rules=rules, result="REJECTED", issues=(*review.issues, issue))


# --- what may be called, and the decision -------------------------------------------------------------------


class PhaseRefusedError(ToolRuleError):
    """A phase may not be called now, and nothing was done."""


def next_phase(work: Work) -> GovernedPhase | None:
    """Return the phase to call, None where the work is over."""
    allowed = MAY_CALL[work.stage]
    return allowed[-1 if work.unshown else 0] if allowed else None


def check_order(work: Work, phase: GovernedPhase) -> None:
    """Raise PhaseRefusedError, which names what to do first, where a phase may not be called."""
    if work.question is not None:
        raise PhaseRefusedError("governance-waits", lock=work.lock, question=work.question.message)
    if (first := next_phase(work)) is None:
        raise PhaseRefusedError("governance-over", lock=work.lock, stage=work.stage)
    if phase not in MAY_CALL[work.stage]:
        raise PhaseRefusedError("governance-order", phase=phase, stage=work.stage, first=f"phase_{first}")


def find_contradiction(work: Work, given: Struct) -> dict[str, str]:
    """Return what a caller passed that the audit contradicts: `field`, `given`, `known`; else nothing."""
    known = {
        "analysis": work.analysis,
        "tasks": work.plan and work.plan.tasks,
        "implementation": work.implementation,
        "iteration": work.iteration,
        "iteration_count": work.iteration,
        "review_result": work.review and work.review.result,
        "test_result": work.testing and work.testing.result,
    }
    for name, held in known.items():
        passed, holds = getattr(given, name, None), msgspec.to_builtins(held)
        for part in ("payload", "tasks", "result"):  # of a whole output, what is compared
            passed = passed[part] if isinstance(passed, dict) and part in passed else passed
        if passed and not _agrees(passed, holds):
            return {"field": name, "given": str(passed)[:SHOWN], "known": str(holds or "none")[:SHOWN]}
    return {}


def _agrees(passed: object, known: object) -> bool:
    """Whether all that was passed is known, where it was said to be."""
    if isinstance(passed, dict) and isinstance(known, dict):
        return all(name in known and _agrees(one, known[name]) for name, one in passed.items())
    if isinstance(passed, list | tuple) and isinstance(known, list | tuple):
        return len(passed) == len(known) and all(map(_agrees, passed, known))
    return passed == known


def decide(
    work: Work, rules: ModeRules, said: forms.ConductInput
) -> tuple[forms.Decision, TroubleError | None]:
    """Return what becomes of the change, and the trouble with it. `said`: what the caller believes of it."""
    if wrong := find_contradiction(work, said):
        return "STOP", TroubleError(ErrorType.STRUCTURAL_VIOLATION, "contradicted", **wrong)
    review, testing = work.review, work.testing
    if review and testing and (review.result, testing.result) == ("APPROVED", "PASSED"):
        if rules.forced_human_intervention and not work.approved:
            return "STOP", TroubleError(ErrorType.PERSON_ASKED, "ask-delivery")
        return "DELIVER", None
    most = min(rules.max_iterations, said.max_iterations or rules.max_iterations)
    if work.iteration >= most + work.extra:
        return "STOP", TroubleError(ErrorType.ITERATION_OVERFLOW, "overflow", iteration=str(work.iteration))
    if review and review.result == "REJECTED":
        named = "; ".join(issue.description for issue in review.issues)
        trouble = TroubleError(ErrorType.MAJOR_ISSUE, "rejected", issues=named)
    elif testing and testing.result == "EVIDENCE_UNAVAILABLE":
        unseen = "; ".join(rule.why for rule in testing.rules)
        trouble = TroubleError(ErrorType.EVIDENCE_UNAVAILABLE, "no-evidence", unseen=unseen)
    else:
        failed = "; ".join(testing.failed_clauses) if testing else "nothing was tested"
        trouble = TroubleError(ErrorType.FAILED_CLAUSE, "tests-failed", failed=failed)
    return "ITERATE", trouble
