"""What is sent back, what it costs, and when it is enough (laws 6, 7 and 8).

A continuation is saved as pending before it is said, and charged when the host shows that it arrived; one
that never arrived is given back. The last one's stop is still judged.
"""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from sidecar.model.effects import Continue, Feedback, Reason, Rest, Ruling
from sidecar.model.goal import Goal, Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.session import Continuation, Movement, Session
from sidecar.model.turn import Turn
from sidecar.policy import budget
from sidecar.policy.endings import end
from sidecar.policy.gates import failed, unrunnable
from sidecar.policy.lack import Lack
from sidecar.policy.skip import active_goal


def settle(session: Session, turn: Turn, *, continued: bool) -> tuple[Session, bool]:
    """Charge the pending continuation if it arrived, else give it back. Returns whether it arrived.

    Where the transcript does not show it, the host's own word (`continued`) is the sign of arrival, so that
    no change of the transcript's format makes a budget endless; but not at a stop that was judged before.
    """
    pending = session.pending
    if pending is None:
        return session, False
    repeated = bool(turn.last_message_id) and turn.last_message_id == session.judged
    session = replace(session, pending=None)
    if pending.id not in turn.arrived and (repeated or not continued):
        return replace(session, goal=_unsaid(session.goal)), False
    streak = 0 if turn.calls_since_arrival else session.streak + 1
    session = replace(session, streak=streak)
    if not pending.for_goal:
        return replace(session, unasked=session.unasked + 1), True
    return replace(session, goal=_charged(session.goal)), True


def _unsaid(goal: Goal | None) -> Goal | None:
    """What a lost continuation asked for was never asked."""
    return replace(goal, asked_to_run=(), asked_about=()) if goal is not None else None


def _charged(goal: Goal | None) -> Goal | None:
    if goal is None:
        return None
    spent = replace(goal.spent, continuations=goal.spent.continuations + 1)
    return replace(goal, spent=spent, lifetime=goal.lifetime + 1)


def short_id(session: Session) -> str:
    """Six hex digits, new for every continuation of every session."""
    name = f"{session.key.host}/{session.key.id}/{session.serial}"
    return hashlib.sha256(name.encode()).hexdigest()[:6]


def send_back(inquiry: Inquiry, lack: Lack, at: float) -> tuple[Inquiry, Ruling]:
    """Say it again with something new, or rest because enough was said."""
    goal = active_goal(inquiry.session)
    now = _movement(inquiry, lack.missing)
    stalls = inquiry.session.stalls + 1 if inquiry.arrived and now == inquiry.session.movement else 0
    inquiry = replace(inquiry, session=replace(inquiry.session, movement=now, stalls=stalls))
    if ruling := _enough(inquiry, goal, lack):
        return ruling
    if inquiry.settings.mode == "shadow":
        return inquiry, Rest(reason=Reason.SHADOW, detail=f"would have sent back: {lack.kind}: {lack.reason}")
    return _say(inquiry, goal, lack, at)


def _movement(inquiry: Inquiry, missing: tuple[str, ...]) -> Movement:
    failing = [line for run in failed(inquiry.runs) for line in (run.gate.id, *run.failures)]
    return Movement(
        tree=inquiry.survey.tree,
        failing=(*failing, *(run.gate.id for run in unrunnable(inquiry.runs))),
        todos=(*inquiry.turn.open_todos, *sorted(task.id for task in inquiry.turn.planned)),
        missing=missing,
    )


def _enough(inquiry: Inquiry, goal: Goal | None, lack: Lack) -> tuple[Inquiry, Ruling] | None:
    session = inquiry.session
    if goal is None:
        if session.unasked >= budget.unasked(session) or _in_a_row(session):
            return inquiry, Rest(reason=Reason.UNASKED_SPENT, detail=lack.reason)
        return None
    if spent := budget.spent_reason(goal, session, inquiry.settings):
        return end(inquiry, Status.EXHAUSTED, f"{spent} spent{_way_on(spent)}; still missing: {lack.reason}")
    if how := _in_a_row(session):
        tried = f"{goal.spent.continuations} continuations tried, {how}"
        return end(inquiry, Status.STALLED, f"{tried}; still missing: {lack.reason}")
    return None


def _in_a_row(session: Session) -> str:
    """How the last continuations led nowhere, in words; "" while one more may help (law 7)."""
    if session.stalls >= budget.STALLS:
        return f"nothing moved in the last {session.stalls}"
    return f"no tool call in the last {session.streak}" if session.streak >= budget.STREAK else ""


def _way_on(spent: str) -> str:
    """Only a spent budget of continuations can be raised; other limits belong to the goal as it was set."""
    return (
        " (/supervisor:retry N goes on)"
        if spent.endswith(" continuations")
        else " (set the goal again to go on)"
    )


def _say(inquiry: Inquiry, goal: Goal | None, lack: Lack, at: float) -> tuple[Inquiry, Ruling]:
    session = replace(inquiry.session, serial=inquiry.session.serial + 1)
    said = Continuation(id=short_id(session), said_at=at, for_goal=goal is not None)
    number = 1 + (goal.spent.continuations if goal else session.unasked)
    total = budget.continuations(session, inquiry.settings) if goal else budget.unasked(session)
    if goal is not None:
        session = replace(session, goal=replace(goal, last_reason=lack.reason, unjudged=""))
    session = replace(session, pending=said, active_since=at)
    feedback = Feedback(
        kind=lack.kind,
        id=said.id,
        number=number,
        budget=total,
        condition=goal.condition if goal else "",
        missing=lack.missing,
        next_step=lack.next_step,
        evidence=lack.evidence,
        stalls=session.stalls,
    )
    note = f"Supervisor: sent back {number}/{total}: {lack.reason[:160]}"
    return replace(inquiry, session=session), Continue(feedback=feedback, note=note)
