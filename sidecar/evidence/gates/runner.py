"""Runs gates: a single gate as a shell line in its folder, and the gates of one stop as a batch.

Rules for a single run:

- It gets the session's environment, with the project's virtual environment first and without variables that
  mark an agent session.
- Reports are written to a temporary folder; no file of ours is written into the project.
- If a tool does not know the flags that request a report, it is run again without them.
- A folder outside the project is refused, because a configuration file in the repository can name it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.cache import Circumstances, GateMemory
from sidecar.evidence.gates.installed import describe_runner, with_remedy
from sidecar.evidence.gates.origins import (
    IMPORT_FAILED,
    NAMED_CHANGES,
    find_other_copy,
    find_unexplained_changes,
    with_origins_plugin,
)
from sidecar.evidence.gates.outcome import complete_gate_run, tool_refused_flags
from sidecar.evidence.gates.surroundings import find_changed_surroundings
from sidecar.evidence.ports import GateContext, GateProgressCallback
from sidecar.evidence.reports import text, tools
from sidecar.evidence.reports.report import GateOutput
from sidecar.evidence.reports.tools import ReportingLine
from sidecar.kernel.gate import REMOTE_GATE_KINDS, Gate, GateRun, Outcome
from sidecar.platform import processes
from sidecar.platform.project_python import PythonMissingError, folders_up_to_project, with_project_python
from sidecar.platform.scratch import scratch_folder

OUTPUT_LIMIT: Final = 1 << 18
"""Bytes of output kept while a gate runs; they must contain the summary."""


class _RunPlace(Struct, frozen=True, kw_only=True):
    """Where a line runs, until when (a time of the event loop's clock), and whether all output is kept."""

    folder: Path
    scratch: Path
    environment: Mapping[str, str]
    until: float
    whole: bool = False
    hear: Callable[[str], None] | None = None


async def run_gate_once(gate: Gate, at: GateContext, seconds: float) -> GateRun:
    """Run a gate for at most `seconds`. Raises only CancelledError, after the process group was killed."""
    blank = GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree)
    until = asyncio.get_running_loop().time() + seconds
    if why := gate_folder_objection(gate, at.project):
        return replace(blank, reason=why)
    folder = Path(at.project, gate.folder)
    try:
        async with scratch_folder("gate") as scratch:
            line, environment = await with_project_python(
                gate.command, str(folder), at.environment, at.project, gate.python
            )
            place = _RunPlace(
                folder=folder,
                scratch=scratch,
                environment=environment,
                until=until,
                whole=at.whole,
                hear=at.hear,
            )
            run = await _run_with_origins(blank, line, place, at)
            run = replace(run, environment=await describe_runner(line, folder, environment, at.project))
    except (PythonMissingError, OSError) as error:
        run = replace(blank, reason=str(error))
    return await asyncio.to_thread(with_remedy, run, folders_up_to_project(str(folder), at.project))


def gate_folder_objection(gate: Gate, project: str) -> str:
    """Say why a gate cannot run in its folder; "" where it can."""
    if not gate.folder:
        return ""
    try:
        root = Path(project).resolve()
        place = (root / gate.folder).resolve()
    except (OSError, RuntimeError, ValueError):
        return f"the folder {gate.folder!r} cannot be resolved"
    if not place.is_relative_to(root):
        return f"the folder {gate.folder!r} is outside the project"
    return "" if place.is_dir() else f"the folder {gate.folder!r} is not there"


async def _run_with_origins(blank: GateRun, line: str, place: _RunPlace, at: GateContext) -> GateRun:
    """Run the line; a result for another copy says nothing."""
    async with scratch_folder("origins") as written:
        probed = replace(place, environment=with_origins_plugin(place.environment, written))
        run = await _run_with_report(blank, line, probed)
        if IMPORT_FAILED in run.output:
            return await _run_with_report(blank, line, place)
        if run.outcome is Outcome.COULD_NOT_RUN:
            return run
        project = Path(at.project)
        other = await asyncio.to_thread(find_other_copy, written, place.folder, project)
        if at.since and run.outcome is Outcome.PASSED:
            found = await asyncio.to_thread(_unexplained_changes, line, place, written, at)
            run = replace(run, unexplained=found)
    if not other:
        return run
    reason = f"it tested another copy: {other}; install this one, for example with: pip install -e ."
    return replace(run, outcome=Outcome.COULD_NOT_RUN, reason=reason, failures=(), failing=())


def _unexplained_changes(line: str, place: _RunPlace, written: Path, at: GateContext) -> tuple[str, ...]:
    """Return what a pass rests on outside the project, that changed since and that no record explains."""
    project = Path(at.project)
    loaded = find_unexplained_changes(written, project, at.since, place.environment.get("VIRTUAL_ENV", ""))
    around = find_changed_surroundings(line, place.folder, place.environment, project, at.since)
    return (*loaded, *islice((file for file in around if file not in loaded), NAMED_CHANGES))


