"""One stop, from the host's word to the ruling.

Each fact is answered with what is needed next (an effect) or with a ruling. The order is the cascade of
the design: skip rules, rules and gates, one model call, and only then a judgement that may also be refused.
After a ruling the inquiry is over: its session is what is to be saved.
"""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.model.effects import Continue, Effect, ReadTurn, Reason, Rest, Ruling, RunGates, Survey
from sidecar.model.events import Fact, GatesRan, Judged, JudgeFailed, Surveyed, TurnRead
from sidecar.model.gate import Kind
from sidecar.model.goal import Goal
from sidecar.model.inquiry import Inquiry
from sidecar.model.session import Session
from sidecar.model.turn import Turn
from sidecar.policy import checking, gates, integrity, judging, rules, skip
from sidecar.policy.continuations import send_back, settle
from sidecar.policy.endings import unjudged
from sidecar.policy.evidence import gather
from sidecar.policy.lack import Lack
from sidecar.policy.skip import active_goal

Step = tuple[Inquiry, Effect | Ruling]

RULES = "rules"
"""The stage in which rules decide."""
OUTWEIGHED = frozenset(("false-complete", "error-walked-away"))
"""Rules about the agent's own runs."""
UNSAID = frozenset((Reason.EXHAUSTED, Reason.STALLED, Reason.SHADOW))
"""Why what is missing is not said."""
SURE = 0.99
"""Confidence of what the project's own checks show."""


def begin(inquiry: Inquiry) -> Step:
    """The agent stopped: let go at once, or look."""
    reason = skip.early(inquiry)
    return (inquiry, Rest(reason=reason, detail=inquiry.off)) if reason else (inquiry, ReadTurn())


def step(inquiry: Inquiry, fact: Fact, at: float) -> Step:
    """Take one fact in and say what comes next. `at`: seconds since the epoch."""
    match fact:
        case TurnRead():
            survey = replace(inquiry.survey, rubric=fact.rubric)
            return _turn_read(replace(inquiry, survey=survey), fact.turn, at)
        case Surveyed():
            return _surveyed(replace(inquiry, survey=fact), at)
        case GatesRan():
            return _gates_ran(inquiry, fact, at)
        case Judged():
            return judging.judged(inquiry, fact.judgement, at)
        case JudgeFailed():
            return judging.failed(inquiry, fact, at)


def _turn_read(inquiry: Inquiry, turn: Turn, at: float) -> Step:
    if turn.unfinished and not turn.readable:  # nobody knows whether it is a stop at all
        return unjudged(replace(inquiry, turn=turn), turn.unfinished)
    session, arrived = settle(inquiry.session, turn, continued=inquiry.stop.continued)
    session = _count(session, turn, at)
    lost = inquiry.session.pending is not None and not arrived
    inquiry = replace(inquiry, session=session, turn=turn, arrived=arrived, lost=lost)
    reason = skip.late(inquiry, turn)
    if reason is not None and (reason is not Reason.TALK or not turn.calls):
        return _let_go(inquiry, reason)
    weighed = rules.weigh(turn, inquiry.settings.rules, goal=active_goal(session) is not None)
    if reason is not None and not any(finding.certain for finding in weighed.findings):
        return _let_go(inquiry, reason)  # it only read; in the middle of what was asked, that is no mere talk
    session, tasks = skip.fresh_tasks(inquiry)
    if tasks and not inquiry.stop.headless:
        detail = f"judged when they end: {'; '.join(tasks)}"[:500]
        return replace(inquiry, session=session), Rest(reason=Reason.BACKGROUND, detail=detail)
    inquiry = replace(inquiry, session=replace(session, judged=turn.last_message_id), left_running=tasks)
    if active_goal(session) is None and not _worth_a_look(inquiry, weighed):
        return _clean(inquiry, weighed)
    return inquiry, Survey()


def _worth_a_look(inquiry: Inquiry, weighed: rules.Weighed) -> bool:
    """Whether a stop without a goal is more than clean, as far as the turn itself tells."""
    turn = inquiry.turn
    if weighed.findings or (inquiry.settings.gates.without_goal and turn.changed):
        return True
    return rules.claims_pass(turn.last_message) and integrity.edited(turn)


def _clean(inquiry: Inquiry, weighed: rules.Weighed) -> Step:
    """No rule found anything; a sign of a legitimate stop is told."""
    why = weighed.legitimate.why if weighed.legitimate else ""
    inquiry = replace(inquiry, stage=RULES, confidence=weighed.confidence)
    return inquiry, Rest(reason=Reason.CLEAN, detail=why)


def _surveyed(inquiry: Inquiry, at: float) -> Step:
    goal = active_goal(inquiry.session)
    if goal is None:
        return _unasked(inquiry, at)
    goal = replace(goal, unjudged="")
    return _asked(replace(inquiry, session=replace(inquiry.session, goal=goal)), goal, at)


def _count(session: Session, turn: Turn, at: float) -> Session:
    """Add the tokens and seconds since the last stop to what the goal has spent."""
    goal, since = active_goal(session), session.active_since
    session = replace(session, counted_to=max(session.counted_to, turn.position), active_since=None)
    if goal is None:
        return session
    seconds = max(0.0, at - since) if since is not None else 0.0
    spent = replace(goal.spent, tokens=goal.spent.tokens + turn.tokens, seconds=goal.spent.seconds + seconds)
    return replace(session, goal=replace(goal, spent=spent))


