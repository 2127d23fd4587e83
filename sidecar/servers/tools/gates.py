"""The tools `gates` and `gates_run`: which gates apply to a session's project and why, and their results.

Results count only for the caller: a stop runs its gates again (see supervision/gate_requests.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.structs import fill_struct
from sidecar.kernel.text import counted
from sidecar.servers.tools.progress import with_progress
from sidecar.servers.tools.tool import (
    NoArguments,
    Tool,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
)
from sidecar.systems.supervision.gate_requests import GateListing

# --- results of the tools -----------------------------------------------------------------------------------


GATE_LINE_LENGTH: Final = 200
"""Maximum length in characters of a command, reason or failure in an answer."""
PROBLEM_LIMIT: Final = 10
"""Maximum number of problems in an answer."""
OUTPUT_LENGTH: Final = 1500
"""Characters from the end of a failed gate's output that are included in an answer."""
ALL_OUTPUTS_LENGTH: Final = 6000
"""Maximum length in characters of all outputs in an answer, and of all failures: about 2,000 tokens."""


class GateInfo(Struct, frozen=True, kw_only=True):
    """One gate. `last` is its outcome at the last stop that ran it, "" if there was none."""

    id: str
    kind: Kind
    command: str
    folder: str
    why: str
    required: bool
    approved: bool
    last: str


class GatesListed(Struct, frozen=True, kw_only=True):
    """The gates of a project.

    `at_stops`: whether stops currently run any. `last_at`: time of the last stop that did, in seconds since
    the epoch. `moved_since`: whether files changed after that stop, None if unknown.
    """

    gates: tuple[GateInfo, ...]
    problems: tuple[str, ...]
    at_stops: bool
    last_at: float | None
    moved_since: bool | None


class GateSelection(Struct, frozen=True, kw_only=True):
    """The IDs of gates; if empty, all gates that apply."""

    only: Annotated[tuple[str, ...], Meta(max_length=100)] = ()


class RanGate(Struct, frozen=True, kw_only=True):
    """The result of one gate. `output` is the end of its output if it did not pass."""

    id: str
    command: str
    required: bool
    outcome: Outcome
    seconds: float
    exit_code: int | None = None
    executed: int | None = None
    flaky: bool = False
    moved: bool = False
    reason: str = ""
    failures: tuple[str, ...] = ()
    output: str = ""


