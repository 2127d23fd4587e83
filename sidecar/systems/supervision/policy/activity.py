"""What a session does at this moment, for people."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from sidecar.kernel.effects import (
    AskJudge,
    Effect,
    ReadProjectState,
    ReadTurn,
    RestReason,
    RunGates,
    RunOldChecks,
)
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.log import StopJudged
from sidecar.kernel.session import Session, active_goal

STEP_WORDING: Final[dict[type[Effect], str]] = {
    ReadTurn: "reading the turn",
    ReadProjectState: "reading what changed",
    RunGates: "running the checks",
    RunOldChecks: "running the old checks on the new code",
    AskJudge: "asking the judge",
}
"""What a judging does while it carries out an effect."""
WAITING_REASONS: Final = frozenset({RestReason.WAITING, RestReason.QUESTION, RestReason.BACKGROUND})
CLEARED_BY_USER: Final = "clear"
"""Claude Code's reason for the end of a session that /clear left."""
OPEN_STATUSES: Final = frozenset(
    {GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.STALLED, GoalStatus.UNVERIFIED}
)
"""Statuses of a goal that a resumed session may go on with."""


class JudgingStep(Struct, frozen=True, kw_only=True):
    """What the judging of a stop does, and since when, in seconds since the epoch.

    `output`: the end of what its checks print.
    """

    doing: str
    since: float
    output: str = ""


class WorkingNote(Struct, frozen=True):
    """Whose stops are judged, by session id, and what is done for each: "running `npm test`, 8 s"."""

    judging: dict[str, str]


class Activity(Struct, frozen=True, kw_only=True):
    """What a session does, since when, in seconds since the epoch, and what is to be said about it.

    `output`: the end of what the checks that run now print.
    """

    state: Literal["judging", "working", "waiting", "resting", "closed"]
    since: float
    detail: str = ""
    output: str = ""


def find_activity(
    session: Session, judging: JudgingStep | None, last: StopJudged | None, *, running: bool
) -> Activity:
    """Return what a session does. `last` is its last judged stop; `running`: its host may still run."""
    if judging is not None:
        return Activity(state="judging", since=judging.since, detail=judging.doing, output=judging.output)
    if session.ended or not running:
        left = "left by /clear" if session.ended == CLEARED_BY_USER else ""
        resumable = session.goal is not None and session.goal.status in OPEN_STATUSES
        back = f"its goal goes on when you resume session {session.key.id} in the host" if resumable else ""
        return Activity(state="closed", since=session.seen_at, detail="; ".join(filter(None, (left, back))))
    if session.active_since is not None:
        return Activity(state="working", since=session.active_since)
    if last is not None and last.decided in WAITING_REASONS and active_goal(session) is not None:
        return Activity(state="waiting", since=session.seen_at, detail=last.detail)
    return Activity(state="resting", since=session.seen_at)


def describe_step(step: JudgingStep, at: float) -> str:
    """Describe what a judging does, and for how long. `at`: the present, in seconds since the epoch."""
    return f"{step.doing}, {describe_age(at - step.since)}"


def describe_activity(activity: Activity, at: float) -> str:
    """Describe it in a line. `at`: the present, in seconds since the epoch."""
    detail = f": {activity.detail}" if activity.detail else ""
    wording = {"waiting": "waiting for you", "closed": "the session is closed"}
    return f"{wording.get(activity.state, activity.state)}{detail}, {describe_age(at - activity.since)}"


def describe_age(seconds: float) -> str:
    """Describe how long something has been so: "8 s", "5 min", "3 h", "2 days"."""
    whole = max(0, int(seconds))
    for size, unit in ((86_400, " days"), (3600, " h"), (60, " min")):
        if whole >= 2 * size:
            return f"{whole // size}{unit}"
    return f"{whole} s"


def goal_runs(session: Session, activity: Activity) -> bool:
    """Whether a goal is held at this moment."""
    return active_goal(session) is not None and activity.state != "closed"
