"""Runs checks as they were at the baseline on today's code, in copies of the project.

These runs make a comparison, and most stops need one or none:

    old checks, new code     when a file that bears on a check changed and the gate passes
    old checks, old code     when that fails, or proof is wanted: whether it failed when the work began
    new checks, new code     in a copy, when that fails: whether a copy can run the checks at all
    the new product alone    where proof is wanted and it failed: whether the product was repaired
    new checks, old code     where proof is wanted and it passed, or still fails as it did: whether new checks
                             fail there

Two copies of the same files are one run, which is remembered. Where nothing but the product changed, the run
that passed is that of the new product alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.gates.cache import GateMemory
from sidecar.evidence.ports import CopyVersion, GateContext, Workspace
from sidecar.evidence.proof.check_files import (
    changes_dependencies,
    find_product_marks,
    is_runner_setting,
    may_bear_on_checks,
)
from sidecar.evidence.proof.copies import CopiedRuns, ScratchRuns
from sidecar.evidence.proof.policy import (
    checks_gone,
    fails_by_assertion,
    is_named,
    rate_comparison,
    relevant_findings,
)
from sidecar.evidence.proof.trials import try_gate
from sidecar.kernel.effects import Wanted
from sidecar.kernel.evidence import FileChange, IntegrityFinding
from sidecar.kernel.gate import REMOTE_GATE_KINDS, CheckComparison, CheckTrial, GateRun, Outcome
from sidecar.platform.slots import WorkSlots

TRIAL_RUNS: Final = 2
"""Runs by which a gate is tried."""
NOT_LOADED: Final = "it cannot be loaded or built: "
TOO_LITTLE_COVERED: Final = "overage"


class ScratchChecks:
    """Implements `OldChecks`."""

    def __init__(
        self, workspace: Workspace, memory: GateMemory | None = None, slots: WorkSlots | None = None
    ) -> None:
        """Copy files with this workspace. Without `slots` no run waits for another."""
        self._workspace, self._memory, self._slots = workspace, memory or GateMemory(), slots

    async def compare(
        self, at: GateContext, runs: Sequence[GateRun], seconds: float, wanted: Wanted = Wanted.NOTHING
    ) -> tuple[CheckComparison, ...]:
        """Compare these runs, one after the other, in `seconds` altogether."""
        local = [run for run in runs if run.gate.kind not in REMOTE_GATE_KINDS]
        async with ScratchRuns(self._workspace, at, seconds, self._memory, self._slots) as copies:
            return await _compare(copies, local, proof=wanted is Wanted.PROOF) if local else ()

    async def run_base(self, at: GateContext, runs: Sequence[GateRun], seconds: float) -> tuple[GateRun, ...]:
        """Run these gates on the files of the baseline, one after the other, in `seconds` altogether."""
        async with ScratchRuns(self._workspace, at, seconds, self._memory, self._slots) as copies:
            return tuple((await copies.run(CopyVersion.BASE, runs)).runs.values())

    async def try_to_fail(
        self, at: GateContext, runs: Sequence[GateRun], seconds: float
    ) -> tuple[CheckTrial, ...]:
        """Try in copies whether each of these gates could fail at all, but those that took longer."""
        most = TRIAL_RUNS * seconds
        async with ScratchRuns(self._workspace, at, most, self._memory, self._slots) as copies:
            return tuple(
                [
                    CheckTrial(now=run, unseen=f"it takes longer than {seconds:g} s")
                    if run.seconds > seconds
                    else await try_gate(copies, run)
                    for run in runs
                    if run.gate.kind not in REMOTE_GATE_KINDS
                ]
            )


async def _compare(
    copies: ScratchRuns, runs: Sequence[GateRun], *, proof: bool
) -> tuple[CheckComparison, ...]:
    before = await copies.run(CopyVersion.BASE, runs) if proof else CopiedRuns()
    copies.base = replace(copies.base, checks=before.reporting)
    old = await copies.run(CopyVersion.OLD_CHECKS, runs)
    if not old.files and not old.unseen and not proof:
        return ()
    if not old.files and not old.unseen:  # no check changed
        old = CopiedRuns(runs={run.gate.id: run for run in runs})
    ended = old.runs
    ended |= (await copies.run(CopyVersion.ADDED_CHECKS, _uncovered(runs, ended))).runs
    failing = [run for run in runs if _ended(ended, run) not in (None, Outcome.PASSED)]
    base = before.runs if proof else (await copies.run(CopyVersion.BASE, failing)).runs
    red = [run for run in runs if proof and _ended(base, run) is Outcome.FAILED]
    green = [run for run in runs if proof and old.files and _ended(base, run) is Outcome.PASSED]
    late = [run for run in red if old.files and run.outcome is Outcome.FAILED]
    copied = (await copies.run(CopyVersion.NOW, failing)).runs
    product = (await copies.run(CopyVersion.PRODUCT_ALONE, red)).runs
    fresh = (await copies.run(CopyVersion.NEW_CHECKS, [*green, *late])).runs
    seen = (
        CheckComparison(
            now=_with_noticed(run, base.get(name), fresh.get(name)) if run in late else run,
            files=old.files,
            absent=tuple(path for path in old.absent if not is_runner_setting(path)),
            old=ended.get(name),
            base=base.get(name),
            copy=_with_names_of(copied.get(name), ended.get(name)),
            fresh=fresh.get(name) if run in green else None,
            product=_as_evidence(product.get(name)),
            unseen="" if name in ended else old.unseen,
        )
        for run in runs
        for name in (run.gate.id,)
    )
    return tuple(replace(one, gone=checks_gone(one)) for one in seen)


def _with_noticed(now: GateRun, base: GateRun | None, fresh: GateRun | None) -> GateRun:
    """Note the tests that fail on the old code alone; none where no more of them run than did then."""
    if base is None or fresh is None or (now.executed or 0) <= (base.executed or 0):
        return now
    alone = (name for name in fresh.failing if name not in (*now.failing, *base.failing))
    return replace(now, noticed=tuple(alone))


def _ended(runs: dict[str, GateRun], run: GateRun) -> Outcome | None:
    return runs[run.gate.id].outcome if run.gate.id in runs else None


def _uncovered(runs: Iterable[GateRun], ended: dict[str, GateRun]) -> list[GateRun]:
    """Return those whose old checks fail by nothing but too little coverage: added tests count for it."""
    failed = ((run, ended[run.gate.id].failing) for run in runs if run.gate.id in ended)
    return [run for run, names in failed if names and all(TOO_LITTLE_COVERED in name for name in names)]


def _with_names_of(run: GateRun | None, old: GateRun | None) -> GateRun | None:
    """Of the tests that ran, keep the names that `gone` asks for."""
    if run is None or old is None or run.ran is None:
        return run
    return replace(run, ran=tuple(name for name in run.ran if is_named(name, old.failing)))


def _as_evidence(product: GateRun | None) -> GateRun | None:
    """Take a replay that could not be loaded or built for none."""
    if product is None or product.outcome is not Outcome.FAILED:
        return product
    if any(fails_by_assertion(product, name) for name in product.failing):
        return product
    why = next(iter((*product.failures, *product.failing)), product.reason)
    return replace(product, outcome=Outcome.COULD_NOT_RUN, reason=f"{NOT_LOADED}{why}")


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
