"""How a goal comes to rest, and what the person is told."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.kernel.effects import Rest, RestReason, Ruling
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.inquiry import Inquiry
from sidecar.kernel.session import active_goal

GOAL_ENDINGS: dict[GoalStatus, tuple[RestReason, str]] = {
    GoalStatus.ACHIEVED: (RestReason.ACHIEVED, "goal achieved"),
    GoalStatus.UNVERIFIED: (RestReason.UNVERIFIED, "goal unverified, please look"),
    GoalStatus.EXHAUSTED: (RestReason.EXHAUSTED, "budget spent, goal not achieved"),
    GoalStatus.STALLED: (RestReason.STALLED, "goal stalled, please look; /supervisor:goal resume goes on"),
    GoalStatus.IMPOSSIBLE: (RestReason.IMPOSSIBLE, "goal judged impossible"),
}


def end_goal(inquiry: Inquiry, status: GoalStatus, why: str) -> tuple[Inquiry, Ruling]:
    """Give the goal a terminal status and let the agent rest."""
    reason, words = GOAL_ENDINGS[status]
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=reason, detail=why)
    ended = replace(goal, status=status, last_reason=why[:1000], unjudged="")
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=ended))
    return inquiry, Rest(
        reason=reason, detail=why[:1000], note=f"Supervisor: {words}. {why}"[:600], alarm=True
    )


def rest_unjudged(inquiry: Inquiry, why: str) -> tuple[Inquiry, Ruling]:
    """Rest without a verdict: the goal stays as it is, and everyone can see why (law 5)."""
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=RestReason.UNJUDGED, detail=why)
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=replace(goal, unjudged=why[:1000])))
    note = f"Supervisor: this stop was not judged: {why}. The goal stays active."
    return inquiry, Rest(reason=RestReason.UNJUDGED, detail=why, note=note[:600])
