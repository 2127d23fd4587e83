"""How much may still be spent. Budget n means n continuations (law 6)."""

from __future__ import annotations

from collections.abc import Iterable

from sidecar.model.goal import LIFETIME_CONTINUATIONS, Goal
from sidecar.model.session import Session
from sidecar.model.settings import Settings
from sidecar.model.spending import Spending

LEAST, MOST = 1, 100
UNASKED = 3
"""Continuations in a row without a goal, unless the user set a number (law 8)."""

STALLS = 3
"""Continuations after which nothing moved before a human is asked (law 7)."""

STREAK = 7
"""Continuations in a row without a tool call: Claude Code overrides the 9th and ends the turn."""


def continuations(session: Session, settings: Settings) -> int:
    """The budget in force: the user's own number, else the settings'."""
    chosen = settings.max_attempts if session.retry is None else session.retry
    return min(max(chosen, LEAST), MOST)


def unasked(session: Session) -> int:
    """The budget of continuations without a goal."""
    return UNASKED if session.retry is None else session.retry


def spent_reason(goal: Goal, session: Session, settings: Settings) -> str:
    """Which limit is reached, in words; "" while something is left."""
    spent = goal.spent
    limits = (
        (spent.continuations, continuations(session, settings), "continuations"),
        (goal.lifetime, LIFETIME_CONTINUATIONS, "continuations over the goal's whole life"),
        (spent.tokens, goal.max_tokens or settings.goal_max_tokens, "tokens"),
        (spent.judge_cents, settings.goal_max_cents, "cents for judging"),
        (int(spent.seconds), goal.max_seconds or settings.goal_max_seconds, "seconds of work"),
    )
    return _reached(limits)


def cents_spent(goal: Goal, settings: Settings) -> str:
    """Whether judging this goal has cost what it may, in words; "" while something is left."""
    return _reached(((goal.spent.judge_cents, settings.goal_max_cents, "cents for judging"),))


def judging_spent(today: Spending, settings: Settings) -> str:
    """Which daily limit of judging is reached, in words; "" while something is left."""
    judge = settings.judge
    return _reached(
        (
            (today.cents, judge.daily_cents, "cents for judging today"),
            (today.tokens, judge.daily_tokens, "tokens for judging today"),
        )
    )


def _reached(limits: Iterable[tuple[float, float | None, str]]) -> str:
    return next(
        (
            f"{_plain(used)} of {_plain(limit)} {unit}"
            for used, limit, unit in limits
            if limit is not None and used >= limit
        ),
        "",
    )


def _plain(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
