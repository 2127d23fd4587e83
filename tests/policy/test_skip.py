"""Stops that are none of our business: each has its reason."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct, field

from sidecar.model.effects import Reason, Rest
from sidecar.model.goal import Goal, Status
from sidecar.model.session import Session
from sidecar.model.turn import CallOutcome, Doing, Turn
from sidecar.policy.skip import EARLY, LATE
from support.cases import called, edited, goal, ran, session, stopped, talk, task, turn, with_goal
from support.play import World, play


class Skipped(Struct, frozen=True, kw_only=True):
    """A stop that is let go."""

    stop: dict[str, Any] = field(default_factory=dict)
    session: Session = field(default_factory=with_goal)
    turn: Turn = field(default_factory=turn)
    off: str = ""


EARLY_ROWS: dict[Reason, Skipped] = {
    Reason.OURS: Skipped(stop={"ours": True}),
    Reason.SUBAGENT: Skipped(stop={"subagent": True}),
    Reason.OFF: Skipped(off="off for this project"),
    Reason.PAUSED: Skipped(session=with_goal(status=Status.PAUSED)),
    Reason.PLAN_MODE: Skipped(stop={"read_only": True}),
}
LATE_ROWS: dict[Reason, Skipped] = {
    Reason.INTERRUPTED: Skipped(turn=turn(interrupted=True)),
    Reason.UNFINISHED: Skipped(turn=turn(unfinished="the session was compacted")),
    Reason.QUEUED: Skipped(turn=turn(queued=True)),
    Reason.QUESTION: Skipped(turn=turn(called(Doing.ASK, CallOutcome.PENDING))),
    Reason.NATIVE_GOAL: Skipped(turn=turn(native_goal="ship it")),
    Reason.SAME: Skipped(session=session(goal=goal(), judged="m1")),
    Reason.TALK: Skipped(session=session(), turn=talk()),
}
ROWS = EARLY_ROWS | LATE_ROWS | {Reason.BACKGROUND: Skipped(stop={"background": (task("b1"),)})}


@pytest.mark.parametrize("reason", ROWS, ids=str)
def test_a_stop_is_let_go_for_its_reason_without_running_or_asking_anything(reason: Reason) -> None:
    row = ROWS[reason]
    played = play(row.session, World(turn=row.turn), stop=stopped(**row.stop), off=row.off)
    assert played.rest.reason is reason
    assert (played.gates, played.case) == ((), None)
    assert not played.rest.alarm


@pytest.mark.parametrize("reason", EARLY_ROWS, ids=str)
def test_an_early_reason_needs_no_look_at_the_transcript_and_changes_nothing(reason: Reason) -> None:
    row = EARLY_ROWS[reason]
    played = play(row.session, stop=stopped(**row.stop), off=row.off)
    assert played.orders == ()
    assert played.session == row.session


@pytest.mark.parametrize("reason", EARLY_ROWS, ids=str)
@pytest.mark.parametrize("late", LATE_ROWS, ids=str)
def test_an_early_reason_comes_before_a_late_one(reason: Reason, late: Reason) -> None:
    row = EARLY_ROWS[reason]
    played = play(row.session, World(turn=LATE_ROWS[late].turn), stop=stopped(**row.stop), off=row.off)
    assert played.rest.reason is reason


def test_every_row_of_the_tables_is_tested() -> None:
    assert set(EARLY_ROWS) == {reason for reason, _ in EARLY}
    assert set(LATE_ROWS) == {reason for reason, _ in LATE}


def test_a_stop_whose_turn_cannot_be_read_is_unjudged_and_says_why() -> None:
    unread = Turn(readable=False, unfinished="the host hung up")
    played = play(with_goal(), World(turn=unread))
    assert (played.rest.reason, played.rest.detail) == (Reason.UNJUDGED, "the host hung up")
    assert "the host hung up" in played.rest.note
    assert played.session.goal is not None
    assert (played.session.goal.status, played.session.goal.unjudged) == (Status.ACTIVE, "the host hung up")


def test_the_reason_why_supervisor_is_off_is_in_the_detail() -> None:
    assert play(with_goal(), off="off for you").rest == Rest(reason=Reason.OFF, detail="off for you")


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.ACTIVE, Status.PAUSED}))
def test_talk_after_a_goal_has_come_to_rest_is_only_talk(status: Status) -> None:
    assert play(with_goal(status=status), World(turn=talk())).rest.reason is Reason.TALK


@pytest.mark.parametrize(
    "call",
    [called(Doing.READ), called(Doing.TODO), called(Doing.ASK), called(Doing.OTHER)],
    ids=lambda call: str(call.doing),
)
def test_looking_around_is_only_talk(call: Any) -> None:
    assert play(session(), World(turn=turn(call))).rest.reason is Reason.TALK


@pytest.mark.parametrize("call", [edited(), ran("ls"), called(Doing.DELEGATE)], ids=lambda c: str(c.doing))
def test_a_turn_that_may_have_changed_something_is_looked_at(call: Any) -> None:
    assert play(session(), World(turn=turn(call))).rest.reason is Reason.CLEAN


def test_a_question_that_was_answered_holds_nothing_up() -> None:
    played = play(session(), World(turn=turn(edited(), called(Doing.ASK))))
    assert played.rest.reason is Reason.CLEAN


def test_a_message_without_an_id_is_never_taken_for_one_judged_before() -> None:
    played = play(session(judged=""), World(turn=turn(last_message_id="")))
    assert played.rest.reason is Reason.CLEAN


def test_the_same_text_under_another_id_is_another_message() -> None:
    played = play(session(judged="m1"), World(turn=turn(last_message_id="m2")))
    assert played.rest.reason is Reason.CLEAN
    assert played.session.judged == "m2"


def test_a_message_is_judged_once() -> None:
    first = play(session())
    assert first.rest.reason is Reason.CLEAN
    assert play(first.session).rest.reason is Reason.SAME


def test_the_hosts_own_goal_is_spoken_of_once() -> None:
    native = World(turn=turn(native_goal="ship it"))
    first = play(with_goal(), native)
    assert "steps back" in first.rest.note
    again = play(first.session, native)
    assert (again.rest.reason, again.rest.note) == (Reason.NATIVE_GOAL, "")


@pytest.mark.parametrize("ours", [None, goal(status=Status.ACHIEVED)], ids=["none", "achieved"])
def test_the_hosts_own_goal_is_not_spoken_of_where_ours_is_not_active(ours: Goal | None) -> None:
    native = World(turn=turn(native_goal="ship it"))
    assert play(session(goal=ours), native).rest == Rest(reason=Reason.NATIVE_GOAL)
