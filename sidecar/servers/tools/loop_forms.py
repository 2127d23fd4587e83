"""What the tools of the toolset `loop` take and give, beside the Structs of the task loop that they share."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from sidecar.kernel.loop import (
    CheckpointInfo,
    CommandType,
    CouncilDecision,
    CouncilMember,
    ExecutionMode,
    LoopOverview,
)
from sidecar.kernel.settings import LoopSettings, ModelPrice
from sidecar.systems.taskloop.policy.agents import AgentHead
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
    execution_mode: ExecutionMode = "normal"


class LoopEnd(Struct, frozen=True, kw_only=True):
    """How the session ends."""

    status: Literal["completed", "failed", "paused"]
    reason: Text = ""


class CompletionReport(Struct, frozen=True, kw_only=True):
    """What the agent says that it did."""

    files_changed: Paths
    summary: GivenText


class FileList(Struct, frozen=True, kw_only=True):
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


# --- what they give, beside Structs of the task loop --------------------------------------------------------


class LoopEvent(Struct, frozen=True, kw_only=True):
    """An event of the loop; `at` is seconds since the epoch."""

    at: float
    kind: str
    text: str


class LoopReport(LoopOverview, frozen=True, kw_only=True, omit_defaults=False):
    """Where a loop stands, with its newest events."""

    mode: ExecutionMode = field(name="execution_mode")
    spent_cents: float | None = field(name="cents")
    held: tuple[str, ...] = field(name="waits_for_person")
    events: tuple[LoopEvent, ...] = ()


class ScopeReport(Struct, frozen=True, kw_only=True):
    """Which files the task may not change."""

    ok: bool
    outside: tuple[str, ...]


class CouncilReport(Struct, frozen=True, kw_only=True):
    """Who has not submitted yet, and the decision when all have."""

    task: str
    missing: tuple[CouncilMember, ...]
    decision: CouncilDecision | None = None


class CheckpointsListed(Struct, frozen=True, kw_only=True):
    """The checkpoints of a session, oldest first."""

    checkpoints: tuple[CheckpointInfo, ...]


class RestoreReport(Struct, frozen=True, kw_only=True):
    """A restore: what it would change, with the word to confirm it, or what it changed."""

    done: bool
    confirm: str
    files: tuple[str, ...]
    kept: str = ""


class AgentsListed(Struct, frozen=True, kw_only=True):
    """The agents that may be used in a project."""

    agents: tuple[AgentHead, ...]


class LoopHistory(Struct, frozen=True, kw_only=True):
    """The newest events of a session's loop, oldest first."""

    events: tuple[LoopEvent, ...]


class LoopConfiguration(Struct, frozen=True, kw_only=True):
    """The settings that the loop goes by, without what could hold a secret; prices by the models' names."""

    loop: LoopSettings
    models: dict[str, str]
    prices: dict[str, ModelPrice]
