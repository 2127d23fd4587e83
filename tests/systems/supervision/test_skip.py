"""Stops that are none of our business: each has its reason."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import replace

from sidecar.kernel.effects import Rest, RestReason
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.session import Session
from sidecar.kernel.turn import CallOutcome, ToolAction, Turn
from sidecar.systems.supervision.policy.stop import EARLY_SKIP_RULES, LATE_SKIP_RULES
from support.cases import called, edited, goal, ran, session, stopped, talk, task, turn, with_goal
from support.play import World, play
from support.table import over_table


class Skipped(Struct, frozen=True, kw_only=True):
    """A stop that is let go."""

    stop: dict[str, Any] = field(default_factory=dict)
    session: Session = field(default_factory=with_goal)
    turn: Turn = field(default_factory=turn)
    off: str = ""
    waits: str = ""


EARLY_ROWS: dict[RestReason, Skipped] = {
    RestReason.OURS: Skipped(stop={"ours": True}),
    RestReason.SUBAGENT: Skipped(stop={"subagent": True}),
    RestReason.OFF: Skipped(off="off for this project"),
    RestReason.PAUSED: Skipped(session=with_goal(status=GoalStatus.PAUSED)),
    RestReason.PLAN_MODE: Skipped(stop={"read_only": True}),
    RestReason.WAITING: Skipped(waits="may the change be delivered?"),
}
LATE_ROWS: dict[RestReason, Skipped] = {
    RestReason.INTERRUPTED: Skipped(turn=turn(interrupted=True)),
    RestReason.PLAN_MODE: Skipped(turn=turn(read_only=True)),
    RestReason.UNFINISHED: Skipped(turn=turn(unfinished="the session was compacted")),
    RestReason.QUEUED: Skipped(turn=turn(queued=True)),
    RestReason.QUESTION: Skipped(turn=turn(called(ToolAction.ASK, CallOutcome.PENDING))),
    RestReason.REWOUND: Skipped(session=with_goal(prompt_id="p1"), turn=turn(rewound=("p0", "p1"))),
    RestReason.NATIVE_GOAL: Skipped(turn=turn(native_goal="ship it")),
    RestReason.SAME: Skipped(session=session(goal=goal(), judged="m1")),
    RestReason.TALK: Skipped(session=session(), turn=talk()),
}
ROWS = (*EARLY_ROWS.items(), *LATE_ROWS.items())
WAITING_FOR_TASK = Skipped(stop={"background": (task("b1"),)})


@over_table("reason, row", (*ROWS, (RestReason.BACKGROUND, WAITING_FOR_TASK)))
def test_a_stop_is_let_go_for_its_reason_without_running_or_asking_anything(
    reason: RestReason, row: Skipped
) -> None:
    played = play(row.session, World(turn=row.turn), stop=stopped(**row.stop), off=row.off, waits=row.waits)
    assert played.rest.reason is reason
    assert (played.gates, played.case) == ((), None)
    assert not played.rest.alarm


def test_plan_mode_that_only_the_record_shows_is_told_once() -> None:
    planned = World(turn=turn(read_only=True))
    first = play(with_goal(), planned)
    assert "plan mode" in first.rest.note
    assert play(first.session, planned).rest.note == ""


@pytest.mark.parametrize("reason", EARLY_ROWS, ids=str)
def test_an_early_reason_needs_no_look_at_the_transcript_and_changes_nothing(reason: RestReason) -> None:
    row = EARLY_ROWS[reason]
    told = replace(row.session, notified_idle=True, notified_plan=True)
    played = play(told, stop=stopped(**row.stop), off=row.off, waits=row.waits)
    assert played.orders == ()
    assert played.session == told


@over_table("reason", EARLY_ROWS, ids=str)
@over_table("late", LATE_ROWS, ids=str)
def test_an_early_reason_comes_before_a_late_one(reason: RestReason, late: RestReason) -> None:
    row = EARLY_ROWS[reason]
    played = play(
        row.session, World(turn=LATE_ROWS[late].turn), stop=stopped(**row.stop), off=row.off, waits=row.waits
    )
    assert played.rest.reason is reason


def test_every_row_of_the_tables_is_tested() -> None:
    assert set(EARLY_ROWS) == {reason for reason, _ in EARLY_SKIP_RULES}
    assert set(LATE_ROWS) == {reason for reason, _ in LATE_SKIP_RULES}


def test_a_stop_whose_turn_cannot_be_read_is_unjudged_and_says_why() -> None:
    unread = Turn(readable=False, unfinished="the host hung up")
    played = play(with_goal(), World(turn=unread))
    assert (played.rest.reason, played.rest.detail) == (RestReason.UNJUDGED, "the host hung up")
    assert "the host hung up" in played.rest.note
    assert played.session.goal is not None
    assert (played.session.goal.status, played.session.goal.unjudged) == (
        GoalStatus.ACTIVE,
        "the host hung up",
    )


def test_the_reason_why_supervisor_is_off_is_in_the_detail() -> None:
    assert play(with_goal(), off="off for you").rest == Rest(reason=RestReason.OFF, detail="off for you")


@pytest.mark.parametrize(
    "call", [edited(), ran("ls"), called(ToolAction.DELEGATE)], ids=lambda c: str(c.doing)
)
def test_a_turn_that_may_have_changed_something_is_looked_at(call: Any) -> None:
    assert play(session(), World(turn=turn(call))).rest.reason is RestReason.CLEAN


def test_a_question_that_was_answered_holds_nothing_up() -> None:
    played = play(session(), World(turn=turn(edited(), called(ToolAction.ASK))))
    assert played.rest.reason is RestReason.CLEAN


def test_a_message_without_an_id_is_never_taken_for_one_judged_before() -> None:
    played = play(session(judged=""), World(turn=turn(last_message_id="")))
    assert played.rest.reason is RestReason.CLEAN


def test_a_message_is_judged_once() -> None:
    first = play(session())
    assert first.rest.reason is RestReason.CLEAN
    assert play(first.session).rest.reason is RestReason.SAME


def test_the_hosts_own_goal_is_spoken_of_once() -> None:
    native = World(turn=turn(native_goal="ship it"))
    first = play(with_goal(), native)
    assert "steps back" in first.rest.note
    again = play(first.session, native)
    assert (again.rest.reason, again.rest.note) == (RestReason.NATIVE_GOAL, "")


@pytest.mark.parametrize("ours", [None, goal(status=GoalStatus.ACHIEVED)], ids=["none", "achieved"])
def test_the_hosts_own_goal_is_not_spoken_of_where_ours_is_not_active(ours: Goal | None) -> None:
    native = World(turn=turn(native_goal="ship it"))
    assert play(session(goal=ours), native).rest == Rest(reason=RestReason.NATIVE_GOAL)
