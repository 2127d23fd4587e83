"""Budget n means n continuations, and the last one's stop is still judged (law 6)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.evidence import Verdict
from sidecar.kernel.gate import Outcome
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.session import Session, continuation_budget, goalless_budget, reached_goal_limit
from sidecar.kernel.settings import Settings
from support.cases import (
    PYTEST,
    SETTINGS,
    UNREACHABLE,
    after,
    complete,
    edited,
    goal,
    impossible,
    incomplete,
    judged,
    ran,
    said,
    session,
    turn,
    waiting,
    with_goal,
)
from support.play import Played, World, play
from support.table import over_table

CLAIM = "All tests pass."


def sent_back_until_it_rests(before: Session, settings: Settings, *, most: int = 200) -> tuple[int, Played]:
    """Let every continuation arrive and something move, and count them."""
    for count in range(most):
        arrived = (before.pending.id,) if before.pending else ()
        seen = turn(arrived=arrived, last_message_id=f"m{count}")
        world = World(turn=seen, tree=f"tree-{count}", judge=judged(incomplete()))
        played = play(before, world, settings=settings)
        if played.session.pending is None:
            return count, played
        before = played.session
    raise AssertionError("it never rested")


@over_table("budget", [1, 2, 3, 16, 99, 100])
@over_table("chosen", ["by the user", "by the settings"])
def test_a_budget_of_n_is_n_continuations_no_more_and_no_less(budget: int, chosen: str) -> None:
    user = chosen == "by the user"
    before = session(goal=goal(), retry=budget if user else None)
    settings = Settings() if user else Settings(max_attempts=budget)
    count, played = sent_back_until_it_rests(before, settings)
    assert count == budget
    assert played.goal.status is GoalStatus.EXHAUSTED
    assert played.goal.spent.continuations == budget


def test_every_continuation_says_which_of_how_many_it_is() -> None:
    first = play(session(goal=after(2), retry=5), World(judge=judged(incomplete())))
    assert (first.sent_back.feedback.number, first.sent_back.feedback.budget) == (3, 5)
    assert first.sent_back.note == (
        "Supervisor: sent back 3/5: comments are refused\n"
        "2 continuations left\n"
        "To end it, type: /supervisor:goal clear"
    )


LAST = session(goal=after(16), pending=said())
SPENT = session(goal=after(15), pending=said())
ENDS: list[tuple[Verdict, GoalStatus]] = [
    (complete(), GoalStatus.JUDGED),
    (impossible("E2"), GoalStatus.IMPOSSIBLE),
    (waiting(), GoalStatus.ACTIVE),
    (incomplete(), GoalStatus.EXHAUSTED),
]


@pytest.mark.parametrize(("verdict", "status"), ENDS)
def test_the_stop_of_the_last_continuation_is_still_judged(verdict: Verdict, status: GoalStatus) -> None:
    calls = (edited(), ran("make", 2)) if status is GoalStatus.IMPOSSIBLE else ()
    stop = turn(*calls, message="It cannot be: make fails.", arrived=("abc123",))
    played = play(SPENT, World(turn=stop, judge=judged(verdict)))
    assert (played.goal.spent.continuations, played.goal.status) == (16, status)


def test_a_goal_whose_gates_pass_is_achieved_however_the_budget_stands() -> None:
    spent = GoalSpending(continuations=100, tokens=10**9, seconds=10.0**9)
    before = with_goal("all tests pass", spent=spent, lifetime=100)
    assert play(before, World(runner=PYTEST)).goal.status is GoalStatus.ACHIEVED


def test_a_stop_that_cannot_be_judged_exhausts_nothing() -> None:
    assert play(LAST, World(judge=UNREACHABLE)).goal.status is GoalStatus.ACTIVE


def test_an_exhausted_goal_says_what_is_spent_and_what_is_missing() -> None:
    rest = play(session(goal=after(16)), World(judge=judged(incomplete()))).rest
    assert (rest.reason, rest.alarm) == (RestReason.EXHAUSTED, True)
    assert rest.note == (
        "Supervisor: budget spent, goal not achieved. "
        "16 of 16 continuations spent\n"
        "Still missing: comments are refused\n"
        "To go on, type: /supervisor:retry 32"
    )


LIMITS: list[tuple[Goal, str]] = [
    (goal(), ""),
    (after(15), ""),
    (after(16), "16 of 16 continuations"),
    (after(0, lifetime=99), ""),
    (after(0, lifetime=100), "100 of 100 continuations over the goal's whole life"),
    (goal(spent=GoalSpending(tokens=399_999)), ""),
    (goal(spent=GoalSpending(tokens=400_000)), "400000 of 400000 tokens"),
    (goal(spent=GoalSpending(tokens=10), max_tokens=10), "10 of 10 tokens"),
    (goal(spent=GoalSpending(tokens=500_000), max_tokens=600_000), ""),
    (goal(spent=GoalSpending(seconds=1799.9)), ""),
    (goal(spent=GoalSpending(seconds=1800.0)), "1800 of 1800 seconds of work"),
    (goal(spent=GoalSpending(seconds=60.0), max_seconds=60), "60 of 60 seconds of work"),
    (goal(spent=GoalSpending(judge_tokens=10**9, judge_cents=1e9)), ""),
]


@over_table(("spent", "reason"), LIMITS)
def test_a_limit_that_is_reached_is_named(spent: Goal, reason: str) -> None:
    assert reached_goal_limit(spent, session(), SETTINGS) == reason


@over_table(("spent", "reason"), [row for row in LIMITS if row[1]])
@over_table("gates", [Outcome.FAILED, Outcome.COULD_NOT_RUN])
def test_a_limit_that_is_reached_ends_the_goal_whatever_is_missing(
    spent: Goal, reason: str, gates: Outcome
) -> None:
    before = session(goal=replace(spent, checks=("make",)))
    played = play(before, World(outcomes={"check:1": gates}))
    assert played.goal.status is GoalStatus.EXHAUSTED
    assert reason in played.rest.detail


def test_tokens_and_seconds_since_the_last_stop_are_counted() -> None:
    before = session(goal=goal(spent=GoalSpending(tokens=5, seconds=1.0)), active_since=900.0, counted_to=10)
    played = play(before, World(turn=turn(tokens=7, position=30), judge=judged(complete())), at=960.0)
    assert (played.goal.spent.tokens, played.goal.spent.seconds) == (12, 61.0)
    assert (played.session.counted_to, played.session.active_since) == (30, None)


def test_the_time_an_agent_rests_is_not_counted() -> None:
    played = play(session(goal=goal(), active_since=None), World(judge=judged(complete())), at=10.0**9)
    assert played.goal.spent.seconds == 0


def test_a_clock_that_was_set_back_takes_nothing_away() -> None:
    played = play(session(goal=goal(), active_since=900.0), World(judge=judged(complete())), at=100.0)
    assert played.goal.spent.seconds == 0


def test_a_continuation_sets_the_agent_to_work_again() -> None:
    played = play(with_goal(), World(judge=judged(incomplete())), at=77.0)
    assert played.session.active_since == 77.0
    assert played.session.pending is not None
    assert played.session.pending.said_at == 77.0


@pytest.mark.parametrize("status", sorted(set(GoalStatus) - {GoalStatus.ACTIVE, GoalStatus.PAUSED}))
def test_work_after_a_goal_has_come_to_rest_is_not_counted_towards_it(status: GoalStatus) -> None:
    before = session(goal=goal(status=status), active_since=0.0)
    played = play(before, World(turn=turn(tokens=10**6, position=9)))
    assert played.session.goal == goal(status=status)
    assert played.session.counted_to == 9


@pytest.mark.parametrize(("retry", "budget"), [(None, 16), (1, 1), (100, 100), (0, 1), (1000, 100)])
def test_the_budget_stays_between_1_and_100(retry: int | None, budget: int) -> None:
    assert continuation_budget(session(retry=retry), SETTINGS) == budget


@pytest.mark.parametrize(("retry", "budget"), [(None, 3), (1, 1), (9, 9)])
def test_without_a_goal_three_unless_the_user_set_a_number(retry: int | None, budget: int) -> None:
    assert goalless_budget(session(retry=retry)) == budget


@pytest.mark.parametrize(("retry", "budget"), [(None, 3), (1, 1), (5, 5)])
def test_without_a_goal_the_agent_is_sent_back_that_often_and_then_rests_unasked(
    retry: int | None, budget: int
) -> None:
    before = session(retry=retry)
    for count in range(budget + 1):
        arrived = (before.pending.id,) if before.pending else ()
        seen = turn(ran("pytest", 1), message=CLAIM, arrived=arrived, last_message_id=f"m{count}")
        played = play(before, World(turn=seen, tree=f"tree-{count}"))
        assert (played.session.pending is None) == (count == budget)
        before = played.session
    assert played.rest.reason is RestReason.UNASKED_SPENT
    left = f"Supervisor: sent back {budget}/{budget}, and rests. Still missing: you say “All tests pass.”: "
    assert played.rest.note == f"{left}the last test run of this turn failed with exit code 1: pytest"
    assert played.session.unasked == budget
