"""Numbers the facts of a stop. What the worker says of itself is not among them (law 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from sidecar.model.evidence import Evidence, Source
from sidecar.model.gate import GateRun, Outcome
from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn

CALLS = 25
"""Tool calls that become evidence, the last ones: a case must stay within 8,000 tokens."""


def gather(turn: Turn, runs: Iterable[GateRun], tree: str) -> tuple[Evidence, ...]:
    """Gate runs first, then what tool calls returned, then the open to-dos."""
    facts = [*(_of_run(run, tree) for run in runs), *_of_calls(turn), *_of_todos(turn)]
    return tuple(replace(fact, id=f"E{number}") for number, fact in enumerate(facts, start=1))


def _of_run(run: GateRun, tree: str) -> Evidence:
    said = {
        Outcome.PASSED: "passed",
        Outcome.FAILED: "failed" if run.exit_code is None else f"failed, exit code {run.exit_code}",
        Outcome.COULD_NOT_RUN: f"could not run: {run.reason}",
    }[run.outcome]
    count = (
        "" if run.executed is None else f", {run.executed} test{'' if run.executed == 1 else 's'} executed"
    )
    flaky = ", flaky: it failed before on these very files" if run.flaky else ""
    return Evidence(
        id="",
        source=Source.GATE,
        fact=f"Supervisor ran `{run.gate.command}`: {said}{count}{flaky}",
        detail="\n".join(run.failures) or ("" if run.outcome is Outcome.PASSED else run.output[-2000:]),
        tree=run.tree,
        stale=run.tree != tree,
        bad=run.outcome is not Outcome.PASSED,
    )


def _of_calls(turn: Turn) -> Iterator[Evidence]:
    last_edit = max((at for at, call in enumerate(turn.calls) if call.doing is Doing.EDIT), default=-1)
    telling = [(at, call) for at, call in enumerate(turn.calls) if call.doing in (Doing.RUN, Doing.EDIT)]
    for at, call in telling[-CALLS:]:
        yield _of_call(call, stale=call.doing is Doing.RUN and at < last_edit)


def _of_call(call: ToolCall, *, stale: bool) -> Evidence:
    what = (
        f"the agent ran `{call.command[:300]}`"
        if call.doing is Doing.RUN
        else f"the agent edited {_paths(call)}"
    )
    code = "" if call.exit_code is None else f", exit code {call.exit_code}"
    return Evidence(
        id="",
        source=Source.TOOL,
        fact=f"{what}: {call.outcome}{code}",
        detail=call.output[-600:] if call.doing is Doing.RUN else "",
        stale=stale,
        bad=call.outcome is not CallOutcome.OK,
    )


def _paths(call: ToolCall) -> str:
    return ", ".join(call.paths[:5]) or "a file"


def _of_todos(turn: Turn) -> Iterator[Evidence]:
    for text in turn.open_todos[:10]:
        yield Evidence(
            id="", source=Source.TODO, fact=f"open on the agent's own list: {text[:300]}", bad=True
        )
