"""A run: an agent that is started again and again, each time afresh, until the goal of its session holds."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from sidecar.model.goal import Status
from sidecar.model.journal import Journal

HOST: Final = "run"
"""The host's name in session keys: whoever starts agents one after the other is one."""


class Asked(Struct, frozen=True, kw_only=True):
    """What the person typed.

    `goal` is "" where the session's own goes on. `most` agents may be started in the goal's life, None for
    as many as the budget of continuations allows. `minutes`: as --max-minutes of a goal.
    """

    session: str
    project: str
    goal: str = ""
    checks: tuple[str, ...] = ()
    most: int | None = None
    minutes: int | None = None


class Standing(Struct, frozen=True, kw_only=True):
    """Where the session stands. `project` is "" where the session is not known.

    `pending` is the id of a continuation that was said and has not arrived, `last_reason` why it was said.
    `budget` and `continuations` (those that arrived): see Goal. `max_seconds` is the goal's own
    limit, `seconds_left` what is left of the agents' time.
    `exit_code`: see ExitCode.
    """

    project: str = ""
    status: Status | None = None
    condition: str = ""
    checks: tuple[str, ...] = ()
    max_seconds: int | None = None
    continuations: int = 0
    budget: int = 0
    pending: str = ""
    last_reason: str = ""
    seconds_left: float = 0.0
    exit_code: int = 3
    journal: Journal = Journal()


class Ruled(Struct, frozen=True, kw_only=True):
    """What became of an agent's stop: the same fields as a marker's decision has."""

    decision: Literal["continue", "rest"]
    reason: str
    detail: str = ""
    note: str = ""
    say: str = ""
    continuation: str = ""


class Material(Struct, frozen=True, kw_only=True):
    """All that a prompt is made of. `most` and `iteration` count agents of this goal, from 1.

    `feedback` is what the last judging said, `before` what the user's hooks printed, `extra` the user's own
    words for every prompt. `tools` is the name of our MCP server, "" where the agent cannot reach it.
    """

    session: str
    iteration: int
    most: int
    goal: str
    checks: tuple[str, ...] = ()
    spec: str = ""
    feedback: str = ""
    before: str = ""
    extra: str = ""
    tools: str = ""
    journal: Journal = Journal()


# --- what happened, for those who look on -------------------------------------------------------------------


class Opened(Struct, frozen=True, kw_only=True, tag_field="event", tag="session"):
    """The run begins, or goes on."""

    session: str
    project: str
    goal: str
    most: int
    resumed: bool


class Started(Struct, frozen=True, kw_only=True, tag_field="event", tag="iteration"):
    """An agent is started. `iteration` of `most`; `task` is the one that is ready, "" where none is."""

    iteration: int
    most: int
    task: str


class Rested(Struct, frozen=True, kw_only=True, tag_field="event", tag="agent"):
    """An agent has ended. `said` is the end of what it said; `trouble` as in AgentRest."""

    iteration: int
    seconds: float
    exit_code: int | None
    said: str
    trouble: str


class Completed(Struct, frozen=True, kw_only=True, tag_field="event", tag="task"):
    """A task of the journal was completed in this iteration."""

    iteration: int
    id: str
    content: str


class Judged(Struct, frozen=True, kw_only=True, tag_field="event", tag="verdict"):
    """Supervisor judged the agent's stop. `continuations` of `budget` have been sent back before."""

    iteration: int
    decision: str
    reason: str
    detail: str
    note: str
    continuations: int
    budget: int


class Hooked(Struct, frozen=True, kw_only=True, tag_field="event", tag="hook"):
    """One of the user's hooks was run. `trouble` says why it did not run to its end."""

    name: str
    command: str
    exit_code: int | None
    trouble: str = ""


class Warned(Struct, frozen=True, kw_only=True, tag_field="event", tag="warning"):
    """Something is not as it should be, and the run goes on."""

    text: str


class Ended(Struct, frozen=True, kw_only=True, tag_field="event", tag="end"):
    """The run is over. `outcome` is a Reason or an ending of the run's own; `iterations` of this call."""

    outcome: str
    detail: str
    exit_code: int
    iterations: int


Happening = Opened | Started | Rested | Completed | Judged | Hooked | Warned | Ended
