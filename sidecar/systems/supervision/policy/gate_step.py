"""The checks of one stop with a goal: which run, in which order, and what follows from the results.

- Required gates: a failed one sends the agent back. One that could not run is reported once; then the goal
  rests unverified.
- Advisory gates run only when every required one passed; only their new failures count.
- What passed is compared with the files as they were when the work began (proof by execution). A failure that
  was there then and is there still is asked about once.
- A goal that says no more than that checks pass is decided here where nothing speaks against it. For any
  other, checks that failed and pass by the change of the product are proof: a judge may object, but is not
  needed.
- Before checks alone end a goal, it is tried whether those that turned green could fail at all.
- A goal that asks only for tasks is completed where the agent declared its session complete, no task is open,
  something was changed, and every required gate, at least one, passed.
- Claims: one that the evidence contradicts sends the agent back.
"""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.evidence.claims.ledger import CHECK_CLAIMS, build_claim_ledger, invents_test_run
from sidecar.evidence.gates import policy as gates
from sidecar.evidence.gates.goal_checks import asks_only_for_tasks
from sidecar.evidence.ledger import gather_evidence
from sidecar.evidence.proof import policy as proof
from sidecar.evidence.proof.opened import rate_opened
from sidecar.evidence.proof.worth import WorthOfPasses, weigh_passes
from sidecar.kernel.effects import Effect, Inquiry, Ruling, RunGates, RunOldChecks, TryChecks, Wanted
from sidecar.kernel.evidence import CheckChange, ClaimKind, ClaimStatus, Evidence, MissingWork, Source
from sidecar.kernel.gate import CheckComparison, CheckTrial, GateRun, Kind, Outcome
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.text import counted
from sidecar.systems.supervision.policy.continuations import end_goal, send_agent_back

GATES_STAGE, OLD_CHECKS_STAGE, ADVICE_STAGE, TRIAL_STAGE = "gates", "old-checks", "advice", "trial"
"""The stages in which gates run."""
ASKED_ABOUT_LIMIT = 500
"""Maximum number of changes, as digests, that a goal remembers having asked about."""
RED_LIMIT = 50
"""Commands of checks that a goal remembers having seen fail."""
UndecidedChecks = tuple[Inquiry, None]
"""The checks decide nothing: the rules and the judge are next."""
ChecksStep = tuple[Inquiry, Effect | Ruling]


def begin_gate_checks(inquiry: Inquiry, goal: Goal, at: float) -> ChecksStep | UndecidedChecks:
    """Request the required gates that may run; the others are not approved."""
    wanted = gates.required_gates(goal, inquiry.project_state)
    blocked = gates.unapproved_gate_runs(wanted, inquiry.project_state.tree)
    inquiry = replace(inquiry, stage=GATES_STAGE, runs=blocked)
    if may := gates.runnable_gates(wanted):
        return inquiry, RunGates(may, inquiry.project_state.catalog.settings.seconds)
    return _handle_required_runs(inquiry, goal, at)


def handle_gate_runs(
    inquiry: Inquiry, goal: Goal, runs: tuple[GateRun, ...], at: float
) -> ChecksStep | UndecidedChecks:
    """Add the results of gates and decide what is next."""
    stage, inquiry = inquiry.stage, replace(inquiry, runs=(*inquiry.runs, *runs))
    goal = goal_with_red(goal, runs)
    inquiry = _with_goal(inquiry, goal)
    return (
        _handle_required_runs(inquiry, goal, at)
        if stage == GATES_STAGE
        else _compare_with_old_checks(inquiry, goal, at)
    )


def goal_with_red(goal: Goal, runs: tuple[GateRun, ...]) -> Goal:
    """Return the goal with the checks that failed among those that it saw fail."""
    red = (run.gate.named for run in runs if run.outcome is Outcome.FAILED)
    return replace(goal, seen_red=tuple(dict.fromkeys((*goal.seen_red, *red)))[-RED_LIMIT:])


def _handle_required_runs(inquiry: Inquiry, goal: Goal, at: float) -> ChecksStep | UndecidedChecks:
    inquiry = replace(inquiry, runs=gates.without_outvoted(inquiry.runs))
    if failing := gates.failed_required_runs(inquiry.runs):
        return _answer_failed_gates(_with_evidence(inquiry, goal), goal, failing, at)
    if blocked := gates.unrunnable_required_runs(inquiry.runs):
        return _answer_unrunnable_gates(_with_evidence(inquiry, goal), goal, blocked, at)
    if advice := gates.advisory_gates(goal, inquiry.project_state):
        seconds = inquiry.project_state.catalog.settings.advisory_seconds
        return replace(inquiry, stage=ADVICE_STAGE), RunGates(advice, seconds)
    return _compare_with_old_checks(inquiry, goal, at)