async def _run_with_report(blank: GateRun, line: str, place: _RunPlace) -> GateRun:
    """Run the line with flags that request a report, and without them if its tool rejects them."""
    order = await asyncio.to_thread(tools.add_report_flags, line, place.folder, place.scratch)
    done, written = await _run_line(order, place)
    if order.line != line and tool_refused_flags(done, order, written):
        order = replace(order, line=line)
        done, written = await _run_line(order, place)
    # In a thread, because a report may have many megabytes.
    run = await asyncio.to_thread(complete_gate_run, blank, done, order, written)
    return run if place.whole else replace(run, output=run.output[-text.OUTPUT_TAIL :])


async def _run_line(order: ReportingLine, place: _RunPlace) -> tuple[processes.ProcessResult, GateOutput]:
    since = place.scratch.stat().st_mtime_ns
    done = await processes.run_process(
        order.line,
        cwd=str(place.folder),
        environment=place.environment,
        seconds=round(max(place.until - asyncio.get_running_loop().time(), 0), 2),
        keep=tools.REPORT_OUTPUT_LIMIT if order.request and order.request.output else OUTPUT_LIMIT,
        hear=place.hear,
        tied=True,
    )
    words = await asyncio.to_thread(_output_without_report, done.output, place.scratch.name)
    return done, GateOutput(scratch=place.scratch, folder=place.folder, text=words, since=since)


def _output_without_report(output: bytes, scratch: str) -> str:
    """Return the output without lines that name our report folder, whose name differs in every run."""
    return "\n".join(line for line in text.strip_terminal_codes(output).split("\n") if scratch not in line)


# --- Running the gates of one stop as a batch ---------------------------------------------------------------
# Rules:
#
# - Each project runs one batch at a time. Waiting for the batch's turn counts towards a gate's deadline.
# - Gates that may run in parallel go first, in parallel; the others follow one by one.
# - A failure is rerun at once where something says that it may not be the same again: the gate was flaky
#   before, or files changed while it ran. If it passes then on the same files, it is a flaky pass that lists
#   what failed. A failure that is not rerun and passes later on the same files is found to be flaky then.
# - A pass is reused only under the same circumstances. It is not remembered if it was flaky, or if the files
#   changed or could not be read during the run, or the circumstances changed: it is unknown what passed.
# - Files that were written during the run, though they are the same again, may have been others meanwhile:
#   the gate runs once more in a copy, whose place no other program knows. Where it does not pass there, files
#   moved.


RERUN_LIMIT_S: Final = 60.0
"""Failures that took longer than this, in seconds, are not rerun."""
PARALLEL_GATES: Final = max(1, min(4, os.cpu_count() or 1))
"""Gates that run in parallel."""

TreeDigestReader = Callable[[str, Mapping[str, str]], Awaitable[str]]
"""Takes a project and the session's environment; see `Workspace.fingerprint` in `ports`."""
SingleGateRunner = Callable[[Gate, GateContext, float], Awaitable[GateRun]]
"""Runs a gate once, within this many seconds."""
CircumstancesLookup = Callable[[Gate, GateContext], Awaitable[Circumstances | None]]
"""Returns what a pass depends on; None where it must not be remembered."""


class BatchDependencies(Struct, frozen=True, kw_only=True):
    """What a batch needs.

    `look` reads the current tree digest, `touched` tells whether anything was written since a time (see
    `Workspace` in `ports`); without them, the tree counts as unchanged. `copied` runs a gate in a copy.
    """

    once: SingleGateRunner
    key: CircumstancesLookup
    memory: GateMemory
    look: TreeDigestReader | None = None
    touched: Callable[[str, Mapping[str, str], float], Awaitable[bool]] | None = None
    copied: SingleGateRunner | None = None


class _FinishedRun(Struct, frozen=True):
    """A run, and what it depended on when it began."""

    run: GateRun
    key: Circumstances | None = None

    @property
    def passed_now(self) -> bool:
        return self.run.outcome is Outcome.PASSED and not self.run.cached


class GateBatchRunner:
    """Runs batches, one at a time for each project."""

    def __init__(self, hands: BatchDependencies) -> None:
        self._hands = hands
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(
        self,
        gates: Sequence[Gate],
        at: GateContext,
        seconds: float,
        progress: GateProgressCallback | None = None,
    ) -> tuple[GateRun, ...]:
        """Run gates after earlier batches of the same project; results are in the order of `gates`."""
        if not gates:
            return ()
        batch = _Batch(self._hands, at, seconds, progress)
        turn = self._turns.setdefault(at.project, asyncio.Lock())
        try:
            async with asyncio.timeout(max(map(batch.limit, gates))):
                await turn.acquire()
        except TimeoutError:
            return tuple([await batch.told(gate, batch.late) for gate in gates])
        try:
            return await batch.run(gates)
        finally:
            turn.release()


