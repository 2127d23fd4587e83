"""One stop, from the host's event to the ruling.

Each fact is answered with what is needed next (an effect) or with a ruling. The order is the cascade of the
design: skip rules; with a goal its gates and then certain rules, without a goal the rules first; then a
model, whose verdict may also be refused. After a ruling the inquiry is over, and its session is to be saved.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from sidecar.evidence.claims.ledger import undecided_check_kinds
from sidecar.evidence.claims.utterances import claims_tests_pass, utterances
from sidecar.evidence.claims.worked import changed_nothing
from sidecar.evidence.facts_line import describe_facts
from sidecar.evidence.gates import policy as gates
from sidecar.evidence.ledger import gather_evidence
from sidecar.evidence.proof import policy as proof
from sidecar.judging.rules import every, found
from sidecar.kernel.effects import (
    UNSEEN_PROJECT,
    Continue,
    Effect,
    Inquiry,
    ReadProjectState,
    ReadTurn,
    Rest,
    RestReason,
    Ruling,
    RunGates,
)
from sidecar.kernel.events import (
    ChecksTried,
    Fact,
    GatesRan,
    JudgeAnswered,
    JudgeFailed,
    OldChecksRan,
    ProjectState,
    TurnRead,
)
from sidecar.kernel.evidence import MissingWork
from sidecar.kernel.gate import Kind
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.session import Session, active_goal
from sidecar.kernel.settings import RULE_MODE
from sidecar.kernel.turn import Turn
from sidecar.systems.supervision.policy import gate_step, judge_step
from sidecar.systems.supervision.policy.continuations import (
    end_rewound_goal,
    rest_unjudged,
    send_agent_back,
    settle_continuation,
    tell_unenforced,
    waiting_note,
)

StopStep = tuple[Inquiry, Effect | Ruling]

RULES_STAGE_NAME = "rules"
"""The stage in which rules decide."""
CLAIMED_STAGE = "claimed-checks"
"""The stage in which approved checks run without a goal, because the message says that they pass."""
FALSE_COMPLETE = "false-complete"
"""The switch, and the name, of claims that facts contradict."""
OUTWEIGHED_RULES = frozenset(("error-walked-away",))
"""Rules about the agent's own runs; a test gate that passed outweighs them."""
SILENT_REASONS = frozenset((RestReason.EXHAUSTED, RestReason.STALLED, RestReason.SHADOW, RestReason.HELD))
"""Reasons to rest although something is missing."""
CHECKS_CONFIDENCE = 0.99
"""Confidence of what the project's own checks decide."""


def begin_inquiry(inquiry: Inquiry) -> StopStep:
    """Handle the stop itself: skip it at once, or read the turn."""
    reason = next((reason for reason, holds in EARLY_SKIP_RULES if holds(inquiry)), None)
    if reason is RestReason.WAITING:
        note = waiting_note(inquiry.waits, inquiry.session)
        return inquiry, Rest(reason=reason, detail=inquiry.waits, note=note)
    if reason is None:
        return inquiry, ReadTurn()
    return tell_unenforced(inquiry, Rest(reason=reason, detail=inquiry.off))


def advance_inquiry(inquiry: Inquiry, fact: Fact, at: float) -> StopStep:
    """Take in one fact and return the next step. `at`: seconds since the epoch.

    Where no goal is active, a rest without a note tells the person what changed, and that one is set.
    """
    after, order = _advance(inquiry, fact, at)
    if not isinstance(order, Rest) or active_goal(inquiry.session) is not None:
        return after, order
    if not order.note and inquiry.settings.facts_line and after.project_state is not UNSEEN_PROJECT:
        order = replace(order, note=describe_facts(after.turn, after.runs, after.project_state))
    return tell_unenforced(after, order)


def _advance(inquiry: Inquiry, fact: Fact, at: float) -> StopStep:
    match fact:
        case TurnRead():
            return _handle_turn_read(inquiry, fact, at)
        case ProjectState() if inquiry.clean is not None:
            return replace(inquiry, project_state=fact), inquiry.clean
        case ProjectState():
            return _handle_project_state(replace(inquiry, project_state=fact), at)
        case GatesRan() | OldChecksRan() | ChecksTried():
            return _handle_checks_ran(inquiry, fact, at)
        case JudgeAnswered():
            return judge_step.apply_judgement(inquiry, fact.judgement, at)
        case JudgeFailed():
            return judge_step.handle_judge_failure(inquiry, fact, at)


