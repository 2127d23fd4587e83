"""The task loop of a session: where it stands, what failed, and what was decided."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.goal import Goal
from sidecar.kernel.session import SessionKey

LOOP_HOST: Final = "loop"
"""The host name in session keys of `supervisor loop`."""

CommandType = Literal["plan", "implement", "bug", "issue"]
"""What a loop session is for."""

ExecutionMode = Literal["normal", "eco"]
"""eco begins with the cheapest model and escalates later."""


def loop_command(session: str) -> str:
    """Return the command that goes on with a session of `supervisor loop`."""
    return f"supervisor loop --session {session}"


class LoopStatus(StrEnum):
    """The status of a loop session."""

    INITIALIZING = "initializing"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"


class LoopState(StrEnum):
    """What the loop is doing, or waits for."""

    IDLE = "idle"
    INITIALIZING = "initializing"
    SELECTING_AGENT = "selecting_agent"
    EXECUTING = "executing"
    AWAITING_QUALITY_GATES = "awaiting_quality_gates"
    EVALUATING_RESULTS = "evaluating_results"
    ESCALATING = "escalating"
    ACTIVATING_BUG_COUNCIL = "activating_bug_council"
    COMPLETED = "completed"
    FAILED = "failed"


class Tier(StrEnum):
    """The rungs of the escalation ladder, the lowest first."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    COUNCIL = "council"


class GateVerdict(StrEnum):
    """What all gates of one report amount to."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    HALT = "halt"
    COULD_NOT_RUN = "could-not-run"


class Severities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of findings by severity, 0 where the output tells none."""

    critical: int = 0
    high: int = 0
    medium: int = 0
    low: int = 0


class GateResult(Severities, frozen=True, kw_only=True, omit_defaults=True):
    """One gate of a report.

    `errors` are the first five, `more` is how many there are beyond them. `failing` are the names of tests
    that fail. `passed` and `failed` count tests, `failed` also the errors of a linter or type checker, and
    `warnings` its warnings, where its report tells. `percent` is the coverage, None where unknown; `critical`
    to `low` count the findings of a security gate, where its output tells.
    """

    id: str
    kind: str
    verdict: GateVerdict
    required: bool = False
    errors: tuple[str, ...] = ()
    more: int = 0
    failing: tuple[str, ...] = ()
    passed: int | None = None
    failed: int = 0
    warnings: int = 0
    percent: float | None = None
    reason: str = ""


class LoopFailure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One report that was not accepted. `model` is the worker's; "" where an agent works itself."""

    iteration: int
    task: str
    model: str
    agent: str = ""
    errors: tuple[str, ...] = ()
    gates_failed: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    summary: str = ""


class Escalation(Struct, frozen=True, kw_only=True):
    """One step up the ladder. `at` is seconds since the epoch."""

    from_tier: Tier
    to_tier: Tier
    reason: str
    iteration: int
    at: float


class CouncilMember(StrEnum):
    """The five perspectives of the bug council."""

    ROOT_CAUSE_ANALYST = "root_cause_analyst"
    CODE_ARCHAEOLOGIST = "code_archaeologist"
    PATTERN_MATCHER = "pattern_matcher"
    SYSTEMS_THINKER = "systems_thinker"
    ADVERSARIAL_TESTER = "adversarial_tester"


class CouncilAnswer(Struct, frozen=True, kw_only=True):
    """What a member answers.

    `findings`: each is one fact that was observed, with the file and line, the test or the error that shows
    it. `confidence`: how sure it is that the hypothesis is the cause.
    """

    findings: Annotated[tuple[str, ...], Meta(min_length=1, max_length=12)]
    hypothesis: Annotated[str, Meta(min_length=1)]
    suggested_fix: Annotated[str, Meta(min_length=1)]
    confidence: Annotated[int, Meta(ge=0, le=100)]


class CouncilProposal(CouncilAnswer, frozen=True, kw_only=True):
    """What one member found."""

    member: CouncilMember


class CouncilDecision(Struct, frozen=True, kw_only=True):
    """What the council decided. `votes` are the weights of each member's proposal; `dissent` is kept.

    `reasons` say in a line for each vote how it came about.
    """

    winner: CouncilMember
    votes: tuple[tuple[CouncilMember, float], ...]
    root_cause: str
    recommended_fix: str
    additional_context: str = ""
    dissent: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


class CheckpointInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A state to come back to. `tree` is the id of the files' checkpoint, "" where none was made."""

    id: str
    at: float
    description: str = ""
    tree: str = ""


class LoopCheckpoint(CheckpointInfo, frozen=True, kw_only=True, omit_defaults=True):
    """Such a state itself: the loop without its checkpoints, and the tasks' statuses then."""

    loop: Loop | None = None
    statuses: tuple[tuple[str, str], ...] = ()


class TaskProgress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a task came. `task` is its id, "" for none; `agent` works on it.

    `iteration` counts the reports on it, `consecutive_failures` those since the last step up. `council_met`:
    a council has decided on it.
    """

    task: str = ""
    agent: str = ""
    tier: Tier = Tier.SMALL
    iteration: int = 0
    consecutive_failures: int = 0
    council_met: bool = False
    decision: CouncilDecision | None = None


class LoopOverview(TaskProgress, frozen=True, kw_only=True, omit_defaults=True):
    """Where the loop of a session stands, with the progress of the task at work.

    `spent_cents` is None where a price was unknown. `held` are tasks that failed or were halted, which only a
    person gives back to the agent.
    """

    command: str = ""
    command_type: CommandType = "implement"
    mode: ExecutionMode = "normal"
    status: LoopStatus = LoopStatus.INITIALIZING
    state: LoopState = LoopState.IDLE
    input_tokens: int = 0
    output_tokens: int = 0
    spent_cents: float | None = 0.0
    held: tuple[str, ...] = ()
    end_reason: str = ""


class Loop(LoopOverview, frozen=True, kw_only=True, omit_defaults=True):
    """The loop of one session, and all that is remembered for it.

    `gates` are the results of the last report. `goals` are what is asked of each begun task, by its id, with
    the files as they were then. While one is open, the next is judged by the same files, so that a task in
    between hides no change of a check. `base` are the files as they were when the task at work was begun:
    what changed since is its work. `began` are those when Supervisor began to play it. `parked` are tasks
    that were begun and are not at work. `priced_cents` is what models with a price took: a limit holds for
    it, also where another model has none.
    """

    key: SessionKey
    revision: int = 0
    gates: tuple[GateResult, ...] = ()
    failures: tuple[LoopFailure, ...] = ()
    escalations: tuple[Escalation, ...] = ()
    proposals: tuple[CouncilProposal, ...] = ()
    checkpoints: tuple[LoopCheckpoint, ...] = ()
    base: FileBaseline = FileBaseline()
    began: FileBaseline = FileBaseline()
    goals: tuple[Goal, ...] = ()
    parked: tuple[TaskProgress, ...] = ()
    priced_cents: float = 0.0

    def overview(self) -> dict[str, Any]:
        """Return the fields of LoopOverview by their names."""
        return {name: getattr(self, name) for name in LoopOverview.__struct_fields__}

    @property
    def goal(self) -> Goal | None:
        """What is asked of the task at work."""
        return next((one for one in self.goals if one.id == self.task), None)

    @property
    def own_failures(self) -> tuple[LoopFailure, ...]:
        """The failures of the task at work, the oldest first."""
        return tuple(one for one in self.failures if one.task == self.task)
