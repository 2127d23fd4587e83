"""Continuations and endings: what is sent back, when it is enough, how a goal rests (laws 6, 7 and 8).

A continuation is saved as pending before it is sent, and charged when the host shows that it arrived; one
that never arrived is given back. The stop after the last continuation is still judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.gates import policy as gates
from sidecar.evidence.gates.policy import failed_required_runs, unrunnable_required_runs
from sidecar.evidence.injection import addresses_judge
from sidecar.evidence.proof.policy import describe_findings
from sidecar.kernel.effects import Continue, Feedback, Inquiry, Rest, RestReason, Ruling
from sidecar.kernel.evidence import MissingWork
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import (
    IDLE_STREAK_LIMIT,
    STALL_LIMIT,
    Continuation,
    Objection,
    ProgressSnapshot,
    Session,
    active_goal,
    continuation_budget,
    goalless_budget,
    reached_goal_limit,
)
from sidecar.kernel.text import clean_line, counted
from sidecar.kernel.turn import Turn
from sidecar.systems.supervision.policy.sessions import GO_ON, RUN_ON, answer_way, way_on


def settle_continuation(
    session: Session, turn: Turn, *, continued: bool, capped: bool = False
) -> tuple[Session, bool]:
    """Charge the pending continuation if it arrived, else give it back. Returns whether it arrived.

    Where the transcript does not show the arrival, the host's own word (`continued`) counts, so that a change
    of the transcript's format does not make a budget endless; but not at a stop that was judged before.
    `capped`: see AgentStopped.
    """
    pending, goal = session.pending, session.goal
    if pending is None:
        return session, False
    repeated = bool(turn.last_message_id) and turn.last_message_id == session.judged
    session = replace(session, pending=None)
    if pending.id not in turn.arrived and (repeated or not continued):
        # The agent never saw what it asked for.
        return replace(session, goal=goal and replace(goal, asked_to_run=(), asked_about=())), False
    streak = 0 if turn.calls_since_arrival and not capped else session.streak + 1
    session = replace(session, streak=streak)
    if not pending.for_goal:
        return replace(session, unasked=session.unasked + 1), True
    if goal is not None:
        spent = replace(goal.spent, continuations=goal.spent.continuations + 1)
        goal = replace(goal, spent=spent, lifetime=goal.lifetime + 1)
    return replace(session, goal=goal), True


def new_continuation_id(session: Session) -> str:
    """Return six hex digits, new for every continuation of every session."""
    name = f"{session.key.host}/{session.key.id}/{session.serial}"
    return hashlib.sha256(name.encode()).hexdigest()[:6]


def send_agent_back(inquiry: Inquiry, missing_work: MissingWork, at: float) -> tuple[Inquiry, Ruling]:
    """Issue another continuation, or rest because a person holds it, the budget is spent or nothing moves."""
    goal, session, tree = active_goal(inquiry.session), inquiry.session, inquiry.project_state.tree
    about = goal.id if goal else ""
    found = Objection(kind=missing_work.kind, tree=tree, missing=missing_work.missing, goal=about)
    held = {point: one.held for one in session.held for point in found.missing if one.covers(found, point)}
    if held and held.keys() >= set(found.missing):
        detail = f"{'; '.join(dict.fromkeys(held.values()))}: {missing_work.reason}"
        note = screen_lines((f"Supervisor: not sent back, as you took it back: {found.missing[0]}",))
        return inquiry, Rest(reason=RestReason.HELD, detail=detail, note=note)
    missing_work = replace(missing_work, missing=tuple(one for one in found.missing if one not in held))
    inquiry = replace(
        inquiry, session=replace(session, objection=replace(found, missing=missing_work.missing))
    )
    now = _progress_snapshot(inquiry, missing_work.missing)
    stalls = inquiry.session.stalls + 1 if inquiry.arrived and now == inquiry.session.movement else 0
    inquiry = replace(inquiry, session=replace(inquiry.session, movement=now, stalls=stalls))
    if ruling := _rest_if_exhausted(inquiry, goal, missing_work):
        return ruling
    if inquiry.settings.mode == "shadow":
        note = screen_lines((f"Supervisor: shadow mode: would have sent back: {missing_work.missing[0]}",))
        detail = f"{missing_work.kind}: {missing_work.reason}"
        return inquiry, Rest(reason=RestReason.SHADOW, detail=detail, note=note)
    return _issue_continuation(inquiry, goal, missing_work, at)


def _progress_snapshot(inquiry: Inquiry, missing: tuple[str, ...]) -> ProgressSnapshot:
    """Return what must differ after the next continuation.

    Where failing tests or lines are named, they alone tell: the same failure is no progress, whatever else
    was edited.
    """
    failed = failed_required_runs(inquiry.runs)
    failing = [line for run in failed for line in (run.gate.id, *run.failing, *run.failures)]
    return ProgressSnapshot(
        tree="" if any(run.failing or run.failures for run in failed) else inquiry.project_state.tree,
        failing=(*failing, *(run.gate.id for run in unrunnable_required_runs(inquiry.runs))),
        todos=(*inquiry.turn.open_todos, *sorted(task.id for task in inquiry.turn.planned)),
        missing=missing,
    )


def _rest_if_exhausted(
    inquiry: Inquiry, goal: Goal | None, missing_work: MissingWork
) -> tuple[Inquiry, Ruling] | None:
    session = inquiry.session
    if goal is None:
        if session.unasked >= goalless_budget(session) or _stall_reason(inquiry):
            tried = f"{session.unasked}/{goalless_budget(session)}"
            note = f"Supervisor: sent back {tried}, and rests. Still missing: {missing_work.missing[0]}"
            reason = missing_work.reason
            return inquiry, Rest(reason=RestReason.UNASKED_SPENT, detail=reason, note=screen_lines((note,)))
        return None
    if spent := reached_goal_limit(goal, session, inquiry.settings):
        return end_goal(inquiry, GoalStatus.EXHAUSTED, f"{spent} spent", missing=missing_work.reason)
    if how := _stall_reason(inquiry):
        tried = f"{counted(goal.spent.continuations, 'continuation')} tried, {how}"
        return end_goal(inquiry, GoalStatus.STALLED, tried, missing=missing_work.reason)
    return None


def _stall_reason(inquiry: Inquiry) -> str:
    """Describe how the last continuations led nowhere; "" while one more may help (law 7)."""
    session = inquiry.session
    if session.stalls >= STALL_LIMIT:
        return f"nothing moved in the last {session.stalls}"
    if session.streak < IDLE_STREAK_LIMIT:
        return ""
    capped = "the host takes no more in a row"
    return capped if inquiry.stop.capped else f"no tool call in the last {session.streak}"


def _issue_continuation(
    inquiry: Inquiry, goal: Goal | None, missing_work: MissingWork, at: float
) -> tuple[Inquiry, Ruling]:
    session = replace(inquiry.session, serial=inquiry.session.serial + 1)
    said = Continuation(id=new_continuation_id(session), said_at=at, for_goal=goal is not None)
    number = 1 + (goal.spent.continuations if goal else session.unasked)
    total = continuation_budget(session, inquiry.settings) if goal else goalless_budget(session)
    if goal is not None:
        session = replace(session, goal=replace(goal, last_reason=missing_work.reason, unjudged=""))
    session = replace(session, pending=said, active_since=at)
    fresh = session.key.host == RUN_HOST  # its prompt names the goal and one task; this must not compete
    has_task = any(task.now for task in inquiry.turn.planned)
    feedback = Feedback(
        kind=missing_work.kind,
        id=said.id,
        number=number,
        budget=total,
        condition=goal.condition if goal and not fresh else "",
        missing=missing_work.missing,
        next_step="" if fresh and has_task else missing_work.next_step,
        evidence=missing_work.evidence,
        stalls=session.stalls,
    )
    first, *more = _describe_continuation(missing_work, number, total, with_goal=goal is not None)
    note = screen_lines((first,) if fresh else (first, *more))
    return replace(inquiry, session=session), Continue(feedback=feedback, note=note)


def _describe_continuation(
    missing_work: MissingWork, number: int, total: int, *, with_goal: bool
) -> tuple[str, ...]:
    """Say in three lines what is missing, how much more there is and may be, and how to end it."""
    first, *others = missing_work.missing
    more = [others[-1]] if others else []
    if len(others) > 1:
        more.append(counted(len(others) - 1, "more point"))
    left = f"{counted(total - number, 'continuation')} left"
    stop = "/supervisor:goal clear" if with_goal else "a prompt of your own"
    head = f"Supervisor: sent back {number}/{total}: {first}"
    return head, "; ".join((*more, left)), f"To end it, type: {stop}"


# --- How a goal comes to rest, and what the person reads --------------------------------------------------


GOAL_ENDINGS: dict[GoalStatus, tuple[RestReason, str]] = {
    GoalStatus.ACHIEVED: (RestReason.ACHIEVED, "goal achieved"),
    GoalStatus.JUDGED: (RestReason.JUDGED, "goal judged done, not proved"),
    GoalStatus.COMPLETED: (RestReason.COMPLETED, "session completed"),
    GoalStatus.UNVERIFIED: (RestReason.UNVERIFIED, "goal unverified, please look"),
    GoalStatus.EXHAUSTED: (RestReason.EXHAUSTED, "budget spent, goal not achieved"),
    GoalStatus.STALLED: (RestReason.STALLED, "goal stalled, please look"),
    GoalStatus.IMPOSSIBLE: (RestReason.IMPOSSIBLE, "goal judged impossible"),
}
UNENFORCED: Final = frozenset(GO_ON) - {GoalStatus.JUDGED}
"""Statuses of a goal that is neither enforced nor reached."""
TOLD_RESTS: Final = frozenset(
    {
        RestReason.PAUSED,
        RestReason.TALK,
        RestReason.CLEAN,
        RestReason.UNASKED_SPENT,
        RestReason.UNJUDGED,
        RestReason.SHADOW,
    }
)
"""Rests at which a person is told that the goal is not enforced: ends of a turn that judged nothing of it."""
PLAN_MODE: Final = "Supervisor: nothing is judged in plan mode; it begins when you leave it"
LINE_LIMIT: Final = 300
"""Characters of a line that a person is told at an ending."""
REWOUND_REASON: Final = "as the conversation went back to before it was set"
KNOWN_FINDINGS: Final = 3
"""Changes of checks that are told where nobody judged them."""
PLACES_SHOWN: Final = 3
"""Places with text addressed to the judge that are told with an achieved goal."""


def tell_unenforced(inquiry: Inquiry, rest: Rest) -> tuple[Inquiry, Rest]:
    """Add what a person must know of a rest: that plan mode is not judged, that the goal is not enforced.

    The first is said once for a goal, the second once in a turn.
    """
    session, goal = inquiry.session, inquiry.session.goal
    if rest.reason is RestReason.PLAN_MODE and not session.notified_plan:
        said, session = PLAN_MODE, replace(session, notified_plan=True)
    elif goal and goal.status in UNENFORCED and rest.reason in TOLD_RESTS and not session.notified_idle:
        way = way_on(session, inquiry.settings)
        said = f"Supervisor: the goal is {goal.status}, so not enforced. To go on, type: {way}"
        session = replace(session, notified_idle=True)
    else:
        return inquiry, rest
    note = "\n".join(filter(None, (rest.note, said)))
    return replace(inquiry, session=session), replace(rest, note=note)


def end_goal(inquiry: Inquiry, status: GoalStatus, why: str, *, missing: str = "") -> tuple[Inquiry, Ruling]:
    """Give the goal a terminal status and let the agent rest.

    It is not reached while an edit waits by which the host itself works otherwise.
    """
    if inquiry.unaccepted and status in (GoalStatus.ACHIEVED, GoalStatus.JUDGED):
        status, missing = GoalStatus.UNVERIFIED, inquiry.unaccepted
    reason, words = GOAL_ENDINGS[status]
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=reason, detail=why)
    shown = why
    why = f"{why}; still missing: {missing}" if missing else why
    if status in (GoalStatus.ACHIEVED, GoalStatus.JUDGED):
        why = shown = "; ".join((*_text_for_judge(inquiry, goal), *_not_falsified(inquiry), why))
    ended = replace(goal, status=status, last_reason=why[:1000], unjudged="")
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=ended))
    told = inquiry.session.key.host == RUN_HOST and not RUN_ON.get(status)  # by the run, with its agent
    then = "" if told else way_on(inquiry.session, inquiry.settings)
    way = then and f"To go on, type: {then}"
    lines = (f"Supervisor: {words}. {shown}", missing and f"Still missing: {missing}", way)
    return inquiry, Rest(reason=reason, detail=why[:1000], note=screen_lines(lines), alarm=True)


def screen_lines(lines: Iterable[str]) -> str:
    """Put what a person is told under one another, each cut to fit a host's screen."""
    return "\n".join(clean_line(line, LINE_LIMIT) for line in lines if line)


