"""Shows loops that `supervisor loop` plays, which are no sessions of a host, as people are shown sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from sidecar.kernel import log
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.journal import Journal, TaskStatus
from sidecar.kernel.log import EventFilter, LoopTaskBegun, event_kind
from sidecar.kernel.loop import Loop, LoopStatus
from sidecar.kernel.session import Session
from sidecar.kernel.work import Standing
from sidecar.platform.services import PlatformServices
from sidecar.systems.supervision.policy.sessions import Activity
from sidecar.workers.ports import SELF

STEPS: Final = tuple(
    event_kind(kind) for kind in (log.LoopSessionChanged, LoopTaskBegun, log.LoopReportRuled)
)
NEWEST: Final = 50
"""Newest of these events in which it is looked for what began."""
DOES: Final[Mapping[LoopStatus, Literal["working", "waiting", "resting", "closed"]]] = {
    LoopStatus.RUNNING: "working",
    LoopStatus.COMPLETED: "closed",
}
STATUSES: Final = {
    LoopStatus.PAUSED: GoalStatus.PAUSED,
    LoopStatus.FAILED: GoalStatus.STALLED,
    LoopStatus.COMPLETED: GoalStatus.JUDGED,
}
"""The status of a goal as which that of a loop is shown; any other is active."""


def show_loop(services: PlatformServices, session: Session) -> tuple[Session, Activity] | None:
    """Return the session of a loop with its project, and its tasks as the goal; None where none was begun.

    Raises OSError, BadInputError.
    """
    key = session.key
    loop, journal = services.loops.load(key), services.journals.load(key) or Journal()
    events = services.log.newest(EventFilter(session=key, kinds=STEPS), NEWEST)
    if loop is None or not events:
        return None
    status = STATUSES.get(loop.status, GoalStatus.ACTIVE)
    if loop.status is LoopStatus.COMPLETED and all(one.shown is Standing.PROVED for one in journal.tasks):
        status = GoalStatus.ACHIEVED
    goal = Goal(id="loop", condition=loop.command, status=status, last_reason=loop.end_reason)
    halted = any(task.status is TaskStatus.BLOCKED for task in journal.tasks)
    state = DOES.get(loop.status, "waiting" if halted else "resting")
    begun = [one.data for one in events if isinstance(one.data, LoopTaskBegun)]
    detail = _describe_loop(loop, journal, begun)
    activity = Activity(state=state, since=events[-1].at, detail=detail)
    return replace(session, project=events[-1].project, goal=goal), activity


def _describe_loop(loop: Loop, journal: Journal, begun: Sequence[LoopTaskBegun]) -> str:
    done = sum(not task.open for task in journal.tasks)
    at_work = ", ".join(task.id for task in journal.tasks if task.status is TaskStatus.IN_PROGRESS)
    same = [one.model for one in begun[-1:] if (one.task, one.tier) == (loop.task, loop.tier)]
    model = "".join(f" ({name})" for name in same if name != SELF)
    report = f": report {loop.iteration + 1}, {loop.tier}{model}" if loop.task else ""
    cents = "cost unknown" if loop.spent_cents is None else f"{loop.spent_cents:.2f} cents"
    return "; ".join(filter(None, (f"{done} of {len(journal.tasks)} done", f"{at_work}{report}", cents)))
