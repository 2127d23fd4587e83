"""How sessions begin, continue and fork, and which calls of our own tools need no approval."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from sidecar.kernel.effects import NoReply, ToolCallReply
from sidecar.kernel.events import ToolCalled
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.session import THIS_TURN, Session, SessionKey
from sidecar.kernel.settings import Settings

CARRIED_OVER = frozenset({GoalStatus.ACTIVE, GoalStatus.PAUSED})
"""Statuses of a goal that a forked session copies."""

TOUCHED_FIELDS = frozenset({"active_since", "ended", "host_process", "project", "revision", "seen_at"})
"""Fields of a session that events change which void no judging."""


def reset_after_prompt(session: Session, at: float) -> Session:
    """Reset what was counted in a row, because a person spoke. `at`: seconds since the epoch."""
    pending = session.pending if session.pending and session.pending.for_goal else None
    return replace(session, pending=pending, unasked=0, stalls=0, streak=0, waited_for=(), active_since=at)


def mark_agent_active(session: Session, at: float) -> Session:
    """Note that the host itself set the agent to work, because something in the background ended."""
    return replace(session, active_since=at)


def resume_session(session: Session, settings: Settings) -> Session:
    """Resume a session: an active goal continues with new counters, within its lifetime."""
    goal = session.goal
    if goal is None or goal.status is not GoalStatus.ACTIVE:
        return replace(session, active_since=None)
    status = GoalStatus.PAUSED if settings.resume_paused else GoalStatus.ACTIVE
    renewed = replace(_reset_goal_counters(goal), status=status)
    return replace(session, goal=renewed, stalls=0, streak=0, movement=None, active_since=None)


def fork_session(parent: Session, key: SessionKey, project: str) -> Session:
    """Create a session that branched off, with a copy of the goal; the parent's goal is not touched.

    The host copies the parent's transcript too; its cost was charged before.
    """
    goal = parent.goal
    copy = _reset_goal_counters(goal) if goal is not None and goal.status in CARRIED_OVER else None
    return Session(key=key, project=project, goal=copy, retry=parent.retry, counted_to=THIS_TURN)


def mark_agent_idle(session: Session) -> Session:
    """Note that the agent is no longer at work: the turn failed or the session was closed."""
    return replace(session, active_since=None)


def rebase_ruling(began: Session, ruled: Session, now: Session) -> Session | None:
    """Return what is to be saved for a ruling on `began`, where `now` is stored meanwhile.

    None where more than a touch came in between: then the ruling is about a state that is gone.
    """
    changed = {name for name in Session.__struct_fields__ if getattr(began, name) != getattr(now, name)}
    if changed - TOUCHED_FIELDS:
        return None
    kept = {name: getattr(now, name) for name in changed if name != "seen_at"}
    return replace(ruled, **kept | {"revision": now.revision})


def _reset_goal_counters(goal: Goal) -> Goal:
    return replace(goal, spent=GoalSpending(), asked_to_run=(), unjudged="")


# --- Approval of calls of our own tools ---------------------------------------------------------------------
# - A tool that only reads is let through, and so is the journal: it belongs to the agent, informs the judge
#   and binds nobody.
# - A tool that runs something is not: the host's own rules decide, as for a shell.
# - A tool of another server with our tools' names is not either, because a project may name a server as it
#   likes. Where none of our tools has the name, the call is left alone.


JOURNAL_TOOLSET: Final = "journal"
"""The toolset in which an agent writes for itself."""


def needs_no_approval(toolset: str, *, reads: bool, asks: bool) -> bool:
    """Whether a tool needs no approval; `reads` and `asks` are the tool's own flags."""
    return (reads or toolset == JOURNAL_TOOLSET) and not asks


def answer_tool_call(call: ToolCalled, spare: bool | None) -> ToolCallReply | NoReply:  # noqa: FBT001 - it has three values
    """Answer a tool call. `spare`: whether the tool needs no approval; None for one that is not ours."""
    if spare is None:
        return NoReply()
    return ToolCallReply(session=call.key.id, spared=spare and call.certain)
