"""The checks of one stop with a goal: which run, in which order, and what follows from how they ended.

required gates     one failed: sent back. One could not run: said once, then the goal rests unverified
advisory gates     run only when every required one passed; they count for what is new
the checks         a grave change to them is asked about once
"the tests pass"   is decided here where nothing speaks against it
claims             one that the evidence contradicts is sent back
"""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.model.claim import Said, Standing
from sidecar.model.effects import Effect, Ruling, RunGates
from sidecar.model.evidence import Evidence, Source
from sidecar.model.gate import GateRun, Kind, Outcome
from sidecar.model.goal import Goal, Status
from sidecar.model.inquiry import Inquiry
from sidecar.policy import gates, integrity
from sidecar.policy.claims.ledger import ledger
from sidecar.policy.continuations import send_back
from sidecar.policy.endings import end
from sidecar.policy.evidence import gather
from sidecar.policy.lack import Lack

GATES, ADVICE = "gates", "advice"
"""The stages in which gates run."""
ASKED_ABOUT = 500
"""Digests of changes that a goal remembers having asked about."""
SHOWN_BY: dict[Said, Kind] = {
    Said.TESTS_PASS: Kind.TESTS,
    Said.BUILD_CLEAN: Kind.BUILD,
    Said.TYPES_CLEAN: Kind.TYPES,
    Said.LINT_CLEAN: Kind.LINT,
}

Open = tuple[Inquiry, None]
"""These checks decide nothing: the rules and the judge are next."""
Step = tuple[Inquiry, Effect | Ruling]


def begin_checks(inquiry: Inquiry, goal: Goal, at: float) -> Step | Open:
    """Order the required gates that may run; the others could not run."""
    wanted = gates.required(goal, inquiry.survey)
    blocked = gates.unapproved(wanted, inquiry.survey.tree)
    inquiry = replace(inquiry, stage=GATES, runs=blocked)
    if may := gates.runnable(wanted):
        return inquiry, RunGates(may, inquiry.survey.catalog.settings.seconds)
    return _required_ran(inquiry, goal, at)


def gates_ran(inquiry: Inquiry, goal: Goal, runs: tuple[GateRun, ...], at: float) -> Step | Open:
    """Take in how gates ended."""
    stage, inquiry = inquiry.stage, replace(inquiry, runs=(*inquiry.runs, *runs))
    return _required_ran(inquiry, goal, at) if stage == GATES else _all_ran(inquiry, goal, at)


def _required_ran(inquiry: Inquiry, goal: Goal, at: float) -> Step | Open:
    if failing := gates.failed(inquiry.runs):
        return _failed(_with_evidence(inquiry, goal), goal, failing, at)
    if blocked := gates.unrunnable(inquiry.runs):
        return _could_not_run(_with_evidence(inquiry, goal), goal, blocked, at)
    if advice := gates.advisory(goal, inquiry.survey):
        seconds = inquiry.survey.catalog.settings.advisory_seconds
        return replace(inquiry, stage=ADVICE), RunGates(advice, seconds)
    return _all_ran(inquiry, goal, at)


def _all_ran(inquiry: Inquiry, goal: Goal, at: float) -> Step | Open:
    inquiry = _with_evidence(inquiry, goal)
    if grave := integrity.grave(inquiry.survey.findings, goal.asked_about):
        asked = tuple(dict.fromkeys((*goal.asked_about, *map(integrity.digest, grave))))[-ASKED_ABOUT:]
        inquiry = _with_goal(inquiry, replace(goal, asked_about=asked))
        then = "Undo it, or say in your last message why it is right; a judge will weigh what you say."
        lack = Lack(kind="checks-changed", missing=integrity.told(grave), next_step=then)
        return send_back(inquiry, lack, at)
    if gates.decided(goal, inquiry.runs, inquiry.survey) and not _own_run_failed(inquiry):
        return end(inquiry, Status.ACHIEVED, proof(inquiry, goal))
    if untrue := _untrue(inquiry):
        return send_back(replace(inquiry, stage="rules"), untrue, at)
    return inquiry, None


def proof(inquiry: Inquiry, goal: Goal) -> str:
    """What the gates show, and what they advise besides."""
    shown = [
        f"`{run.gate.command}` passed"
        + (f" ({run.executed} test{'' if run.executed == 1 else 's'})" if run.executed else "")
        for run in inquiry.runs
        if run.gate.required
    ]
    advice = [
        f"`{run.gate.command}` has {len(news)} new failure{'' if len(news) == 1 else 's'}"
        for run in inquiry.runs
        if not run.gate.required and (news := gates.new_failures(run, goal.baseline))
    ]
    return "; ".join([f"{', '.join(shown)} on the files as they are", *advice])


