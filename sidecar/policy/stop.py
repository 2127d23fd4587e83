"""One stop, from the host's word to the ruling.

Each fact is answered with what is needed next (an effect) or with a ruling. The order is the cascade of
the design: skip rules, rules and gates, one model call, and only then a judgement that may also be refused.
After a ruling the inquiry is over: its session is what is to be saved.
"""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.model.effects import AskJudge, Case, Effect, ReadTurn, Reason, Rest, Ruling, RunGates, Survey
from sidecar.model.events import Fact, GatesRan, Judged, JudgeFailed, Surveyed, TurnRead
from sidecar.model.gate import GateRun
from sidecar.model.goal import Goal, Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.session import Session
from sidecar.model.turn import Turn
from sidecar.model.verdict import Complete, Impossible, Incomplete, Judgement, Waiting
from sidecar.policy import gates, rules, skip
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
    if active_goal(session) is None and not rules.findings(turn):
        return replace(inquiry, stage="rules"), Rest(reason=Reason.CLEAN)
    return inquiry, Survey()


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
    inquiry = replace(inquiry, stage="rules", evidence=gather(inquiry.turn, (), inquiry.survey.tree))
    found = rules.findings(inquiry.turn)
    first = found[0]
    if first.certain:
        return send_back(inquiry, first.lack, at)
    return _ask(replace(inquiry, suspicion=f"{first.lack.kind}: {first.lack.reason}"), "")


def _asked(inquiry: Inquiry, goal: Goal, at: float) -> Step:
    if inquiry.left_running:
        then = "Wait for this work to end, or stop it, then go on."
        lack = Lack(kind="background-headless", missing=inquiry.left_running, next_step=then)
        return send_back(replace(inquiry, stage="rules"), lack, at)
    wanted = gates.applicable(goal, inquiry.survey.runner)
    if wanted:
        return replace(inquiry, stage="gates"), RunGates(wanted)
    return _weigh(inquiry, goal, at)


def _gates_ran(inquiry: Inquiry, fact: GatesRan, at: float) -> Step:
    goal, tree = active_goal(inquiry.session), inquiry.survey.tree
    if goal is None:
        return inquiry, Rest(reason=Reason.SUPERSEDED)
    evidence = gather(inquiry.turn, fact.runs, tree)
    inquiry = replace(inquiry, runs=fact.runs, evidence=evidence)
    if failing := gates.failed(fact.runs):
        lack = Lack(
            kind="gates-failed",
            missing=tuple(line for run in failing for line in _what_failed(run)),
            next_step="Repair what fails, then run the check yourself.",
            evidence=evidence[: len(fact.runs)],
        )
        return send_back(inquiry, lack, at)
    if blocked := gates.unrunnable(fact.runs):
        return _could_not_run(inquiry, goal, blocked, at)
    if gates.decided(goal, fact.runs, tree):
        return end(inquiry, Status.ACHIEVED, _proof(fact.runs))
    return _weigh(inquiry, goal, at)


def _what_failed(run: GateRun) -> tuple[str, ...]:
    code = "" if run.exit_code is None else f" (exit code {run.exit_code})"
    head = f"`{run.gate.command}` fails{code}" if not run.reason else f"`{run.gate.command}`: {run.reason}"
    return (head, *run.failures)


def _proof(runs: tuple[GateRun, ...]) -> str:
    counted = [
        f"`{run.gate.command}` passed"
        + (f" ({run.executed} test{'' if run.executed == 1 else 's'})" if run.executed else "")
        for run in runs
    ]
    return f"{', '.join(counted)} on the files as they are"


def _could_not_run(inquiry: Inquiry, goal: Goal, blocked: tuple[GateRun, ...], at: float) -> Step:
    """Say once "make it run or say why"; then rest as unverified (the gates table of the design)."""
    names = tuple(run.gate.id for run in blocked)
    missing = tuple(f"`{run.gate.command}` could not run: {run.reason}" for run in blocked)
    if set(names) <= set(goal.asked_to_run):
        return end(inquiry, Status.UNVERIFIED, "; ".join(missing))
    asked = replace(goal, asked_to_run=tuple(sorted({*goal.asked_to_run, *names})))
    inquiry = replace(inquiry, session=replace(inquiry.session, goal=asked))
    lack = Lack(
        kind="gates-could-not-run",
        missing=missing,
        next_step="Make it run, or say why it cannot.",
        evidence=inquiry.evidence[: len(inquiry.runs)],
    )
    return send_back(inquiry, lack, at)


def _weigh(inquiry: Inquiry, goal: Goal, at: float) -> Step:
    """Nothing failed, and the gates do not decide: rules where they are certain, else the model."""
    found = [finding for finding in rules.findings(inquiry.turn) if finding.certain]
    if any(run.gate.counts for run in inquiry.runs):  # they passed: the agent's own run is older news
        found = [finding for finding in found if finding.lack.kind != "false-complete"]
    evidence = inquiry.evidence or gather(inquiry.turn, (), inquiry.survey.tree)
    inquiry = replace(inquiry, evidence=evidence)
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
            return (
                end(inquiry, Status.ACHIEVED, shown)
                if goal
                else (inquiry, Rest(reason=Reason.CLEAN, detail=shown))
            )
        case Incomplete():
            kind = "incomplete" if goal else inquiry.suspicion.split(":", 1)[0]
            return send_back(
                inquiry, Lack(kind=kind, missing=verdict.missing, next_step=verdict.next_step), at
            )
        case Waiting():
            note = f"Supervisor: waiting for you: {verdict.question}" if goal else ""
            return inquiry, Rest(reason=Reason.WAITING, detail=verdict.question, note=note)
        case Impossible():
            return end(inquiry, Status.IMPOSSIBLE, verdict.reason)
        case _:
            return unjudged(inquiry, "the judge abstained")


def _charge_judging(inquiry: Inquiry, tokens: int, cents: float) -> Inquiry:
    inquiry = replace(inquiry, judge_tokens=tokens)
    goal = active_goal(inquiry.session)
    if goal is None:
        return inquiry
    total, paid = goal.spent.judge_tokens + tokens, goal.spent.judge_cents + cents
    spent = replace(goal.spent, judge_tokens=total, judge_cents=paid)
    return replace(inquiry, session=replace(inquiry.session, goal=replace(goal, spent=spent)))
