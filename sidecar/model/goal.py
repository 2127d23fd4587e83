"""The condition a user set, and what was spent on it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.model.gate import Outcome
from sidecar.model.inspection import Base

CONDITION_LIMIT = 4000
"""Characters of a goal's condition, the limit of Claude Code's own /goal."""

LIFETIME_CONTINUATIONS = 100
"""Continuations over a goal's whole life, so that a script cannot resume for ever."""


class Status(StrEnum):
    """Where a goal stands. Only ACTIVE is judged."""

    ACTIVE = "active"
    PAUSED = "paused"
    ACHIEVED = "achieved"
    UNVERIFIED = "unverified"
    CLEARED = "cleared"
    EXHAUSTED = "exhausted"
    STALLED = "stalled"
    IMPOSSIBLE = "impossible"


class Spent(Struct, frozen=True, kw_only=True):
    """What a goal has used since it was set or resumed.

    `seconds` is the time the agent was active, `tokens` uncached input plus output of the agent.
    """

    continuations: int = 0
    tokens: int = 0
    seconds: float = 0.0
    judge_tokens: int = 0
    judge_cents: float = 0.0


class Known(Struct, frozen=True, kw_only=True):
    """How a gate stood when the goal was set: `failing` as in GateRun."""

    gate: str
    command: str
    outcome: Outcome
    failing: tuple[str, ...] = ()


class Goal(Struct, frozen=True, kw_only=True):
    """A goal of one session.

    `checks` are shell lines the user typed after --check, so they are approved. `set_at` is seconds since
    the epoch. `max_seconds` and `max_tokens` are None where the settings' limits hold. `lifetime` counts
    confirmed continuations and survives a resume. `unjudged` is the reason why the last stop could
    not be judged, empty when it was. `asked_to_run` lists required gates that the agent was once asked to
    make runnable.
    """

    id: str
    condition: str
    checks: tuple[str, ...] = ()
    status: Status = Status.ACTIVE
    set_at: float = 0.0
    max_seconds: int | None = None
    max_tokens: int | None = None
    spent: Spent = Spent()
    lifetime: int = 0
    last_reason: str = ""
    unjudged: str = ""
    asked_to_run: tuple[str, ...] = ()
    asked_about: tuple[str, ...] = ()
    base: Base = Base()
    baseline: tuple[Known, ...] = ()
