"""Runs of a scripted agent, and how their tests wait: for no time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from sidecar.hosts.acp.agent import AcpAgent
from sidecar.hosts.acp.link import PermissionLevel
from sidecar.hosts.ports import AgentResult, AgentTask, McpAccess
from support.acp_agent import DONE, GREETING, Script, Scripted, says

LIMIT_S: Final = 300.0
"""Bound of every wait here, in seconds of the loop's clock, which some tests move on."""
ACCESS: Final = McpAccess("http://127.0.0.1:4711/mcp", "svs.token")
ONCE: Final = {"optionId": "once", "kind": "allow_once", "name": "Once"}
WORKS: Final = [says("I write it. "), says("Done."), DONE]


class Driven:
    """One run of a scripted agent."""

    def __init__(
        self, folder: Path, script: Script, *, leave: PermissionLevel = PermissionLevel.EDITS
    ) -> None:
        self.agent = Scripted(folder, script)
        self.runner = AcpAgent(self.agent.command, leave)
        self.folder = folder
        self.heard: list[str] = []

    async def run(
        self,
        *,
        prompt: str = "Work.",
        access: McpAccess | None = None,
        seconds: float = LIMIT_S,
        hear: Callable[[str], None] | None = None,
    ) -> AgentResult:
        errand = AgentTask(
            prompt=prompt,
            project=str(self.folder),
            environment={"PATH": os.environ["PATH"]},
            seconds=seconds,
            access=access,
        )
        async with asyncio.timeout(LIMIT_S):
            return await self.runner.run(errand, hear or self.heard.append)


def prompted(*steps: Any) -> Script:
    return {**GREETING, "session/prompt": steps}


class Held:
    """A named pipe that an agent's child holds open."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._taken = False

    async def let_go(self) -> None:
        """Wait until somebody held it, and nobody does any more."""
        await self.taken()
        assert await self._next() == b""

    async def taken(self) -> None:
        """Wait until somebody holds it."""
        if not self._taken:
            self._taken = await self._next() == b"here"
        assert self._taken

    async def _next(self) -> bytes:
        readable = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._end, readable.set)
        try:
            async with asyncio.timeout(LIMIT_S):
                await readable.wait()
        finally:
            loop.remove_reader(self._end)
        return os.read(self._end, 100)

    def close(self) -> None:
        os.close(self._end)


def jump(seconds: float) -> None:
    """Move the running loop's clock on."""
    loop = asyncio.get_running_loop()
    real = loop.time
    loop.time = lambda: real() + seconds  # type: ignore[method-assign]
