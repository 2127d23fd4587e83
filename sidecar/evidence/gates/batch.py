"""Runs the gates of one stop as a batch, local ones and those of the code host.

Rules:

- A batch waits for a slot of this machine (platform/slots.py), of each project one, but not where all that
  must run may run beside others and took no longer than LIGHT_S when it passed last. A gate's deadline begins
  when the gate does.
- Gates that may run in parallel go first, in parallel; the others follow one by one.
- A failure is rerun at once where something says that it may not be the same again: the gate was flaky
  before, or files changed while it ran. If it passes then on the same files, it is a flaky pass that lists
  what failed. A failure that is not rerun and passes later on the same files is found to be flaky then.
- A pass is reused only under the same circumstances. It is not remembered if it was flaky, or if the files
  changed or could not be read during the run, or the circumstances changed: it is unknown what passed.
- A pass is run once more in a copy of the files as they were when the batch was asked for, whose place no
  other program knows, where something else may have helped it or hidden what it looks at:
  - Files changed during the run, or were written and are the same again. Where it does not pass in the copy,
    files moved.
  - Ignored files changed since the work began. The copy lacks them: where the gate passes there only after
    they were added, the pass rests on them. Where it passes with neither, the copy tells nothing.
  - It opened no watched file: what it tests may have been built before. In the copy it is built anew.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.cache import Circumstances, GateMemory, may_reuse_pass, observe_circumstances
from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import GateContext, GateProgressCallback, RemoteGates, Workspace
from sidecar.kernel.gate import REMOTE_GATE_KINDS, Gate, GateRun, Kind, Outcome
from sidecar.platform.concurrency import run_with_limit
from sidecar.platform.files import scratch_folder
from sidecar.platform.slots import LIGHT_S, LOOK_S, WorkSlots

RERUN_LIMIT_S: Final = 60.0
"""Failures that took longer than this, in seconds, are not rerun."""
NAMED_FILES: Final = 3
HELPED: Final = "it passes only with {}, which git ignores and which changed since the work began"
NOT_REPEATED: Final = (
    "it could not be run without {}, which git ignores and which changed since the work began"
)
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
        self._begun = self._clock()
        self._ignored: tuple[str, ...] = ()
        self.keys: dict[str, Circumstances | None] = {}

    def limit(self, gate: Gate) -> float:
        """Return a gate's own deadline in seconds, else the batch's."""
        return self._seconds if gate.seconds is None else gate.seconds

    async def is_heavy(self, gates: Sequence[Gate]) -> bool:
        """Whether one of these gates must run here, and is not known to be short and to disturb no other."""
        memory = self._gates.memory
        for gate in (one for one in gates if one.kind not in REMOTE_GATE_KINDS):
            self.keys[gate.id] = key = await self._gates.circumstances(gate, self._at)
            long = key is None or gate.alone or memory.seconds(key) > LIGHT_S
            if long and not (key and memory.recall(key, gate, self._at)):
                return True
        return False

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
        if (workspace := self._gates.workspace) and self._at.base.snapshot:
            self._ignored = await workspace.recent_ignored(
                self._at.base, self._at.project, self._at.environment
            )
        beside = [number for number, gate in enumerate(gates) if not gate.alone]
        alone = [number for number, gate in enumerate(gates) if gate.alone]
        ended: dict[int, GateRun] = {}
        for group in (beside, *([number] for number in alone)):
            runs = await self._side_by_side([gates[number] for number in group])
            ended |= zip(group, await self._kept(runs, since), strict=True)
        return tuple(ended[number] for number in range(len(gates)))

    async def _side_by_side(self, gates: Sequence[Gate]) -> tuple[_FinishedRun, ...]:
        async def one(gate: Gate) -> _FinishedRun:
            key = self.keys.pop(gate.id, None) or await self._gates.circumstances(gate, self._at)
            return _FinishedRun(await self.told(gate, partial(self._one, key)), key)

        return await run_with_limit(gates, one, PARALLEL_GATES)

    async def _one(self, key: Circumstances | None, gate: Gate) -> GateRun:
        """Reuse a gate's pass, else run the gate."""
        if key and (known := self._gates.memory.recall(key, gate, self._at)):
            return known
        run = await self._tried(key, gate, self.limit(gate))
        return self._gates.memory.weigh(key, run) if key else run

    async def _tried(self, key: Circumstances | None, gate: Gate, seconds: float) -> GateRun:
        """Run a gate, and rerun it once if it failed and may pass."""
        until = self._clock() + seconds
        first = await self._gates.once(gate, self._at, seconds)
        if not _may_rerun(first) or until - self._clock() <= first.seconds:
            return first
        moved = await self._has_moved()
        if not moved and not self._gates.memory.was_flaky(key):
            return first
        second = await self._gates.once(gate, self._at, until - self._clock())
        return combine_reruns(first, second, flaky=not moved)

    async def _has_moved(self) -> bool:
        """Whether the files differ from those at which the batch was asked for."""
        at, workspace = self._at, self._gates.workspace
        return workspace is not None and await workspace.fingerprint(at.project, at.environment) != at.tree

    async def _kept(self, ended: Sequence[_FinishedRun], since: float) -> list[GateRun]:
        """Check whether the tree changed during runs that passed; if not, remember them.

        `since`: when the first of them began, in seconds since the epoch.
        """
        runs = [one.run for one in ended]
        if not (self._at.origin or any(one.passed_now for one in ended)):
            return runs
        moved = await self._has_moved()
        written = moved or await self._was_touched(since)
        unopened = {*self._at.watch}.difference(*(run.opened or () for run in runs))
        runs = [
            await self._confirmed(one, moved=moved, written=written, blind=bool(unopened)) for one in ended
        ]
        for one, run in zip(ended, runs, strict=True):
            sure = one.passed_now or (self._at.origin and not moved)
            if sure and one.key and one.key == await self._gates.circumstances(run.gate, self._at):
                self._gates.memory.keep(one.key, run, self._at)
        return runs

    async def _was_touched(self, since: float) -> bool:
        at, workspace = self._at, self._gates.workspace
        if workspace is None or not at.base.snapshot:
            return False
        return await workspace.touched(at.project, at.environment, since)

    async def _confirmed(self, one: _FinishedRun, *, moved: bool, written: bool, blind: bool) -> GateRun:
        """Run what passed once more in a copy where that tells something.

        `blind`: files are watched that no gate opened.
        """
        run = one.run
        blind = blind and run.opened == () and run.gate.kind not in (Kind.LINT, Kind.SECURITY)
        if not one.passed_now or run.gate.kind in REMOTE_GATE_KINDS:
            return run
        if not (written or self._ignored or blind) or self._gates.workspace is None:
            return run
        async with scratch_folder("copy") as folder:
            again, helped = await self._repeated_in_copy(run.gate, self._gates.workspace, folder)
        if again and again.outcome is Outcome.PASSED:
            return replace(run, opened=again.opened) if blind else run
        ignored = ", ".join(self._ignored[:NAMED_FILES])
        if helped and helped.outcome is Outcome.PASSED:
            return replace(run, moved=True, reason=HELPED.format(ignored))
        if written:
            tried = ", and it did not pass in a copy" if again else ""
            return replace(
                run, moved=True, reason=f"{await self._what_moved(moved=moved)} while it ran{tried}"
            )
        return replace(run, reason=NOT_REPEATED.format(ignored)) if ignored and not again else run

    async def _repeated_in_copy(
        self, gate: Gate, workspace: Workspace, folder: Path
    ) -> tuple[GateRun | None, GateRun | None]:
        """Run a gate in a copy, and where it does not pass there, with the recent ignored files in it."""
        at = self._at
        copy = await workspace.copy_at(at.tree, at.base, at.project, at.environment, folder)
        if copy.unseen:
            return None, None
        place = GateContext(
            project=copy.project, tree="", environment=copy.environment, watch=at.watch, hear=at.hear
        )
        again = await self._in_time(gate, place)
        if not self._ignored or again is None or again.outcome is Outcome.PASSED:
            return again, None
        await asyncio.to_thread(_add_files, self._ignored, Path(at.project), Path(copy.project))
        return again, await self._in_time(gate, place)

    async def _in_time(self, gate: Gate, place: GateContext) -> GateRun | None:
        left = self._begun + self.limit(gate) - self._clock()
        return await run_gate_once(gate, place, left) if left > 0 else None

    async def _what_moved(self, *, moved: bool) -> str:
        at, workspace = self._at, self._gates.workspace
        files = await workspace.moved(at.tree, at.base, at.project, at.environment) if workspace else ()
        return f"{', '.join(files[:NAMED_FILES])} changed" if moved and files else "files changed"


