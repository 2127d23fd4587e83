"""One stop, from the host's word to the ruling.

Each fact is answered with what is needed next (an effect) or with a ruling. The order is the cascade of
the design: skip rules, rules and gates, one model call, and only then a judgement that may also be refused.
After a ruling the inquiry is over: its session is what is to be saved.
"""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.model.effects import AskJudge, Case, Effect, ReadTurn, Reason, Rest, Ruling, RunGates, Survey
from sidecar.model.events import Fact, GatesRan, Judged, JudgeFailed, Surveyed, TurnRead
from sidecar.model.gate import Kind
from sidecar.model.goal import Goal, Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.session import Session
from sidecar.model.turn import Turn
from sidecar.model.verdict import Complete, Impossible, Incomplete, Judgement, Waiting
from sidecar.policy import checking, gates, integrity, rules, skip
from sidecar.policy.continuations import send_back, settle
from sidecar.policy.endings import end, unjudged
from sidecar.policy.evidence import gather
from sidecar.policy.lack import Lack
from sidecar.policy.skip import active_goal
from sidecar.policy.verdicts import objection

Step = tuple[Inquiry, Effect | Ruling]


def begin(inquiry: Inquiry) -> Step:
    """The agent stopped: let go at once, or look."""
    reason = skip.early(inquiry)
    return (inquiry, Rest(reason=reason, detail=inquiry.off)) if reason else (inquiry, ReadTurn())


def step(inquiry: Inquiry, fact: Fact, at: float) -> Step:
    """Take one fact in and say what comes next. `at`: seconds since the epoch."""
    match fact:
        case TurnRead():
            return _turn_read(inquiry, fact.turn, at)
        case Surveyed():
            return _surveyed(replace(inquiry, survey=fact), at)
        case GatesRan():
            return _gates_ran(inquiry, fact, at)
        case Judged():
            return _judged(inquiry, fact.judgement, at)
        case JudgeFailed():
            return unjudged(_charge_judging(inquiry, fact.tokens, 0.0), fact.reason)


def _turn_read(inquiry: Inquiry, turn: Turn, at: float) -> Step:
    session, arrived = settle(inquiry.session, turn, continued=inquiry.stop.continued)
    session = _count(session, turn, at)
    lost = inquiry.session.pending is not None and not arrived
    inquiry = replace(inquiry, session=session, turn=turn, arrived=arrived, lost=lost)
    if reason := skip.late(inquiry, turn):
        return _let_go(inquiry, reason)
    session, tasks = skip.fresh_tasks(inquiry)
    if tasks and not inquiry.stop.headless:
        detail = f"judged when they end: {'; '.join(tasks)}"[:500]
        return replace(inquiry, session=session), Rest(reason=Reason.BACKGROUND, detail=detail)
    inquiry = replace(inquiry, session=replace(session, judged=turn.last_message_id), left_running=tasks)
    if active_goal(session) is None and not _worth_a_look(inquiry):
        return replace(inquiry, stage="rules"), Rest(reason=Reason.CLEAN)
    return inquiry, Survey()


def _worth_a_look(inquiry: Inquiry) -> bool:
    """Whether a stop without a goal is more than clean, as far as the turn itself tells."""
    turn = inquiry.turn
    if rules.findings(turn) or (inquiry.settings.gates.without_goal and turn.changed):
        return True
    return rules.claims_pass(turn.last_message) and integrity.edited(turn)


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
        return inquiry, Rest(reason=reason)
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
    if lack := checking.unasked_failures(inquiry):
        return send_back(inquiry, lack, at)
    inquiry = replace(inquiry, stage="rules")
    found = (*rules.findings(inquiry.turn), *_checks_changed(inquiry))
    if not found:
        return inquiry, Rest(reason=Reason.CLEAN)
    first = found[0]
    if first.certain:
        return send_back(inquiry, first.lack, at)
    return _ask(replace(inquiry, suspicion=f"{first.lack.kind}: {first.lack.reason}"), "")


