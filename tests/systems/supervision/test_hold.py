"""A finding that a person takes back is not asked for again on the same files, and reaches no goal."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply, RestReason
from sidecar.kernel.gate import Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.orders import parse_order
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision.policy.orders import Typed, carry_out_order, frees_agent
from support.cases import SETTINGS, incomplete, judged, ran, session, turn, with_goal
from support.play import Played, World, play

pytestmark = pytest.mark.proves("the loop")

LIE = World(turn=turn(ran("pytest", 1), message="All tests pass."))
FAILS = World(outcomes={"check:1": Outcome.FAILED})


def told(before: Session, text: str, origin: str = "") -> tuple[Session, CommandReply]:
    return carry_out_order(before, SETTINGS, parse_order("goal", text), Typed(50.0, 7, origin=origin))


def sent_back(world: World, settings: Settings = SETTINGS) -> Session:
    before = with_goal(checks=("make",)) if world is FAILS else with_goal()
    return play(before, world, settings=settings).session


def again(before: Session, world: World) -> Played:
    """The session's next stop, once what was sent has come to nothing."""
    return play(replace(before, judged="", pending=None), world)


@pytest.mark.parametrize("settings", [SETTINGS, Settings(mode="shadow")], ids=["on", "shadow"])
@pytest.mark.parametrize(
    ("world", "then"),
    [
        (FAILS, FAILS),
        (LIE, LIE),
        (World(judge=judged(incomplete("comments"))), World(judge=judged(incomplete("no comments yet")))),
    ],
    ids=["check", "claim", "judge, in other words"],
)
def test_what_is_held_is_not_asked_again_on_the_same_files_and_the_goal_stays_open(
    world: World, then: World, settings: Settings
) -> None:
    held, reply = told(sent_back(world, settings), "hold  it is right so ", "bash, in a terminal")
    assert (reply.refused, reply.headline[:46]) == (False, "not asked again while the files are as they we")
    played = again(held, then)
    assert (played.rest.reason, played.goal.status) == (RestReason.HELD, GoalStatus.ACTIVE)
    assert played.rest.detail.startswith("it is right so (bash, in a terminal): ")
    assert played.rest.note.startswith("Supervisor: not sent back, as you took it back: ")
    moved = again(held, replace(then, tree="other"))
    assert moved.sent_back.feedback.missing
    let_ask, _ = told(held, "unhold")
    assert again(let_ask, then).sent_back.feedback.missing


def test_what_a_judge_missed_is_held_for_that_goal_alone() -> None:
    unfinished = World(judge=judged(incomplete("comments")))
    held, _ = told(sent_back(unfinished), "hold it is right")
    another, _ = told(held, "translate the messages")
    assert again(another, unfinished).sent_back.feedback.missing


def test_what_comes_on_top_is_asked_for_alone() -> None:
    both = World(outcomes={"check:1": Outcome.FAILED, "check:2": Outcome.FAILED})
    before = play(with_goal(checks=("make", "lint")), both).session
    assert before.objection is not None
    one, *others = before.objection.missing  # it is a line of both checks
    part = replace(before, held=(replace(before.objection, missing=(one,), held="as agreed"),))
    assert again(part, both).sent_back.feedback.missing == tuple(point for point in others if point != one)


@pytest.mark.parametrize(
    ("before", "text", "said"),
    [
        (session(), "hold it is right", "there is nothing to hold"),
        (with_goal(), "hold", "it needs a reason: /supervisor:goal hold REASON"),
        (with_goal(), "HOLD \n", "it needs a reason"),
    ],
)
def test_without_a_finding_or_a_reason_nothing_is_held(before: Session, text: str, said: str) -> None:
    after, reply = told(before, text)
    assert (after, reply.refused, said in reply.headline) == (before, True, True)


def test_a_goal_in_quotes_may_begin_with_hold() -> None:
    after, _ = told(session(), '"hold the line"')
    assert after.goal is not None
    assert after.goal.condition == "hold the line"


def test_to_hold_frees_the_agent_so_it_is_told_and_undone_by_a_word() -> None:
    before = sent_back(FAILS)
    held, reply = told(before, "hold as agreed")
    assert frees_agent(before, held, SETTINGS)
    assert not frees_agent(held, told(held, "unhold")[0], SETTINGS)
    assert reply.details[0].endswith("type: /supervisor:goal unhold")
    assert parse_order("goal", "hold as agreed").text == "hold as agreed"
