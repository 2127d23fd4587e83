"""The judge's part of one stop: whether it is asked, how often, and what its answer counts for.

It is asked once; a second time only where the first answer is near the threshold. Its answer counts where it
agrees with the evidence (judging/verdicts.py); otherwise the stop is treated as not judged. A stop of
`supervisor run` that nobody judged is followed by another agent while the journal has work for it: the budget
bounds that, as it does every continuation.
"""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.evidence.gates.goal_checks import asks_only_for_tasks
from sidecar.evidence.proof import policy as proof
from sidecar.judging.case import build_case
from sidecar.judging.verdicts import cited_evidence, is_near_threshold, upheld_gaps, verdict_objection
from sidecar.kernel.effects import AskJudge, Effect, Inquiry, JudgeCase, Rest, RestReason, Ruling
from sidecar.kernel.events import JudgeFailed
from sidecar.kernel.evidence import (
    Abstain,
    Complete,
    Impossible,
    Incomplete,
    Judgement,
    MissingWork,
    Source,
    Verdict,
    Waiting,
)
from sidecar.kernel.goal import Goal, GoalStatus, add_spending
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import JUDGED_KIND, active_goal, reached_cents_limit, reached_daily_limit
from sidecar.kernel.text import counted
from sidecar.systems.supervision.policy.continuations import (
    end_goal,
    rest_unjudged,
    send_agent_back,
    waiting_note,
)
from sidecar.systems.supervision.policy.gate_step import GATES_STAGE, gate_failures

JudgingStep = tuple[Inquiry, Effect | Ruling]

EXPLAIN, TEST_JUDGE, RAISE_LIMIT = "supervisor explain", "supervisor doctor", "supervisor config edit"
"""What a person types to see why, whether the judge answers, and to let it cost more."""
JUDGE_STAGE, TASKS_STAGE = "judge", "tasks"
"""The stages in which a model is asked, and in which the tasks of a run decide instead."""


def ask_judge(inquiry: Inquiry, condition: str, at: float) -> JudgingStep:
    """Ask the judge, unless tasks alone decide that a run goes on, or a limit on cost is reached."""
    goal, ready = active_goal(inquiry.session), any(task.now for task in inquiry.turn.planned)
    alone = ready and goal is not None and asks_only_for_tasks(goal)
    if alone and (missing_work := _work_left_in_run(inquiry, "")):
        return send_agent_back(replace(inquiry, stage=TASKS_STAGE), missing_work, at)
    inquiry = replace(inquiry, stage=JUDGE_STAGE)
    if goal is not None and not inquiry.proved and (why := reached_cents_limit(goal, inquiry.settings)):
        return end_goal(inquiry, GoalStatus.EXHAUSTED, f"{why} spent")
    if why := reached_daily_limit(inquiry.today, inquiry.settings):
        return _daily_limit_reached(inquiry, why, at)
    case = build_case(inquiry, condition)
    return replace(inquiry, case=case), AskJudge(case)


def apply_judgement(inquiry: Inquiry, judgement: Judgement, at: float) -> JudgingStep:
    """Take the judge's answer, ask once more where it is near the threshold, and rule."""
    inquiry = _charge_judge_cost(inquiry, judgement)
    asked = active_goal(inquiry.session) is not None
    if inquiry.case is not None and _needs_second_answer(inquiry, judgement.verdict, asked=asked):
        return replace(inquiry, first=judgement), AskJudge(inquiry.case)
    return _rule_on_verdict(inquiry, _combine_answers(inquiry.first, judgement), at)


def handle_judge_failure(inquiry: Inquiry, failure: JudgeFailed, at: float) -> JudgingStep:
    """Handle a missing answer: a first one counts unless it would end a goal; else there is no verdict."""
    inquiry = _charge_judge_cost(inquiry, failure)
    if inquiry.first is not None and not isinstance(inquiry.first.verdict, Complete | Impossible):
        return _rule_on_verdict(inquiry, inquiry.first.verdict, at)
    return _go_on_or_rest(inquiry, failure.reason, at, TEST_JUDGE)