def _compare_with_old_checks(inquiry: Inquiry, goal: Goal, at: float) -> ChecksStep | UndecidedChecks:
    """Compare what fails no more than before with the files as they were, unless all is known."""
    state = inquiry.project_state
    passed = tuple(run for run in inquiry.runs if _is_compared(run, goal))
    known = all(any(one.gate == run.gate.id for one in goal.baseline) for run in passed)
    if passed and state.changed != () and (state.checks_changed or not known):
        order = RunOldChecks(passed, state.catalog.settings.seconds, Wanted.PROOF)
        return replace(inquiry, stage=OLD_CHECKS_STAGE), order
    return _handle_all_runs(inquiry, goal, at)


def _is_compared(run: GateRun, goal: Goal) -> bool:
    """Whether a gate bears on the goal and passed, or fails in nothing that did not fail before."""
    news = gates.new_gate_failures(run, goal.baseline)
    return gates.bears_on_goal(run) and run.outcome in (Outcome.PASSED, Outcome.FAILED) and news == ()


def handle_old_checks(
    inquiry: Inquiry, goal: Goal, comparisons: tuple[CheckComparison, ...], at: float
) -> ChecksStep | UndecidedChecks:
    """Add what the old checks showed, and go on."""
    asked = "" if goal.agents else "\n".join((goal.condition, *inquiry.turn.prompts))
    state = inquiry.project_state
    found = tuple(
        finding
        for one in comparisons
        for finding in proof.rate_comparison(one, asked, upgraded=state.dependencies_changed)
    )
    if not gates.checks_of_goal(goal, state).alone:
        found += proof.rate_new_checks(comparisons)
    known = replace(state, findings=(*found, *state.findings))
    noticed = {one.now.gate.id: one.now.noticed for one in comparisons}
    runs = tuple(replace(run, noticed=noticed.get(run.gate.id, ())) for run in inquiry.runs)
    inquiry = replace(inquiry, project_state=known, comparisons=comparisons, runs=runs)
    return _handle_all_runs(inquiry, goal, at)


def handle_trials(
    inquiry: Inquiry, goal: Goal, trials: tuple[CheckTrial, ...], at: float
) -> ChecksStep | UndecidedChecks:
    """Add what trying to make the checks fail showed, and go on."""
    found = tuple(finding for one in trials for finding in proof.rate_trial(one))
    state = inquiry.project_state
    known = replace(state, findings=(*found, *state.findings))
    return _handle_all_runs(replace(inquiry, project_state=known, trials=trials), goal, at)


def _handle_all_runs(inquiry: Inquiry, goal: Goal, at: float) -> ChecksStep | UndecidedChecks:
    inquiry = _with_evidence(_with_bearing_findings(inquiry, goal), goal)
    findings = inquiry.project_state.findings
    if missing_work := _new_failures(inquiry, goal):
        return send_agent_back(inquiry, missing_work, at)
    if grave := proof.grave_findings(findings, goal.asked_about):
        missing_work = MissingWork(
            kind="checks-changed",
            missing=proof.describe_findings(grave),
            next_step="Undo it, or say in your last message why it is right; a judge weighs it.",
        )
        inquiry = _remember_asked_about(inquiry, goal, *map(proof.finding_digest, grave))
        return send_agent_back(inquiry, missing_work, at)
    return _decide(inquiry, goal, at)


def _with_bearing_findings(inquiry: Inquiry, goal: Goal) -> Inquiry:
    """Add the findings about the runs themselves, and leave out those that bear on none of them."""
    state = inquiry.project_state
    if inquiry.stage == TRIAL_STAGE:  # they are there already
        return inquiry
    outside = (
        *proof.rate_surroundings(inquiry.runs),
        *proof.rate_changed_gates(gates.changed_test_gates(state, inquiry.runs)),
        *rate_opened(state.code, [run for run in inquiry.runs if gates.bears_on_goal(run)]),
    )
    kinds = {run.gate.kind for run in inquiry.runs if gates.bears_on_goal(run)}
    kinds |= gates.checks_of_goal(goal, state).kinds
    bearing = (*outside, *proof.relevant_findings(state.findings, kinds))
    return replace(inquiry, project_state=replace(state, findings=bearing))