def _checks_changed(inquiry: Inquiry) -> tuple[rules.Finding, ...]:
    """A message that says tests pass, after a turn that left them less to find: a judge may look."""
    grave = integrity.grave(inquiry.survey.findings)
    if not grave or not rules.claims_pass(inquiry.turn.last_message):
        return ()
    then = "Undo it, or say why it is right."
    lack = Lack(kind="checks-changed", missing=integrity.told(grave), next_step=then)
    return (rules.Finding(certain=False, lack=lack),)


def _asked(inquiry: Inquiry, goal: Goal, at: float) -> Step:
    if inquiry.left_running:
        then = "Wait for this work to end, or stop it, then go on."
        lack = Lack(kind="background-headless", missing=inquiry.left_running, next_step=then)
        return send_back(replace(inquiry, stage="rules"), lack, at)
    return _checked(checking.begin_checks(inquiry, goal, at), at)


def _gates_ran(inquiry: Inquiry, fact: GatesRan, at: float) -> Step:
    goal = active_goal(inquiry.session)
    if goal is None and not inquiry.settings.gates.without_goal:
        return inquiry, Rest(reason=Reason.SUPERSEDED)
    if goal is None:
        return _unasked_weighed(replace(inquiry, runs=fact.runs), at)
    return _checked(checking.gates_ran(inquiry, goal, fact.runs, at), at)


def _checked(checked: checking.Step | checking.Open, at: float) -> Step:
    """The checks decide, or they do not: then rules where they are certain, else the model."""
    inquiry, order = checked
    if order is not None:
        return inquiry, order
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry, Rest(reason=Reason.SUPERSEDED)
    found = [finding for finding in rules.findings(inquiry.turn) if finding.certain]
    if checking.passed(inquiry.runs, Kind.TESTS):  # the agent's own run is older news
        found = [finding for finding in found if finding.lack.kind != "false-complete"]
    if found:
        inquiry = replace(inquiry, stage="rules")
        return send_back(inquiry, found[0].lack, at)
    return _ask(inquiry, goal.condition)


def _ask(inquiry: Inquiry, condition: str) -> Step:
    case = Case(
        condition=condition,
        suspicion=inquiry.suspicion,
        prompts=inquiry.turn.prompts,
        rubric=inquiry.survey.rubric,
        evidence=inquiry.evidence,
        last_message=inquiry.turn.last_message,
    )
    return replace(inquiry, stage="judge"), AskJudge(case)


def _judged(inquiry: Inquiry, judgement: Judgement, at: float) -> Step:
    inquiry = _charge_judging(inquiry, judgement.tokens, judgement.cents)
    goal = active_goal(inquiry.session)
    verdict = judgement.verdict
    if why := objection(verdict, inquiry.evidence, asked=goal is not None):
        return unjudged(inquiry, why)
    match verdict:
        case Complete():
            shown = "; ".join(f"{met.criterion} ({', '.join(met.evidence)})" for met in verdict.criteria)
            if changed := integrity.told(inquiry.survey.findings):
                shown = f"{shown}; please look at what changed in the checks: {'; '.join(changed)}"
            return (
                end(inquiry, Status.ACHIEVED, shown)
                if goal
                else (inquiry, Rest(reason=Reason.CLEAN, detail=shown))
            )
        case Incomplete():
            kind = "incomplete" if goal else inquiry.suspicion.split(":", 1)[0]
            return send_back(
                inquiry,
                Lack(
                    kind=kind,
                    missing=tuple(gap.point for gap in verdict.missing),
                    next_step=verdict.next_step,
                ),
                at,
            )
        case Waiting():
            note = f"Supervisor: waiting for you: {verdict.question}" if goal else ""
            return inquiry, Rest(reason=Reason.WAITING, detail=verdict.question, note=note)
        case Impossible():
            return end(inquiry, Status.IMPOSSIBLE, verdict.reason)
        case _:
            return unjudged(inquiry, "the judge abstained")


def _charge_judging(inquiry: Inquiry, tokens: int, cents: float | None) -> Inquiry:
    inquiry = replace(inquiry, judge_tokens=tokens)
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry
    total, paid = goal.spent.judge_tokens + tokens, goal.spent.judge_cents + (cents or 0.0)
    spent = replace(goal.spent, judge_tokens=total, judge_cents=paid)
    return replace(inquiry, session=replace(inquiry.session, goal=replace(goal, spent=spent)))
