"""Reports what a long call does, at once and then again and again; the reported number never decreases."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from sidecar.kernel.gate import Gate, GateRun
from sidecar.platform.ports import Clock
from sidecar.servers.tools.tool import ToolInvocation

BEAT_S: Final = 10.0
"""Seconds between two reports. OpenCode gives up after 60 s without one."""

T = TypeVar("T")


class CallProgress:
    """What a call does, told to its client."""

    def __init__(self, call: ToolInvocation) -> None:
        self._call = call
        self._done, self._total, self._what = 0.0, 0.0, ""
        self._reports: set[asyncio.Task[None]] = set()

    def tell_step(self, what: str) -> None:
        """Tell the next step; nobody knows how many there will be."""
        done = float(int(self._done) + 1)
        self._tell(done, done + 1, what)

    def tell_gate(self, ended: int, total: int, gate: Gate, run: GateRun | None) -> None:
        """Tell that a gate began (`run` is None) or ended; `ended` of `total` gates have ended."""
        self._tell(
            max(self._done, float(ended)), float(total), f"{gate.id}: {run.outcome if run else 'running'}"
        )

    def _tell(self, done: float, total: float, what: str) -> None:
        self._done, self._total, self._what = done, total, what
        self._reports.add(asyncio.create_task(self._report()))

    async def beat(self, clock: Clock) -> None:
        """Report again and again, each time half of the way closer to the next step."""
        while True:
            await clock.pause(BEAT_S)
            if self._total:
                self._done += (int(self._done) + 1 - self._done) / 2
                await self._report()

    async def _report(self) -> None:
        await self._call.report(self._done, self._total, self._what)

    async def end(self) -> None:
        """Wait until all is told."""
        await asyncio.gather(*self._reports)


async def with_progress(
    clock: Clock, call: ToolInvocation, work: Callable[[CallProgress], Awaitable[T]]
) -> T:
    """Do the work, which is given what it can tell of itself."""
    progress = CallProgress(call)
    beating = asyncio.create_task(progress.beat(clock))
    try:
        return await work(progress)
    finally:
        beating.cancel()
        await progress.end()
