"""Runs gates in scratch copies of a project, where nothing remembers how they end on the same files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.cache import GateMemory, environment_for_copies, observe_circumstances
from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import CopyVersion, GateContext, ProjectCopy, Workspace
from sidecar.evidence.proof.check_files import find_reporting_files, stamp_check_files
from sidecar.kernel.gate import Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.platform.files import scratch_folder
from sidecar.platform.slots import LIGHT_S, WorkSlots

SLOWER_ON_OLD_CODE: Final = 4
LEAST_SECONDS: Final = 20.0
"""New checks on the old code have this many times the seconds of a run, but at least these."""
OF_THEN: Final = frozenset(
    (CopyVersion.OLD_CHECKS, CopyVersion.ADDED_CHECKS, CopyVersion.BASE, CopyVersion.PRODUCT_ALONE)
)
"""Copies whose checks are those of the baseline."""
MAY_HANG: Final = frozenset((CopyVersion.NEW_CHECKS, CopyVersion.BASE_PRODUCT))
"""Copies in which a test that is new may hang on the old code."""
NO_TIME: Final = "there was no time left"
SWAPPED: Final = "files of the check were written while it ran"


class CopiedRuns(Struct, frozen=True):
    """What gates showed in one copy, by their ids. `files`: which files the copy mixed in.

    `absent`: which of them it lacks. `reporting`: the files in which they report failures, whatever their
    names. `unseen` says why nothing ran, or not all.
    """

    files: tuple[str, ...] = ()
    runs: dict[str, GateRun] = {}
    reporting: tuple[str, ...] = ()
    unseen: str = ""
    absent: tuple[str, ...] = ()


class ScratchRuns(AsyncExitStack):
    """Runs gates in copies of one project, until a time; at its end it gives back the slot that it took."""

    def __init__(
        self, files: Workspace, at: GateContext, seconds: float, memory: GateMemory, slots: WorkSlots | None
    ) -> None:
        super().__init__()
        self._workspace, self._memory, self._slots = files, memory, slots
        self._at, self.base = at, at.base
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + seconds

    @asynccontextmanager
    async def copy(self, version: CopyVersion) -> AsyncIterator[ProjectCopy]:
        """Yield a copy of this version, and remove it."""
        at = self._at
        async with scratch_folder("copy") as folder:
            yield await self._workspace.copy(self.base, at.project, at.environment, version, folder)

    async def run(self, version: CopyVersion, runs: Sequence[GateRun]) -> CopiedRuns:
        """Run the gates of these runs in a copy of this version; none where no old check differs."""
        if not runs:
            return CopiedRuns()
        async with self.copy(version) as copy:
            if copy.unseen or (version is CopyVersion.OLD_CHECKS and not copy.checks):
                return CopiedRuns(unseen=copy.unseen)
            ended: dict[str, GateRun] = {}
            for run in runs:
                same = version is CopyVersion.PRODUCT_ALONE and copy.content == self._at.tree
                one = run if same else await self.run_gate(run, copy, version)
                if one is None:
                    return CopiedRuns(copy.checks, ended, unseen=NO_TIME)
                ended[run.gate.id] = one
            reporting: tuple[str, ...] = ()
            if version is CopyVersion.BASE:
                reporting = await asyncio.to_thread(_all_reporting_files, ended.values(), Path(copy.project))
            return CopiedRuns(copy.checks, ended, reporting, absent=copy.absent)

    async def run_gate(
        self, run: GateRun, copy: ProjectCopy, version: CopyVersion, changed: tuple[str, ...] = ()
    ) -> GateRun | None:
        """Run the gate in a copy, or remember how it ended there; None where no time is left.

        `changed`: what else than the version tells how the copy's files are, and a file to watch.
        """
        gate, content = run.gate, "\0".join((copy.content, *changed))
        if "\0" in content:  # not the digest of a project's files
            content = blake2b(content.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        place = GateContext(
            project=copy.project,
            tree=copy.content and content,
            environment=environment_for_copies(copy.environment),
            watch=changed[:1],
            names=version is CopyVersion.NOW,
            hear=self._at.hear,
            origin=self._at.origin or self._at,
        )
        key = await observe_circumstances(gate, place)
        if known := self._memory.recall(key, gate, place):
            return known
        if self._slots and run.seconds > LIGHT_S:
            waited = await self.enter_async_context(self._slots.hold(self._at.environment))
            self._until, self._slots = self._until + waited, None
        left = self._until - self._clock()
        if left <= 0:
            return None
        if version in MAY_HANG:
            left = min(left, max(run.seconds * SLOWER_ON_OLD_CODE, LEAST_SECONDS))
        left = min(left, gate.seconds or left)
        ended = await _run_watched(gate, place, left)
        if version in OF_THEN and ended.idle:
            other = await asyncio.to_thread(_runner_of_then, gate, place)
            ended = await _run_watched(other, place, left) if other else ended
        self._memory.keep(key, ended, place)
        return ended


async def _run_watched(gate: Gate, place: GateContext, seconds: float) -> GateRun:
    """Run a gate; where a check was written meanwhile, what was tried is not what ran."""
    project = Path(place.project)
    before = await asyncio.to_thread(stamp_check_files, project)
    ended = await run_gate_once(gate, place, seconds)
    after = await asyncio.to_thread(stamp_check_files, project)
    if before.items() <= after.items():
        return replace(ended, output=ended.output.replace(f"{place.project}/", ""))
    return replace(ended, outcome=Outcome.COULD_NOT_RUN, reason=SWAPPED, failures=(), failing=())


def _all_reporting_files(runs: Iterable[GateRun], copy: Path) -> tuple[str, ...]:
    testing = (run for run in runs if run.gate.counts or run.gate.kind in (Kind.TESTS, Kind.CHECK))
    return tuple(dict.fromkeys(file for run in testing for file in find_reporting_files(run, copy)))


def _runner_of_then(gate: Gate, place: GateContext) -> Gate | None:
    """Return the runner that the copy's own files ask for, where it is another than that of today.

    Tests that were rewritten for another runner would else hide how they were: today's finds none of them. A
    command that a file of the project defines is none of these: it would have to be approved.
    """
    if gate.origin is not GateOrigin.DETECTED:
        return None
    for then in detect_gates(Path(place.project), place.environment):
        if (then.kind, then.folder) == (gate.kind, gate.folder) and then.command != gate.command:
            return None if then.behind else replace(then, id=gate.id)
    return None