def _go_on_or_rest(inquiry: Inquiry, why: str, at: float, remedy: str = EXPLAIN) -> JudgingStep:
    """Handle a stop that nobody judged: a run goes on while its agents have something to do, others rest."""
    if missing_work := _work_left_in_run(inquiry, why):
        return send_agent_back(replace(inquiry, stage=TASKS_STAGE), missing_work, at)
    if inquiry.proved:  # a judge could have objected, and was not needed
        shown = f"{'; '.join(inquiry.proof)}; nobody judged what the goal asks beyond that ({why})"
        return end_goal(replace(inquiry, case=None, stage=GATES_STAGE), GoalStatus.ACHIEVED, shown)
    if unseen := inquiry.project_state.unseen:
        why = f"what changed is not known ({unseen}), so checks decide nothing, and {why}"
    if inquiry.suspicion and active_goal(inquiry.session) and (missing_work := gate_failures(inquiry)):
        return send_agent_back(replace(inquiry, stage=GATES_STAGE), missing_work, at)
    return rest_unjudged(inquiry, why, remedy)


def _work_left_in_run(inquiry: Inquiry, why: str) -> MissingWork | None:
    """Return what the next agent of a run can do by the journal; None where that is nothing.

    `why` nobody judged, "" where nobody had to.
    """
    goal, turn = active_goal(inquiry.session), inquiry.turn
    if goal is None or inquiry.session.key.host != RUN_HOST:
        return None
    if ready := [task for task in turn.planned if task.now]:
        open_tasks = f"{counted(len(ready), 'open task')} that can be done now"
        missing = f"{open_tasks}, first {ready[0].id}: {ready[0].text}"
    elif asks_only_for_tasks(goal) and not turn.planned and not turn.complete:
        missing = "no task is open, and the session was not declared complete"
    else:
        return None
    unjudged = (f"nobody judged the last stop: {why}",) if why else ()
    failed = gate_failures(inquiry) or MissingWork(kind="", missing=(), next_step="")
    then = (
        "Do the task that is ready; where none is left, declare the session complete, or say what is missing."
    )
    told = (missing, *unjudged, *failed.missing)
    return MissingWork(kind="tasks-open", missing=told, next_step=then, evidence=failed.evidence)


def _daily_limit_reached(inquiry: Inquiry, why: str, at: float) -> JudgingStep:
    """Rest unjudged at the daily limit; rules and gates still judge, and the user is notified once a day."""
    said = f"the daily limit of judging is reached: {why}"
    day, session = inquiry.today.day, inquiry.session
    inquiry, ruling = _go_on_or_rest(inquiry, said, at, RAISE_LIMIT)
    if not isinstance(ruling, Rest) or ruling.note or session.notified_limit == day:
        return inquiry, ruling
    inquiry = replace(inquiry, session=replace(inquiry.session, notified_limit=day))
    return inquiry, replace(
        ruling,
        note=f"Supervisor: {said}. Until tomorrow (UTC) only rules and checks judge. Type: {RAISE_LIMIT}",
    )


def _needs_second_answer(inquiry: Inquiry, verdict: Verdict, *, asked: bool) -> bool:
    settings, goal = inquiry.settings, active_goal(inquiry.session)
    spent = reached_daily_limit(inquiry.today, settings) or (goal and reached_cents_limit(goal, settings))
    return (
        settings.judge.second_sample
        and inquiry.first is None
        and not spent
        and is_near_threshold(verdict, asked=asked)
    )


def _combine_answers(first: Judgement | None, last: Judgement) -> Verdict:
    """Return the verdict of one answer, or of two that agree, with their mean confidence; else abstain."""
    verdict = last.verdict
    if first is None:
        return verdict
    one, other = _verdict_name(first.verdict), _verdict_name(verdict)
    mean = (first.verdict.confidence + verdict.confidence) / 2
    if one != other:
        return Abstain(reason=f"asked twice, the judge said {one}, then {other}", confidence=mean)
    return replace(verdict, confidence=mean)


def _verdict_name(verdict: Verdict) -> str:
    return type(verdict).__name__.lower()


