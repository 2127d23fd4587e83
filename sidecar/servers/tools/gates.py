"""The tools `gates` and `gates_run`: which gates apply to a session's project and why, and their results.

Results count only for the caller: a stop runs its gates again (see supervision/gate_requests.py).
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from sidecar.kernel.gate import Gate, GateRun, Outcome
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.text import counted
from sidecar.servers.tools.tool import (
    AgentTool,
    NoArguments,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
    with_progress,
)

# --- results of the tools -----------------------------------------------------------------------------------


GATE_LINE_LENGTH: Final = 200
"""Maximum length in characters of a command, reason or failure in an answer."""
PROBLEM_LIMIT: Final = 10
"""Maximum number of problems in an answer."""
OUTPUT_LENGTH: Final = 1500
"""Characters from the end of a failed gate's output that are included in an answer."""
ALL_OUTPUTS_LENGTH: Final = 6000
"""Maximum length in characters of all outputs in an answer, and of all failures: about 2,000 tokens."""


class GatesListed(Struct, frozen=True, kw_only=True):
    """The gates of a project.

    `last`: by id, how gates ended at the last stop that ran any. `at_stops`: whether stops currently run any.
    `last_at`: time of the last stop that did, in seconds since the epoch. `moved_since`: whether files
    changed after that stop, None if unknown.
    """

    gates: tuple[Gate, ...]
    last: dict[str, str]
    problems: tuple[str, ...]
    at_stops: bool
    last_at: float | None
    moved_since: bool | None


class GateSelection(Struct, frozen=True, kw_only=True):
    """The IDs of gates; if empty, all gates that apply."""

    only: Annotated[tuple[str, ...], Meta(max_length=100)] = ()


class GatesRun(Struct, frozen=True, kw_only=True):
    """The results of gates. `ok`: all required gates among them passed. Output only of what did not."""

    ok: bool
    tree: str
    gates: tuple[GateRun, ...]


def tools(context: ToolContext) -> tuple[AgentTool, ...]:
    """Return the tools `gates` and `gates_run`."""
    return (
        AgentTool(
            name="gates", toolset="core", gives=GatesListed, work=partial(_answer_gates, context), reads=True
        ),
        AgentTool(
            name="gates_run",
            toolset="core",
            takes=GateSelection,
            gives=GatesRun,
            work=partial(_answer_gates_run, context),
            asks=True,
        ),
    )


# --- the list -----------------------------------------------------------------------------------------------


