"""One conversation of a host, everything that Supervisor must remember of it, and its budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from msgspec import Struct, field

from sidecar.kernel.goal import LIFETIME_CONTINUATIONS, Goal, GoalStatus, Spending
from sidecar.kernel.settings import Settings

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


LONGEST_NAME: Final = 24
"""Characters of an id that lists show whole: a name of a run. The ids that hosts make are longer."""


def short_session(ident: str, length: int = 8) -> str:
    """Return a session's id for a list: a name whole, any other its beginning, which is enough to name it."""
    return ident if len(ident) <= LONGEST_NAME else ident[:length]


JUDGED_KIND: Final = "incomplete"
"""The kind of what a judge finds missing of a goal."""
HELD_LIMIT: Final = 20
"""Objections of a session that stay taken back."""


class ProgressSnapshot(Struct, frozen=True, kw_only=True):
    """What must differ between two continuations; otherwise nothing moved (law 7)."""

    tree: str = ""
    failing: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Objection(Struct, frozen=True, kw_only=True):
    """What a stop was, or would have been, sent back for on a tree.

    `goal` is the id of the goal, "" for none. `held`: who took it back, and why.
    """

    kind: str
    tree: str
    missing: tuple[str, ...]
    goal: str = ""
    held: str = ""

    def covers(self, other: Objection, point: str) -> bool:
        """Whether this has a point of another one; a judge words its own anew, so the goal tells."""
        same = self.tree == other.tree and self.kind == other.kind
        return same and (self.goal == other.goal if self.kind == JUDGED_KIND else point in self.missing)


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
    counts). `objection` is the last one, `held` are those that a person took back. `counted_to` is the byte
    of the transcript up to which tokens are counted. `active_since` is when the agent was last set to work,
    None while it rests; `active_from` is the same as Clock.awake tells it. `host_process` is the host's
    process id, 0 for unknown; `environment` is the digest of the environment that counts for its checks.
    `transcript` is the host's record of the session, "" for none. `waited_for` are the ids of background
    tasks for which a stop was already deferred. `judged` is the host's id of the message judged last.
    `notified_limit` is the day on which the user was notified that judging reached its limit.
    `notified_plan`: the user was told, since the goal was set, that nothing is judged in plan mode;
    `notified_idle`: since the last prompt, that the goal is not enforced. `revision` counts the saves; a
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
    objection: Objection | None = None
    held: tuple[Objection, ...] = ()
    judged: str = ""
    waited_for: tuple[str, ...] = ()
    notified_native: bool = field(default=False, name="told_native")
    notified_limit: str = field(default="", name="told_limit")
    notified_plan: bool = False
    notified_idle: bool = False
    counted_to: int = 0
    active_since: float | None = None
    active_from: float | None = None
    host_process: int = 0
    environment: str = ""
    transcript: str = ""
    seen_at: float = 0.0
    revision: int = 0
    ended: str = ""


Environment = Mapping[str, str]


def active_goal(session: Session) -> Goal | None:
    """Return the goal that is being judged, None where no goal is set or it is not active."""
    goal = session.goal
    return goal if goal is not None and goal.status is GoalStatus.ACTIVE else None


# --- Limits on what may still be spent. A budget of n allows n continuations (law 6) ------------------------


MIN_CONTINUATIONS, MAX_CONTINUATIONS = 1, 100
GOALLESS_CONTINUATIONS = 3
"""Continuations in a row without a goal, unless the user set a number (law 8)."""

STALL_LIMIT = 3
"""Continuations in a row without progress after which the user is asked (law 7)."""

IDLE_STREAK_LIMIT = 7
"""Continuations in a row without a tool call; Claude Code overrides the 9th and ends the turn.

Of a host that is `capped` (see AgentStopped) all in a row count: Copilot CLI overrides the 9th of these.
"""


def continuation_budget(session: Session, settings: Settings) -> int:
    """Return the budget in force: the user's own number, otherwise the one from the settings."""
    chosen = settings.max_attempts if session.retry is None else session.retry
    return min(max(chosen, MIN_CONTINUATIONS), MAX_CONTINUATIONS)


def goalless_budget(session: Session) -> int:
    """Return the budget of continuations without a goal."""
    return GOALLESS_CONTINUATIONS if session.retry is None else session.retry


class Limit(NamedTuple):
    """What is used of a limit, which is infinite where none is set. `scope` follows the unit in words."""

    used: float
    most: float
    unit: str
    scope: str = ""

    @property
    def text(self) -> str:
        """The limit in words."""
        return f"{format_number(self.used)} of {format_number(self.most)} {self.unit}{self.scope}"


def reached_goal_limit(goal: Goal, session: Session, settings: Settings) -> str:
    """Describe the first limit that is reached; "" where none is."""
    spent = goal.spent
    limits = (
        Limit(spent.continuations, continuation_budget(session, settings), "continuations"),
        Limit(goal.lifetime, LIFETIME_CONTINUATIONS, "continuations over the goal's whole life"),
        Limit(spent.tokens, goal.max_tokens or settings.goal_max_tokens, "tokens"),
        _judging_limit(goal, settings),
        Limit(int(spent.seconds), goal.max_seconds or settings.goal_max_seconds, "seconds of work"),
    )
    return _first_reached_limit(limits)


def reached_cents_limit(goal: Goal, settings: Settings) -> str:
    """Describe the limit on the cost of judging this goal if it is reached, else ""."""
    return _first_reached_limit((_judging_limit(goal, settings),))


def _judging_limit(goal: Goal, settings: Settings) -> Limit:
    return Limit(goal.spent.judge_cents, settings.goal_max_cents or inf, "cents", " for judging")


def reached_daily_limit(today: Spending, settings: Settings) -> str:
    """Describe the daily limit that is reached, else "". What workers spent counts with judging."""
    return today.refused or _first_reached_limit(daily_limits(today, settings)[:-1])


def reached_worker_limit(today: Spending, settings: Settings) -> str:
    """Describe the daily limit at which no worker is started, else "". Judging and workers count together."""
    return today.refused or _first_reached_limit(daily_limits(today, settings))


def daily_limits(today: Spending, settings: Settings) -> tuple[Limit, ...]:
    """Return the limits of the day; the last one does not hold for judging."""
    judge, workers, scope = settings.judge, settings.workers, " for judging and workers today"
    return (
        Limit(today.cents, judge.daily_cents or inf, "cents", scope),
        Limit(today.tokens, judge.daily_tokens or inf, "tokens", scope),
        Limit(today.cents, workers.max_cents_per_day or inf, "cents", " today"),
    )


def _first_reached_limit(limits: Iterable[Limit]) -> str:
    return next((limit.text for limit in limits if limit.used >= limit.most), "")


def format_number(number: float) -> str:
    """Return a number with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
