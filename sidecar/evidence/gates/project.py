"""Implements the gate runner: local checks, and pull request and CI where a code host is configured.

`runner` runs single gates and batches of them, `outcome` decides what their end means, and `cache` remembers
passes and digests what a pass depends on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sidecar.evidence.gates import runner as gate_run
from sidecar.evidence.gates.cache import (
    Circumstances,
    GateMemory,
    describe_circumstances,
    digest_run_environment,
    may_reuse_pass,
)
from sidecar.evidence.gates.runner import BatchDependencies, GateBatchRunner
from sidecar.evidence.ports import CopyVersion, GateContext, GateProgressCallback, RemoteGates, Workspace
from sidecar.kernel.gate import REMOTE_GATE_KINDS, Gate, GateRun, Outcome
from sidecar.platform.scratch import scratch_folder


class ProjectGates:
    """Implements `GateRunner`."""

    def __init__(
        self,
        memory: GateMemory | None = None,
        workspace: Workspace | None = None,
        code_host: RemoteGates | None = None,
    ) -> None:
        """`workspace` tells what moves while gates run; without it, the files count as unchanged."""
        self._code_host, self._workspace = code_host, workspace
        hands = BatchDependencies(
            once=self._once,
            key=_pass_circumstances,
            memory=memory or GateMemory(),
            look=workspace.fingerprint if workspace else None,
            touched=workspace.touched if workspace else None,
            copied=self._in_copy,
        )
        self._batches = GateBatchRunner(hands)

    async def run(
        self,
        gates: Sequence[Gate],
        at: GateContext,
        seconds: float,
        progress: GateProgressCallback | None = None,
    ) -> tuple[GateRun, ...]:
        return await self._batches.run(gates, at, seconds, progress)

    async def _in_copy(self, gate: Gate, at: GateContext, seconds: float) -> GateRun:
        """Run a gate on a copy of today's files, of which nothing but the gate itself knows the place."""
        unable = GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree)
        if self._workspace is None:
            return unable
        async with scratch_folder("copy") as folder:
            copy = await self._workspace.copy(at.base, at.project, at.environment, CopyVersion.NOW, folder)
            if copy.unseen:
                return unable
            place = GateContext(project=copy.project, tree="", environment=copy.environment, hear=at.hear)
            return await gate_run.run_gate_once(gate, place, seconds)

    async def _once(self, gate: Gate, at: GateContext, seconds: float) -> GateRun:
        if gate.kind not in REMOTE_GATE_KINDS:
            return await gate_run.run_gate_once(gate, at, seconds)
        if self._code_host is None:
            reason = "nothing is set up to ask the remote"
            return GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree, reason=reason)
        return await self._code_host.run(gate, at, seconds)


async def _pass_circumstances(gate: Gate, at: GateContext) -> Circumstances | None:
    """Compute what a pass depends on, in a thread because it reads many files."""
    if not may_reuse_pass(gate):
        return None
    return describe_circumstances(gate, at, await asyncio.to_thread(digest_run_environment, gate, at))
