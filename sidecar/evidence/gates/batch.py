"""Runs the gates of one stop as a batch, local ones and those of the code host.

Rules:

- Each project runs one batch at a time. Waiting for the batch's turn counts towards a gate's deadline.
- Gates that may run in parallel go first, in parallel; the others follow one by one.
- A failure is rerun at once where something says that it may not be the same again: the gate was flaky
  before, or files changed while it ran. If it passes then on the same files, it is a flaky pass that lists
  what failed. A failure that is not rerun and passes later on the same files is found to be flaky then.
- A pass is reused only under the same circumstances. It is not remembered if it was flaky, or if the files
  changed or could not be read during the run, or the circumstances changed: it is unknown what passed.
- Files that were written during the run, though they are the same again, may have been others meanwhile:
  the gate runs once more in a copy, whose place no other program knows. Where it does not pass there, files
  moved.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.cache import (
    Circumstances,
    GateMemory,
    describe_circumstances,
    digest_run_environment,
    may_reuse_pass,
)
from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import CopyVersion, GateContext, GateProgressCallback, RemoteGates, Workspace
from sidecar.kernel.gate import REMOTE_GATE_KINDS, Gate, GateRun, Outcome
from sidecar.platform.files import scratch_folder

RERUN_LIMIT_S: Final = 60.0
"""Failures that took longer than this, in seconds, are not rerun."""
PARALLEL_GATES: Final = max(1, min(4, os.cpu_count() or 1))
"""Gates that run in parallel."""


class _FinishedRun(Struct, frozen=True):
    """A run, and what it depended on when it began."""

    run: GateRun
    key: Circumstances | None = None

    @property
    def passed_now(self) -> bool:
        return self.run.outcome is Outcome.PASSED and not self.run.cached


class _Batch:
    def __init__(
        self, gates: ProjectGates, at: GateContext, seconds: float, progress: GateProgressCallback | None
    ) -> None:
        self._gates = gates
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
                key = await self._gates.circumstances(gate, self._at)
                return _FinishedRun(await self.told(gate, partial(self._one, key)), key)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(gate)) for gate in gates]
        return [task.result() for task in tasks]

    async def _one(self, key: Circumstances | None, gate: Gate) -> GateRun:
        """Reuse a gate's pass, else run the gate in the time that waiting has left."""
        if key and (known := self._gates.memory.recall(key, gate, self._at.watch)):
            return known
        left = self.limit(gate) - (self._begun - self._asked)
        run = await self._tried(gate, left) if left > 0 else await self.late(gate)
        return self._gates.memory.weigh(key, run) if key else run

    async def _tried(self, gate: Gate, seconds: float) -> GateRun:
        """Run a gate, and rerun it once if it failed and may pass."""
        until = self._clock() + seconds
        first = await self._gates.once(gate, self._at, seconds)
        if not _may_rerun(first) or until - self._clock() <= first.seconds:
            return first
        moved = await self._has_moved()
        if not moved and not self._gates.memory.was_flaky(gate, self._at.project):
            return first
        second = await self._gates.once(gate, self._at, until - self._clock())
        return combine_reruns(first, second, flaky=not moved)

    async def _has_moved(self) -> bool:
        """Whether the files differ from those at which the batch was asked for."""
        at, workspace = self._at, self._gates.workspace
        return workspace is not None and await workspace.fingerprint(at.project, at.environment) != at.tree

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
            if one.passed_now and one.key and one.key == await self._gates.circumstances(run.gate, self._at):
                self._gates.memory.keep(one.key, run, self._at.watch)
        return runs

    async def _was_touched(self, since: float) -> bool:
        at, workspace = self._at, self._gates.workspace
        if workspace is None or not at.base.snapshot:
            return False
        return await workspace.touched(at.project, at.environment, since)

    async def _repeated_in_copy(self, one: _FinishedRun) -> GateRun:
        """Run what passed once more in a copy, whose place only the gate knows; else files moved."""
        left = self._asked + self.limit(one.run.gate) - self._clock()
        at, workspace = self._at, self._gates.workspace
        if not one.passed_now or workspace is None or one.run.gate.kind in REMOTE_GATE_KINDS:
            return one.run
        if left > 0:
            async with scratch_folder("copy") as folder:
                copy = await workspace.copy(at.base, at.project, at.environment, CopyVersion.NOW, folder)
                place = GateContext(project=copy.project, tree="", environment=copy.environment, hear=at.hear)
                again = None if copy.unseen else await run_gate_once(one.run.gate, place, left)
            if again and again.outcome is Outcome.PASSED:
                return one.run
        return replace(one.run, moved=True)


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


# --- the gate runner ----------------------------------------------------------------------------------------


class ProjectGates:
    """Implements `GateRunner`: runs batches, one at a time for each project."""

    def __init__(
        self,
        memory: GateMemory | None = None,
        workspace: Workspace | None = None,
        code_host: RemoteGates | None = None,
    ) -> None:
        """`workspace` tells what moves while gates run; without it, the files count as unchanged."""
        self.memory, self.workspace, self._code_host = memory or GateMemory(), workspace, code_host
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
        batch = _Batch(self, at, seconds, progress)
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

    async def once(self, gate: Gate, at: GateContext, seconds: float) -> GateRun:
        """Run a gate once, or ask the code host."""
        if gate.kind not in REMOTE_GATE_KINDS:
            return await run_gate_once(gate, at, seconds)
        if self._code_host is None:
            reason = "nothing is set up to ask the remote"
            return GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree, reason=reason)
        return await self._code_host.run(gate, at, seconds)

    async def circumstances(self, gate: Gate, at: GateContext) -> Circumstances | None:
        """Compute what a pass depends on, in a thread because it reads many files; None: remember none."""
        if not may_reuse_pass(gate):
            return None
        return describe_circumstances(gate, at, await asyncio.to_thread(digest_run_environment, gate, at))
