"""How a goal comes to rest, and what the person is told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import Inquiry, Rest, RestReason
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.session import Session
from sidecar.systems.supervision.policy.continuations import GOAL_ENDINGS, end_goal, rest_unjudged
from sidecar.systems.supervision.policy.sessions import GO_ON
from support.cases import SETTINGS, session, stopped, with_goal
from support.table import over_table

WORDS = {
    GoalStatus.ACHIEVED: "goal achieved",
    GoalStatus.UNVERIFIED: "goal unverified, please look",
    GoalStatus.EXHAUSTED: "budget spent, goal not achieved",
    GoalStatus.STALLED: "goal stalled, please look",
    GoalStatus.IMPOSSIBLE: "goal judged impossible",
}


def inquiry(of: Session) -> Inquiry:
    return Inquiry(session=of, stop=stopped(), settings=SETTINGS)


@pytest.mark.parametrize("status", WORDS)
def test_an_ending_sets_the_status_says_why_and_rings(status: GoalStatus) -> None:
    after, ruling = end_goal(inquiry(with_goal(unjudged="earlier")), status, "because")
    then = f"\nTo go on, type: {GO_ON[status]}" if status in GO_ON else ""
    assert after.session == with_goal(status=status, last_reason="because")
    assert ruling == Rest(
        reason=RestReason(status.value),
        detail="because",
        note=f"Supervisor: {WORDS[status]}. because{then}",
        alarm=True,
    )


def test_the_terminal_statuses_are_those_with_an_ending() -> None:
    assert set(GOAL_ENDINGS) == set(GoalStatus) - {GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.CLEARED}


@over_table("status", WORDS)
@over_table("of", [session(), with_goal(status=GoalStatus.CLEARED)], ids=["none", "cleared"])
def test_an_ending_without_an_active_goal_moves_nothing_and_rings_nothing(
    status: GoalStatus, of: Session
) -> None:
    after, ruling = end_goal(inquiry(of), status, "because")
    assert after.session == of
    assert ruling == Rest(reason=RestReason(status.value), detail="because")


@pytest.mark.parametrize("status", [GoalStatus.ACHIEVED, GoalStatus.JUDGED])
def test_a_goal_is_not_reached_while_an_edit_of_the_hosts_settings_waits(status: GoalStatus) -> None:
    waits = ".claude/settings.json was changed (disableAllHooks: not set -> true)"
    after, ruling = end_goal(replace(inquiry(with_goal()), unaccepted=waits), status, "`make` passes")
    assert after.session.goal is not None
    assert after.session.goal.status is GoalStatus.UNVERIFIED
    assert isinstance(ruling, Rest)
    assert ruling.reason is RestReason.UNVERIFIED
    assert f"`make` passes\nStill missing: {waits}\n" in ruling.note


def test_a_long_reason_is_cut_for_the_state_and_for_the_person() -> None:
    after, ruling = end_goal(inquiry(with_goal()), GoalStatus.ACHIEVED, "x" * 5000)
    assert isinstance(ruling, Rest)
    assert after.session.goal is not None
    assert (len(after.session.goal.last_reason), len(ruling.detail), len(ruling.note)) == (1000, 1000, 300)


def test_an_unjudged_stop_leaves_the_goal_active_and_says_why() -> None:
    after, ruling = rest_unjudged(inquiry(with_goal()), "the model is out of reach")
    assert after.session == with_goal(unjudged="the model is out of reach")
    assert ruling == Rest(
        reason=RestReason.UNJUDGED,
        detail="the model is out of reach",
        note="Supervisor: this stop was not judged: the model is out of reach. The goal stays active.\n"
        "Type: supervisor explain",
    )


def test_an_unjudged_stop_without_a_goal_bothers_nobody() -> None:
    assert rest_unjudged(inquiry(session()), "why")[1] == Rest(reason=RestReason.UNJUDGED, detail="why")
