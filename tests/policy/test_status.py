"""One paragraph that says where a session stands, and the number a script learns."""

from __future__ import annotations

import pytest

from sidecar.model.goal import Goal, Spent, Status
from sidecar.model.session import Session
from sidecar.policy.status import NO_GOAL, ExitCode, describe, exit_code
from support.cases import SETTINGS, at_status, goal, said, session, with_goal


def test_a_fresh_goal_is_described_in_two_lines() -> None:
    assert describe(with_goal(), SETTINGS) == (
        "Supervisor: goal active: the parser accepts comments\n"
        "continuations 0/16, 0/1800 seconds of work, 0/400000 tokens"
    )


def test_everything_that_was_spent_and_said_is_described() -> None:
    used = Goal(
        id="g1",
        condition="all tests pass",
        checks=("make", "make docs"),
        status=Status.STALLED,
        max_seconds=60,
        max_tokens=99,
        spent=Spent(continuations=3, tokens=42, seconds=7.9, judge_tokens=11),
        last_reason="a test fails",
        unjudged="no backend",
    )
    assert describe(session(goal=used, retry=5, pending=said()), SETTINGS) == (
        "Supervisor: goal stalled: all tests pass\n"
        "continuations 3/5 (one more on its way), 7/60 seconds of work, 42/99 tokens, 11 tokens for judging\n"
        "checks: make, make docs\n"
        "last reason: a test fails\n"
        "the last stop was not judged: no backend"
    )


@pytest.mark.parametrize("of", [session(), at_status(Status.CLEARED)], ids=["none", "cleared"])
def test_without_a_goal_it_says_what_to_type(of: Session) -> None:
    assert describe(of, SETTINGS) == NO_GOAL


EXIT_CODES: list[tuple[Session | None, int]] = [
    (None, 3),
    (session(), 3),
    (at_status(Status.CLEARED), 3),
    (at_status(Status.ACHIEVED), 0),
    (at_status(Status.UNVERIFIED), 2),
    (session(goal=goal(unjudged="no backend")), 2),
    *((at_status(status), 1) for status in ("active", "paused", "exhausted", "stalled", "impossible")),  # type: ignore[arg-type] # StrEnum
]


@pytest.mark.parametrize(("of", "code"), EXIT_CODES)
def test_a_script_learns_the_status_as_a_number(of: Session | None, code: int) -> None:
    assert exit_code(of) == ExitCode(code)
