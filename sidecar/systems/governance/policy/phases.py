"""What each phase is given, and what its worker, or the calling agent in its place, answers."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from sidecar.kernel.governance import (
    Analysis,
    Implementation,
    MinorFix,
    Name,
    Nfrs,
    Phase,
    PlannedTask,
    ReviewIssue,
    ReviewResult,
    TestingResult,
    Text,
)

Texts = Annotated[tuple[Text, ...], Meta(max_length=50)]
Tasks = Annotated[tuple[PlannedTask, ...], Meta(max_length=50)]
Answer = dict[str, Any] | None
"""The work of the calling agent itself, where no worker does it: JSON that fits the phase's answer."""


class AnalyzeInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The problem, in the user's words."""

    problem_statement: Annotated[str, Meta(min_length=1, max_length=8_000)]
    user_requirements: Texts = ()
    answer: Answer = None


class PlanInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The payload of analyze."""

    analysis: Analysis | None = None
    answer: Answer = None


class ImplementInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tasks, and rules of the user's own.

    A rule "only GLOB ..." or "never GLOB ..." bounds the files that may change; any other is told to whoever
    implements and reviews.
    """

    tasks: Tasks = ()
    om_rules: Texts = ()
    iteration: Annotated[int, Meta(ge=1)] | None = None
    answer: Answer = None


class ReviewInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tasks and the payload of implement. `quick_fix_eligible`: minor issues may be mended at once."""

    tasks: Tasks = ()
    implementation: Implementation | None = None
    quick_fix_eligible: bool = False
    answer: Answer = None


class TestInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tasks and the payload of implement. `verify_by_clauses` are verified besides those of the tasks."""

    __test__ = False

    tasks: Tasks = ()
    implementation: Implementation | None = None
    verify_by_clauses: Texts = ()
    answer: Answer = None


class ConductInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the caller believes of the change; a belief that the audit contradicts ends the work.

    `max_iterations` may only lower that of the mode.
    """

    review_result: ReviewResult | None = None
    test_result: TestingResult | None = None
    iteration_count: Annotated[int, Meta(ge=1)] | None = None
    max_iterations: Annotated[int, Meta(ge=1)] | None = None


class ImplementedFile(Struct, frozen=True, kw_only=True):
    """A changed file, and the number of the task that it belongs to."""

    path: Name
    task_ref: Name


class ImplementAnswer(Struct, frozen=True, kw_only=True):
    """Every file that was changed, with its task, and what was done."""

    files: Annotated[tuple[ImplementedFile, ...], Meta(max_length=1_000)]
    message: Text


class WrittenFile(ImplementedFile, frozen=True, kw_only=True):
    """`content` is the whole new text of the file, null to remove it."""

    content: str | None


class WrittenAnswer(ImplementAnswer, frozen=True, kw_only=True):
    """As ImplementAnswer, from the calling agent, which has no copy of the project to write in."""

    files: Annotated[tuple[WrittenFile, ...], Meta(max_length=1_000)]


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

    __test__ = False

    result: TestingResult
    clauses: Annotated[tuple[JudgedClause, ...], Meta(max_length=100)]
    metrics: Annotated[tuple[Metric, ...], Meta(max_length=50)] = ()
    screenshots: Annotated[tuple[Name, ...], Meta(max_length=20)] = ()


INPUTS: Final[dict[Phase, type[Struct]]] = {
    Phase.ANALYZE: AnalyzeInput,
    Phase.PLAN: PlanInput,
    Phase.IMPLEMENT: ImplementInput,
    Phase.REVIEW: ReviewInput,
    Phase.TEST: TestInput,
    Phase.CONDUCT: ConductInput,
}