def _handle_turn_read(inquiry: Inquiry, fact: TurnRead, at: float) -> StopStep:
    turn = fact.turn
    if turn.unfinished and not turn.readable:  # nobody knows whether it is a stop at all
        return rest_unjudged(replace(inquiry, turn=turn), turn.unfinished)
    session, arrived = settle_continuation(
        inquiry.session, turn, continued=inquiry.stop.continued, capped=inquiry.stop.capped
    )
    session = _add_turn_spending(session, fact, at)
    lost = inquiry.session.pending is not None and not arrived
    inquiry = replace(inquiry, session=session, turn=turn, arrived=arrived, lost=lost)
    reason = next((reason for reason, holds in LATE_SKIP_RULES if holds(inquiry, turn)), None)
    if reason is not None and (reason is not RestReason.TALK or not turn.calls):
        return _skip_stop(inquiry, reason)
    weighed = every.apply_stop_rules(turn, inquiry.settings.rules, goal=active_goal(session) is not None)
    if reason is not None and not any(finding.certain for finding in weighed.findings):
        # A turn that only read is skipped, unless a rule is certain that it stopped midway.
        return _skip_stop(inquiry, reason)
    session, tasks = new_background_tasks(inquiry)
    if tasks and not inquiry.stop.headless:
        detail = f"judged when they end: {'; '.join(tasks)}"[:500]
        return replace(inquiry, session=session), Rest(reason=RestReason.BACKGROUND, detail=detail)
    inquiry = replace(inquiry, session=replace(session, judged=turn.last_message_id), left_running=tasks)
    if active_goal(session) is not None or _may_be_unclean(inquiry, weighed):
        return inquiry, ReadProjectState()
    inquiry, rest = _rest_as_clean(inquiry, weighed)
    told = inquiry.settings.facts_line and turn.readable and not changed_nothing(turn)
    return (replace(inquiry, clean=rest), ReadProjectState()) if told else (inquiry, rest)


def _may_be_unclean(inquiry: Inquiry, weighed: found.RuleAssessment) -> bool:
    """Whether a stop without a goal may be more than clean, as far as the turn itself shows."""
    turn, checked = inquiry.turn, inquiry.settings.gates.without_goal
    return bool(weighed.findings or (checked and turn.changed) or utterances(turn.last_message))


def _rest_as_clean(inquiry: Inquiry, weighed: found.RuleAssessment) -> tuple[Inquiry, Rest]:
    """Rest because no rule found anything; report a sign of a legitimate stop."""
    why = weighed.legitimate.why if weighed.legitimate else ""
    inquiry = replace(inquiry, stage=RULES_STAGE_NAME, confidence=weighed.confidence)
    return inquiry, Rest(reason=RestReason.CLEAN, detail=why)


def _handle_project_state(inquiry: Inquiry, at: float) -> StopStep:
    goal = active_goal(inquiry.session)
    if goal is None:
        return _judge_without_goal(inquiry, at)
    goal = replace(goal, unjudged="")
    return _judge_with_goal(replace(inquiry, session=replace(inquiry.session, goal=goal)), goal, at)


def _add_turn_spending(session: Session, fact: TurnRead, at: float) -> Session:
    """Add the tokens and seconds since the last stop to what the goal has spent."""
    goal, since, turn = active_goal(session), session.active_since, fact.turn
    session = replace(session, counted_to=max(session.counted_to, turn.position), active_since=None)
    if goal is None:
        return session
    seconds = 0.0 if since is None else at - since if fact.worked is None else fact.worked
    seconds = max(0.0, seconds - turn.waited)
    spent = replace(goal.spent, tokens=goal.spent.tokens + turn.tokens, seconds=goal.spent.seconds + seconds)
    return replace(session, goal=replace(goal, spent=spent))


def _skip_stop(inquiry: Inquiry, reason: RestReason) -> StopStep:
    if reason is RestReason.REWOUND:
        return end_rewound_goal(inquiry)
    if reason is RestReason.PLAN_MODE:
        return tell_unenforced(inquiry, Rest(reason=reason))
    if (
        reason is not RestReason.NATIVE_GOAL
        or inquiry.session.notified_native
        or active_goal(inquiry.session) is None
    ):
        return inquiry, Rest(reason=reason, detail=inquiry.turn.unfinished)
    inquiry = replace(inquiry, session=replace(inquiry.session, notified_native=True))
    note = "Supervisor: the host's own /goal is active; Supervisor steps back. To clear it, type: /goal clear"
    return inquiry, Rest(reason=reason, note=note)


def _judge_without_goal(inquiry: Inquiry, at: float) -> StopStep:
    """Judge a stop without a goal: only clear cases are sent back (law 8)."""
    state, limits = inquiry.project_state, inquiry.project_state.catalog.settings
    configured = inquiry.settings.gates.without_goal and inquiry.turn.changed
    if configured and (may := gates.runnable_gates(gates.required_gates(None, state))):
        return replace(inquiry, stage="gates"), RunGates(may, limits.seconds)
    kinds = undecided_check_kinds(inquiry.turn) if _claims_mode(inquiry) != "off" else frozenset()
    if kinds and (may := gates.approved_gates(kinds, state)):
        return replace(inquiry, stage=CLAIMED_STAGE), RunGates(may, limits.advisory_seconds)
    return _decide_without_goal(inquiry, at)