def _decide(inquiry: Inquiry, goal: Goal, at: float) -> ChecksStep | UndecidedChecks:
    """End the goal where checks alone do, and say what they prove where they do not."""
    state = inquiry.project_state
    alone = gates.checks_of_goal(goal, state).alone
    worth = weigh_passes(goal, inquiry.runs, inquiry.comparisons, state, alone=alone)
    own_red = bool(_own_check_claims(inquiry, ClaimStatus.CONTRADICTED))
    decided = gates.gates_prove_condition(goal, inquiry.runs, state) and not own_red
    inquiry = replace(inquiry, proof=worth.proof, proved=not own_red and _is_repaired(inquiry, worth))
    if (decided or inquiry.proved) and worth.turned_green and inquiry.stage != TRIAL_STAGE:
        limit = state.catalog.settings.trial_seconds
        return replace(inquiry, stage=TRIAL_STAGE), TryChecks(worth.turned_green, limit)
    if decided:
        inquiry = replace(inquiry, stage=GATES_STAGE)  # a person reads it as what decided
        return end_goal(inquiry, GoalStatus.ACHIEVED, describe_gate_results(inquiry, goal))
    switched_on = inquiry.settings.rules.false_complete == "on"
    if switched_on and (untrue := find_contradicted_claims(inquiry)):
        return send_agent_back(replace(inquiry, stage="rules"), untrue, at)
    if _session_is_completed(inquiry, goal):
        shown = f"its agent declared it complete, no task is open; {describe_gate_results(inquiry, goal)}"
        return end_goal(inquiry, GoalStatus.COMPLETED, shown)
    return inquiry, None


def _is_repaired(inquiry: Inquiry, worth: WorthOfPasses) -> bool:
    """Whether checks prove the goal without a judge: red became green, and nothing speaks against it."""
    state = inquiry.project_state
    told = any(one.change is not CheckChange.CI_CHANGED for one in state.findings)
    return bool(worth.turned_green) and worth.green and not (told or state.unseen or state.untouched)


def _new_failures(inquiry: Inquiry, goal: Goal) -> MissingWork | None:
    """Return the failures of approved tests that were not there when the goal was set."""
    joined = (run for run in inquiry.runs if gates.bears_on_goal(run) and not run.gate.required)
    failed = tuple(run for run in joined if gates.new_gate_failures(run, goal.baseline))
    return _describe_failures(inquiry, failed) if failed else None


def _session_is_completed(inquiry: Inquiry, goal: Goal) -> bool:
    """Whether a goal that asks only for tasks has come to its end, by the journal and the required gates."""
    turn = inquiry.turn
    return (
        asks_only_for_tasks(goal)
        and turn.complete
        and not turn.planned
        and inquiry.project_state.changed != ()
        and gates.required_gates_are_green(inquiry.runs, inquiry.project_state)
        and not _own_check_claims(inquiry, ClaimStatus.CONTRADICTED)
    )


def describe_gate_results(inquiry: Inquiry, goal: Goal) -> str:
    """Describe what the gates prove, and what advisory gates report besides."""
    shown = [
        f"{run.gate.named} passed" + (f" ({counted(run.executed, 'test')})" if run.executed else "")
        for run in inquiry.runs
        if run.gate.required
    ]
    advice = [
        f"{run.gate.named} has {counted(len(news), 'new failure')}"
        for run in inquiry.runs
        if not run.gate.required and (news := gates.new_gate_failures(run, goal.baseline))
    ]
    return "; ".join([f"{', '.join(shown)} on the files as they are", *advice])


def _answer_failed_gates(inquiry: Inquiry, goal: Goal, failing: tuple[GateRun, ...], at: float) -> ChecksStep:
    failed = _describe_failures(inquiry, failing)
    if (
        not (own := _own_check_claims(inquiry, ClaimStatus.CONFIRMED))
        or not {run.gate.kind for run in failing} <= own
    ):
        return send_agent_back(inquiry, failed, at)
    names = tuple(f"disagree:{run.gate.id}" for run in failing)
    said = "your own run passed on the same files; until the reason is known, neither counts"
    if set(names) <= set(goal.asked_to_run):
        return end_goal(inquiry, GoalStatus.UNVERIFIED, "; ".join((*failed.missing, said)))
    inquiry = _remember_asked_to_run(inquiry, goal, names)
    then = "Find out why the two runs differ, and make the check pass as Supervisor runs it, or say why not."
    disagree = replace(failed, kind="gates-disagree", missing=(*failed.missing, said), next_step=then)
    return send_agent_back(inquiry, disagree, at)


def _answer_unrunnable_gates(
    inquiry: Inquiry, goal: Goal, blocked: tuple[GateRun, ...], at: float
) -> ChecksStep:
    """Ask once to "make it run or say why"; then rest as unverified (the gates table of the design)."""
    names = tuple(run.gate.id for run in blocked)
    missing = tuple(
        f"{run.gate.named} is not approved; {run.reason}"
        if run.outcome is Outcome.NOT_APPROVED
        else f"{run.gate.named} could not run: {run.reason}"
        for run in blocked
    )
    only_a_person = all(run.outcome is Outcome.NOT_APPROVED for run in blocked)
    if only_a_person or set(names) <= set(goal.asked_to_run):
        return end_goal(inquiry, GoalStatus.UNVERIFIED, "; ".join(missing))
    missing_work = MissingWork(
        kind="gates-could-not-run",
        missing=missing,
        next_step="Make it run, or say why it cannot.",
        evidence=_gate_evidence(inquiry, blocked),
    )
    return send_agent_back(_remember_asked_to_run(inquiry, goal, names), missing_work, at)


