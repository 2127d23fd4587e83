"""One conversation of a host and all that Supervisor must remember of it."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.goal import Goal

THIS_TURN = -1
"""A `counted_to` for a transcript that began with another session's: only the turn at hand counts."""


class SessionKey(Struct, frozen=True):
    """The host's name and the host's own id of the session."""

    host: str
    id: str


class Movement(Struct, frozen=True, kw_only=True):
    """What must differ between two continuations, or nothing moved (law 7)."""

    tree: str = ""
    failing: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Continuation(Struct, frozen=True, kw_only=True):
    """A continuation that was said and has not been seen to arrive yet (law 6)."""

    id: str
    said_at: float
    for_goal: bool


class Session(Struct, frozen=True, kw_only=True):
    """State of one session.

    `retry` is the user's own budget of continuations, None where the settings' holds. `unasked` counts
    continuations without a goal since the last human prompt. `stalls` counts continuations in a row after
    which nothing had moved, `streak` those in a row without a tool call between (the host's cap counts
    these). `counted_to` is the byte of the transcript up to which tokens are counted. `active_since` is
    when the agent was last set to work, None while it rests. `waited_for` are the ids of background tasks
    that one stop was already deferred for. `judged` is the host's id of the message judged last. `told_limit`
    is the day on which the user was told that judging has reached its limit.
    """

    key: SessionKey
    project: str = ""
    goal: Goal | None = None
    retry: int | None = None
    pending: Continuation | None = None
    serial: int = 0
    unasked: int = 0
    stalls: int = 0
    streak: int = 0
    movement: Movement | None = None
    judged: str = ""
    waited_for: tuple[str, ...] = ()
    told_native: bool = False
    told_limit: str = ""
    counted_to: int = 0
    active_since: float | None = None
    seen_at: float = 0.0
