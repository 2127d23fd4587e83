"""What is remembered of earlier gate runs on the very same tree: passes, and that there was a failure."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.gate import Gate, GateRun, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

REMEMBERED: Final = 256
"""Passes kept, and failures kept; of more, the one used longest ago is forgotten."""


class Circumstances(Struct, frozen=True):
    """What must be equal for a pass to hold again. `tree` is never empty in a memory."""

    project: str
    tree: str
    command: str
    counts: bool
    path: str
    virtual_env: str


def circumstances(gate: Gate, project: str, tree: str, environment: Mapping[str, str]) -> Circumstances:
    """Describe a run that is about to be."""
    path, virtual_env = environment.get("PATH", ""), environment.get("VIRTUAL_ENV", "")
    return Circumstances(project, tree, gate.command, gate.counts, path, virtual_env)


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

    def note(self, at: Circumstances, run: GateRun) -> GateRun:
        """Remember a run; it comes back marked as flaky if it passed where it had failed."""
        if not at.tree:
            return run
        if run.outcome is Outcome.FAILED:
            self._keep(self._failures, at, None)
        if run.outcome is Outcome.PASSED:
            run = replace(run, flaky=at in self._failures)
            self._keep(self._passes, at, run)
        return run

    def _keep(self, kept: OrderedDict[Circumstances, T], at: Circumstances, value: T) -> None:
        kept[at] = value
        kept.move_to_end(at)
        if len(kept) > self._size:
            kept.popitem(last=False)
