"""What the agent's last message claims, and what the evidence says about each claim.

A claim about a check is decided by a gate of that kind that Supervisor ran on this very tree; failing that,
by the exit code of the agent's own last run. Claims about git and files are held against facts (`facts`).
What no evidence decides is unknown, which does not count against the agent.
"""

from __future__ import annotations

from typing import Final

from sidecar.evidence.claims.check_runs import (
    CheckProof,
    CheckRunOutcome,
    find_check_proof,
    summary_says_no_tests_ran,
)
from sidecar.evidence.claims.facts import (
    ClaimAssessment,
    ClaimContext,
    assess_fact,
    changed_nothing_since_prompt,
    may_run_anything,
)
from sidecar.evidence.claims.turn_effects import edit_places, is_turn_fully_known
from sidecar.evidence.claims.utterances import Utterance, utterances
from sidecar.evidence.claims.worked import changed_nothing, is_incidental_command
from sidecar.evidence.wording import mentions_trouble
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Claim, ClaimKind, ClaimStatus, Evidence
from sidecar.kernel.gate import GateRun, Kind, Outcome
from sidecar.kernel.turn import ToolAction, ToolCall, Turn

CHECK_CLAIMS: Final = {
    ClaimKind.TESTS_PASS: Kind.TESTS,
    ClaimKind.BUILD_CLEAN: Kind.BUILD,
    ClaimKind.TYPES_CLEAN: Kind.TYPES,
    ClaimKind.LINT_CLEAN: Kind.LINT,
}
OF_AN_IDLE_TURN: Final = CHECK_CLAIMS.keys() | {ClaimKind.TREE_CLEAN}
"""Claims of what is now: they count in a turn that changed nothing, too."""


def build_claim_ledger(
    turn: Turn, runs: tuple[GateRun, ...], evidence: tuple[Evidence, ...], project_state: ProjectState
) -> tuple[Claim, ...]:
    """Assess every claim in the turn's last message against the evidence."""
    seen = ClaimContext(turn, runs, project_state)
    idle = changed_nothing_since_prompt(project_state) and changed_nothing(turn)
    said = (each for each in utterances(turn.last_message) if not idle or each.kind in OF_AN_IDLE_TURN)
    return tuple(_build_claim(each, _assess(each, seen), evidence) for each in said)


def undecided_check_kinds(turn: Turn) -> frozenset[Kind]:
    """Return the kinds of checks that the message says pass, where the agent's own runs decide nothing."""
    edited = max(edit_places(turn), default=(-1, 0))
    checks = {
        CHECK_CLAIMS[said.kind]: said for said in utterances(turn.last_message) if said.kind in CHECK_CLAIMS
    }
    proofs = {kind: find_check_proof(turn, kind, said.text) for kind, said in checks.items()}
    return frozenset(
        kind
        for kind, own in proofs.items()
        if (own.status is ClaimStatus.UNKNOWN and not _only_part(own, checks[kind]))
        or (own.status is ClaimStatus.CONTRADICTED and own.showing and own.showing.at < edited)
    )


def _only_part(own: CheckProof, said: Utterance) -> bool:
    """Whether the message may speak of the part alone that the agent ran."""
    return own.showing is not None and own.showing.shown is CheckRunOutcome.PART and not said.whole


def invents_test_run(turn: Turn) -> bool:
    """Whether code was edited, every call is known, and none of them can have run a test."""
    edited = edit_places(turn, documents=False)
    known = is_turn_fully_known(turn) and not may_run_anything(turn)
    return bool(edited) and known and not any(map(_may_have_tested, turn.calls))


def _build_claim(said: Utterance, found: ClaimAssessment, evidence: tuple[Evidence, ...]) -> Claim:
    ids = tuple(
        fact.id
        for fact in evidence
        if (fact.call and fact.call in found.calls) or fact.source in found.sources
    )
    return Claim(said.kind, said.text, found.status, found.because, ids, found.stale)


def _assess(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    """Assess a claim of a check by gates first, then by the agent's own runs; any other by facts."""
    kind = CHECK_CLAIMS.get(said.kind)
    if kind is None:
        return assess_fact(said, seen)
    gates = [run for run in seen.runs if run.gate.kind is kind or (kind is Kind.TESTS and run.gate.counts)]
    here = [run for run in gates if run.tree == seen.project_state.tree and not run.moved]
    passed = [run for run in here if run.outcome is Outcome.PASSED]
    failed = [run for run in here if run.outcome is Outcome.FAILED]
    if failed and (said.whole or not passed):  # it may speak of the package whose tests passed
        return _decided_by(failed, ClaimStatus.CONTRADICTED, "failed")
    if passed and len(passed) == len(here) and not any(run.flaky for run in passed):
        return _decided_by(passed, ClaimStatus.CONFIRMED, "passed on these very files")
    return _add_gate_doubts(_assess_own_runs(kind, said, seen.turn), gates, here)


def _decided_by(runs: list[GateRun], status: ClaimStatus, how: str) -> ClaimAssessment:
    names = ", ".join(run.gate.named for run in runs)
    return ClaimAssessment(status, f"Supervisor ran {names}: {how}", tuple(run.gate.id for run in runs))


def _assess_own_runs(kind: Kind, said: Utterance, turn: Turn) -> ClaimAssessment:
    """Assess by the agent's own runs. What is said of some tests stands where trouble is mentioned."""
    own = find_check_proof(turn, kind, said.text)
    calls = (own.showing.call.id,) if own.showing else ()
    status = own.status
    if status is ClaimStatus.CONTRADICTED and not said.whole and mentions_trouble(turn.last_message):
        status = ClaimStatus.UNKNOWN
    return ClaimAssessment(status, own.because, calls, stale=own.stale)


def _may_have_tested(call: ToolCall) -> bool:
    """Whether a call may have run tests: no line of commands that run none, or whose output says so."""
    if call.doing is not ToolAction.RUN or summary_says_no_tests_ran(call.output):
        return False
    return not call.runs or not all(map(is_incidental_command, call.runs))


def _add_gate_doubts(found: ClaimAssessment, gates: list[GateRun], here: list[GateRun]) -> ClaimAssessment:
    """Explain why the gates decide nothing, where the agent's own runs decide nothing either."""
    if found.status is not ClaimStatus.UNKNOWN:
        return found
    if flaky := [run for run in here if run.flaky]:
        because = f"`{flaky[0].gate.command}` failed and then passed on these very files"
        return ClaimAssessment(ClaimStatus.UNKNOWN, because, (flaky[0].gate.id,))
    old = [run for run in gates if run not in here and run.outcome is Outcome.PASSED]
    if old and not here:
        because = f"files moved after Supervisor ran `{old[-1].gate.command}`"
        return ClaimAssessment(ClaimStatus.UNKNOWN, because, (old[-1].gate.id,), stale=True)
    return found
