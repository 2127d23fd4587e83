"""A goal never goes quiet: a prompt takes it up again, and a rest says that it is not enforced."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.gate import Outcome
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import ProgressSnapshot, Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision.policy.sessions import (
    GO_ON,
    answer_way,
    find_activity,
    reset_after_prompt,
    take_up_goal,
    way_on,
)
from support.cases import (
    PYTEST,
    SETTINGS,
    after,
    at_status,
    edited,
    goal,
    ran,
    session,
    stopped,
    talk,
    task,
    turn,
)
from support.fakes import Fakes, prompt
from support.play import Played, World, play
from support.table import over_table

STALLED, EXHAUSTED = GoalStatus.STALLED, GoalStatus.EXHAUSTED
AGAIN = "/supervisor:goal and the condition again"
GREATER = Settings(max_attempts=20)
STANDINGS: dict[str, tuple[Goal, Settings, bool, str]] = {
    "stalled": (after(3, status=STALLED), SETTINGS, True, "what may help the agent"),
    "continuations spent": (after(16, status=EXHAUSTED), SETTINGS, False, "/supervisor:retry 32"),
    "the settings allow more": (after(16, status=EXHAUSTED), GREATER, True, "a prompt"),
    "no more is allowed": (after(100, lifetime=100, status=EXHAUSTED), SETTINGS, False, AGAIN),
    "time": (goal(status=EXHAUSTED, spent=GoalSpending(seconds=1800.0)), SETTINGS, False, AGAIN),
    "tokens": (goal(status=EXHAUSTED, spent=GoalSpending(tokens=400_000)), SETTINGS, False, AGAIN),
    "money": (
        goal(status=EXHAUSTED, spent=GoalSpending(judge_cents=5.0)),
        Settings(goal_max_cents=5.0),
        False,
        AGAIN,
    ),
    "paused": (goal(status=GoalStatus.PAUSED), SETTINGS, False, "/supervisor:goal resume"),
    "unverified": (
        goal(status=GoalStatus.UNVERIFIED),
        SETTINGS,
        False,
        "/supervisor:goal resume, when it can run",
    ),
    "impossible": (
        goal(status=GoalStatus.IMPOSSIBLE),
        SETTINGS,
        False,
        "/supervisor:goal and another condition",
    ),
    "cleared": (goal(status=GoalStatus.CLEARED), SETTINGS, False, ""),
    "achieved": (goal(status=GoalStatus.ACHIEVED), SETTINGS, False, ""),
    "active": (goal(), SETTINGS, False, ""),
}
DONE = "Everything is done, all tests pass."


def speak(before: Session, settings: Settings = SETTINGS) -> Session:
    return take_up_goal(reset_after_prompt(before, 9.0), settings)


@over_table("case", STANDINGS)
def test_a_prompt_takes_up_a_goal_that_has_a_budget_left_and_else_one_thing_is_to_be_typed(case: str) -> None:
    rested, settings, goes_on, way = STANDINGS[case]
    before = session(goal=rested, stalls=3, streak=7, movement=ProgressSnapshot(tree="t"))
    assert way_on(before, settings) == way
    spoken = speak(before, settings)
    assert (spoken.stalls, spoken.streak) == (0, 0)
    assert spoken.goal == (replace(rested, status=GoalStatus.ACTIVE) if goes_on else rested)
    assert (spoken.movement is None) == goes_on


RUN_OPTIONS = {
    "continuations spent": "--max-iterations 33 ",
    "the settings allow more": "--max-iterations 33 ",
    "no more is allowed": "--goal GOAL ",
    "time": "--goal GOAL ",
    "tokens": "--goal GOAL ",
    "money": "--goal GOAL ",
    "impossible": "--goal GOAL ",
}


@over_table("case", STANDINGS)
def test_a_session_of_a_run_goes_on_by_its_command_whatever_a_host_would_be_typed(case: str) -> None:
    rested, settings, _, _ = STANDINGS[case]
    before = session(goal=rested, key=SessionKey(RUN_HOST, "one"))
    command = f"supervisor run --session one {RUN_OPTIONS.get(case, '')}-- AGENT"
    assert way_on(before, settings) == (command if rested.status in GO_ON else "")
    assert answer_way(before) == "To go on, type: supervisor run --session one --extra ANSWER -- AGENT"
    if case in ("active", "paused", "stalled", "unverified"):
        closed = find_activity(before, None, None, running=False)
        assert closed.detail == f"its goal goes on when you type `{command}`"


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.PASSED])
def test_after_a_hint_to_a_stalled_goal_a_false_end_is_sent_back_and_a_repair_is_told(
    outcome: Outcome,
) -> None:
    hinted = speak(session(goal=after(3, condition="all tests pass", status=STALLED), stalls=3))
    played = play(
        hinted, World(turn=turn(edited(), message=DONE), runner=PYTEST, outcomes={"tests": outcome})
    )
    assert played.kind == ("gates-failed" if outcome is Outcome.FAILED else RestReason.ACHIEVED)
    assert played.goal.spent.continuations == 3


def rest(before: Session, seen: str = "m1") -> Played:
    """A turn that changed something and claims nothing."""
    return play(before, World(turn=turn(last_message_id=seen, message="Look at it.")))


@over_table("case", ["stalled", "continuations spent", "paused", "unverified", "impossible"])
def test_while_a_goal_is_not_enforced_each_rest_says_so_once_in_a_turn(case: str) -> None:
    rested, _, _, way = STANDINGS[case]
    line = f"Supervisor: the goal is {rested.status}, so not enforced. To go on, type: {way}"
    first = rest(session(goal=rested))
    assert first.rest.note.splitlines()[-1] == line
    again = rest(first.session, "m2")
    assert line not in again.rest.note
    assert line in rest(reset_after_prompt(again.session, 9.0), "m3").rest.note


@pytest.mark.parametrize("status", [GoalStatus.CLEARED, GoalStatus.ACHIEVED, GoalStatus.JUDGED])
def test_a_goal_that_is_reached_or_gone_is_not_spoken_of(status: GoalStatus) -> None:
    assert "enforced" not in rest(at_status(status)).rest.note


def test_only_the_end_of_a_turn_says_that_the_goal_is_not_enforced() -> None:
    before = at_status(STALLED)
    for played in (
        play(before, World(turn=turn(interrupted=True))),
        play(before, stop=stopped(background=(task("b1"),))),
        play(before, stop=stopped(subagent=True)),
        play(before, off="off for you"),
    ):
        assert (played.rest.note, played.session.notified_idle) == ("", False)
    assert "not enforced" in play(before, World(turn=talk())).rest.note


def test_the_last_false_claim_without_a_goal_is_told_and_so_is_the_goal_that_is_paused_no_more() -> None:
    claims = turn(ran("pytest", 1), message="All tests pass.")
    played = play(session(goal=after(16, status=EXHAUSTED), unasked=3), World(turn=claims))
    assert played.rest.reason is RestReason.UNASKED_SPENT
    first, last = played.rest.note.splitlines()
    assert first.startswith("Supervisor: sent back 3/3, and rests. Still missing: you say “All tests pass.”")
    assert last.endswith("so not enforced. To go on, type: /supervisor:retry 32")


def test_plan_mode_says_once_for_a_goal_that_nothing_is_judged() -> None:
    planned = stopped(read_only=True)
    first = play(session(goal=goal()), stop=planned)
    assert first.rest.note == "Supervisor: nothing is judged in plan mode; it begins when you leave it"
    assert play(reset_after_prompt(first.session, 9.0), stop=planned).rest.note == ""


@pytest.mark.parametrize("status", [STALLED, GoalStatus.PAUSED])
async def test_what_a_rest_told_is_remembered_and_a_prompt_of_a_person_takes_up_what_stalled(
    fakes: Fakes, status: GoalStatus
) -> None:
    fakes.store.save(at_status(status))
    fakes.transcripts.script(talk(), talk())
    assert "not enforced" in (await fakes.rest()).note
    assert (await fakes.rest()).note == ""
    await fakes.tell(prompt(prompt_id="p1", human=False))
    assert fakes.goal().status is status
    await fakes.tell(prompt(prompt_id="p2"))
    assert fakes.goal().status is (GoalStatus.ACTIVE if status is STALLED else status)