async def _answer_gates(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    offered = await context.checks.list(call.session)
    mask = context.checks.mask(call.session)
    lines = offered.last.gates if offered.last else ()  # of the record, such as "tests: failed (flaky)"
    found = GatesListed(
        gates=tuple(_shown_gate(gate, mask) for gate in offered.gates),
        last={name: ended for name, _, ended in (line.rpartition(": ") for line in lines)},
        problems=tuple(
            clip_printable(mask(one), GATE_LINE_LENGTH) for one in offered.problems[:PROBLEM_LIMIT]
        ),
        at_stops=offered.at_stops,
        last_at=offered.last.at if offered.last else None,
        moved_since=offered.moved,
    )
    return ToolAnswer(found, _gates_text(context, found))


def _shown_gate(gate: Gate, mask: SecretMask) -> Gate:
    command = clip_printable(mask(gate.command), GATE_LINE_LENGTH)
    return replace(gate, command=command, why=clip_printable(gate.why, GATE_LINE_LENGTH), behind="")


def _gates_text(context: ToolContext, found: GatesListed) -> str:
    say = context.words.say
    age = "" if found.last_at is None else str(max(0, int(context.clock.now() - found.last_at)))
    lines = [
        say(
            "gates-line",
            id=gate.id,
            command=gate.command,
            how=_gate_details(gate, found.last.get(gate.id, "")),
            why=gate.why,
        )
        for gate in found.gates
    ]
    parts = (
        say("gates-at-stops" if found.at_stops else "gates-not-at-stops") if lines else say("gates-none"),
        *lines,
        say("gates-last", seconds=age) if age else "",
        say("gates-moved") if found.moved_since else "",
        say("gates-unapproved") if any(not gate.approved for gate in found.gates) else "",
        *(say("gates-problem", problem=problem) for problem in found.problems),
    )
    return "\n".join(filter(None, parts))


def _gate_details(gate: Gate, last: str) -> str:
    marks = ["required" if gate.required else "advisory"]
    if gate.folder:
        marks.append(f"in {gate.folder}")
    if not gate.approved:
        marks.append("not approved")
    if last:
        marks.append(f"last: {last}")
    return ", ".join(marks)


# --- the run ------------------------------------------------------------------------------------------------


async def _answer_gates_run(context: ToolContext, call: ToolInvocation, given: GateSelection) -> ToolAnswer:
    runs = await with_progress(
        context.clock, call, lambda progress: context.checks.run(call.session, given.only, progress.tell_gate)
    )
    mask = context.checks.mask(call.session)
    ran = GatesRun(
        ok=all(run.outcome is Outcome.PASSED for run in runs if run.gate.required),
        tree=runs[0].tree if runs else "",
        gates=_cut_outputs([_shown_run(run, mask) for run in runs]),
    )
    return ToolAnswer(ran, _runs_text(context, ran))


def _shown_run(run: GateRun, mask: SecretMask) -> GateRun:
    passed = run.outcome is Outcome.PASSED
    return replace(
        run,
        gate=_shown_gate(run.gate, mask),
        tree="",
        seconds=round(run.seconds, 1),
        reason=clip_printable(run.reason, GATE_LINE_LENGTH),
        failures=tuple(clip_printable(one, GATE_LINE_LENGTH) for one in run.failures),
        failing=(),
        output="" if passed else run.output[-OUTPUT_LENGTH:],
    )


def _cut_outputs(ran: list[GateRun]) -> tuple[GateRun, ...]:
    """Shorten outputs and failures equally so that all of them together fit."""
    room = ALL_OUTPUTS_LENGTH // max(1, sum(run.outcome is not Outcome.PASSED for run in ran))
    return tuple(
        replace(run, output=run.output[-room:], failures=_fitting_lines(run.failures, room)) for run in ran
    )


def _fitting_lines(lines: tuple[str, ...], room: int) -> tuple[str, ...]:
    """Return the first lines that fit, and at least one, which is cut if needed."""
    first = [line[:room] for number, line in enumerate(lines) if sum(map(len, lines[: number + 1])) <= room]
    return tuple(first or (line[:room] for line in lines[:1]))


def _runs_text(context: ToolContext, ran: GatesRun) -> str:
    say = context.words.say
    lines = [
        say("gates-ran-line", id=run.gate.id, command=run.gate.command, how=_run_details(run))
        + _failure_lines(run)
        for run in ran.gates
    ]
    parts = (
        *(lines or [say("gates-none")]),
        say("gates-unapproved") if any(run.outcome is Outcome.NOT_APPROVED for run in ran.gates) else "",
        say("gates-ran-moved") if any(run.moved for run in ran.gates) else "",
        say("gates-ran"),
    )
    return "\n".join(filter(None, parts))


def _run_details(run: GateRun) -> str:
    parts = (
        run.outcome.value,
        "" if run.gate.required else "advisory",
        counted(run.executed, "test") if run.executed is not None else "",
        f"exit code {run.exit_code}" if run.exit_code else "",
        "flaky" if run.flaky else "",
        run.reason,
    )
    return ", ".join(filter(None, parts))


def _failure_lines(run: GateRun) -> str:
    """Return each failure on its own line; the end of the output if no failure is named."""
    lines = run.failures or tuple(filter(None, run.output.splitlines()))
    return "".join(f"\n  {line}" for line in lines)
