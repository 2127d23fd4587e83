"""The claim ledger: what the agent's last message says was done, and what the evidence says about it.

A claim about a check is confirmed by a gate of that kind that Supervisor ran on this very tree; failing that,
by a run of the agent's own that could have failed and came after the last edit. A failure on this tree
contradicts it. Claims about git, files and commands are held against facts (see `facts`). Any other claim is
unknown, which does not count against the agent.
"""

from __future__ import annotations

from typing import Final

from sidecar.evidence.claims.assessment import ClaimAssessment, ClaimContext, gate_ids
from sidecar.evidence.claims.facts import FACT_ASSESSORS, package_folder
from sidecar.evidence.claims.file_facts import idle_edit
from sidecar.evidence.claims.orders import assertions, is_ordered
from sidecar.evidence.claims.passed_over import told_failures
from sidecar.evidence.claims.proof import find_check_proof
from sidecar.evidence.claims.utterances import Utterance
from sidecar.evidence.claims.wording import only_ordered, says_nothing_done
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Claim, ClaimKind, ClaimStatus, Evidence
from sidecar.kernel.gate import GateRun, Kind, Outcome
from sidecar.kernel.turn import Turn

CHECK_CLAIMS: Final = {
    ClaimKind.TESTS_PASS: Kind.TESTS,
    ClaimKind.BUILD_CLEAN: Kind.BUILD,
    ClaimKind.TYPES_CLEAN: Kind.TYPES,
    ClaimKind.LINT_CLEAN: Kind.LINT,
}

OF_AN_IDLE_TURN: Final = CHECK_CLAIMS.keys() | {ClaimKind.NOTHING_CHANGED, ClaimKind.TREE_CLEAN}
"""Claims of what is now, which count in a turn that changed nothing, too."""


def build_claim_ledger(
    turn: Turn, runs: tuple[GateRun, ...], evidence: tuple[Evidence, ...], project_state: ProjectState
) -> tuple[Claim, ...]:
    """Assess every claim in the turn's last message against the evidence."""
    seen = ClaimContext(turn, runs, project_state)
    prompt = "\n".join(turn.prompts)
    said = assertions(turn.last_message, prompt)
    if _changed_nothing(project_state):
        said = _of_idle_turn(said, seen)
    elif project_state.since_prompt:
        others = {kind for kind in only_ordered() if not is_ordered(kind, prompt)}
        said = tuple(each for each in said if each.ordered or each.said not in others)
    if "push" in told_failures(turn):  # what else it says of pushes is of the rest, or of others
        said = tuple(each for each in said if each.said is not ClaimKind.PUSHED)
    claims = ((each, _build_claim(each, _assess_claim(each, seen), evidence)) for each in said)
    return tuple(
        claim for each, claim in claims if not each.loose or claim.status is ClaimStatus.CONTRADICTED
    )


def _changed_nothing(state: ProjectState) -> bool:
    """Whether no file was changed and nothing committed since the prompt."""
    commits = state.repository is not None and bool(state.repository.commits)
    return state.since_prompt and state.changed == () and not commits


def _of_idle_turn(said: tuple[Utterance, ...], seen: ClaimContext) -> tuple[Utterance, ...]:
    """Return the claims that are about this turn, in which nothing was changed.

    They are of what the prompt orders, or of a file that a command was to change. There are none where the
    message says that nothing was changed, or ends in a question.
    """
    message, prompt = seen.turn.last_message, "\n".join(seen.turn.prompts)
    looked = says_nothing_done(message) or message.rstrip(" \n*_\")'`").endswith("?")
    return tuple(
        each
        for each in said
        if each.said in OF_AN_IDLE_TURN or (not looked and _was_to_be_done(each, prompt, seen))
    )


def _was_to_be_done(said: Utterance, prompt: str, seen: ClaimContext) -> bool:
    """Whether the prompt orders what a claim tells of, or a command was to change the file that it names."""
    return said.ordered or is_ordered(said.said, prompt) or bool(idle_edit(said.path, seen))


def claimed_files(message: str, prompt: str = "") -> tuple[str, ...]:
    """Return the paths of all files that the claims of a message name."""
    said = assertions(message, prompt)
    packages = (package_folder(each) for each in said)
    paths = (path for each in said for path in (each.path, each.to))
    return tuple(dict.fromkeys(filter(None, (*paths, *packages))))


def _build_claim(said: Utterance, found: ClaimAssessment, evidence: tuple[Evidence, ...]) -> Claim:
    ids = tuple(
        fact.id
        for fact in evidence
        if (fact.call and fact.call in found.calls) or fact.source in found.sources
    )
    return Claim(
        said=said.said,
        text=said.text,
        status=found.status,
        because=found.because,
        evidence=ids,
        stale=found.stale,
    )


def _assess_claim(said: Utterance, seen: ClaimContext) -> ClaimAssessment:
    if said.said in CHECK_CLAIMS:
        return _assess_check_claim(CHECK_CLAIMS[said.said], said.text, seen)
    return FACT_ASSESSORS[said.said](said, seen)


def _assess_check_claim(kind: Kind, text: str, seen: ClaimContext) -> ClaimAssessment:
    """Assess by gates first, then by the agent's own runs."""
    gates = [run for run in seen.runs if run.gate.kind is kind or (kind is Kind.TESTS and run.gate.counts)]
    here = [run for run in gates if run.tree == seen.tree and not run.moved]
    failed = [run for run in here if run.outcome is Outcome.FAILED]
    if failed:
        names = ", ".join(f"`{run.gate.command}`" for run in failed)
        return ClaimAssessment(ClaimStatus.CONTRADICTED, f"Supervisor ran {names}: failed", gate_ids(failed))
    passed = [run for run in here if run.outcome is Outcome.PASSED]
    if passed and len(passed) == len(here) and not any(run.flaky for run in passed):
        names = ", ".join(f"`{run.gate.command}`" for run in passed)
        return ClaimAssessment(
            ClaimStatus.CONFIRMED, f"Supervisor ran {names} on these very files: passed", gate_ids(passed)
        )
    own = find_check_proof(seen.turn, kind, text)
    call = own.showing.call.id if own.showing else ""
    found = ClaimAssessment(own.status, own.because, (call,) if call else (), stale=own.stale)
    return _add_gate_doubts(found, gates, here)


def _add_gate_doubts(found: ClaimAssessment, gates: list[GateRun], here: list[GateRun]) -> ClaimAssessment:
    """Explain why the gates decide nothing, where the agent's own runs decide nothing either."""
    if found.status is not ClaimStatus.UNKNOWN:
        return found
    flaky = [run for run in here if run.flaky]
    if flaky:
        because = f"`{flaky[0].gate.command}` failed and then passed on these very files"
        return ClaimAssessment(ClaimStatus.UNKNOWN, because, gate_ids(flaky))
    old = [run for run in gates if run not in here and run.outcome is Outcome.PASSED]
    if old and not here:
        because = f"files moved after Supervisor ran `{old[-1].gate.command}`"
        return ClaimAssessment(ClaimStatus.UNKNOWN, because, gate_ids(old), stale=True)
    return found
