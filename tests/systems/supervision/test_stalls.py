"""A continuation says something new, or a human is asked (law 7)."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.kernel.effects import RestReason
from sidecar.kernel.gate import Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.session import Session
from sidecar.kernel.turn import Turn
from support.cases import (
    goal,
    incomplete,
    judged,
    ran,
    session,
    stopped,
    todos,
    turn,
    with_goal,
)
from support.play import Played, World, play


def seen_after(before: Session, count: int, **fields: Any) -> Turn:
    arrived = (before.pending.id,) if before.pending else ()
    return turn(arrived=arrived, last_message_id=f"m{count}", **fields)


def go_round(before: Session, **fields: Any) -> Played:
    """Send the agent back until it rests, with nothing moving but what is named."""
    for count in range(50):
        world = World(turn=seen_after(before, count, **fields), judge=judged(incomplete()))
        played = play(before, world)
        if played.session.pending is None:
            return played
        before = played.session
    raise AssertionError("it never rested")


def test_three_continuations_after_which_nothing_moved_stall_the_goal() -> None:
    played = go_round(with_goal())
    assert (played.goal.status, played.goal.spent.continuations) == (GoalStatus.STALLED, 3)
    assert played.rest.note == (
        "Supervisor: goal stalled, please look. 3 continuations tried, nothing moved in the last 3\n"
        "Still missing: comments are refused\n"
        "To go on, type: what may help the agent"
    )
    assert played.rest.alarm


def test_without_a_goal_a_stall_only_lets_the_agent_rest() -> None:
    before = session(retry=50)
    for count in range(4):
        arrived = (before.pending.id,) if before.pending else ()
        claims = turn(
            ran("pytest", 1), message="All tests pass.", arrived=arrived, last_message_id=f"m{count}"
        )
        played = play(before, World(turn=claims))
        before = played.session
    assert (played.rest.reason, played.rest.alarm) == (RestReason.UNASKED_SPENT, False)
    assert played.session.unasked == 3


def second_stop(first: World, second: World) -> Played:
    """Stop twice with a continuation between that arrived."""
    before = play(with_goal(checks=("make",)), first)
    return play(before.session, second)


SAME = World(turn=turn(), outcomes={"check:1": Outcome.FAILED})
ID = play(with_goal(checks=("make",)), SAME).sent_back.feedback.id


def later(**fields: Any) -> Turn:
    return turn(arrived=(ID,), last_message_id="m2", **fields)


MOVED = {
    "other open to-dos": World(turn=later(todos=todos("x")), outcomes={"check:1": Outcome.FAILED}),
    "other failing checks": World(turn=later(), judge=judged(incomplete())),
    "a check that cannot run": World(turn=later(), outcomes={"check:1": Outcome.COULD_NOT_RUN}),
}


def test_the_same_failure_is_no_progress_whatever_else_was_edited() -> None:
    same = {"check:1": {"failures": ("t.py::test_a: assert 1 == 2",), "failing": ("t.py::test_a",)}}
    failed = {"check:1": Outcome.FAILED}
    other = {"check:1": {"failures": ("t.py::test_a: assert 1 == 3",), "failing": ("t.py::test_a",)}}
    before = World(turn=turn(), outcomes=failed, runs=same)
    edited = World(turn=later(), tree="tree-2", outcomes=failed, runs=same)
    assert second_stop(before, edited).session.stalls == 1
    otherwise = World(turn=later(), outcomes=failed, runs=other)
    assert second_stop(before, otherwise).session.stalls == 0
    nameless = {"check:1": {"failures": (), "failing": ()}}
    before = World(turn=turn(), outcomes=failed, runs=nameless)
    edited = World(turn=later(), tree="tree-2", outcomes=failed, runs=nameless)
    assert second_stop(before, edited).session.stalls == 0, "where a check names nothing, an edit is progress"


@pytest.mark.parametrize("what", MOVED)
def test_anything_that_moved_is_no_stall(what: str) -> None:
    assert second_stop(SAME, MOVED[what]).session.stalls == 0


def test_other_words_and_calls_move_nothing() -> None:
    world = World(
        turn=later(message="I tried hard.", tokens=9, position=9), outcomes={"check:1": Outcome.FAILED}
    )
    assert second_stop(SAME, world).session.stalls == 1


def test_a_continuation_that_never_arrived_could_move_nothing_and_is_no_stall() -> None:
    first = play(with_goal(), World(judge=judged(incomplete())))
    lost = World(turn=turn(last_message_id="m2"), judge=judged(incomplete()))
    assert play(first.session, lost).session.stalls == 0


def test_the_agent_is_told_how_often_nothing_moved() -> None:
    first = play(with_goal(), World(judge=judged(incomplete())))
    second = play(first.session, World(turn=seen_after(first.session, 2), judge=judged(incomplete())))
    assert second.sent_back.feedback.stalls == 1


def rounds_without_a_tool_call(before: Session, kind: str) -> tuple[int, Played]:
    for count in range(50):
        seen = seen_after(before, count, calls_since_arrival=0, todos=todos(f"todo {count}"))
        world = World(turn=seen, tree=f"tree-{count}", judge=judged(incomplete(f"{kind} {count}")))
        played = play(before, world)
        if played.session.pending is None:
            return count, played
        before = played.session
    raise AssertionError("it never rested")


def test_seven_continuations_in_a_row_without_a_tool_call_stall_the_goal_before_the_hosts_cap() -> None:
    count, played = rounds_without_a_tool_call(session(goal=goal(), retry=100), "goal")
    assert (count, played.goal.status) == (7, GoalStatus.STALLED)
    assert "7 continuations tried, no tool call in the last 7" in played.rest.detail


def test_a_host_that_caps_all_continuations_in_a_row_stalls_the_goal_before_its_cap() -> None:
    before, stop = session(goal=goal(), retry=100), stopped(capped=True)
    for count in range(8):
        seen = seen_after(before, count, calls_since_arrival=3, todos=todos(f"todo {count}"))
        world = World(turn=seen, tree=f"tree-{count}", judge=judged(incomplete(f"part {count}")))
        played = play(before, world, stop=stop)
        before = played.session
    assert (played.goal.status, played.goal.spent.continuations) == (GoalStatus.STALLED, 7)
    assert "7 continuations tried, the host takes no more in a row" in played.rest.detail
