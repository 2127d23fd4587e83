"""Runs the project's own checks, the pull request and CI among them where somebody can ask for those.

How gates run together is in `batch`, one run in `run`, what its end means in `outcome`, what is remembered in
`memory`, and what a pass depends on in `world`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from sidecar.adapters.gates import run as gate_run
from sidecar.adapters.gates.batch import Batches, Hands, Look
from sidecar.adapters.gates.memory import Circumstances, GateMemory, circumstances, lasting
from sidecar.adapters.gates.world import world
from sidecar.model.gate import REMOTE, Gate, GateRun, Outcome
from sidecar.ports import Progress, Site


class Forge(Protocol):
    """Asks the place where the repository is hosted."""

    async def run(self, gate: Gate, site: Site, seconds: float) -> GateRun:
        """Look at the pull request or its checks; never raises but when cancelled."""


class ProjectGates:
    """Implements `GateRunner`."""

    def __init__(
        self, memory: GateMemory | None = None, look: Look | None = None, forge: Forge | None = None
    ) -> None:
        """`look` tells the tree as it is now; without it the caller's word holds for the whole run."""
        self._forge = forge
        hands = Hands(once=self._once, key=_key, memory=memory or GateMemory(), look=look)
        self._batches = Batches(hands)

    async def run(
        self, gates: Sequence[Gate], at: Site, seconds: float, progress: Progress | None = None
    ) -> tuple[GateRun, ...]:
        return await self._batches.run(gates, at, seconds, progress)

    async def _once(self, gate: Gate, at: Site, seconds: float) -> GateRun:
        if gate.kind not in REMOTE:
            return await gate_run.once(gate, at, seconds)
        if self._forge is None:
            reason = "nothing is set up to ask the remote"
            return GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree, reason=reason)
        return await self._forge.run(gate, at, seconds)


async def _key(gate: Gate, at: Site) -> Circumstances | None:
    """In a thread, for it looks at many files."""
    if not lasting(gate):
        return None
    return circumstances(gate, at, await asyncio.to_thread(world, gate, at))
