"""What the tools of the toolset `loop` take and give, beside the Structs of the task loop that they share."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from sidecar.kernel.loop import (
    CommandType,
    CouncilDecision,
    CouncilMember,
    ExecutionMode,
    GateResult,
    LoopFailure,
)
from sidecar.kernel.settings import LoopSettings, ModelPrice
from sidecar.systems.taskloop.policy.selection import AgentScore
from sidecar.systems.taskloop.service import Text

GivenText = Annotated[str, Meta(min_length=1, max_length=4_000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Paths = Annotated[tuple[Annotated[str, Meta(max_length=1_000)], ...], Meta(max_length=5_000)]
TokenCount = Annotated[int, Meta(ge=0, le=1_000_000_000)]

# --- what the tools take ------------------------------------------------------------------------------------


class SessionRequest(Struct, frozen=True, kw_only=True):
    """What the session is for."""

    command: GivenText
    command_type: CommandType
    execution_mode: ExecutionMode = ExecutionMode.NORMAL


class SessionEnd(Struct, frozen=True, kw_only=True):
    """How the session ends."""

    status: Literal["completed", "failed", "paused"]
    reason: Text = ""


class CompletionReport(Struct, frozen=True, kw_only=True):
    """What the agent says that it did."""

    files_changed: Paths
    summary: GivenText


class Files(Struct, frozen=True, kw_only=True):
    """Paths, relative to the project."""

    files: Paths


class Reason(Struct, frozen=True, kw_only=True):
    """Why."""

    reason: GivenText


class AgentName(Struct, frozen=True, kw_only=True):
    """An agent."""

    agent_id: Name


class Tokens(Struct, frozen=True, kw_only=True):
    """What a model took."""

    model: Name
    input: TokenCount
    output: TokenCount


class CheckpointText(Struct, frozen=True, kw_only=True):
    """What a checkpoint is for."""

    description: Annotated[str, Meta(max_length=200)] = ""


class CheckpointChoice(Struct, frozen=True, kw_only=True):
    """A checkpoint, and the word that its differences were shown with."""

    checkpoint_id: Name
    confirm: Annotated[str, Meta(max_length=40)] = ""


# --- what they give: each field is one of the task loop's Structs, by its name there ------------------------

# `text` is the whole answer in words, as Claude Code shows a model the fields alone. It comes last: how an
# answer begins decides whether it is one that completes a task (hosts/own_tools.py).


class LoopEvent(Struct, frozen=True, kw_only=True):
    """An event of the loop; `at` is seconds since the epoch."""

    at: float
    kind: str
    text: str


class LoopReport(Struct, frozen=True, kw_only=True):
    """Where a loop stands. `cents` is None where a price is unknown."""

    status: str
    state: str
    command: str
    command_type: str
    mode: str = field(name="execution_mode")
    task: str
    agent: str
    tier: str
    iteration: int
    consecutive_failures: int
    input_tokens: int
    output_tokens: int
    spent_cents: float | None = field(name="cents")
    end_reason: str = ""
    held: tuple[str, ...] = field(name="waits_for_person", default=())
    events: tuple[LoopEvent, ...] = ()


class TaskReport(Struct, frozen=True, kw_only=True):
    """A task at work. `enforced`: whether Supervisor itself chose the model of who works on it."""

    task: str
    content: str
    complexity: int
    acceptance_criteria: tuple[str, ...]
    scope_files: tuple[str, ...]
    sprint: str = ""
    agent: str
    role: str = ""
    can_modify: tuple[str, ...]
    cannot_modify: tuple[str, ...]
    tier: str
    model: str
    enforced: bool = False
    iteration: int
    consecutive_failures: int
    state: str
    support: tuple[str, ...] = ()
    scores: tuple[AgentScore, ...] = ()
    reasoning: tuple[str, ...] = ()
    failures: tuple[LoopFailure, ...] = ()
    gates: tuple[GateResult, ...] = ()
    decision: CouncilDecision | None = None
    text: str = ""


class CompletionRuled(Struct, frozen=True, kw_only=True):
    """The answer to a report. `blocking` are the required gates that did not pass."""

    action: str
    exit_signal: bool
    verdict: str
    reason: str
    status: str
    state: str
    tier: str
    model: str
    enforced: bool = False
    iteration: int
    stuck: str = ""
    gates: tuple[GateResult, ...] = ()
    blocking: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    unreported: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    text: str = ""


class ScopeReport(Struct, frozen=True, kw_only=True):
    """Which files the task may not change."""

    ok: bool
    outside: tuple[str, ...]


class CouncilReport(Struct, frozen=True, kw_only=True):
    """Who was not heard yet, and the decision when all were."""

    task: str
    missing: tuple[CouncilMember, ...]
    decision: CouncilDecision | None = None
    text: str = ""


class CheckpointInfo(Struct, frozen=True, kw_only=True):
    """A checkpoint. `tree`: it has the files."""

    id: str
    at: float
    description: str
    tree: bool


class CheckpointsListed(Struct, frozen=True, kw_only=True):
    """The checkpoints of a session, oldest first."""

    checkpoints: tuple[CheckpointInfo, ...]


class RestoreReport(Struct, frozen=True, kw_only=True):
    """A restore: what it would change, with the word to confirm it, or what it changed."""

    done: bool
    confirm: str
    files: tuple[str, ...]
    kept: str = ""
    text: str = ""


class AgentInfo(Struct, frozen=True, kw_only=True):
    """An agent of the list."""

    id: str
    name: str
    category: str
    purpose: str
    model: str


class AgentsListed(Struct, frozen=True, kw_only=True):
    """The agents that may be used in a project."""

    agents: tuple[AgentInfo, ...]


class AgentReport(AgentInfo, frozen=True, kw_only=True):
    """An agent."""

    role: str
    can_modify: tuple[str, ...]
    cannot_modify: tuple[str, ...]
    outputs: tuple[str, ...]
    instructions: str


class LoopHistory(Struct, frozen=True, kw_only=True):
    """The newest events of a session's loop, oldest first."""

    events: tuple[LoopEvent, ...]


class TierModel(Struct, frozen=True, kw_only=True):
    """The model of a rung of the ladder; `price` is None where the settings have none."""

    tier: str
    model: str
    price: ModelPrice | None


class LoopConfiguration(Struct, frozen=True, kw_only=True):
    """The settings that the loop goes by, without what could hold a secret."""

    loop: LoopSettings
    models: tuple[TierModel, ...]