class _Batch:
    def __init__(
        self, hands: BatchDependencies, at: GateContext, seconds: float, progress: GateProgressCallback | None
    ) -> None:
        self._hands = hands
        self._at = at
        self._seconds = seconds
        self._progress = progress
        self._clock = asyncio.get_running_loop().time
        self._asked = self._begun = self._clock()

    def limit(self, gate: Gate) -> float:
        """Return a gate's own deadline in seconds, else the batch's."""
        return self._seconds if gate.seconds is None else gate.seconds

    async def late(self, gate: Gate) -> GateRun:
        """Build the result of a gate whose whole time was spent waiting."""
        reason = f"other checks of this project took all of {self.limit(gate):g} s"
        return GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=self._at.tree, reason=reason)

    async def told(self, gate: Gate, work: Callable[[Gate], Awaitable[GateRun]]) -> GateRun:
        """Process a gate, and report its begin and its end to the progress callback."""
        if self._progress:
            self._progress(gate, None)
        run = await work(gate)
        if self._progress:
            self._progress(gate, run)
        return run

    async def run(self, gates: Sequence[Gate]) -> tuple[GateRun, ...]:
        self._begun = self._clock()
        since = time.time()
        beside = [number for number, gate in enumerate(gates) if not gate.alone]
        alone = [number for number, gate in enumerate(gates) if gate.alone]
        ended: dict[int, GateRun] = {}
        for group in (beside, *([number] for number in alone)):
            runs = await self._side_by_side([gates[number] for number in group])
            ended |= zip(group, await self._kept(runs, since), strict=True)
        return tuple(ended[number] for number in range(len(gates)))

    async def _side_by_side(self, gates: Sequence[Gate]) -> list[_FinishedRun]:
        room = asyncio.Semaphore(PARALLEL_GATES)

        async def one(gate: Gate) -> _FinishedRun:
            async with room:
                key = await self._hands.key(gate, self._at)
                return _FinishedRun(await self.told(gate, partial(self._one, key)), key)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(gate)) for gate in gates]
        return [task.result() for task in tasks]

    async def _one(self, key: Circumstances | None, gate: Gate) -> GateRun:
        """Reuse a gate's pass, else run the gate in the time that waiting has left."""
        if key and (known := self._hands.memory.recall(key, gate)):
            return known
        left = self.limit(gate) - (self._begun - self._asked)
        run = await self._tried(gate, left) if left > 0 else await self.late(gate)
        return self._hands.memory.weigh(key, run) if key else run

    async def _tried(self, gate: Gate, seconds: float) -> GateRun:
        """Run a gate, and rerun it once if it failed and may pass."""
        until = self._clock() + seconds
        first = await self._hands.once(gate, self._at, seconds)
        if not _may_rerun(first) or until - self._clock() <= first.seconds:
            return first
        moved = await self._has_moved()
        if not moved and not self._hands.memory.was_flaky(gate, self._at.project):
            return first
        second = await self._hands.once(gate, self._at, until - self._clock())
        return combine_reruns(first, second, flaky=not moved)

    async def _has_moved(self) -> bool:
        """Whether the files differ from those at which the batch was asked for."""
        at, look = self._at, self._hands.look
        return look is not None and await look(at.project, at.environment) != at.tree

    async def _kept(self, ended: Sequence[_FinishedRun], since: float) -> list[GateRun]:
        """Check whether the tree changed during runs that passed; if not, remember the passes.

        `since`: when the first of them began, in seconds since the epoch.
        """
        runs = [one.run for one in ended]
        if not any(one.passed_now for one in ended):
            return runs
        if await self._has_moved():
            return [replace(one.run, moved=True) if one.passed_now else one.run for one in ended]
        if await self._was_touched(since):
            runs = [await self._repeated_in_copy(one) for one in ended]
        for one, run in zip(ended, runs, strict=True):
            if one.passed_now and one.key and one.key == await self._hands.key(run.gate, self._at):
                self._hands.memory.keep(one.key, run)
        return runs

    async def _was_touched(self, since: float) -> bool:
        at, touched = self._at, self._hands.touched
        if touched is None or not at.base.snapshot:
            return False
        return await touched(at.project, at.environment, since)

    async def _repeated_in_copy(self, one: _FinishedRun) -> GateRun:
        """Run what passed once more in a copy; where that is impossible or fails, files moved."""
        left = self._asked + self.limit(one.run.gate) - self._clock()
        if not one.passed_now or self._hands.copied is None or one.run.gate.kind in REMOTE_GATE_KINDS:
            return one.run
        again = await self._hands.copied(one.run.gate, self._at, left) if left > 0 else None
        return one.run if again and again.outcome is Outcome.PASSED else replace(one.run, moved=True)


def _may_rerun(run: GateRun) -> bool:
    """Whether a rerun can tell something: a command failed, and soon. Of a remote gate it cannot."""
    if run.gate.kind in REMOTE_GATE_KINDS:
        return False
    return run.outcome is Outcome.FAILED and run.exit_code != 0 and run.seconds <= RERUN_LIMIT_S


def combine_reruns(first: GateRun, second: GateRun, *, flaky: bool = True) -> GateRun:
    """Combine a failure with its rerun. If the rerun could not run, the failure stands.

    `flaky`: whether a pass means that, as both saw the same files.
    """
    seconds = first.seconds + second.seconds
    if second.outcome is Outcome.COULD_NOT_RUN:
        return first
    if second.outcome is Outcome.PASSED:
        return replace(second, seconds=seconds, flaky=flaky, failures=first.failures if flaky else ())
    return replace(second, seconds=seconds)
