"""A continuation is charged when the host shows that it arrived, else given back (law 6)."""

from __future__ import annotations

import pytest
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.turn import Turn
from sidecar.systems.supervision.policy.continuations import new_continuation_id, settle_continuation
from support.cases import (
    UNREACHABLE,
    after,
    goal,
    incomplete,
    judged,
    said,
    session,
    stopped,
    turn,
    with_goal,
)
from support.play import World, play
from support.table import over_table

PENDING = session(goal=after(2), pending=said("abc123"), streak=1)
UNREADABLE = Turn(last_message="Done.", readable=False)


class Sign(Struct, frozen=True, kw_only=True):
    """What the host shows of the continuation `abc123`."""

    turn: Turn
    continued: bool = False
    arrived: bool


SIGNS = {
    "its id is in the transcript": Sign(turn=turn(arrived=("abc123",)), arrived=True),
    "its id is among others": Sign(turn=turn(arrived=("fff000", "abc123")), arrived=True),
    "another id is in the transcript": Sign(turn=turn(arrived=("fff000",)), arrived=False),
    "no id is in the transcript": Sign(turn=turn(), arrived=False),
    "the host says so, and its transcript does not show it": Sign(turn=turn(), continued=True, arrived=True),
    "the host says so and keeps no transcript": Sign(turn=UNREADABLE, continued=True, arrived=True),
    "there is no transcript and no word": Sign(turn=UNREADABLE, arrived=False),
    "transcript and word": Sign(turn=turn(arrived=("abc123",)), continued=True, arrived=True),
}


@over_table("case", SIGNS)
def test_a_continuation_is_charged_exactly_where_it_was_seen_to_arrive(case: str) -> None:
    sign = SIGNS[case]
    settled, arrived = settle_continuation(PENDING, sign.turn, continued=sign.continued)
    assert arrived is sign.arrived
    assert settled.pending is None
    assert settled.goal == (after(3) if sign.arrived else after(2))


def test_without_a_pending_continuation_nothing_is_settled() -> None:
    before = session(goal=after(2))
    assert settle_continuation(before, turn(arrived=("abc123",)), continued=True) == (before, False)


def test_a_continuation_without_a_goal_counts_towards_the_unasked_ones() -> None:
    before = session(goal=goal(status=GoalStatus.ACHIEVED), pending=said(for_goal=False), unasked=1)
    settled, _ = settle_continuation(before, turn(arrived=("abc123",)), continued=True)
    assert settled == session(goal=goal(status=GoalStatus.ACHIEVED), unasked=2)


@pytest.mark.parametrize(
    "seen",
    [
        turn(arrived=("abc123",), interrupted=True),
        turn(arrived=("abc123",), queued=True),
        turn(arrived=("abc123",), native_goal="x"),
    ],
    ids=["interrupted", "queued", "native goal"],
)
def test_it_is_charged_even_where_the_stop_itself_is_let_go(seen: Turn) -> None:
    assert play(PENDING, World(turn=seen)).goal.spent.continuations == 3


def test_a_lost_answer_is_given_anew_to_the_same_message() -> None:
    again = World(judge=judged(incomplete()))
    first = play(with_goal(), again)
    second = play(first.session, again)
    assert second.sent_back.feedback.id != first.sent_back.feedback.id
    assert second.sent_back.feedback.number == first.sent_back.feedback.number == 1
    assert second.goal.spent.continuations == 0


def test_without_a_transcript_a_goal_is_judged_by_what_the_host_said() -> None:
    played = play(with_goal(), World(turn=UNREADABLE, judge=judged(incomplete())))
    assert played.case is not None
    assert (played.case.last_message, played.case.evidence) == ("Done.", ())
    reached = play(played.session, World(turn=UNREADABLE, judge=UNREACHABLE), stop=stopped(continued=True))
    assert reached.goal.spent.continuations == 1


def test_without_a_transcript_and_a_goal_the_agent_rests() -> None:
    assert play(session(), World(turn=UNREADABLE)).rest.reason is RestReason.TALK


def test_ids_are_short_and_new_for_every_continuation_of_every_session() -> None:
    ids = {new_continuation_id(session(serial=serial)) for serial in range(100)}
    assert len(ids) == 100
    assert all(len(number) == 6 and int(number, 16) >= 0 for number in ids)


def test_a_stop_that_is_told_again_does_not_make_an_unsaid_continuation_arrive() -> None:
    before = replace(PENDING, judged="m1")
    _, arrived = settle_continuation(before, turn(last_message_id="m1"), continued=True)
    assert not arrived