def _claims_mode(inquiry: Inquiry) -> RULE_MODE:
    return inquiry.settings.rules.false_complete


def _decide_without_goal(inquiry: Inquiry, at: float) -> StopStep:
    known = gather_evidence(inquiry.turn, inquiry.runs, inquiry.project_state)
    inquiry = replace(inquiry, evidence=known.evidence, claims=known.claims)
    weighed = every.apply_stop_rules(inquiry.turn, inquiry.settings.rules, goal=False)
    untrue = gate_step.find_contradicted_claims(inquiry) or gate_step.find_invented_test_run(inquiry)
    if untrue and _claims_mode(inquiry) != "off":
        inquiry = replace(inquiry, stage=RULES_STAGE_NAME, rule=FALSE_COMPLETE)
        if _claims_mode(inquiry) == "ask":
            return _ask_about_suspicion(inquiry, weighed, untrue, at)
        return send_agent_back(inquiry, untrue, at)
    if not weighed.rests and (missing_work := gate_step.gate_failures(inquiry)):
        if weighed.unread:
            return _ask_about_suspicion(inquiry, weighed, missing_work, at)
        return send_agent_back(replace(inquiry, confidence=CHECKS_CONFIDENCE), missing_work, at)
    return _weigh_findings_without_goal(inquiry, weighed, at)


def _weigh_findings_without_goal(inquiry: Inquiry, weighed: found.RuleAssessment, at: float) -> StopStep:
    inquiry = replace(inquiry, stage=RULES_STAGE_NAME, confidence=weighed.confidence)
    findings = (*weighed.findings, *_changed_check_findings(inquiry))
    if not findings:
        return _rest_as_clean(inquiry, weighed)
    first = findings[0]
    inquiry = replace(inquiry, rule=first.rule)
    if first.certain:
        return send_agent_back(inquiry, first.missing_work, at)
    return _ask_about_suspicion(inquiry, weighed, first.missing_work, at)


def _ask_about_suspicion(
    inquiry: Inquiry, weighed: found.RuleAssessment, missing_work: MissingWork, at: float
) -> StopStep:
    """Ask a judge what a suspicion is worth, where the user wants that without a goal; else let it rest."""
    if not inquiry.settings.judge.without_goal:
        return _rest_as_clean(inquiry, weighed)
    said = f"{missing_work.kind}: {missing_work.reason}"
    return judge_step.ask_judge(replace(inquiry, suspicion=said), "", at)


def _changed_check_findings(inquiry: Inquiry) -> tuple[found.RuleFinding, ...]:
    """Let a judge look at a message that says tests pass, after a turn that weakened the checks."""
    grave = proof.grave_findings(inquiry.project_state.findings)
    if not grave or not claims_tests_pass(inquiry.turn.last_message):
        return ()
    then = "Undo it, or say why it is right."
    missing_work = MissingWork(kind="checks-changed", missing=proof.describe_findings(grave), next_step=then)
    return (found.RuleFinding(rule="checks-changed", certain=False, missing_work=missing_work),)


def _judge_with_goal(inquiry: Inquiry, goal: Goal, at: float) -> StopStep:
    if inquiry.left_running:
        then = "Wait for this work to end, or stop it, then go on."
        missing_work = MissingWork(kind="background-headless", missing=inquiry.left_running, next_step=then)
        ruled = replace(inquiry, stage=RULES_STAGE_NAME, rule="background-headless")
        return send_agent_back(ruled, missing_work, at)
    return _decide_after_checks(inquiry, goal, gate_step.begin_gate_checks(inquiry, goal, at), at)


def _handle_checks_ran(inquiry: Inquiry, fact: GatesRan | OldChecksRan | ChecksTried, at: float) -> StopStep:
    goal = active_goal(inquiry.session)
    if goal is None:
        wanted = inquiry.settings.gates.without_goal or inquiry.stage == CLAIMED_STAGE
        if isinstance(fact, GatesRan) and wanted:
            return _decide_without_goal(replace(inquiry, runs=fact.runs), at)
        return inquiry, Rest(reason=RestReason.SUPERSEDED)
    if isinstance(fact, GatesRan):
        checked = gate_step.handle_gate_runs(inquiry, goal, fact.runs, at)
    elif isinstance(fact, ChecksTried):
        checked = gate_step.handle_trials(inquiry, goal, fact.trials, at)
    else:
        checked = gate_step.handle_old_checks(inquiry, goal, fact.comparisons, at)
    return _decide_after_checks(inquiry, goal, checked, at)