def find_invented_test_run(inquiry: Inquiry) -> MissingWork | None:
    """Return the claim that tests pass where neither a call of the turn nor Supervisor ran any."""
    said = next((claim for claim in inquiry.claims if claim.said is ClaimKind.TESTS_PASS), None)
    if said is None or said.status is not ClaimStatus.UNKNOWN or not invents_test_run(inquiry.turn):
        return None
    missing = f"you say \u201c{said.text}\u201d, and this turn ran none"
    return MissingWork(
        kind="false-complete", missing=(missing,), next_step="Run the tests and show the result."
    )


def find_contradicted_claims(inquiry: Inquiry) -> MissingWork | None:
    """Return the agent's claims that git, the files or how commands ended contradict, None for none."""
    wrong = [
        claim for claim in inquiry.claims if claim.status is ClaimStatus.CONTRADICTED and not claim.stale
    ]
    if not wrong:
        return None
    cited = {number for claim in wrong for number in claim.evidence}
    return MissingWork(
        kind="false-complete",
        missing=tuple(f"you say \u201c{claim.text}\u201d: {claim.because}" for claim in wrong),
        next_step="Make it true, or report it as it is.",
        evidence=tuple(fact for fact in inquiry.evidence if fact.id in cited),
    )


def _with_evidence(inquiry: Inquiry, goal: Goal) -> Inquiry:
    known = gather_evidence(inquiry.turn, inquiry.runs, inquiry.project_state, goal.baseline)
    return replace(inquiry, evidence=known.evidence, claims=known.claims)


def _own_check_claims(inquiry: Inquiry, status: ClaimStatus) -> frozenset[Kind]:
    """Return the gate kinds for which the agent's own runs, without ours, give its claim this status."""
    return frozenset(
        CHECK_CLAIMS[claim.said]
        for claim in build_claim_ledger(inquiry.turn, (), (), inquiry.project_state)
        if claim.said in CHECK_CLAIMS and claim.status is status and not claim.stale
    )


def _failure_lines(run: GateRun) -> tuple[str, ...]:
    """Return what failed, and then by which command: a person is shown the beginning."""
    code = "" if run.exit_code is None else f" (exit code {run.exit_code})"
    head = f"{run.gate.named} fails{code}" if not run.reason else f"{run.gate.named}: {run.reason}"
    return (*run.failures, head)


def _gate_evidence(inquiry: Inquiry, runs: tuple[GateRun, ...]) -> tuple[Evidence, ...]:
    ids = {run.gate.id for run in runs}
    return tuple(fact for fact in inquiry.evidence if fact.source is Source.GATE and fact.call in ids)


def _remember_asked_to_run(inquiry: Inquiry, goal: Goal, names: tuple[str, ...]) -> Inquiry:
    return _with_goal(inquiry, replace(goal, asked_to_run=tuple(sorted({*goal.asked_to_run, *names}))))


def _remember_asked_about(inquiry: Inquiry, goal: Goal, *digests: str) -> Inquiry:
    asked = tuple(dict.fromkeys((*goal.asked_about, *digests)))[-ASKED_ABOUT_LIMIT:]
    return _with_goal(inquiry, replace(goal, asked_about=asked))


def _with_goal(inquiry: Inquiry, goal: Goal) -> Inquiry:
    return replace(inquiry, session=replace(inquiry.session, goal=goal))


def gate_failures(inquiry: Inquiry) -> MissingWork | None:
    """Return which required gates failed, None where none did."""
    failing = gates.failed_required_runs(inquiry.runs)
    return _describe_failures(inquiry, failing) if failing else None


def _describe_failures(inquiry: Inquiry, failing: tuple[GateRun, ...]) -> MissingWork:
    return MissingWork(
        kind="gates-failed",
        missing=tuple(line for run in failing for line in _failure_lines(run)),
        next_step="Repair what fails, then run the check yourself.",
        evidence=_gate_evidence(inquiry, failing),
    )


def gate_kind_passed(runs: tuple[GateRun, ...], kind: Kind) -> bool:
    """Whether Supervisor itself saw a gate of this kind pass."""
    return any(run.outcome is Outcome.PASSED and kind in gates.proven_gate_kinds(run) for run in runs)