def _add_files(paths: Sequence[str], project: Path, copy: Path) -> None:
    """Add these files of a project to its copy, where they can be."""
    for path in paths:
        with suppress(OSError):
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / path, copy / path, follow_symlinks=False)


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
    """Implements `GateRunner`: runs batches in slots of this machine."""

    def __init__(
        self,
        memory: GateMemory | None = None,
        workspace: Workspace | None = None,
        code_host: RemoteGates | None = None,
        slots: WorkSlots | None = None,
    ) -> None:
        """`workspace` tells what moves while gates run; without it, the files count as unchanged.

        Without `slots` no batch waits for another.
        """
        self.memory, self.workspace, self._code_host = memory or GateMemory(), workspace, code_host
        self.slots = slots

    async def run(
        self,
        gates: Sequence[Gate],
        at: GateContext,
        seconds: float,
        progress: GateProgressCallback | None = None,
    ) -> tuple[GateRun, ...]:
        """Run gates in a slot of this machine; results are in the order of `gates`."""
        if not gates:
            return ()
        batch = _Batch(self, at, seconds, progress)
        if self.slots is None or not await batch.is_heavy(gates):
            return await batch.run(gates)
        async with self.slots.hold(at.environment, at.project) as waited:
            batch.keys = batch.keys if waited < LOOK_S else {}  # much may have changed
            return tuple(replace(run, waited=waited) for run in await batch.run(gates))

    async def once(self, gate: Gate, at: GateContext, seconds: float) -> GateRun:
        """Run a gate once, or ask the code host."""
        if gate.kind not in REMOTE_GATE_KINDS:
            return await run_gate_once(gate, at, seconds)
        if self._code_host is None:
            reason = "nothing is set up to ask the remote"
            return GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree, reason=reason)
        return await self._code_host.run(gate, at, seconds)

    async def circumstances(self, gate: Gate, at: GateContext) -> Circumstances | None:
        """Return what a pass depends on; None: remember none."""
        return await observe_circumstances(gate, at) if may_reuse_pass(gate) else None
