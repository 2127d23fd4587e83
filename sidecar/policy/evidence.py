"""Numbers the facts of a stop. What the worker says of itself is not among them (law 2).

Text that is addressed to a judge is taken out of what is quoted, and becomes a fact of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.claim import Claim, Standing
from sidecar.model.events import Surveyed
from sidecar.model.evidence import Evidence, Source, Worth
from sidecar.model.finding import Finding, Weight
from sidecar.model.gate import GateRun, Outcome
from sidecar.model.goal import Known
from sidecar.model.inspection import Repository
from sidecar.model.turn import Doing, ToolCall, Turn
from sidecar.policy.claims.ledger import ledger
from sidecar.policy.gates import new_failures
from sidecar.policy.integrity import line
from sidecar.policy.own_calls import Weighed, telling, weigh
from sidecar.policy.steering import find, without, without_name

CALLS = 25
"""Tool calls that become evidence, the last ones: a case must stay within 8,000 tokens."""
FAILURES = 10
"""Calls before those that become evidence because they failed and nothing made good for it."""
CHANGES = 40
"""Changes to the checks that become evidence one by one."""
IDS = 20
"""Open tasks of the journal that are told by their id alone."""


class Ledger(Struct, frozen=True):
    """The numbered facts of a stop, and what the agent claimed beside what is known of it."""

    evidence: tuple[Evidence, ...]
    claims: tuple[Claim, ...] = ()


def gather(turn: Turn, runs: Iterable[GateRun], survey: Surveyed, before: Iterable[Known] = ()) -> Ledger:
    """Gate runs first, then changes to the checks, what calls returned, git, to-dos, journal, steering.

    Claims are the last. `before` is how the gates stood when the goal was set.
    """
    runs, before = tuple(runs), tuple(before)
    calls = tuple(telling(weigh(turn, runs, survey), CALLS, FAILURES))
    facts = _numbered(
        [
            *(_of_run(run, survey.tree, before) for run in runs),
            *_of_changes(survey),
            *map(_of_call, calls),
            *_of_repository(survey.repository),
            *_of_todos(turn),
            *_of_journal(turn),
            *find(turn, (one.call for one in calls), runs, survey),
        ]
    )
    claims = ledger(turn, runs, facts, survey)
    return Ledger(_numbered([*facts, *map(_of_claim, claims)]), claims)


def _numbered(facts: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The facts by their order: E1, E2, ..."""
    return tuple(replace(fact, id=f"E{number}") for number, fact in enumerate(facts, start=1))


def _of_run(run: GateRun, tree: str, before: tuple[Known, ...]) -> Evidence:
    required = run.gate.required
    news = () if required else new_failures(run, before)
    return Evidence(
        id="",
        source=Source.GATE,
        fact=f"Supervisor ran `{run.gate.command}`{_where(run)}: {_how(run)}{_marks(run, news)}",
        detail=without("\n".join(news or run.failures))
        or ("" if run.outcome is Outcome.PASSED else without(run.output)[-2000:]),
        call=run.gate.id,
        tree=run.tree,
        stale=run.tree != tree,
        bad=run.outcome is not Outcome.PASSED if required else bool(news),
        worth=Worth.NOTHING if run.moved or _unknown(run, news) else Worth.CHECK,
    )


def _unknown(run: GateRun, news: tuple[str, ...] | None) -> bool:
    """Whether a gate that only advises shows nothing: it did not pass, and nothing new is known to fail."""
    return not run.gate.required and run.outcome is not Outcome.PASSED and not news


def _where(run: GateRun) -> str:
    folder = f" in {run.gate.folder}" if run.gate.folder else ""
    return f"{folder}, which only advises" if not run.gate.required else folder


def _how(run: GateRun) -> str:
    said = {
        Outcome.PASSED: "passed",
        Outcome.FAILED: "failed" if run.exit_code is None else f"failed, exit code {run.exit_code}",
        Outcome.COULD_NOT_RUN: f"could not run: {run.reason}",
    }[run.outcome]
    counts = (
        (f"{run.executed} test{'' if run.executed == 1 else 's'} executed", run.executed is not None),
        (f"{run.skipped} skipped", bool(run.skipped)),
        (f"coverage {run.percent:.1f} %" if run.percent is not None else "", run.percent is not None),
    )
    return ", ".join((said, *(text for text, holds in counts if holds)))


