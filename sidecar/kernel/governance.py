"""Governed phases: what each answers, which errors there are, and the lock under which they run."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from sidecar.kernel.audit import Mode

Text = Annotated[str, Meta(max_length=8_000)]
Pair = Annotated[tuple[int, ...], Meta(min_length=2, max_length=2)]
Name = Annotated[str, Meta(min_length=1, max_length=1_000)]


class Phase(StrEnum):
    """The phases, in their order."""

    ANALYZE = "analyze"
    PLAN = "plan"
    IMPLEMENT = "implement"
    REVIEW = "review"
    TEST = "test"
    CONDUCT = "conduct"


SECTIONS: Final = {
    Phase.ANALYZE: "[ANALYSIS]",
    Phase.PLAN: "[TASKS]",
    Phase.IMPLEMENT: "[IMPLEMENTATION]",
    Phase.REVIEW: "[REVIEW]",
    Phase.TEST: "[TEST]",
    Phase.CONDUCT: "[FINAL]",
}


# --- payloads -----------------------------------------------------------------------------------------------


class Verifiability(StrEnum):
    """HARD: commands can decide it. SOFT: somebody must judge it. NON-VERIFIABLE: nobody could tell."""

    HARD = "HARD"
    SOFT = "SOFT"
    NON_VERIFIABLE = "NON-VERIFIABLE"


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


class RuleResult(Struct, frozen=True, kw_only=True):
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


class Implementation(Struct, frozen=True, kw_only=True):
    """A change that waits to be delivered; the project is as it was."""

    artifacts: Artifacts
    rules: tuple[RuleResult, ...] = ()


class ReviewResult(StrEnum):
    """The result of a review."""

    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


class Severity(StrEnum):
    """A MAJOR issue rejects a change, a MINOR one does not by itself."""

    MAJOR = "MAJOR"
    MINOR = "MINOR"


class MinorFix(StrEnum):
    """Rules by which a rejected change may be mended at once, in the same iteration, where all is minor."""

    NAMING = "MINOR_FIX_NAMING"
    COMMENT = "MINOR_FIX_COMMENT"
    FORMAT = "MINOR_FIX_FORMAT"
    DOCS = "MINOR_FIX_DOCS"


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


class TestingResult(StrEnum):
    """The result of testing."""

    __test__ = False

    PASSED = "PASSED"
    FAILED = "FAILED"
    EVIDENCE_UNAVAILABLE = "EVIDENCE_UNAVAILABLE"


class KeptFile(Struct, frozen=True, kw_only=True):
    """A file that was kept as evidence, and the SHA-256 digest of its content."""

    path: str
    digest: str


class TestEvidence(Struct, frozen=True, kw_only=True):
    """What shows the result. `test_output` is the end of what was run."""

    __test__ = False

    test_output: str
    metrics: dict[str, float] = {}
    screenshots: tuple[KeptFile, ...] = ()


class Testing(Struct, frozen=True, kw_only=True):
    """What running a change has shown."""

    __test__ = False

    result: TestingResult
    evidence: TestEvidence
    failed_clauses: tuple[str, ...] = ()
    rules: tuple[RuleResult, ...] = ()


class Decision(StrEnum):
    """What becomes of a change."""

    DELIVER = "DELIVER"
    ITERATE = "ITERATE"
    STOP = "STOP"


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


# --- errors -------------------------------------------------------------------------------------------------


class Action(StrEnum):
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
    PERSON_ASKED = "PERSON_ASKED"
    CONFLICT = "CONFLICT"


class PhaseError(Struct, frozen=True, kw_only=True):
    """Why a phase did not simply succeed, and what to do."""

    type: ErrorType
    message: str
    action: Action


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
