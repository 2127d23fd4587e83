"""Collects and numbers the facts of a stop. What the worker says about itself is not evidence (law 2).

Prompt injection (text addressed to a judge) stays where it is quoted, and is reported as a fact of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.claims.ledger import build_claim_ledger
from sidecar.evidence.gates.policy import mended_gate_failures, new_gate_failures, proven_gate_kinds
from sidecar.evidence.injection import find_injections
from sidecar.evidence.own_calls import WeighedCall, select_calls_to_show, weigh_calls
from sidecar.evidence.proof.policy import describe_finding
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import (
    Claim,
    ClaimStatus,
    Evidence,
    EvidenceStrength,
    FindingSeverity,
    RepositoryState,
    Source,
)
from sidecar.kernel.gate import GateRun, Outcome
from sidecar.kernel.goal import GateBaseline
from sidecar.kernel.text import clean_line, counted
from sidecar.kernel.turn import ToolAction, Turn

EVIDENCE_CALLS_LIMIT = 25
"""Latest tool calls that become evidence: a case must stay within 8,000 tokens."""
EVIDENCE_FAILURES_LIMIT = 10
"""Earlier calls that become evidence because they failed and no later call repaired the failure."""
EVIDENCE_CHANGES_LIMIT = 40
"""Changes to the checks that become evidence one by one; more are only counted."""
EVIDENCE_MENDED_LIMIT = 5
"""Tests which the run of a gate names: that fail no more, and that fail on the old code."""
EVIDENCE_TASK_IDS_LIMIT = 20
"""Open journal tasks without text that are listed by ID."""


class GatheredEvidence(Struct, frozen=True):
    """The numbered facts of a stop, and the agent's claims with what is known about them."""

    evidence: tuple[Evidence, ...]
    claims: tuple[Claim, ...] = ()


def gather_evidence(
    turn: Turn, runs: Iterable[GateRun], project_state: ProjectState, before: Iterable[GateBaseline] = ()
) -> GatheredEvidence:
    """Gather gate runs, check changes, tool calls, git state, to-dos, journal, prompt injection, and claims.

    Facts are in that order. `before` is the state of the gates when the goal was set.
    """
    runs, before = tuple(runs), tuple(before)
    weighed = weigh_calls(turn, runs, project_state)
    calls = tuple(select_calls_to_show(weighed, EVIDENCE_CALLS_LIMIT, EVIDENCE_FAILURES_LIMIT))
    facts = _number_facts(
        [
            *(_gate_run_fact(run, project_state.tree, before) for run in runs),
            *_check_change_facts(project_state),
            *map(_tool_call_fact, calls),
            *_repository_facts(project_state.repository),
            *_todo_facts(turn),
            *find_injections(turn, (one.call for one in calls), runs, project_state),
        ]
    )
    claims = build_claim_ledger(turn, runs, facts, project_state)
    return GatheredEvidence(_number_facts([*facts, *map(_claim_fact, claims)]), claims)


