"""Skip rules: which stops are not judged. The first rule that holds decides; its reason is recorded.

EARLY_SKIP_RULES need only what the host reported; LATE_SKIP_RULES need the transcript. Background work is not
in the tables, because waiting for it changes the session: see `new_background_tasks`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.inquiry import Inquiry
from sidecar.kernel.session import Session, active_goal
from sidecar.kernel.turn import Turn


def _goal_is_paused(inquiry: Inquiry) -> bool:
    goal = inquiry.session.goal
    return goal is not None and goal.status is GoalStatus.PAUSED


def _judged_before(inquiry: Inquiry, turn: Turn) -> bool:
    """Whether the message was judged, by the host's id and never by its text; a lost answer is repeated."""
    return bool(turn.last_message_id) and turn.last_message_id == inquiry.session.judged and not inquiry.lost


EARLY_SKIP_RULES: tuple[tuple[RestReason, Callable[[Inquiry], object]], ...] = (
    (RestReason.OURS, lambda q: q.stop.ours),
    (RestReason.SUBAGENT, lambda q: q.stop.subagent),
    (RestReason.OFF, lambda q: q.off),
    (RestReason.PAUSED, _goal_is_paused),
    (RestReason.PLAN_MODE, lambda q: q.stop.read_only),
    (RestReason.WAITING, lambda q: q.waits),
)

LATE_SKIP_RULES: tuple[tuple[RestReason, Callable[[Inquiry, Turn], object]], ...] = (
    (RestReason.INTERRUPTED, lambda _, turn: turn.interrupted),
    (RestReason.UNFINISHED, lambda _, turn: turn.unfinished),
    (RestReason.QUEUED, lambda _, turn: turn.queued),
    (RestReason.QUESTION, lambda _, turn: turn.asking),
    (RestReason.NATIVE_GOAL, lambda _, turn: turn.native_goal),
    (RestReason.SAME, _judged_before),
    (RestReason.TALK, lambda q, turn: active_goal(q.session) is None and not turn.changed),
)


def early_skip_reason(inquiry: Inquiry) -> RestReason | None:
    """Return why to skip the stop before anything is read, None where nothing speaks for it."""
    return next((reason for reason, holds in EARLY_SKIP_RULES if holds(inquiry)), None)


def late_skip_reason(inquiry: Inquiry, turn: Turn) -> RestReason | None:
    """Return why to skip the stop after the transcript was read, None where it is to be judged."""
    return next((reason for reason, holds in LATE_SKIP_RULES if holds(inquiry, turn)), None)


def new_background_tasks(inquiry: Inquiry) -> tuple[Session, tuple[str, ...]]:
    """Return the session, and the background tasks for which no stop was deferred or sent back.

    Each task counts once, so that a server left running does not keep a goal from being judged.
    """
    session = inquiry.session
    new = tuple(task for task in inquiry.stop.background if task.id not in session.waited_for)
    waited = (*session.waited_for, *(task.id for task in new))[-50:]
    return replace(session, waited_for=waited), tuple(task.description for task in new)