def _decide_after_checks(
    before: Inquiry, goal: Goal, checked: gate_step.ChecksStep | gate_step.UndecidedChecks, at: float
) -> StopStep:
    """Follow the checks where they decide; otherwise certain rules, then the model.

    Where only the user can go on, failing checks are no reason to send the agent back; where that cannot be
    told, because the message is not in English or its closing words may say so, the model is asked. An offer
    after the required checks passed is for the model, too: it may be of more than was asked for.
    """
    inquiry, order = checked
    if order is not None and not _wants_continuation(order):
        return _set_checks_confidence(inquiry, order)
    weighed = every.apply_stop_rules(inquiry.turn, inquiry.settings.rules, goal=True)
    if weighed.legitimate is not None and weighed.rests:
        why = weighed.legitimate.why
        rule = f"legitimate:{weighed.legitimate.kind}"
        inquiry = replace(inquiry, session=before.session, stage=RULES_STAGE_NAME, rule=rule)
        rest = Rest(reason=RestReason.WAITING, detail=why, note=waiting_note(why, inquiry.session))
        return replace(inquiry, confidence=weighed.confidence), rest
    failures = gate_step.gate_failures(inquiry) if weighed.doubtful else None
    if order is not None and not (failures or (weighed.doubtful and weighed.unread)):
        return _set_checks_confidence(inquiry, order)
    if failures:
        session = replace(before.session, goal=gate_step.goal_with_red(goal, inquiry.runs))
        inquiry = replace(inquiry, session=session, suspicion=f"{failures.kind}: {failures.reason}")
    inquiry = replace(inquiry, confidence=weighed.confidence)
    found = [finding for finding in weighed.findings if finding.certain]
    if gate_step.gate_kind_passed(inquiry.runs, Kind.TESTS):  # newer than the agent's own run
        found = [finding for finding in found if finding.rule not in OUTWEIGHED_RULES]
    if gates.required_gates_are_green(inquiry.runs, inquiry.project_state):
        found = [finding for finding in found if finding.rule != "permission-seeking"]
    if found:
        inquiry = replace(inquiry, stage=RULES_STAGE_NAME, rule=found[0].rule)
        return send_agent_back(inquiry, found[0].missing_work, at)
    return judge_step.ask_judge(inquiry, goal.condition, at)


def _wants_continuation(order: Effect | Ruling) -> bool:
    """Whether the agent is to go on, or would be if there were a budget for it."""
    return isinstance(order, Continue) or (isinstance(order, Rest) and order.reason in SILENT_REASONS)


def _set_checks_confidence(inquiry: Inquiry, order: Effect | Ruling) -> StopStep:
    """Set the confidence of what the checks decided, which is nearly certain."""
    if isinstance(order, Continue):
        return replace(inquiry, confidence=CHECKS_CONFIDENCE), order
    if isinstance(order, Rest) and order.reason in (RestReason.ACHIEVED, RestReason.COMPLETED):
        return replace(inquiry, confidence=1 - CHECKS_CONFIDENCE), order
    return inquiry, order


# --- Skip rules: which stops are not judged. The first rule that holds decides; its reason is recorded ------
# EARLY_SKIP_RULES need only what the host reported, LATE_SKIP_RULES the transcript. Background work is not in
# the tables, because waiting for it changes the session: see `new_background_tasks`.


def _goal_is_paused(inquiry: Inquiry) -> bool:
    goal = inquiry.session.goal
    return goal is not None and goal.status is GoalStatus.PAUSED


def _goal_is_rewound(inquiry: Inquiry, turn: Turn) -> bool:
    """Whether the user went back to before the prompt that set the goal."""
    goal = active_goal(inquiry.session)
    return goal is not None and goal.prompt_id in turn.rewound


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
    (RestReason.PLAN_MODE, lambda _, turn: turn.read_only),
    (RestReason.UNFINISHED, lambda _, turn: turn.unfinished),
    (RestReason.QUEUED, lambda _, turn: turn.queued),
    (RestReason.QUESTION, lambda _, turn: turn.asking),
    (RestReason.REWOUND, _goal_is_rewound),
    (RestReason.NATIVE_GOAL, lambda _, turn: turn.native_goal),
    (RestReason.SAME, _judged_before),
    (RestReason.TALK, lambda q, turn: active_goal(q.session) is None and not turn.changed),
)


def new_background_tasks(inquiry: Inquiry) -> tuple[Session, tuple[str, ...]]:
    """Return the session, and the background tasks for which no stop was deferred or sent back.

    Each task counts once, so that a server left running does not keep a goal from being judged.
    """
    session = inquiry.session
    new = tuple(task for task in inquiry.stop.background if task.id not in session.waited_for)
    waited = (*session.waited_for, *(task.id for task in new))[-50:]
    return replace(session, waited_for=waited), tuple(task.description for task in new)
