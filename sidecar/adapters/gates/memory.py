"""What is remembered of earlier gate runs on the very same tree: passes, and that there was a failure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.gate import REMOTE, Gate, GateRun, Kind, Origin, Outcome
from sidecar.ports import Site

T = TypeVar("T")

REMEMBERED: Final = 256
"""Passes kept, and failures kept; of more, the one used longest ago is forgotten."""


class Circumstances(Struct, frozen=True, kw_only=True):
    """What must be equal for a pass to hold again. `tree` is never empty in a memory.

    `world` digests what is outside the tree; see `world`.
    """

    project: str
    tree: str
    command: str
    folder: str
    kind: Kind
    counts: bool
    least: float | None
    path: str
    virtual_env: str
    world: str


def circumstances(gate: Gate, at: Site, world: str = "") -> Circumstances:
    """Describe a run that is about to be."""
    return Circumstances(
        project=at.project,
        tree=at.tree,
        command=gate.command,
        folder=gate.folder,
        kind=gate.kind,
        counts=gate.counts,
        least=gate.least,
        path=at.environment.get("PATH", ""),
        virtual_env=at.environment.get("VIRTUAL_ENV", ""),
        world=world,
    )


def lasting(gate: Gate) -> bool:
    """Whether a pass of this gate may hold again at all.

    Not where it looks out of the tree: the pull request, CI, advisories that come by the hour; nor where
    somebody wrote a check of an unknown kind, for that may ask a server or a database.
    """
    if gate.kind in REMOTE or gate.kind is Kind.SECURITY:
        return False
    return gate.kind is not Kind.CHECK or gate.origin is Origin.DETECTED


class GateMemory:
    """Passes and failures by their circumstances, in memory."""

    def __init__(self, size: int = REMEMBERED) -> None:
        self._size = size
        self._passes: OrderedDict[Circumstances, GateRun] = OrderedDict()
        self._failures: OrderedDict[Circumstances, None] = OrderedDict()

    def recall(self, at: Circumstances, gate: Gate) -> GateRun | None:
        """An earlier pass, marked as cached."""
        if at not in self._passes:
            return None
        self._passes.move_to_end(at)
        return replace(self._passes[at], gate=gate, cached=True)

    def weigh(self, at: Circumstances, run: GateRun) -> GateRun:
        """Mark a pass as flaky where it had failed; remember a failure."""
        if not at.tree:
            return run
        if run.flaky or run.outcome is Outcome.FAILED:
            self._keep(self._failures, at, None)
        if run.outcome is Outcome.PASSED and at in self._failures:
            return replace(run, flaky=True)
        return run

    def keep(self, at: Circumstances, run: GateRun) -> None:
        """Remember a pass that is nothing but a pass."""
        if at.tree and run.outcome is Outcome.PASSED and not (run.flaky or run.moved or run.cached):
            self._keep(self._passes, at, run)

    def _keep(self, kept: OrderedDict[Circumstances, T], at: Circumstances, value: T) -> None:
        kept[at] = value
        kept.move_to_end(at)
        if len(kept) > self._size:
            kept.popitem(last=False)
