"""How a goal comes to rest, and what the person is told."""

from __future__ import annotations

import pytest

from sidecar.model.effects import Reason, Rest
from sidecar.model.goal import Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.session import Session
from sidecar.policy.endings import ENDINGS, end, unjudged
from support.cases import SETTINGS, session, stopped, with_goal

WORDS = {
    Status.ACHIEVED: "goal achieved",
    Status.UNVERIFIED: "goal unverified, please look",
    Status.EXHAUSTED: "budget spent, goal not achieved",
    Status.STALLED: "goal stalled, please look; /supervisor:goal resume goes on",
    Status.IMPOSSIBLE: "goal judged impossible",
}


def inquiry(of: Session) -> Inquiry:
    return Inquiry(session=of, stop=stopped(), settings=SETTINGS)


@pytest.mark.parametrize("status", WORDS)
def test_an_ending_sets_the_status_says_why_and_rings(status: Status) -> None:
    after, ruling = end(inquiry(with_goal(unjudged="earlier")), status, "because")
    assert after.session == with_goal(status=status, last_reason="because")
    assert ruling == Rest(
        reason=Reason(status.value),
        detail="because",
        note=f"Supervisor: {WORDS[status]}. because",
        alarm=True,
    )


def test_the_terminal_statuses_are_those_with_an_ending() -> None:
    assert set(ENDINGS) == set(Status) - {Status.ACTIVE, Status.PAUSED, Status.CLEARED}


@pytest.mark.parametrize("status", WORDS)
@pytest.mark.parametrize("of", [session(), with_goal(status=Status.CLEARED)], ids=["none", "cleared"])
def test_an_ending_without_an_active_goal_moves_nothing_and_rings_nothing(
    status: Status, of: Session
) -> None:
    after, ruling = end(inquiry(of), status, "because")
    assert after.session == of
    assert ruling == Rest(reason=Reason(status.value), detail="because")


def test_a_long_reason_is_cut_for_the_state_and_for_the_person() -> None:
    after, ruling = end(inquiry(with_goal()), Status.ACHIEVED, "x" * 5000)
    assert isinstance(ruling, Rest)
    assert after.session.goal is not None
    assert (len(after.session.goal.last_reason), len(ruling.detail), len(ruling.note)) == (1000, 1000, 600)


def test_an_unjudged_stop_leaves_the_goal_active_and_says_why() -> None:
    after, ruling = unjudged(inquiry(with_goal()), "the model is out of reach")
    assert after.session == with_goal(unjudged="the model is out of reach")
    assert ruling == Rest(
        reason=Reason.UNJUDGED,
        detail="the model is out of reach",
        note="Supervisor: this stop was not judged: the model is out of reach. The goal stays active.",
    )


def test_an_unjudged_stop_without_a_goal_bothers_nobody() -> None:
    assert unjudged(inquiry(session()), "why")[1] == Rest(reason=Reason.UNJUDGED, detail="why")