def _rule_on_verdict(inquiry: Inquiry, verdict: Verdict, at: float) -> JudgingStep:
    goal = active_goal(inquiry.session)
    inquiry = replace(inquiry, confidence=_premature_probability(verdict, inquiry.confidence))
    case = inquiry.case
    if case is None:
        return inquiry, Rest(reason=RestReason.SUPERSEDED)
    if why := verdict_objection(verdict, case, asked=goal is not None):
        return _go_on_or_rest(inquiry, why, at)
    return _accept_verdict(inquiry, case, verdict, at)


def _accept_verdict(inquiry: Inquiry, case: JudgeCase, verdict: Verdict, at: float) -> JudgingStep:
    goal = active_goal(inquiry.session)
    match verdict:
        case Complete():
            return _rule_complete(inquiry, verdict, goal)
        case Incomplete():
            return send_agent_back(inquiry, _missing_from_verdict(inquiry, case, verdict), at)
        case Waiting():
            note = waiting_note(verdict.question, inquiry.session) if goal else ""
            return inquiry, Rest(reason=RestReason.WAITING, detail=verdict.question, note=note)
        case Impossible():
            return end_goal(inquiry, GoalStatus.IMPOSSIBLE, verdict.reason)
        case Abstain():
            return _go_on_or_rest(inquiry, f"the judge abstained: {verdict.reason}", at)


def _rule_complete(inquiry: Inquiry, verdict: Complete, goal: Goal | None) -> JudgingStep:
    shown = "; ".join(f"{met.criterion} ({', '.join(met.evidence)})" for met in verdict.criteria)
    if changed := proof.describe_findings(inquiry.project_state.findings):
        shown = f"{shown}; please look at what changed in the checks: {'; '.join(changed)}"
    if goal is None:
        return inquiry, Rest(reason=RestReason.CLEAN, detail=shown)
    changes = {fact.id for fact in inquiry.evidence if fact.source is Source.CHANGE}
    idle = inquiry.project_state.changed == ()  # what passed is no proof that something was done
    weighed = changes <= cited_evidence(verdict)  # what is said of the checks
    if inquiry.proof and weighed and not idle:
        return end_goal(inquiry, GoalStatus.ACHIEVED, f"{'; '.join(inquiry.proof)}; judged: {shown}")
    why = "nothing was changed" if idle else "the judge did not weigh what is told of the checks"
    unweighed = (why,) if inquiry.proof else ()
    return end_goal(inquiry, GoalStatus.JUDGED, "; ".join((*inquiry.proof, *unweighed, shown)))


def _missing_from_verdict(inquiry: Inquiry, case: JudgeCase, verdict: Incomplete) -> MissingWork:
    """Return the points that stand; those that the evidence refutes are not reported to the agent."""
    gaps = upheld_gaps(verdict, case)
    cited = {number for gap in gaps for number in gap.evidence}
    return MissingWork(
        kind=JUDGED_KIND if case.condition else inquiry.suspicion.split(":", 1)[0],
        missing=tuple(gap.point for gap in gaps),
        next_step=verdict.next_step,
        evidence=tuple(fact for fact in inquiry.evidence if fact.id in cited),
    )


def _premature_probability(verdict: Verdict, before: float | None) -> float | None:
    """Return the probability, by this verdict, that the work is not finished."""
    match verdict:
        case Incomplete():
            return verdict.confidence
        case Abstain():
            return before
        case _:
            return 1 - verdict.confidence


def _charge_judge_cost(inquiry: Inquiry, cost: Judgement | JudgeFailed) -> Inquiry:
    """Add the cost of an answer, or of a failure, to the stop, the day and the goal."""
    tokens, cents = inquiry.judge_tokens + cost.tokens, cost.cents
    inquiry = replace(
        inquiry,
        judge=cost.backend or inquiry.judge,
        judge_tokens=tokens,
        judge_cents=inquiry.judge_cents if cents is None else (inquiry.judge_cents or 0.0) + cents,
        today=add_spending(inquiry.today, cost.tokens, cents, cost.calls),
    )
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry
    total, paid = goal.spent.judge_tokens + cost.tokens, goal.spent.judge_cents + (cents or 0.0)
    spent = replace(goal.spent, judge_tokens=total, judge_cents=paid)
    return replace(inquiry, session=replace(inquiry.session, goal=replace(goal, spent=spent)))
