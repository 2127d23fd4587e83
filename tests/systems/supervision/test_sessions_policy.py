"""How sessions begin, go on and fork."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.kernel.goal import GoalSpending, GoalStatus
from sidecar.kernel.session import THIS_TURN, ProgressSnapshot, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision.policy.sessions import (
    fork_session,
    mark_agent_active,
    mark_agent_idle,
    reset_after_prompt,
    resume_session,
)
from support.cases import KEY, PROJECT, SETTINGS, at_status, goal, said, session
from support.table import over_table

USED = goal(
    spent=GoalSpending(continuations=9, tokens=5, seconds=4.0, judge_tokens=3),
    lifetime=42,
    asked_to_run=("tests",),
    unjudged="x",
    last_reason="y",
)
RENEWED = goal(lifetime=42, last_reason="y")
ROW = {"stalls": 2, "streak": 6, "movement": ProgressSnapshot(tree="t")}


def test_a_human_prompt_starts_anew_what_is_counted_in_a_row() -> None:
    before = session(unasked=3, stalls=2, streak=6, waited_for=("b1",), judged="m1", counted_to=5)
    assert reset_after_prompt(before, 9.0) == session(judged="m1", counted_to=5, active_since=9.0)


def test_a_human_prompt_keeps_what_the_goal_has_spent() -> None:
    assert reset_after_prompt(session(goal=USED), 9.0).goal == USED


def test_a_human_prompt_forgets_a_continuation_without_a_goal_but_not_one_for_it() -> None:
    assert reset_after_prompt(session(pending=said(for_goal=False)), 9.0).pending is None
    assert reset_after_prompt(session(goal=goal(), pending=said()), 9.0).pending == said()


def test_a_notice_of_the_host_counts_as_work_and_resets_nothing() -> None:
    before = session(unasked=3, stalls=2, streak=6, waited_for=("b1",))
    assert mark_agent_active(before, 9.0) == replace(before, active_since=9.0)


def test_a_closed_session_is_not_at_work() -> None:
    assert mark_agent_idle(session(active_since=3.0)) == session()


def test_a_resumed_session_goes_on_with_its_goal_and_counts_anew_within_its_lifetime() -> None:
    before = session(goal=USED, retry=5, serial=7, pending=said(), active_since=1.0, **ROW)
    assert resume_session(before, SETTINGS) == session(goal=RENEWED, retry=5, serial=7, pending=said())


def test_a_resumed_goal_is_paused_where_the_user_wants_that() -> None:
    after = resume_session(session(goal=USED), Settings(resume_paused=True))
    assert after.goal == replace(RENEWED, status=GoalStatus.PAUSED)


@over_table("status", sorted(set(GoalStatus) - {GoalStatus.ACTIVE}))
@over_table("paused", [True, False])
def test_a_goal_that_is_not_active_stays_as_it_is_over_a_resume(status: GoalStatus, paused: bool) -> None:  # noqa: FBT001 - a column
    before = at_status(status, spent=GoalSpending(continuations=9))
    settings = Settings(resume_paused=paused)
    assert resume_session(replace(before, active_since=3.0), settings) == before


CARRIED_OVER = {GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.STALLED}
CHILD = SessionKey(host=KEY.host, id="s2")


@pytest.mark.parametrize("status", sorted(CARRIED_OVER))
def test_a_fork_takes_a_copy_of_the_goal_with_counters_anew(status: GoalStatus) -> None:
    parent = session(goal=replace(USED, status=status), retry=5, serial=7, pending=said(), unasked=2, **ROW)
    assert fork_session(parent, CHILD, "/else") == session(
        key=CHILD, project="/else", goal=replace(RENEWED, status=status), retry=5, counted_to=THIS_TURN
    )


@pytest.mark.parametrize("status", sorted(set(GoalStatus) - CARRIED_OVER))
def test_a_fork_takes_no_goal_that_came_to_rest(status: GoalStatus) -> None:
    assert fork_session(at_status(status), CHILD, PROJECT).goal is None


def test_a_fork_of_a_session_without_a_goal_has_none() -> None:
    assert fork_session(session(retry=5), CHILD, PROJECT) == session(key=CHILD, retry=5, counted_to=THIS_TURN)
