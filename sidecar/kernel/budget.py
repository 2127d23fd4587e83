"""Limits on what may still be spent. A budget of n allows n continuations (law 6)."""

from __future__ import annotations

from collections.abc import Iterable

from sidecar.kernel.goal import LIFETIME_CONTINUATIONS, Goal, Spending
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings

MIN_CONTINUATIONS, MAX_CONTINUATIONS = 1, 100
GOALLESS_CONTINUATIONS = 3
"""Continuations in a row without a goal, unless the user set a number (law 8)."""

STALL_LIMIT = 3
"""Continuations in a row without progress after which the user is asked (law 7)."""

IDLE_STREAK_LIMIT = 7
"""Continuations in a row without a tool call; Claude Code overrides the 9th and ends the turn."""


def continuation_budget(session: Session, settings: Settings) -> int:
    """Return the budget in force: the user's own number, otherwise the one from the settings."""
    chosen = settings.max_attempts if session.retry is None else session.retry
    return min(max(chosen, MIN_CONTINUATIONS), MAX_CONTINUATIONS)


def goalless_budget(session: Session) -> int:
    """Return the budget of continuations without a goal."""
    return GOALLESS_CONTINUATIONS if session.retry is None else session.retry


def reached_goal_limit(goal: Goal, session: Session, settings: Settings) -> str:
    """Describe the first limit that is reached; "" where none is."""
    spent = goal.spent
    limits = (
        (spent.continuations, continuation_budget(session, settings), "continuations"),
        (goal.lifetime, LIFETIME_CONTINUATIONS, "continuations over the goal's whole life"),
        (spent.tokens, goal.max_tokens or settings.goal_max_tokens, "tokens"),
        (spent.judge_cents, settings.goal_max_cents, "cents for judging"),
        (int(spent.seconds), goal.max_seconds or settings.goal_max_seconds, "seconds of work"),
    )
    return _first_reached_limit(limits)


def reached_cents_limit(goal: Goal, settings: Settings) -> str:
    """Describe the limit on the cost of judging this goal if it is reached, else ""."""
    return _first_reached_limit(((goal.spent.judge_cents, settings.goal_max_cents, "cents for judging"),))


def reached_daily_limit(today: Spending, settings: Settings) -> str:
    """Describe the daily limit that is reached, else "". What workers spent counts with judging."""
    judge = settings.judge
    return _first_reached_limit(
        (
            (today.cents, judge.daily_cents, "cents for judging and workers today"),
            (today.tokens, judge.daily_tokens, "tokens for judging and workers today"),
        )
    )


def reached_worker_limit(today: Spending, settings: Settings) -> str:
    """Describe the daily limit at which no worker is started, else "". Judging and workers count together."""
    own = (today.cents, settings.workers.max_cents_per_day, "cents today")
    return _first_reached_limit((own,)) or reached_daily_limit(today, settings)


def _first_reached_limit(limits: Iterable[tuple[float, float | None, str]]) -> str:
    return next(
        (
            f"{_format_number(used)} of {_format_number(limit)} {unit}"
            for used, limit, unit in limits
            if limit is not None and used >= limit
        ),
        "",
    )


def _format_number(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