def _number_facts(facts: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Number the facts in order: E1, E2, ..."""
    return tuple(replace(fact, id=f"E{number}") for number, fact in enumerate(facts, start=1))


def _gate_run_fact(run: GateRun, tree: str, before: tuple[GateBaseline, ...]) -> Evidence:
    required = run.gate.required
    news = () if required else new_gate_failures(run, before)
    mended = () if required else mended_gate_failures(run, before)
    vain = not required and run.outcome is not Outcome.PASSED and not (news or mended or run.noticed)
    place = "" if required else ", which only advises"
    return Evidence(
        source=Source.GATE,
        fact=f"Supervisor ran {run.gate.named}{place}: {_describe_gate_outcome(run)}"
        f"{_describe_run_caveats(run, news, mended)}",
        detail="\n".join(news or run.failures)
        or ("" if run.outcome is Outcome.PASSED else run.output[-2000:]),
        call=run.gate.id,
        kinds=proven_gate_kinds(run),
        tree=run.tree,
        stale=run.tree != tree,
        bad=run.outcome is not Outcome.PASSED if required else bool(news),
        worth=EvidenceStrength.NOTHING if run.moved or vain else EvidenceStrength.CHECK,
    )


def _describe_gate_outcome(run: GateRun) -> str:
    said = {
        Outcome.PASSED: "passed",
        Outcome.FAILED: "failed" if run.exit_code is None else f"failed, exit code {run.exit_code}",
        Outcome.COULD_NOT_RUN: f"could not run: {run.reason}",
        Outcome.NOT_APPROVED: f"is not approved, so it was not run; {run.reason}",
    }[run.outcome]
    counts = (
        (f"{run.executed} test{'' if run.executed == 1 else 's'} executed", run.executed is not None),
        (f"{run.skipped} skipped", bool(run.skipped)),
        (f"coverage {run.percent:.1f} %" if run.percent is not None else "", run.percent is not None),
        (f"with {run.environment}", bool(run.environment)),
        (f"after {run.waited:.0f} s of waiting for other checks", run.waited >= 1),
    )
    return ", ".join((said, *(text for text, holds in counts if holds)))


def _describe_run_caveats(run: GateRun, news: tuple[str, ...] | None, mended: tuple[str, ...]) -> str:
    """Describe what limits the meaning of a gate run."""
    noticed = run.noticed[:EVIDENCE_MENDED_LIMIT]
    marks = (
        ("; flaky: it failed first on these very files and passed when it was run again", run.flaky),
        (f"; {run.reason or 'files changed while it ran'}", run.moved),
        ("; whether that is new is not known", news is None),
        (f"; new since the goal was set: {len(news or ())}", bool(news)),
        (
            "; nothing of it is new since the goal was set",
            news == () and run.outcome is Outcome.FAILED and not run.gate.required,
        ),
        (f"; failed then, and fails no more: {', '.join(mended[:EVIDENCE_MENDED_LIMIT])}", bool(mended)),
        (f"; passes, and fails on the code of then: {', '.join(noticed)}", bool(noticed)),
    )
    return "".join(text for text, holds in marks if holds)


def _check_change_facts(project_state: ProjectState) -> Iterator[Evidence]:
    if project_state.unseen:
        why = project_state.unseen
        said = f"whether the checks themselves were changed could not be seen whole: {why}"
        yield Evidence(source=Source.CHANGE, fact=said, tree=project_state.tree)
    for finding in project_state.findings[:EVIDENCE_CHANGES_LIMIT]:
        bad = finding.weight is FindingSeverity.GRAVE
        said = describe_finding(finding)
        yield Evidence(source=Source.CHANGE, fact=said, tree=project_state.tree, bad=bad)
    for part in project_state.untouched:
        said = f"the goal names {part}, and no changed line, name or file has it"
        yield Evidence(source=Source.CHANGE, fact=said, tree=project_state.tree, bad=True)
    if (more := len(project_state.findings) - EVIDENCE_CHANGES_LIMIT) > 0:
        said = f"{more} more changes to the checks"
        yield Evidence(source=Source.CHANGE, fact=said, tree=project_state.tree)


def _repository_facts(repository: RepositoryState | None) -> Iterator[Evidence]:
    if repository is None:
        return
    since = repository.commits
    branch, upstream = repository.branch, repository.upstream
    parts = (
        f"git is on {branch or 'no branch'} at {repository.head[:10] or 'no commit'}",
        "" if since is None else f"{counted(since, 'commit')} since the work began",
        f"{repository.dirty} files not committed" if repository.dirty else "everything is committed",
        "" if repository.ahead is None else f"{repository.ahead} commits not pushed to {upstream}",
    )
    said = ", ".join(filter(None, parts))
    yield Evidence(source=Source.REPOSITORY, fact=said, worth=EvidenceStrength.FILES)


def _claim_fact(claim: Claim) -> Evidence:
    """Build the fact of a claim: it has no strength of its own (law 2), and is bad if it is contradicted."""
    cited = f" ({', '.join(claim.evidence)})" if claim.evidence else ""
    said = claim.text[:200]
    return Evidence(
        source=Source.CLAIM,
        fact=f"the agent says \u201c{said}\u201d: {claim.status}, {claim.because}{cited}",
        stale=claim.stale,
        bad=claim.status is ClaimStatus.CONTRADICTED,
    )


def _tool_call_fact(weighed: WeighedCall) -> Evidence:
    call = weighed.call
    ran, files = call.doing is ToolAction.RUN, ", ".join(call.paths[:5]) or "a file"
    what = f"the agent ran `{call.command[:300]}`" if ran else f"the agent edited {files}"
    code = "" if call.exit_code is None else f", exit code {call.exit_code}"
    since = "; made good for by a later call" if weighed.repaired else ""
    return Evidence(
        source=Source.TOOL,
        fact=f"{what}: {call.outcome}{code}{since}",
        detail=call.output[-600:] if ran else "",
        call=call.id,
        stale=weighed.stale,
        bad=weighed.bad,
        worth=weighed.worth,
    )


def _todo_facts(turn: Turn) -> Iterator[Evidence]:
    told = [task for task in turn.planned if task.text]
    lines = [f"open on the agent's own list: {text[:300]}" for text in turn.open_todos[:10]]
    lines += [
        f"open in the agent's journal: {task.id} ({task.status}): {clean_line(task.text, 300)}"
        for task in told
    ]
    if more := [task.id for task in turn.planned if not task.text]:
        named = ", ".join(more[:EVIDENCE_TASK_IDS_LIMIT]) + (
            ", ..." if len(more) > EVIDENCE_TASK_IDS_LIMIT else ""
        )
        lines.append(f"{len(more)} more open in the agent's journal: {named}")
    lines += [
        f"the agent noted in its journal that it is stuck: {clean_line(text, 300)}" for text in turn.stuck
    ]
    yield from (Evidence(source=Source.TODO, fact=said, bad=True) for said in lines)
    if turn.complete:
        said = "the agent says in its journal that the session is complete: that shows nothing by itself"
        yield Evidence(source=Source.CLAIM, fact=said)