def _let_go(inquiry: Inquiry, reason: Reason) -> Step:
    if (
        reason is not Reason.NATIVE_GOAL
        or inquiry.session.told_native
        or active_goal(inquiry.session) is None
    ):
        return inquiry, Rest(reason=reason, detail=inquiry.turn.unfinished)
    inquiry = replace(inquiry, session=replace(inquiry.session, told_native=True))
    note = "Supervisor: the host's own /goal is active; Supervisor steps back until it is cleared."
    return inquiry, Rest(reason=reason, note=note)


def _unasked(inquiry: Inquiry, at: float) -> Step:
    """No goal is set: only clear cases are sent back (law 8)."""
    wanted = gates.required(None, inquiry.survey) if inquiry.settings.gates.without_goal else ()
    if (may := gates.runnable(wanted)) and inquiry.turn.changed:
        return replace(inquiry, stage="gates"), RunGates(may, inquiry.survey.catalog.settings.seconds)
    return _unasked_weighed(inquiry, at)


def _unasked_weighed(inquiry: Inquiry, at: float) -> Step:
    known = gather(inquiry.turn, inquiry.runs, inquiry.survey)
    inquiry = replace(inquiry, evidence=known.evidence, claims=known.claims)
    weighed = rules.weigh(inquiry.turn, inquiry.settings.rules, goal=False)
    rests = weighed.legitimate is not None and weighed.legitimate.certain
    if not rests and (lack := checking.unasked_failures(inquiry)):
        return send_back(replace(inquiry, confidence=SURE), lack, at)
    inquiry = replace(inquiry, stage=RULES, confidence=weighed.confidence)
    found = (*weighed.findings, *_checks_changed(inquiry))
    if not found:
        return _clean(inquiry, weighed)
    first = found[0]
    inquiry = replace(inquiry, rule=first.rule)
    if first.certain:
        return send_back(inquiry, first.lack, at)
    return judging.ask(replace(inquiry, suspicion=f"{first.lack.kind}: {first.lack.reason}"), "")


def _checks_changed(inquiry: Inquiry) -> tuple[rules.Finding, ...]:
    """A message that says tests pass, after a turn that left them less to find: a judge may look."""
    grave = integrity.grave(inquiry.survey.findings)
    if not grave or not rules.claims_pass(inquiry.turn.last_message):
        return ()
    then = "Undo it, or say why it is right."
    lack = Lack(kind="checks-changed", missing=integrity.told(grave), next_step=then)
    return (rules.Finding(rule="checks-changed", certain=False, lack=lack, confidence=0.5),)


def _asked(inquiry: Inquiry, goal: Goal, at: float) -> Step:
    if inquiry.left_running:
        then = "Wait for this work to end, or stop it, then go on."
        lack = Lack(kind="background-headless", missing=inquiry.left_running, next_step=then)
        return send_back(replace(inquiry, stage=RULES, rule="background-headless"), lack, at)
    return _checked(inquiry, checking.begin_checks(inquiry, goal, at), at)


def _gates_ran(inquiry: Inquiry, fact: GatesRan, at: float) -> Step:
    goal = active_goal(inquiry.session)
    if goal is None and not inquiry.settings.gates.without_goal:
        return inquiry, Rest(reason=Reason.SUPERSEDED)
    if goal is None:
        return _unasked_weighed(replace(inquiry, runs=fact.runs), at)
    return _checked(inquiry, checking.gates_ran(inquiry, goal, fact.runs, at), at)


def _checked(before: Inquiry, checked: checking.Step | checking.Open, at: float) -> Step:
    """The checks decide, or they do not: then rules where they are certain, else the model.

    Where only the user can go on, what the checks lack is no reason to send the agent back.
    """
    inquiry, order = checked
    if order is not None and not _wants_more(order):
        return _decided(inquiry, order)
    goal = active_goal(before.session)
    if goal is None:
        return inquiry, Rest(reason=Reason.SUPERSEDED)
    weighed = rules.weigh(inquiry.turn, inquiry.settings.rules, goal=True)
    if weighed.legitimate is not None and weighed.legitimate.certain:
        return _waiting(replace(inquiry, session=before.session), weighed.legitimate, weighed.confidence)
    if order is not None:
        return _decided(inquiry, order)
    inquiry = replace(inquiry, confidence=weighed.confidence)
    found = [finding for finding in weighed.findings if finding.certain]
    if checking.passed(inquiry.runs, Kind.TESTS):  # the agent's own run is older news
        found = [finding for finding in found if finding.rule not in OUTWEIGHED]
    if found:
        inquiry = replace(inquiry, stage=RULES, rule=found[0].rule)
        return send_back(inquiry, found[0].lack, at)
    return judging.ask(inquiry, goal.condition)


def _wants_more(order: Effect | Ruling) -> bool:
    """Whether the agent is to go on, or would be if there were a budget for it."""
    return isinstance(order, Continue) or (isinstance(order, Rest) and order.reason in UNSAID)


def _waiting(inquiry: Inquiry, legitimate: rules.Legitimate, confidence: float) -> Step:
    """Only the user can go on; the goal stays active, and nothing was said to the agent."""
    inquiry = replace(inquiry, stage=RULES, rule=f"legitimate:{legitimate.kind}", confidence=confidence)
    note = f"Supervisor: waiting for you: {legitimate.why}"
    return inquiry, Rest(reason=Reason.WAITING, detail=legitimate.why, note=note)


def _decided(inquiry: Inquiry, order: Effect | Ruling) -> Step:
    """What the checks decided is as good as certain."""
    if isinstance(order, Continue):
        return replace(inquiry, confidence=SURE), order
    if isinstance(order, Rest) and order.reason is Reason.ACHIEVED:
        return replace(inquiry, confidence=1 - SURE), order
    return inquiry, order
