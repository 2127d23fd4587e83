"""Where a connection begins to speak MCP. It knows neither the protocol nor the tools, and imports neither.

The method `mcp` is asked by the pipe (see pipe.py), which then waits: `{}` says that the next line is MCP's,
`{"leaving":true}` that another sidecar will be there soon. The method `toolsets` says that the user may have
switched some on or off; so does the folder of the configuration, for whoever edits the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct

from sidecar.ports import BadInputError, Watch
from sidecar.servers import wire
from sidecar.servers.control import Control, Peer, newer
from sidecar.servers.tools.tool import Caller

if TYPE_CHECKING:
    from sidecar.servers.mcp.session import McpSpeaker
    from sidecar.servers.tools.toolbox import Toolbox

SPEAK: Final = b"{}"
LEAVING: Final = b'{"leaving":true}'

Watching = Callable[[Callable[[], None]], Watch]
"""Makes a watch that calls back from a thread of its own."""


Admit = Callable[[str], Caller | None]
"""Whom a token lets in, None for nobody."""


def nobody(_token: str) -> None:
    """Let no token in."""


class Announced(Struct, frozen=True):
    """What a pipe says of itself.

    `resumed`: its host began the conversation with another sidecar. `project`: the folder that its host works
    in, "" where it does not say. `token`: of the session that it is for, "" where its host's plugin says in
    each call whose it is.
    """

    version: str = ""
    resumed: bool = False
    project: str = ""
    token: str = ""


class McpDoor:
    """Lets connections speak MCP. `build` makes the tools; it is called in a thread, when the first comes."""

    def __init__(self, control: Control, build: Callable[[], Toolbox], admit: Admit = nobody) -> None:
        """Serve within the process that `control` speaks for. `admit` says whom a token lets in."""
        self._control = control
        self._admit = admit
        self._build = build
        self._speaker: asyncio.Future[McpSpeaker] | None = None
        self._stirred = asyncio.Event()

    async def open(self, params: Raw, peer: Peer) -> bytes:
        """Answer an announcement; a newer pipe gets a newer sidecar. Raises BadInputError."""
        announced = wire.read(params, Announced)
        if newer(announced.version, self._control.version):
            self._control.drain()
        if self._control.ending.is_set():
            return LEAVING
        caller = self._caller(announced)
        speaker = await self.ready()
        peer.hand_over(partial(speaker.speak, caller, resumed=announced.resumed))
        return SPEAK

    def _caller(self, announced: Announced) -> Caller:
        if not announced.token:
            return Caller(project=announced.project)
        caller = self._admit(announced.token)
        if caller is None:
            raise BadInputError("$SUPERVISOR_MCP_TOKEN lets nobody in: it was taken back, or it is not ours")
        return caller if caller.bound else Caller(project=announced.project)

    async def toolsets(self, _params: Raw, _peer: Peer) -> bytes:
        """Tell clients where other tools are switched on than before."""
        await self._look_again()
        return b"{}"

    async def ready(self) -> McpSpeaker:
        """Import and build once. Whoever comes meanwhile waits for the same; a failure is tried again."""
        if self._speaker is None or _failed(self._speaker):
            build = partial(_build, self._build, self._control)
            self._speaker = asyncio.get_running_loop().run_in_executor(None, build)
            self._speaker.add_done_callback(lambda _: self._stirred.set())
        return await asyncio.shield(self._speaker)

    async def watch(self, watching: Watching, folders: Collection[Path]) -> None:
        """Look again whenever these folders change, from the first client on. Runs beside the serving."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._stirred.set)

        await self._stirred.wait()
        watch = watching(wake)
        try:
            await asyncio.to_thread(watch.look_at, folders)  # a folder of a network may hang
            while True:
                self._stirred.clear()
                await self._look_again()
                await self._stirred.wait()
        finally:
            watch.close()

    async def _look_again(self) -> None:
        """Where nobody speaks MCP yet, nobody was told of any tools."""
        if self._speaker is not None and not _failed(self._speaker):
            await (await self.ready()).look_again()


def _failed(speaker: asyncio.Future[McpSpeaker]) -> bool:
    return speaker.cancelled() or (speaker.done() and speaker.exception() is not None)


def _build(toolbox: Callable[[], Toolbox], control: Control) -> McpSpeaker:
    from sidecar.servers.mcp.session import McpSpeaker  # noqa: PLC0415 - a second that no stop may wait for

    return McpSpeaker(toolbox(), control.version, control.ending)
