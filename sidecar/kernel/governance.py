"""Governed phases: what each is given, asks its worker for and puts out; the errors, and the lock."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal, NamedTuple

from msgspec import Meta, Struct

from sidecar.kernel.decoding import UNLISTED
from sidecar.kernel.settings import Mode

Text = Annotated[str, Meta(max_length=8_000)]
Pair = Annotated[tuple[int, ...], Meta(min_length=2, max_length=2)]
Name = Annotated[str, Meta(min_length=1, max_length=1_000)]
IterationNumber = Annotated[int, Meta(ge=1)]


class GovernedPhase(StrEnum):
    """The phases, in their order."""

    ANALYZE = "analyze"
    PLAN = "plan"
    IMPLEMENT = "implement"
    REVIEW = "review"
    TEST = "test"
    CONDUCT = "conduct"


# --- payloads -----------------------------------------------------------------------------------------------


Verifiability = Literal["HARD", "SOFT", "NON-VERIFIABLE"]
"""HARD: commands can decide it. SOFT: somebody must judge it. NON-VERIFIABLE: nobody could tell."""


class Nfrs(Struct, frozen=True, kw_only=True):
    """What is asked for besides the function, "" where nothing is."""

    performance: Text = ""
    maintainability: Text = ""
    security: Text = ""
    compatibility: Text = ""


class Analysis(Struct, frozen=True, kw_only=True):
    """What a problem asks for."""

    verifiability: Verifiability
    nfrs: Nfrs
    risks: tuple[Text, ...]
    unknowns: tuple[Text, ...]


class PlannedTask(Struct, frozen=True, kw_only=True):
    """One step. `verify_by` is a clause that shows it (see policy.clauses)."""

    todo: Name
    done_when: Name
    verify_by: Name


class Plan(Struct, frozen=True, kw_only=True):
    """The tasks, and pairs of their numbers, from 1: the first is done before the second."""

    tasks: Annotated[tuple[PlannedTask, ...], Meta(min_length=1, max_length=50)]
    dependencies: tuple[Pair, ...] = ()


class RuleResult(Struct, frozen=True):
    """Whether a rule holds, and why."""

    rule: str
    passed: bool
    why: str


class ImplementationMetadata(Struct, frozen=True, kw_only=True):
    """Which iteration this is, from 1, and how many files changed."""

    iteration: int
    changes_count: int


class Artifacts(Struct, frozen=True, kw_only=True):
    """The changed files, and a unified diff of them, cut to 60,000 characters."""

    files: tuple[str, ...]
    diff: str
    metadata: ImplementationMetadata


class ImplementedChange(Struct, frozen=True, kw_only=True):
    """A change that waits to be delivered; the project is as it was."""

    artifacts: Artifacts
    rules: tuple[RuleResult, ...] = ()


ReviewResult = Literal["APPROVED", "REJECTED"]


Severity = Literal["MAJOR", "MINOR"]
"""A MAJOR issue rejects a change, a MINOR one does not by itself."""


MinorFix = Literal["MINOR_FIX_NAMING", "MINOR_FIX_COMMENT", "MINOR_FIX_FORMAT", "MINOR_FIX_DOCS"]
"""Rules by which a rejected change may be mended at once, in the same iteration, where all is minor."""


class ReviewIssue(Struct, frozen=True, kw_only=True):
    """What is wrong. `task_ref` is the number of a task, or what found it, such as "gate:lint"."""

    task_ref: str
    severity: Severity
    description: Text


class Review(Struct, frozen=True, kw_only=True):
    """What a review found in one change."""

    result: ReviewResult
    issues: tuple[ReviewIssue, ...]
    quick_fix_trigger: MinorFix | None = None
    rules: tuple[RuleResult, ...] = ()


TestingResult = Literal["PASSED", "FAILED", "EVIDENCE_UNAVAILABLE"]


class KeptFile(Struct, frozen=True, kw_only=True):
    """A file that was kept as evidence, and the SHA-256 digest of its content."""

    path: str
    digest: str


class TestEvidence(Struct, frozen=True, kw_only=True):
    """What shows the result. `test_output` is the end of what was run."""

    test_output: str
    metrics: dict[str, float] = {}
    screenshots: tuple[KeptFile, ...] = ()


class Testing(Struct, frozen=True, kw_only=True):
    """What running a change has shown."""

    result: TestingResult
    evidence: TestEvidence
    failed_clauses: tuple[str, ...] = ()
    rules: tuple[RuleResult, ...] = ()


Decision = Literal["DELIVER", "ITERATE", "STOP"]
"""What becomes of a change."""


class Deliverables(Struct, frozen=True, kw_only=True):
    """The files that came into the project, and how to see the audit."""

    files: tuple[str, ...] = ()
    audit_log: str = ""


class FinalDecision(Struct, frozen=True, kw_only=True):
    """The decision about one change. `next_iteration` is None unless there is one."""

    decision: Decision
    reason: str
    next_iteration: int | None = None
    deliverables: Deliverables = Deliverables()


# --- what a phase is given, and what its worker, or the calling agent in its place, answers -----------------


Texts = Annotated[tuple[Text, ...], Meta(max_length=50)]
Answer = Annotated[dict[str, Any] | None, UNLISTED]
"""The work of the calling agent itself, where no worker does it; a call without it is told what fits."""
Shown = dict[str, Any]
"""What an earlier phase gave: its whole output, or the payload. It is only compared; the audit's counts."""


class PhaseInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the phases have in common in which somebody works."""

    answer: Answer = None


class AnalyzeInput(PhaseInput, frozen=True, kw_only=True):
    """The problem, in the user's words."""

    problem_statement: Annotated[str, Meta(min_length=1, max_length=8_000)]
    user_requirements: Texts = ()


class PlanInput(PhaseInput, frozen=True, kw_only=True):
    """What analyze gave."""

    analysis: Annotated[Shown | None, UNLISTED] = None


class TasksInput(PhaseInput, frozen=True, kw_only=True):
    """What plan gave, or its tasks."""

    tasks: Annotated[Shown | tuple[Shown, ...], UNLISTED] = ()


class ImplementInput(TasksInput, frozen=True, kw_only=True):
    """Rules of the user's own.

    A rule "only GLOB ..." or "never GLOB ..." bounds the files that may change; any other is told to whoever
    implements and reviews.
    """

    om_rules: Texts = ()
    iteration: Annotated[IterationNumber | None, UNLISTED] = None


class ReviewInput(TasksInput, frozen=True, kw_only=True):
    """What implement gave. `quick_fix_eligible`: minor issues may be mended at once."""

    implementation: Annotated[Shown | None, UNLISTED] = None
    quick_fix_eligible: bool = False


class TestInput(TasksInput, frozen=True, kw_only=True):
    """What implement gave. `verify_by_clauses` are verified besides those of the tasks."""

    implementation: Annotated[Shown | None, UNLISTED] = None
    verify_by_clauses: Texts = ()


class ConductInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the caller believes of the change; a belief that the audit contradicts ends the work.

    `max_iterations` may only lower that of the mode.
    """

    review_result: Annotated[ReviewResult | Shown | None, UNLISTED] = None
    test_result: Annotated[TestingResult | Shown | None, UNLISTED] = None
    iteration_count: Annotated[IterationNumber | None, UNLISTED] = None
    max_iterations: Annotated[IterationNumber | None, UNLISTED] = None


class ImplementedFile(Struct, frozen=True, kw_only=True):
    """A changed file, and the number of the task that it belongs to."""

    path: Name
    task_ref: Name


class ImplementAnswer(Struct, frozen=True, kw_only=True):
    """Every file that was changed, with its task, and what was done."""

    files: Annotated[tuple[ImplementedFile, ...], Meta(max_length=1_000)]
    message: Text


class AnsweredFile(ImplementedFile, frozen=True, kw_only=True):
    """`content` is the whole new text of the file, null to remove it."""

    content: str | None


class WrittenAnswer(ImplementAnswer, frozen=True, kw_only=True):
    """As ImplementAnswer, from the calling agent, which has no copy of the project to write in."""

    files: Annotated[tuple[AnsweredFile, ...], Meta(max_length=1_000)]


class ReviewAnswer(Struct, frozen=True, kw_only=True):
    """The result of a review. `nfrs` says how each non-functional requirement is met."""

    result: ReviewResult
    issues: Annotated[tuple[ReviewIssue, ...], Meta(max_length=100)]
    nfrs: Nfrs
    quick_fix_trigger: MinorFix | None = None


class JudgedClause(Struct, frozen=True, kw_only=True):
    """Whether a clause holds. `evidence` is FILE, FILE:LINE or an output that shows it."""

    clause: Text
    holds: bool
    evidence: Text


class Metric(Struct, frozen=True, kw_only=True):
    """A number that was measured."""

    name: Name
    value: float


class TestAnswer(Struct, frozen=True, kw_only=True):
    """What was found out. `screenshots` are paths of files that were made."""

    result: TestingResult
    clauses: Annotated[tuple[JudgedClause, ...], Meta(max_length=100)]
    metrics: Annotated[tuple[Metric, ...], Meta(max_length=50)] = ()
    screenshots: Annotated[tuple[Name, ...], Meta(max_length=20)] = ()


class PhaseForms(NamedTuple):
    """The name of a phase's section, what the phase is given, and what it puts out."""

    section: str
    given: type[Struct]
    payload: type[Struct]


FORMS: Final = {
    GovernedPhase.ANALYZE: PhaseForms("[ANALYSIS]", AnalyzeInput, Analysis),
    GovernedPhase.PLAN: PhaseForms("[TASKS]", PlanInput, Plan),
    GovernedPhase.IMPLEMENT: PhaseForms("[IMPLEMENTATION]", ImplementInput, ImplementedChange),
    GovernedPhase.REVIEW: PhaseForms("[REVIEW]", ReviewInput, Review),
    GovernedPhase.TEST: PhaseForms("[TEST]", TestInput, Testing),
    GovernedPhase.CONDUCT: PhaseForms("[FINAL]", ConductInput, FinalDecision),
}


# --- errors -------------------------------------------------------------------------------------------------


class ErrorAction(StrEnum):
    """What to do about an error."""

    CONTINUE = "CONTINUE"
    RETRY = "RETRY"
    STOP = "STOP"
    HUMAN_INTERVENTION = "HUMAN_INTERVENTION"


class ErrorType(StrEnum):
    """What can go wrong in a phase."""

    NON_VERIFIABLE = "NON-VERIFIABLE"
    RULE_VIOLATION = "RULE_VIOLATION"
    EVIDENCE_UNAVAILABLE = "EVIDENCE_UNAVAILABLE"
    ITERATION_OVERFLOW = "ITERATION_OVERFLOW"
    STRUCTURAL_VIOLATION = "STRUCTURAL_VIOLATION"
    MAJOR_ISSUE = "MAJOR_ISSUE"
    FAILED_CLAUSE = "FAILED_CLAUSE"
    INVALID_ANSWER = "INVALID_ANSWER"
    INPUT_DIFFERS = "INPUT_DIFFERS"
    PROJECT_CHANGED = "PROJECT_CHANGED"
    PERSON_ASKED = "PERSON_ASKED"
    CONFLICT = "CONFLICT"


class PhaseError(Struct, frozen=True, kw_only=True):
    """Why a phase did not simply succeed, and what to do."""

    type: ErrorType
    message: str
    action: ErrorAction


# --- the lock -----------------------------------------------------------------------------------------------


class ContextLock(Struct, frozen=True, kw_only=True):
    """Who may change a project under governance, in seconds since the epoch.

    `holder` is "HOST:SESSION", or "shell" for a person; `process` is the shell's, 0 where only time ends it.
    """

    id: str
    project: str
    holder: str
    mode: Mode
    acquired: float
    expires: float
    process: int = 0
