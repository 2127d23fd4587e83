"""The gates of a session's project: which apply and why, and how they end now.

What ran here counts for nobody but who asked: a stop runs its gates anew (see app/checks.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from sidecar.app.checks import ChecksError, Offered
from sidecar.model.gate import Gate, GateRun, Kind, Outcome
from sidecar.policy.gates import NOT_APPROVED
from sidecar.ports import Mask
from sidecar.servers.tools.progress import Progress
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Answer, Call, Nothing, RefusalError, Tool, shown

LINE: Final = 200
"""Characters of a command, of a reason, or of a failure that an answer repeats."""
PROBLEMS: Final = 10
"""Problems that an answer names."""
OUTPUT: Final = 1500
"""Characters at the end of what a gate printed that an answer repeats, where it did not pass."""
OUTPUTS: Final = 6000
"""Characters of all that gates printed in one answer, and of all failures: about 2,000 tokens."""


class GateInfo(Struct, frozen=True, kw_only=True):
    """One gate. `last` is how it ended at the last stop that ran it, "" where none did."""

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

    `at_stops`: whether a stop runs any now. `last_at`: seconds since the epoch. `moved_since`: whether files
    changed after that stop, None where it is not known.
    """

    gates: tuple[GateInfo, ...]
    problems: tuple[str, ...]
    at_stops: bool
    last_at: float | None
    moved_since: bool | None


class Which(Struct, frozen=True, kw_only=True):
    """The ids of gates; all that apply where none is named."""

    only: Annotated[tuple[str, ...], Meta(max_length=100)] = ()


class RanGate(Struct, frozen=True, kw_only=True):
    """How one gate ended. `output` is the end of what it printed, where it did not pass."""

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
    """How gates ended. `ok`: every required one of them passed."""

    ok: bool
    tree: str
    gates: tuple[RanGate, ...]


def tools(reach: Reach) -> tuple[Tool, ...]:
    """The tools `gates` and `gates_run`."""
    return (
        Tool(
            name="gates",
            toolset="core",
            takes=Nothing,
            gives=GatesListed,
            work=partial(_gates, reach),
            reads=True,
            repeats=True,
        ),
        Tool(
            name="gates_run",
            toolset="core",
            takes=Which,
            gives=GatesRun,
            work=partial(_gates_run, reach),
            asks=True,
        ),
    )


# --- the list -----------------------------------------------------------------------------------------------


async def _gates(reach: Reach, call: Call, _given: Nothing) -> Answer:
    try:
        offered = await reach.checks.list(call.session)
    except ChecksError as error:
        raise _refusal(reach, error) from error
    mask = reach.checks.mask(call.session)
    known = _outcomes(offered.last.gates if offered.last else ())
    found = GatesListed(
        gates=tuple(_info(gate, offered, known, mask) for gate in offered.gates),
        problems=tuple(shown(mask(one), LINE) for one in offered.problems[:PROBLEMS]),
        at_stops=offered.at_stops,
        last_at=offered.last.at if offered.last else None,
        moved_since=offered.moved,
    )
    return Answer(found, _listed(reach, found))


def _info(gate: Gate, offered: Offered, known: dict[str, str], mask: Mask) -> GateInfo:
    return GateInfo(
        id=gate.id,
        kind=gate.kind,
        command=shown(mask(gate.command), LINE),
        folder=gate.folder,
        why=shown(gate.why, LINE),
        required=gate.required,
        approved=gate.id in offered.may,
        last=known.get(gate.id, ""),
    )


def _outcomes(lines: Sequence[str]) -> dict[str, str]:
    """How gates ended, by their ids, from the lines of the record ("tests: failed (flaky)")."""
    return {name: ended for name, _, ended in (line.rpartition(": ") for line in lines)}