class GatesRun(Struct, frozen=True, kw_only=True):
    """The results of gates. `ok`: all required gates among them passed."""

    ok: bool
    tree: str
    gates: tuple[RanGate, ...]


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools `gates` and `gates_run`."""
    return (
        Tool(
            name="gates", toolset="core", gives=GatesListed, work=partial(_answer_gates, context), reads=True
        ),
        Tool(
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
    known = _outcomes_by_id(offered.last.gates if offered.last else ())
    found = GatesListed(
        gates=tuple(_gate_info(gate, offered, known, mask) for gate in offered.gates),
        problems=tuple(
            clip_printable(mask(one), GATE_LINE_LENGTH) for one in offered.problems[:PROBLEM_LIMIT]
        ),
        at_stops=offered.at_stops,
        last_at=offered.last.at if offered.last else None,
        moved_since=offered.moved,
    )
    return ToolAnswer(found, _gates_text(context, found))


def _gate_info(gate: Gate, offered: GateListing, known: dict[str, str], mask: SecretMask) -> GateInfo:
    return fill_struct(
        GateInfo,
        gate,
        command=clip_printable(mask(gate.command), GATE_LINE_LENGTH),
        why=clip_printable(gate.why, GATE_LINE_LENGTH),
        approved=gate.id in offered.may,
        last=known.get(gate.id, ""),
    )


def _outcomes_by_id(lines: Sequence[str]) -> dict[str, str]:
    """Return the outcomes by gate ID, from lines of the record such as "tests: failed (flaky)"."""
    return {name: ended for name, _, ended in (line.rpartition(": ") for line in lines)}


def _gates_text(context: ToolContext, found: GatesListed) -> str:
    say = context.words.say
    age = "" if found.last_at is None else str(max(0, int(context.clock.now() - found.last_at)))
    lines = [
        say(
            "gates-line",
            id=gate.id,
            command=gate.command,
            how=_gate_details(gate),
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


def _gate_details(gate: GateInfo) -> str:
    marks = ["required" if gate.required else "advisory"]
    if gate.folder:
        marks.append(f"in {gate.folder}")
    if not gate.approved:
        marks.append("not approved")
    if gate.last:
        marks.append(f"last: {gate.last}")
    return ", ".join(marks)


# --- the run ------------------------------------------------------------------------------------------------


async def _answer_gates_run(context: ToolContext, call: ToolInvocation, given: GateSelection) -> ToolAnswer:
    runs = await with_progress(
        context.clock, call, lambda told: context.checks.run(call.session, given.only, told.tell_gate)
    )
    mask = context.checks.mask(call.session)
    ran = GatesRun(
        ok=all(run.outcome is Outcome.PASSED for run in runs if run.gate.required),
        tree=runs[0].tree if runs else "",
        gates=_cut_outputs(tuple(_ran_gate(run, mask) for run in runs)),
    )
    return ToolAnswer(ran, _runs_text(context, ran))


def _ran_gate(run: GateRun, mask: SecretMask) -> RanGate:
    passed = run.outcome is Outcome.PASSED
    return fill_struct(
        RanGate,
        run,
        run.gate,
        command=clip_printable(mask(run.gate.command), GATE_LINE_LENGTH),
        seconds=round(run.seconds, 1),
        reason=clip_printable(run.reason, GATE_LINE_LENGTH),
        failures=tuple(clip_printable(one, GATE_LINE_LENGTH) for one in run.failures),
        output="" if passed else run.output[-OUTPUT_LENGTH:],
    )


def _cut_outputs(ran: tuple[RanGate, ...]) -> tuple[RanGate, ...]:
    """Shorten outputs and failures equally so that all of them together fit."""
    room = ALL_OUTPUTS_LENGTH // max(1, sum(gate.outcome is not Outcome.PASSED for gate in ran))
    return tuple(
        replace(gate, output=gate.output[-room:], failures=_fitting_lines(gate.failures, room))
        for gate in ran
    )


def _fitting_lines(lines: tuple[str, ...], room: int) -> tuple[str, ...]:
    """Return the first lines that fit, and at least one, which is cut if needed."""
    first = [line[:room] for number, line in enumerate(lines) if sum(map(len, lines[: number + 1])) <= room]
    return tuple(first or (line[:room] for line in lines[:1]))


def _runs_text(context: ToolContext, ran: GatesRun) -> str:
    say = context.words.say
    lines = [
        say("gates-ran-line", id=gate.id, command=gate.command, how=_run_details(gate)) + _failure_lines(gate)
        for gate in ran.gates
    ]
    parts = (
        *(lines or [say("gates-none")]),
        say("gates-unapproved") if any(gate.outcome is Outcome.NOT_APPROVED for gate in ran.gates) else "",
        say("gates-ran-moved") if any(gate.moved for gate in ran.gates) else "",
        say("gates-ran"),
    )
    return "\n".join(filter(None, parts))


def _run_details(gate: RanGate) -> str:
    parts = (
        gate.outcome.value,
        "" if gate.required else "advisory",
        counted(gate.executed, "test") if gate.executed is not None else "",
        f"exit code {gate.exit_code}" if gate.exit_code else "",
        "flaky" if gate.flaky else "",
        gate.reason,
    )
    return ", ".join(filter(None, parts))


def _failure_lines(gate: RanGate) -> str:
    """Return each failure on its own line; the end of the output if no failure is named."""
    lines = gate.failures or tuple(filter(None, gate.output.splitlines()))
    return "".join(f"\n  {line}" for line in lines)
