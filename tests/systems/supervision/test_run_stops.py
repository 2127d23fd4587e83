"""Stops of `supervisor run`: what its tasks decide where no model has to be asked, or none answers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.kernel.evidence import Abstain
from sidecar.kernel.gate import Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.turn import OpenTask
from support.cases import KEY, UNREACHABLE, complete, incomplete, judged, stopped, turn, with_goal
from support.play import Played, World, play
from support.table import over_table

pytestmark = pytest.mark.proves("runs and the journal")

TASKS = "spec.md is built and its tasks are done"
PROSE = "the parser accepts comments"
READY = OpenTask(id="T3", status="remaining", text="write the lexer", now=True)
BLOCKED = OpenTask(id="T4", status="blocked", text="buy the domain")
NO_CHECK: tuple[str, ...] = ()
CHECK = ("make test",)
DONE: dict[str, Any] = {"complete": True}


def before(condition: str, checks: tuple[str, ...], host: str = RUN_HOST) -> Session:
    held = with_goal(condition, checks=checks, tasks_alone=condition == TASKS)
    return replace(held, key=SessionKey(host, "demo"))


def stop(session: Session, world: World) -> Played:
    return play(session, world, stop=stopped(key=session.key))


@over_table(
    ("condition", "checks", "journal", "ends"),
    [
        (TASKS, CHECK, DONE, "completed"),
        ("all tasks are done and all checks pass", CHECK, DONE, "completed"),
        (TASKS, NO_CHECK, DONE, "unjudged"),
        (PROSE, CHECK, DONE, "unjudged"),
        (TASKS, CHECK, DONE | {"planned": (BLOCKED,)}, "unjudged"),
        (TASKS, CHECK, {"planned": (READY,)}, "tasks-open"),
        (PROSE, CHECK, {"planned": (READY,)}, "tasks-open"),
        (TASKS, CHECK, {}, "tasks-open"),
        (PROSE, CHECK, {}, "unjudged"),
        (TASKS, CHECK, {"planned": (BLOCKED,)}, "unjudged"),
    ],
)
def test_without_a_judge_the_tasks_decide_what_they_can(
    condition: str, checks: tuple[str, ...], journal: dict[str, Any], ends: str
) -> None:
    assert stop(before(condition, checks), World(turn=turn(**journal), judge=UNREACHABLE)).kind == ends


def test_a_session_is_completed_by_a_check_that_ran_and_never_by_its_agents_word() -> None:
    world = World(turn=turn(complete=True))
    ended = stop(before(TASKS, CHECK), world)
    assert (ended.goal.status, ended.case) == (GoalStatus.COMPLETED, None)
    assert "`make test` passed" in ended.rest.note
    idle = stop(before(TASKS, CHECK), replace(world, changed=(), judge=UNREACHABLE))
    assert (idle.kind, idle.goal.status) == ("unjudged", GoalStatus.ACTIVE)
    red = stop(before(TASKS, CHECK), replace(world, outcomes={"check:1": Outcome.FAILED}))
    assert red.kind == "gates-failed"


def test_a_goal_of_tasks_asks_no_model_while_tasks_are_ready_and_one_afterwards() -> None:
    ready = stop(before(TASKS, NO_CHECK), World(turn=turn(planned=(READY,))))
    assert (ready.kind, ready.case) == ("tasks-open", None)
    done = stop(before(TASKS, NO_CHECK), World(turn=turn(complete=True), judge=judged(complete())))
    assert done.kind == "judged"


@over_table(
    ("failure", "told"),
    [(UNREACHABLE, "no backend can be reached"), (judged(Abstain("too little", 0.9)), "the judge abstained")],
)
def test_ready_tasks_outlive_a_judge_that_failed_and_the_failure_is_told(failure: Any, told: str) -> None:
    world = World(turn=turn(planned=(READY,)), judge=failure)
    went_on = stop(before(PROSE, NO_CHECK), world)
    missing = "; ".join(went_on.sent_back.feedback.missing)
    assert "1 open task that can be done now, first T3: write the lexer" in missing
    assert told in missing
    assert stop(before(PROSE, NO_CHECK, KEY.host), world).kind == "unjudged"  # a person is there


def test_the_next_agent_is_told_what_was_missing_and_no_other_work_than_its_task() -> None:
    missing = World(turn=turn(planned=(READY,)), judge=judged(incomplete("the docs are missing")))
    feedback = stop(before(PROSE, NO_CHECK), missing).sent_back.feedback
    assert feedback.missing == ("the docs are missing",)
    assert (feedback.condition, feedback.next_step) == ("", "")
    without_task = replace(missing, turn=turn())
    assert stop(before(PROSE, NO_CHECK), without_task).sent_back.feedback.next_step
    in_a_host = stop(before(PROSE, NO_CHECK, KEY.host), missing).sent_back.feedback
    assert in_a_host.condition == PROSE
    assert in_a_host.next_step


def test_a_check_that_failed_is_told_beside_the_tasks_where_the_message_leaves_a_doubt() -> None:
    doubtful = turn(message="I could not write the lexer. Should I take another approach?")
    world = World(turn=doubtful, outcomes={"check:1": Outcome.FAILED}, judge=UNREACHABLE)
    told = stop(before(TASKS, CHECK), world).sent_back.feedback
    assert (told.kind, told.missing[0][:15]) == ("tasks-open", "no task is open")
    assert "`make test` fails" in told.missing[-1]
