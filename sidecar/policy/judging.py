"""The model's part of one stop: whether it is asked, how often, and what its answer is worth.

It is asked once; a second time only where the first answer is near the threshold. What it says counts where
it agrees with the evidence (verdicts.py), else the stop is as if nobody had judged it.
"""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.model.effects import AskJudge, Case, Effect, Reason, Rest, Ruling
from sidecar.model.events import JudgeFailed
from sidecar.model.goal import Goal, Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.spending import added
from sidecar.model.verdict import Abstain, Complete, Impossible, Incomplete, Judgement, Verdict, Waiting
from sidecar.policy import budget, integrity
from sidecar.policy.case import build
from sidecar.policy.continuations import send_back
from sidecar.policy.endings import end, unjudged
from sidecar.policy.lack import Lack
from sidecar.policy.skip import active_goal
from sidecar.policy.verdicts import near, objection, upheld

Step = tuple[Inquiry, Effect | Ruling]

JUDGE = "judge"
"""The stage in which a model is asked."""


def ask(inquiry: Inquiry, condition: str) -> Step:
    """Ask the judge, unless what judging may cost is spent."""
    inquiry = replace(inquiry, stage=JUDGE)
    goal = active_goal(inquiry.session)
    if goal is not None and (why := budget.cents_spent(goal, inquiry.settings)):
        return end(inquiry, Status.EXHAUSTED, f"{why} spent (set the goal again to go on)")
    if why := budget.judging_spent(inquiry.today, inquiry.settings):
        return _limit(inquiry, why)
    case = build(inquiry, condition)
    return replace(inquiry, case=case), AskJudge(case)


def judged(inquiry: Inquiry, judgement: Judgement, at: float) -> Step:
    """Take the judge's answer, ask once more where it is near the threshold, and rule."""
    inquiry = _charged(inquiry, judgement)
    asked = active_goal(inquiry.session) is not None
    if inquiry.case is not None and _wants_another(inquiry, judgement.verdict, asked=asked):
        return replace(inquiry, first=judgement), AskJudge(inquiry.case)
    return _ruled(inquiry, _agreed(inquiry.first, judgement), at)


def failed(inquiry: Inquiry, failure: JudgeFailed, at: float) -> Step:
    """No answer. Where there was a first one, it counts, unless it would end a goal; else none does."""
    inquiry = _charged(inquiry, failure)
    if inquiry.first is not None and not isinstance(inquiry.first.verdict, Complete | Impossible):
        return _ruled(inquiry, inquiry.first.verdict, at)
    return unjudged(inquiry, failure.reason)


def _limit(inquiry: Inquiry, why: str) -> Step:
    """A day's judging is spent: rules and gates still judge, and the user hears of it once a day."""
    said = f"the daily limit of judging is reached: {why}"
    day, session = inquiry.today.day, inquiry.session
    inquiry, ruling = unjudged(inquiry, said)
    if not isinstance(ruling, Rest) or ruling.note or session.told_limit == day:
        return inquiry, ruling
    inquiry = replace(inquiry, session=replace(inquiry.session, told_limit=day))
    return inquiry, replace(
        ruling, note=f"Supervisor: {said}. Until tomorrow (UTC) only rules and gates judge."
    )


def _wants_another(inquiry: Inquiry, verdict: Verdict, *, asked: bool) -> bool:
    settings, goal = inquiry.settings, active_goal(inquiry.session)
    spent = budget.judging_spent(inquiry.today, settings) or (goal and budget.cents_spent(goal, settings))
    return settings.judge.second_sample and inquiry.first is None and not spent and near(verdict, asked=asked)


def _agreed(first: Judgement | None, last: Judgement) -> Verdict:
    """What one answer says, or two that say the same; their confidence is the mean."""
    verdict = last.verdict
    if first is None:
        return verdict
    one, other = _name(first.verdict), _name(verdict)
    mean = (first.verdict.confidence + verdict.confidence) / 2
    if one != other:
        return Abstain(reason=f"asked twice, the judge said {one}, then {other}", confidence=mean)
    return replace(verdict, confidence=mean)


def _name(verdict: Verdict) -> str:
    return type(verdict).__name__.lower()


def _ruled(inquiry: Inquiry, verdict: Verdict, at: float) -> Step:
    goal = active_goal(inquiry.session)
    inquiry = replace(inquiry, confidence=_premature(verdict, inquiry.confidence))
    case = inquiry.case
    if case is None:
        return inquiry, Rest(reason=Reason.SUPERSEDED)
    if why := objection(verdict, case, asked=goal is not None):
        return unjudged(inquiry, why)
    return _believed(inquiry, case, verdict, at)


def _believed(inquiry: Inquiry, case: Case, verdict: Verdict, at: float) -> Step:
    goal = active_goal(inquiry.session)
    match verdict:
        case Complete():
            return _complete(inquiry, verdict, goal)
        case Incomplete():
            return send_back(inquiry, _lack(inquiry, case, verdict), at)
        case Waiting():
            note = f"Supervisor: waiting for you: {verdict.question}" if goal else ""
            return inquiry, Rest(reason=Reason.WAITING, detail=verdict.question, note=note)
        case Impossible():
            return end(inquiry, Status.IMPOSSIBLE, verdict.reason)
        case Abstain():
            return unjudged(inquiry, f"the judge abstained: {verdict.reason}")


def _complete(inquiry: Inquiry, verdict: Complete, goal: Goal | None) -> Step:
    shown = "; ".join(f"{met.criterion} ({', '.join(met.evidence)})" for met in verdict.criteria)
    if changed := integrity.told(inquiry.survey.findings):
        shown = f"{shown}; please look at what changed in the checks: {'; '.join(changed)}"
    return (
        end(inquiry, Status.ACHIEVED, shown) if goal else (inquiry, Rest(reason=Reason.CLEAN, detail=shown))
    )


def _lack(inquiry: Inquiry, case: Case, verdict: Incomplete) -> Lack:
    """The points that stand; one that the evidence refutes is not told to the agent."""
    gaps = upheld(verdict, case)
    cited = {number for gap in gaps for number in gap.evidence}
    return Lack(
        kind="incomplete" if case.condition else inquiry.suspicion.split(":", 1)[0],
        missing=tuple(gap.point for gap in gaps),
        next_step=verdict.next_step,
        evidence=tuple(fact for fact in inquiry.evidence if fact.id in cited),
    )


def _premature(verdict: Verdict, before: float | None) -> float | None:
    """How likely it is that the work is not at its end, by this verdict."""
    match verdict:
        case Incomplete():
            return verdict.confidence
        case Abstain():
            return before
        case _:
            return 1 - verdict.confidence


def _charged(inquiry: Inquiry, cost: Judgement | JudgeFailed) -> Inquiry:
    """Add what an answer, or none, cost to the stop, the day and the goal."""
    tokens, cents = inquiry.judge_tokens + cost.tokens, cost.cents
    inquiry = replace(
        inquiry,
        judge=cost.backend or inquiry.judge,
        judge_tokens=tokens,
        judge_cents=inquiry.judge_cents if cents is None else (inquiry.judge_cents or 0.0) + cents,
        today=added(inquiry.today, cost.tokens, cents, cost.calls),
    )
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry
    total, paid = goal.spent.judge_tokens + cost.tokens, goal.spent.judge_cents + (cents or 0.0)
    spent = replace(goal.spent, judge_tokens=total, judge_cents=paid)
    return replace(inquiry, session=replace(inquiry.session, goal=replace(goal, spent=spent)))