def _failed(inquiry: Inquiry, goal: Goal, failing: tuple[GateRun, ...], at: float) -> Step:
    missing = tuple(line for run in failing for line in _what_failed(run))
    evidence = _of_gates(inquiry, failing)
    if not (own := _own_passes(inquiry)) or not {run.gate.kind for run in failing} <= own:
        then = "Repair what fails, then run the check yourself."
        return send_back(
            inquiry, Lack(kind="gates-failed", missing=missing, next_step=then, evidence=evidence), at
        )
    names = tuple(f"disagree:{run.gate.id}" for run in failing)
    said = "your own run passed on the same files; until the reason is known, neither counts"
    if set(names) <= set(goal.asked_to_run):
        return end(inquiry, Status.UNVERIFIED, "; ".join((*missing, said)))
    inquiry = _asked_to_run(inquiry, goal, names)
    then = "Find out why the two runs differ, and make the check pass as Supervisor runs it, or say why not."
    lack = Lack(kind="gates-disagree", missing=(*missing, said), next_step=then, evidence=evidence)
    return send_back(inquiry, lack, at)


def _could_not_run(inquiry: Inquiry, goal: Goal, blocked: tuple[GateRun, ...], at: float) -> Step:
    """Say once "make it run or say why"; then rest as unverified (the gates table of the design)."""
    names = tuple(run.gate.id for run in blocked)
    missing = tuple(f"`{run.gate.command}` could not run: {run.reason}" for run in blocked)
    only_a_person = all(run.reason == gates.NOT_APPROVED for run in blocked)
    if only_a_person or set(names) <= set(goal.asked_to_run):
        return end(inquiry, Status.UNVERIFIED, "; ".join(missing))
    lack = Lack(
        kind="gates-could-not-run",
        missing=missing,
        next_step="Make it run, or say why it cannot.",
        evidence=_of_gates(inquiry, blocked),
    )
    return send_back(_asked_to_run(inquiry, goal, names), lack, at)


def _untrue(inquiry: Inquiry) -> Lack | None:
    """What the agent claims and the evidence contradicts."""
    wrong = [claim for claim in inquiry.claims if claim.standing is Standing.CONTRADICTED]
    if not wrong:
        return None
    cited = {number for claim in wrong for number in claim.evidence}
    return Lack(
        kind="false-complete",
        missing=tuple(f"you say \u201c{claim.text}\u201d: {claim.because}" for claim in wrong),
        next_step="Make it true, or report it as it is.",
        evidence=tuple(fact for fact in inquiry.evidence if fact.id in cited),
    )


def _with_evidence(inquiry: Inquiry, goal: Goal) -> Inquiry:
    known = gather(inquiry.turn, inquiry.runs, inquiry.survey, goal.baseline)
    return replace(inquiry, evidence=known.evidence, claims=known.claims)


def _own_passes(inquiry: Inquiry) -> frozenset[Kind]:
    """The kinds of which the agent claims a pass that its own runs, without ours, confirm."""
    return frozenset(
        SHOWN_BY[claim.said]
        for claim in ledger(inquiry.turn, (), (), inquiry.survey)
        if claim.said in SHOWN_BY and claim.standing is Standing.CONFIRMED and not claim.stale
    )


def _own_run_failed(inquiry: Inquiry) -> bool:
    """Whether the agent's own last runs contradict what it says though ours passed: a judge must look."""
    return any(
        claim.standing is Standing.CONTRADICTED and not claim.stale
        for claim in ledger(inquiry.turn, (), (), inquiry.survey)
        if claim.said in SHOWN_BY
    )


def _what_failed(run: GateRun) -> tuple[str, ...]:
    code = "" if run.exit_code is None else f" (exit code {run.exit_code})"
    head = f"`{run.gate.command}` fails{code}" if not run.reason else f"`{run.gate.command}`: {run.reason}"
    return (head, *run.failures)


def _of_gates(inquiry: Inquiry, runs: tuple[GateRun, ...]) -> tuple[Evidence, ...]:
    ids = {run.gate.id for run in runs}
    return tuple(fact for fact in inquiry.evidence if fact.source is Source.GATE and fact.call in ids)


def _asked_to_run(inquiry: Inquiry, goal: Goal, names: tuple[str, ...]) -> Inquiry:
    return _with_goal(inquiry, replace(goal, asked_to_run=tuple(sorted({*goal.asked_to_run, *names}))))


def _with_goal(inquiry: Inquiry, goal: Goal) -> Inquiry:
    return replace(inquiry, session=replace(inquiry.session, goal=goal))


def unasked_failures(inquiry: Inquiry) -> Lack | None:
    """With no goal: the configured gates that failed."""
    failing = gates.failed(inquiry.runs)
    if not failing:
        return None
    return Lack(
        kind="gates-failed",
        missing=tuple(line for run in failing for line in _what_failed(run)),
        next_step="Repair what fails, then run the check yourself.",
        evidence=_of_gates(inquiry, failing),
    )


def passed(runs: tuple[GateRun, ...], kind: Kind) -> bool:
    """Whether Supervisor itself saw a gate of this kind pass."""
    return any(run.outcome is Outcome.PASSED and kind in gates.shows(run) for run in runs)
