"""One paragraph that says where a session stands, and the number a script learns."""

from __future__ import annotations

import pytest

from sidecar.kernel.goal import ExitCode, Goal, GoalSpending, GoalStatus
from sidecar.kernel.session import Session
from sidecar.systems.supervision.policy.orders import NO_GOAL, describe_session, session_exit_code
from support.cases import SETTINGS, at_status, goal, said, session, with_goal
from support.table import over_table


def test_a_fresh_goal_is_described_in_two_lines() -> None:
    assert describe_session(with_goal(), SETTINGS) == (
        "goal active: the parser accepts comments",
        "continuations 0/16, 0/1800 seconds of work, 0/400000 tokens",
    )


def test_everything_that_was_spent_and_said_is_described() -> None:
    used = Goal(
        id="g1",
        condition="all tests pass",
        checks=("make", "make docs"),
        status=GoalStatus.STALLED,
        max_seconds=60,
        max_tokens=99,
        spent=GoalSpending(continuations=3, tokens=42, seconds=7.9, judge_tokens=11),
        last_reason="a test fails",
        unjudged="no backend",
    )
    assert describe_session(session(goal=used, retry=5, pending=said()), SETTINGS) == (
        "goal stalled: all tests pass (checks: make, make docs)",
        "continuations 3/5 (one more on its way), 7/60 seconds of work, 42/99 tokens, 11 tokens for judging",
        "last reason: a test fails; the last stop was not judged: no backend",
    )


@pytest.mark.parametrize("of", [session(), at_status(GoalStatus.CLEARED)], ids=["none", "cleared"])
def test_without_a_goal_it_says_what_to_type(of: Session) -> None:
    assert describe_session(of, SETTINGS) == (NO_GOAL,)


EXIT_CODES: list[tuple[Session | None, int]] = [
    (None, 3),
    (session(), 3),
    (at_status(GoalStatus.CLEARED), 3),
    (at_status(GoalStatus.ACHIEVED), 0),
    (at_status(GoalStatus.UNVERIFIED), 2),
    (session(goal=goal(unjudged="no backend")), 2),
    *((at_status(status), 1) for status in ("active", "paused", "exhausted", "stalled", "impossible")),  # type: ignore[arg-type] # StrEnum
]


@over_table(("of", "code"), EXIT_CODES)
def test_a_script_learns_the_status_as_a_number(of: Session | None, code: int) -> None:
    assert session_exit_code(of) == ExitCode(code)