def waiting_note(question: str, session: Session) -> str:
    """Tell the person that the agent waits for them."""
    way = "" if session.key.host == RUN_HOST else answer_way(session)
    return screen_lines((f"Supervisor: waiting for you: {question}", way))


def end_rewound_goal(inquiry: Inquiry) -> tuple[Inquiry, Ruling]:
    """End a goal whose prompt the user took back."""
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=RestReason.REWOUND)
    ended = replace(goal, status=GoalStatus.CLEARED, last_reason=REWOUND_REASON, unjudged="")
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=ended, pending=None))
    note = f"Supervisor: the goal ended, {REWOUND_REASON}: {goal.condition}"
    again = "To set it again, type: /supervisor:goal and the condition."
    told = screen_lines((note, again))
    return inquiry, Rest(reason=RestReason.REWOUND, detail=goal.condition[:1000], note=told)


def _text_for_judge(inquiry: Inquiry, goal: Goal) -> Iterator[str]:
    """What is told with an achieved goal of text that was addressed to the judge."""
    asked = (goal.condition, *inquiry.turn.prompts)
    found = [fact for fact in inquiry.evidence if addresses_judge(fact, asked)]
    return (f"please look: {fact.fact}" for fact in found[:PLACES_SHOWN])


def _not_falsified(inquiry: Inquiry) -> Iterator[str]:
    """What is told of checks of which it could not be tried whether they can fail."""
    for one in inquiry.trials:
        if one.falsified is None:
            why = f" ({one.unseen})" if one.unseen else ""
            yield f"whether {one.now.gate.named} could fail was not tried{why}"


def rest_unjudged(inquiry: Inquiry, why: str, remedy: str = "supervisor explain") -> tuple[Inquiry, Ruling]:
    """Rest without a verdict: the goal stays as it is, and everyone can see why (law 5), and what is known.

    `remedy`: what to type so that the next stop is judged.
    """
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=RestReason.UNJUDGED, detail=why)
    known = "; ".join(_describe_known(inquiry))
    said = f"{why} (known: {known})" if known else why
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=replace(goal, unjudged=said[:1000])))
    lines = (
        f"Supervisor: this stop was not judged: {why}. The goal stays active.",
        known and f"Known: {known}.",
        f"Type: {remedy}",
    )
    return inquiry, Rest(reason=RestReason.UNJUDGED, detail=why, note=screen_lines(lines))


def _describe_known(inquiry: Inquiry) -> tuple[str, ...]:
    """Say what was found without a judge: what ended how, and what changed in the checks."""
    runs = tuple(
        f"{run.gate.named} {run.outcome.value.replace('-', ' ')}"
        for run in inquiry.runs
        if gates.bears_on_goal(run)
    )
    return (*(inquiry.proof or runs), *describe_findings(inquiry.project_state.findings[:KNOWN_FINDINGS]))
