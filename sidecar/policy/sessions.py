"""How sessions begin, go on and fork."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.model.goal import Goal, Spent, Status
from sidecar.model.session import THIS_TURN, Session, SessionKey
from sidecar.model.settings import Settings

CARRIED_OVER = frozenset({Status.ACTIVE, Status.PAUSED})
"""Statuses of a goal that a forked session takes a copy of."""


def prompted(session: Session, at: float) -> Session:
    """A human spoke: what was counted in a row starts anew. `at`: seconds since the epoch."""
    pending = session.pending if session.pending and session.pending.for_goal else None
    return replace(session, pending=pending, unasked=0, stalls=0, streak=0, waited_for=(), active_since=at)


def woken(session: Session, at: float) -> Session:
    """The host itself set the agent to work, because something in the background ended."""
    return replace(session, active_since=at)


def resumed(session: Session, settings: Settings) -> Session:
    """The host resumed the session: an active goal goes on with its counters anew, within its lifetime."""
    goal = session.goal
    if goal is None or goal.status is not Status.ACTIVE:
        return replace(session, active_since=None)
    status = Status.PAUSED if settings.resume_paused else Status.ACTIVE
    renewed = replace(_renewed(goal), status=status)
    return replace(session, goal=renewed, stalls=0, streak=0, movement=None, active_since=None)


def forked(parent: Session, key: SessionKey, project: str) -> Session:
    """A session that branched off: it gets a copy of the goal, and its parent's is not touched.

    The host copies the parent's transcript too; what that cost was paid for before.
    """
    goal = parent.goal
    copy = _renewed(goal) if goal is not None and goal.status in CARRIED_OVER else None
    return Session(key=key, project=project, goal=copy, retry=parent.retry, counted_to=THIS_TURN)


def rested(session: Session) -> Session:
    """The turn failed or the session was closed: the agent is not at work any more."""
    return replace(session, active_since=None)


def _renewed(goal: Goal) -> Goal:
    return replace(goal, spent=Spent(), asked_to_run=(), unjudged="")
