"""Work that goes on behind the agent's back."""

from __future__ import annotations

from sidecar.kernel.effects import RestReason
from support.cases import complete, judged, said, session, stopped, task, turn, with_goal
from support.play import World, play

DONE = World(judge=judged(complete()))


def test_background_work_defers_the_judging_to_its_end() -> None:
    first = play(with_goal(), stop=stopped(background=(task("b1"),)))
    assert (first.rest.reason, first.rest.detail) == (
        RestReason.BACKGROUND,
        "judged when they end: task b1",
    )
    assert play(first.session, DONE).rest.reason is RestReason.JUDGED


def test_a_task_defers_one_stop_only() -> None:
    first = play(with_goal(), stop=stopped(background=(task("server"),)))
    second = play(first.session, DONE, stop=stopped(background=(task("server"),)))
    assert second.rest.reason is RestReason.JUDGED


def test_a_deferred_message_does_not_count_as_judged() -> None:
    played = play(session(), stop=stopped(background=(task("b1"),)))
    assert played.session.judged == ""


def test_only_the_last_tasks_that_were_waited_for_are_remembered() -> None:
    many = tuple(task(str(number)) for number in range(60))
    played = play(session(), stop=stopped(background=many))
    assert played.session.waited_for == tuple(str(number) for number in range(10, 60))


def test_a_headless_agent_is_told_to_wait_or_stop_before_the_goal_is_judged() -> None:
    played = play(with_goal(), stop=stopped(background=(task("b1"),), headless=True))
    assert played.kind == "background-headless"
    assert played.sent_back.feedback.missing == ("task b1",)


def test_a_headless_agent_is_told_of_background_work_once() -> None:
    first = play(with_goal(), stop=stopped(background=(task("b1"),), headless=True))
    reached = turn(arrived=(first.sent_back.feedback.id,), last_message_id="m2")
    arrived = World(turn=reached, judge=judged(complete()))
    second = play(first.session, arrived, stop=stopped(background=(task("b1"),), headless=True))
    assert second.rest.reason is RestReason.JUDGED


def test_a_headless_agent_that_was_not_reached_is_told_again() -> None:
    before = session(goal=with_goal().goal, pending=said())
    played = play(before, stop=stopped(background=(task("b1"),), headless=True))
    assert played.kind == "background-headless"


def test_a_headless_agent_is_told_of_work_that_it_began_after_it_was_sent_back() -> None:
    first = play(with_goal(), stop=stopped(background=(task("b1"),), headless=True))
    reached = World(turn=turn(arrived=(first.sent_back.feedback.id,), last_message_id="m2"))
    second = play(first.session, reached, stop=stopped(background=(task("b1"), task("b2")), headless=True))
    assert second.sent_back.feedback.missing == ("task b2",)
