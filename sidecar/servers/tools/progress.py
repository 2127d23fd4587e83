"""How far a run of checks is, for whoever waits: hosts give up on a call of which they hear nothing."""

from __future__ import annotations

import asyncio
from typing import Final

from sidecar.model.gate import Gate, GateRun
from sidecar.ports import Clock
from sidecar.servers.tools.tool import Call

BEAT_S: Final = 10.0
"""Seconds between two signs of life. OpenCode gives up after 60 without one."""


class Progress:
    """Tells how far the checks are, and the same again from time to time; what is told never falls."""

    def __init__(self, call: Call, telling: asyncio.TaskGroup) -> None:
        """Tell whoever made the `call`, in tasks of `telling`."""
        self._call = call
        self._telling = telling
        self._done, self._total, self._what = 0.0, 0.0, ""

    def tell(self, ended: int, total: int, gate: Gate, run: GateRun | None) -> None:
        """A gate began (None) or ended; `ended` of `total` have ended."""
        self._done, self._total = max(self._done, float(ended)), float(total)
        self._what = f"{gate.id}: {run.outcome if run else 'running'}"
        self._telling.create_task(self._report())

    async def beat(self, clock: Clock) -> None:
        """Go half of the way to the next end, again and again."""
        while True:
            await clock.pause(BEAT_S)
            if self._total:
                self._done += (int(self._done) + 1 - self._done) / 2
                await self._report()

    async def _report(self) -> None:
        await self._call.report(self._done, self._total, self._what)
