"""Agents that do what they are told, in this process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sidecar.ports import AgentRest, Errand

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Work = Callable[[Errand], Awaitable[AgentRest]]


class ScriptedAgents:
    """An AgentRunner: one work after the other, and the last one again and again. `errands` are those run."""

    def __init__(self, *work: Work) -> None:
        """Script the agents, in the order in which they are started."""
        self._work = work
        self.errands: list[Errand] = []

    async def run(self, errand: Errand, hear: Callable[[str], None]) -> AgentRest:
        """Run it once; what it says is heard when it rests."""
        self.errands.append(errand)
        work = self._work[min(len(self.errands), len(self._work)) - 1]
        try:
            async with asyncio.timeout(errand.seconds):
                rest = await work(errand)
        except TimeoutError:
            return AgentRest(trouble=f"it did not end within {errand.seconds:g} s")
        if rest.said:
            hear(rest.said)
        return rest
