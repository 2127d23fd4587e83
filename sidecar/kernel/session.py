"""One conversation of a host and everything that Supervisor must remember of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from sidecar.kernel.goal import Goal, GoalStatus

THIS_TURN = -1
"""A `counted_to` for a transcript that was copied from another session: only the current turn counts."""


class MemoryGap(StrEnum):
    """What a sidecar cannot know of the time before it began. NONE: it knows all (in tests).

    FORCE: the one before it ended neither by itself nor by an order. PAST: it has nothing but files.
    """

    NONE = "none"
    FORCE = "force"
    PAST = "past"


class SessionKey(Struct, frozen=True):
    """The host's name and the host's own id of the session."""

    host: str
    id: str


class ProgressSnapshot(Struct, frozen=True, kw_only=True):
    """What must differ between two continuations; otherwise nothing moved (law 7)."""

    tree: str = ""
    failing: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Continuation(Struct, frozen=True, kw_only=True):
    """A continuation that was issued and has not been seen to arrive yet (law 6)."""

    id: str
    said_at: float
    for_goal: bool


class Session(Struct, frozen=True, kw_only=True):
    """The state of one session.

    `retry` is the user's own budget of continuations, None for the one in the settings. `unasked` counts
    continuations without a goal since the last human prompt. `stalls` counts continuations in a row after
    which nothing had moved, `streak` those in a row without a tool call between them (which the host's cap
    counts). `counted_to` is the byte of the transcript up to which tokens are counted. `active_since` is when
    the agent was last set to work, None while it rests. `host_process` is the host's process id, 0 for
    unknown. `waited_for` are the ids of background tasks for
    which a stop was already deferred. `judged` is the host's id of the message judged last. `told_limit` is
    the day on which the user was notified that judging reached its limit. `revision` counts the saves; a
    state is saved only over the revision that it was loaded with. `ended` is the host's word for why it
    closed the session, "" while it is open.
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
    movement: ProgressSnapshot | None = None
    judged: str = ""
    waited_for: tuple[str, ...] = ()
    told_native: bool = False
    told_limit: str = ""
    counted_to: int = 0
    active_since: float | None = None
    host_process: int = 0
    seen_at: float = 0.0
    revision: int = 0
    ended: str = ""


Environment = Mapping[str, str]


def active_goal(session: Session) -> Goal | None:
    """Return the goal that is being judged, None where no goal is set or it is not active."""
    goal = session.goal
    return goal if goal is not None and goal.status is GoalStatus.ACTIVE else None