def _marks(run: GateRun, news: tuple[str, ...] | None) -> str:
    """What keeps a run from showing what it seems to show."""
    marks = (
        ("; flaky: it failed first on these very files and passed when it was run again", run.flaky),
        ("; files changed while it ran", run.moved),
        ("; whether that is new is not known", news is None),
        (f"; new since the goal was set: {len(news or ())}", bool(news)),
        (
            "; nothing of it is new since the goal was set",
            news == () and run.outcome is Outcome.FAILED and not run.gate.required,
        ),
    )
    return "".join(text for text, holds in marks if holds)


def _of_changes(survey: Surveyed) -> Iterator[Evidence]:
    if survey.unseen:
        why = without(survey.unseen)
        said = f"whether the checks themselves were changed could not be seen whole: {why}"
        yield Evidence(id="", source=Source.CHANGE, fact=said, tree=survey.tree)
    for finding in survey.findings[:CHANGES]:
        bad = finding.weight is Weight.GRAVE
        said = line(_clean(finding))
        yield Evidence(id="", source=Source.CHANGE, fact=said, tree=survey.tree, bad=bad)
    if (more := len(survey.findings) - CHANGES) > 0:
        yield Evidence(
            id="", source=Source.CHANGE, fact=f"{more} more changes to the checks", tree=survey.tree
        )


def _clean(finding: Finding) -> Finding:
    return replace(
        finding,
        file=without_name(finding.file),
        before=without(finding.before),
        after=without(finding.after),
    )


def _of_repository(repository: Repository | None) -> Iterator[Evidence]:
    if repository is None:
        return
    since = repository.commits
    branch, upstream = without_name(repository.branch), without_name(repository.upstream)
    parts = (
        f"git is on {branch or 'no branch'} at {repository.head[:10] or 'no commit'}",
        "" if since is None else f"{since} commit{'' if since == 1 else 's'} since the work began",
        f"{repository.dirty} files not committed" if repository.dirty else "everything is committed",
        "" if repository.ahead is None else f"{repository.ahead} commits not pushed to {upstream}",
    )
    said = ", ".join(filter(None, parts))
    yield Evidence(id="", source=Source.REPOSITORY, fact=said, worth=Worth.FILES)


def _of_claim(claim: Claim) -> Evidence:
    """What the worker says shows nothing by itself (law 2); where it is wrong, that speaks against it."""
    cited = f" ({', '.join(claim.evidence)})" if claim.evidence else ""
    said = without(claim.text)[:200]
    return Evidence(
        id="",
        source=Source.CLAIM,
        fact=f"the agent says \u201c{said}\u201d: {claim.standing}, {claim.because}{cited}",
        stale=claim.stale,
        bad=claim.standing is Standing.CONTRADICTED,
    )


def _of_call(weighed: Weighed) -> Evidence:
    call = weighed.call
    what = (
        f"the agent ran `{without(call.command)[:300]}`"
        if call.doing is Doing.RUN
        else f"the agent edited {_paths(call)}"
    )
    code = "" if call.exit_code is None else f", exit code {call.exit_code}"
    since = "; made good for by a later call" if weighed.repaired else ""
    return Evidence(
        id="",
        source=Source.TOOL,
        fact=f"{what}: {call.outcome}{code}{since}",
        detail=without(call.output)[-600:] if call.doing is Doing.RUN else "",
        call=call.id,
        stale=weighed.stale,
        bad=weighed.bad,
        worth=weighed.worth,
    )


def _paths(call: ToolCall) -> str:
    return ", ".join(map(without_name, call.paths[:5])) or "a file"


def _of_todos(turn: Turn) -> Iterator[Evidence]:
    for text in turn.open_todos[:10]:
        said = f"open on the agent's own list: {without(text)[:300]}"
        yield Evidence(id="", source=Source.TODO, fact=said, bad=True)


def _of_journal(turn: Turn) -> Iterator[Evidence]:
    told = [task for task in turn.planned if task.text]
    lines = [f"open in the agent's journal: {task.id} ({task.status}): {_line(task.text)}" for task in told]
    if more := [task.id for task in turn.planned if not task.text]:
        named = ", ".join(more[:IDS]) + (", ..." if len(more) > IDS else "")
        lines.append(f"{len(more)} more open in the agent's journal: {named}")
    lines += [f"the agent noted in its journal that it is stuck: {_line(text)}" for text in turn.stuck]
    yield from (Evidence(id="", source=Source.TODO, fact=said, bad=True) for said in lines)
    if turn.complete:
        said = "the agent says in its journal that the session is complete: that shows nothing by itself"
        yield Evidence(id="", source=Source.CLAIM, fact=said)


def _line(text: str) -> str:
    return " ".join(without(text).split())[:300]