def _listed(reach: Reach, found: GatesListed) -> str:
    say = reach.words.say
    age = "" if found.last_at is None else str(max(0, int(reach.clock.now() - found.last_at)))
    lines = [
        say(
            "gates-line",
            id=gate.id,
            command=gate.command,
            how=_how(gate),
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


def _how(gate: GateInfo) -> str:
    marks = ["required" if gate.required else "advisory"]
    if gate.folder:
        marks.append(f"in {gate.folder}")
    if not gate.approved:
        marks.append("not approved")
    if gate.last:
        marks.append(f"last: {gate.last}")
    return ", ".join(marks)


# --- the run ------------------------------------------------------------------------------------------------


async def _gates_run(reach: Reach, call: Call, given: Which) -> Answer:
    runs = await _told_of(reach, call, given.only)
    if isinstance(runs, ChecksError):
        raise _refusal(reach, runs)
    mask = reach.checks.mask(call.session)
    ran = GatesRun(
        ok=all(run.outcome is Outcome.PASSED for run in runs if run.gate.required),
        tree=runs[0].tree if runs else "",
        gates=_cut(tuple(_ended(run, mask) for run in runs)),
    )
    return Answer(ran, _words(reach, ran))


async def _told_of(reach: Reach, call: Call, only: Sequence[str]) -> tuple[GateRun, ...] | ChecksError:
    """Run gates, and tell whoever waits how far they are."""
    async with asyncio.TaskGroup() as telling:
        progress = Progress(call, telling)
        beat = telling.create_task(progress.beat(reach.clock))
        try:
            return await reach.checks.run(call.session, only, progress.tell)
        except ChecksError as refusal:
            return refusal
        finally:
            beat.cancel()


def _ended(run: GateRun, mask: Mask) -> RanGate:
    passed = run.outcome is Outcome.PASSED
    return RanGate(
        id=run.gate.id,
        command=shown(mask(run.gate.command), LINE),
        required=run.gate.required,
        outcome=run.outcome,
        seconds=round(run.seconds, 1),
        exit_code=run.exit_code,
        executed=run.executed,
        flaky=run.flaky,
        moved=run.moved,
        reason=shown(run.reason, LINE),
        failures=tuple(shown(one, LINE) for one in run.failures),
        output="" if passed else run.output[-OUTPUT:],
    )


def _cut(ran: tuple[RanGate, ...]) -> tuple[RanGate, ...]:
    """The same, with less of what each says where all of it together is too much."""
    room = OUTPUTS // max(1, sum(gate.outcome is not Outcome.PASSED for gate in ran))
    return tuple(
        replace(gate, output=gate.output[-room:], failures=_within(gate.failures, room)) for gate in ran
    )


def _within(lines: tuple[str, ...], room: int) -> tuple[str, ...]:
    """The first lines that have room; one at least, cut."""
    first = [line[:room] for number, line in enumerate(lines) if sum(map(len, lines[: number + 1])) <= room]
    return tuple(first or (line[:room] for line in lines[:1]))


def _words(reach: Reach, ran: GatesRun) -> str:
    say = reach.words.say
    lines = [
        say("gates-ran-line", id=gate.id, command=gate.command, how=_how_ended(gate)) + _failures(gate)
        for gate in ran.gates
    ]
    parts = (
        *(lines or [say("gates-none")]),
        say("gates-unapproved") if any(gate.reason == NOT_APPROVED for gate in ran.gates) else "",
        say("gates-ran-moved") if any(gate.moved for gate in ran.gates) else "",
        say("gates-ran"),
    )
    return "\n".join(filter(None, parts))


def _how_ended(gate: RanGate) -> str:
    parts = (
        gate.outcome.value,
        "" if gate.required else "advisory",
        f"{gate.executed} test{'' if gate.executed == 1 else 's'}" if gate.executed is not None else "",
        f"exit code {gate.exit_code}" if gate.exit_code else "",
        "flaky" if gate.flaky else "",
        gate.reason,
    )
    return ", ".join(filter(None, parts))


def _failures(gate: RanGate) -> str:
    """What fails, each on a line; the end of the output where no failure is named."""
    lines = gate.failures or tuple(filter(None, gate.output.splitlines()))
    return "".join(f"\n  {line}" for line in lines)


def _refusal(reach: Reach, error: ChecksError) -> RefusalError:
    values = {name: shown(value, LINE) for name, value in error.values.items()}
    return RefusalError(reach.words.say(error.rule, **values))
