"""Runs checks as they were at the baseline on today's code, in copies of the project.

Four runs make a comparison, and most stops need one or none:

    old checks, new code   when a file that bears on a check changed and the gate passes
    old checks, old code   when that fails: whether the failure was there when the work began
    new checks, new code   in a copy, when that fails: whether a copy can run the checks at all
    new checks, old code   when the goal asks for a repair or an addition, and the old checks passed there

A comparison is remembered as long as neither version of the files changes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.cache import environment_for_copies
from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import CopyVersion, GateContext, Workspace
from sidecar.evidence.proof.check_files import changes_dependencies, find_product_marks, may_bear_on_checks
from sidecar.evidence.proof.policy import rate_comparison, relevant_findings
from sidecar.kernel.effects import Wanted
from sidecar.kernel.evidence import FileBaseline, FileChange, IntegrityFinding
from sidecar.kernel.gate import (
    NOTHING_EXECUTED,
    REMOTE_GATE_KINDS,
    CheckComparison,
    CheckTrial,
    Gate,
    GateOrigin,
    GateRun,
    Outcome,
)
from sidecar.platform.files import scratch_folder

MEMORY_SIZE: Final = 64
"""Comparisons that are remembered."""

SLOWER_ON_OLD_CODE: Final = 4
LEAST_SECONDS: Final = 20.0
"""New checks on the old code have this many times the seconds of a run, but at least these."""
OF_THEN: Final = (CopyVersion.OLD_CHECKS, CopyVersion.BASE)
"""Copies whose checks are those of the baseline."""

_ComparisonKey = tuple[str, str, str, str, Wanted]


class ScratchChecks:
    """Implements `OldChecks`."""

    def __init__(self, workspace: Workspace) -> None:
        """Copy files with this workspace."""
        self._workspace = workspace
        self._known: OrderedDict[_ComparisonKey, CheckComparison] = OrderedDict()

    async def compare(
        self,
        base: FileBaseline,
        at: GateContext,
        runs: Sequence[GateRun],
        seconds: float,
        wanted: Wanted = Wanted.NOTHING,
    ) -> tuple[CheckComparison, ...]:
        """Compare these runs, one after the other, in `seconds` altogether."""
        local = [run for run in runs if run.gate.kind not in REMOTE_GATE_KINDS]
        keys = [(base.snapshot, at.tree, run.gate.command, run.gate.folder, wanted) for run in local]
        if local and at.tree and all(key in self._known for key in keys):
            return tuple(replace(self._known[key], now=run) for key, run in zip(keys, local, strict=True))
        found = await _Comparing(self._workspace, base, at, seconds).compare(local, wanted)
        for key, comparison in zip(keys, found, strict=False):
            if _is_complete(comparison):
                self._known[key] = comparison
        while len(self._known) > MEMORY_SIZE:
            self._known.popitem(last=False)
        return found

    async def try_to_fail(
        self,
        base: FileBaseline,  # noqa: ARG002 - until it is built
        at: GateContext,  # noqa: ARG002
        runs: Sequence[GateRun],
        seconds: float,  # noqa: ARG002
    ) -> tuple[CheckTrial, ...]:
        """Try in copies whether each of these gates could fail at all."""
        return tuple(CheckTrial(now=run) for run in runs)


def _is_complete(seen: CheckComparison) -> bool:
    """Whether the same files would give the same comparison: nothing was missing, no time and no program."""
    runs = [run for run in (seen.old, seen.base, seen.copy, seen.fresh) if run is not None]
    if seen.old is None or any(run.outcome is Outcome.COULD_NOT_RUN for run in runs):
        return False
    return seen.old.outcome is Outcome.PASSED or (seen.base is not None and seen.copy is not None)


class _Comparing:
    """One comparison of several gates."""

    def __init__(self, workspace: Workspace, base: FileBaseline, at: GateContext, seconds: float) -> None:
        self._workspace = workspace
        self._base, self._at = base, at
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + seconds

    async def compare(self, runs: Sequence[GateRun], wanted: Wanted) -> tuple[CheckComparison, ...]:
        files, old = await self._run_in_copy(CopyVersion.OLD_CHECKS, runs)
        if isinstance(old, str):
            return tuple(CheckComparison(now=run, unseen=old) for run in runs)
        if not files and wanted is not Wanted.PROOF:
            return ()
        old = old or list(runs)  # no check changed
        found = {
            run.gate.id: CheckComparison(now=run, files=files, old=ended)
            for run, ended in zip(runs, old, strict=True)
        }
        failing = [run for run, ended in zip(runs, old, strict=True) if ended.outcome is not Outcome.PASSED]
        before = await self._by_gate(CopyVersion.BASE, failing if wanted is Wanted.NOTHING else runs)
        copied = await self._by_gate(CopyVersion.NOW, failing)
        passed_before = [
            run for run in runs if (one := before.get(run.gate.id)) and one.outcome is Outcome.PASSED
        ]
        fresh = await self._by_gate(
            CopyVersion.NEW_CHECKS, passed_before if files and wanted is not Wanted.NOTHING else []
        )
        return tuple(
            replace(one, base=before.get(name), copy=copied.get(name), fresh=fresh.get(name))
            for name, one in found.items()
        )

    async def _by_gate(self, version: CopyVersion, runs: Sequence[GateRun]) -> dict[str, GateRun]:
        """Run the gates in a copy; empty where there is none, or no time."""
        if not runs:
            return {}
        _, ended = await self._run_in_copy(version, runs)
        return {} if isinstance(ended, str) else {run.gate.id: run for run in ended}

    async def _run_in_copy(
        self, version: CopyVersion, runs: Sequence[GateRun]
    ) -> tuple[tuple[str, ...], list[GateRun] | str]:
        """Run the gates in a copy; return its mixed check files, and the runs or why there are none."""
        async with scratch_folder("copy") as folder:
            at = self._at
            copy = await self._workspace.copy(self._base, at.project, at.environment, version, folder)
            if copy.unseen:
                return (), copy.unseen
            if version is CopyVersion.OLD_CHECKS and not copy.checks:
                return (), []
            place = GateContext(
                project=copy.project,
                tree="",
                environment=environment_for_copies(copy.environment),
                hear=at.hear,
            )
            ended = []
            for run in runs:
                left = self._until - self._clock()
                if left <= 0:
                    return copy.checks, "there was no time left"
                if version is CopyVersion.NEW_CHECKS:  # a test that is new may hang on the old code
                    left = min(left, max(run.seconds * SLOWER_ON_OLD_CODE, LEAST_SECONDS))
                left = min(left, run.gate.seconds or left)
                ended.append(await run_gate_once(run.gate, place, left))
                if version in OF_THEN and _found_nothing(ended[-1]):
                    other = await asyncio.to_thread(_runner_of_then, run.gate, place)
                    ended[-1] = await run_gate_once(other, place, left) if other else ended[-1]
            return copy.checks, ended


def _found_nothing(run: GateRun) -> bool:
    return run.reason.startswith(NOTHING_EXECUTED) and not run.executed


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


CompareRuns = Callable[[Sequence[GateRun]], Awaitable[tuple[CheckComparison, ...]]]
"""Compares runs with their checks as they were: `OldChecks.compare` with all else given."""


async def find_weakenings(
    compare: CompareRuns, files: Sequence[FileChange], passed: Sequence[GateRun], asked: str
) -> tuple[IntegrityFinding, ...]:
    """Return what these changed files have against gates that passed. `asked`: as in `rate_comparison`."""
    found = relevant_findings(find_product_marks(files), {run.gate.kind for run in passed})
    if not passed or not may_bear_on_checks(files):
        return found
    upgraded = changes_dependencies(files)
    compared = await compare(passed)
    return (*found, *(one for seen in compared for one in rate_comparison(seen, asked, upgraded=upgraded)))
