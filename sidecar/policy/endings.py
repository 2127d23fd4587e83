"""How a goal comes to rest, and what the person is told."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.model.effects import Reason, Rest, Ruling
from sidecar.model.goal import Status
from sidecar.model.inquiry import Inquiry
from sidecar.policy.skip import active_goal

ENDINGS: dict[Status, tuple[Reason, str]] = {
    Status.ACHIEVED: (Reason.ACHIEVED, "goal achieved"),
    Status.UNVERIFIED: (Reason.UNVERIFIED, "goal unverified, please look"),
    Status.EXHAUSTED: (Reason.EXHAUSTED, "budget spent, goal not achieved"),
    Status.STALLED: (Reason.STALLED, "goal stalled, please look; /supervisor:goal resume goes on"),
    Status.IMPOSSIBLE: (Reason.IMPOSSIBLE, "goal judged impossible"),
}


def end(inquiry: Inquiry, status: Status, why: str) -> tuple[Inquiry, Ruling]:
    """Give the goal a terminal status and let the agent rest."""
    reason, words = ENDINGS[status]
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=reason, detail=why)
    ended = replace(goal, status=status, last_reason=why[:1000], unjudged="")
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=ended))
    return inquiry, Rest(
        reason=reason, detail=why[:1000], note=f"Supervisor: {words}. {why}"[:600], alarm=True
    )


def unjudged(inquiry: Inquiry, why: str) -> tuple[Inquiry, Ruling]:
    """No verdict could be had: the goal stays as it is, the agent rests, and everyone can see why (law 5)."""
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=Reason.UNJUDGED, detail=why)
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=replace(goal, unjudged=why[:1000])))
    note = f"Supervisor: this stop was not judged: {why}. The goal stays active."
    return inquiry, Rest(reason=Reason.UNJUDGED, detail=why, note=note[:600])
