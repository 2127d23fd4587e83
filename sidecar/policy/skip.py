"""When a stop is none of our business. The first row that holds decides; each has its reason in the record.

EARLY rows need only what the host said; LATE rows need what the transcript shows. Background work is not in
the tables, because waiting for it changes the session: see `fresh_tasks`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from sidecar.model.effects import Reason
from sidecar.model.goal import Goal, Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.session import Session
from sidecar.model.turn import Turn


def active_goal(session: Session) -> Goal | None:
    """The goal that is being judged, None where no goal is set or it rests."""
    goal = session.goal
    return goal if goal is not None and goal.status is Status.ACTIVE else None


def _paused(inquiry: Inquiry) -> bool:
    goal = inquiry.session.goal
    return goal is not None and goal.status is Status.PAUSED


def _judged_before(inquiry: Inquiry, turn: Turn) -> bool:
    """The host's id of the message decides, never its text; an answer that was lost is given anew."""
    return bool(turn.last_message_id) and turn.last_message_id == inquiry.session.judged and not inquiry.lost


EARLY: tuple[tuple[Reason, Callable[[Inquiry], object]], ...] = (
    (Reason.OURS, lambda q: q.stop.ours),
    (Reason.SUBAGENT, lambda q: q.stop.subagent),
    (Reason.OFF, lambda q: q.off),
    (Reason.PAUSED, _paused),
    (Reason.PLAN_MODE, lambda q: q.stop.read_only),
)

LATE: tuple[tuple[Reason, Callable[[Inquiry, Turn], object]], ...] = (
    (Reason.INTERRUPTED, lambda _, turn: turn.interrupted),
    (Reason.UNFINISHED, lambda _, turn: turn.unfinished),
    (Reason.QUEUED, lambda _, turn: turn.queued),
    (Reason.QUESTION, lambda _, turn: turn.asking),
    (Reason.NATIVE_GOAL, lambda _, turn: turn.native_goal),
    (Reason.SAME, _judged_before),
    (Reason.TALK, lambda q, turn: active_goal(q.session) is None and not turn.changed),
)


def early(inquiry: Inquiry) -> Reason | None:
    """Why to let go before anything is looked at, None where the stop is ours."""
    return next((reason for reason, holds in EARLY if holds(inquiry)), None)


def late(inquiry: Inquiry, turn: Turn) -> Reason | None:
    """Why to let go after the transcript was read, None where the stop is to be judged."""
    return next((reason for reason, holds in LATE if holds(inquiry, turn)), None)


def fresh_tasks(inquiry: Inquiry) -> tuple[Session, tuple[str, ...]]:
    """The session, and the background tasks that no stop has been deferred or sent back for.

    Each task counts once, so that a server left running does not keep a goal from being judged.
    """
    session = inquiry.session
    new = tuple(task for task in inquiry.stop.background if task.id not in session.waited_for)
    waited = (*session.waited_for, *(task.id for task in new))[-50:]
    return replace(session, waited_for=waited), tuple(task.description for task in new)
