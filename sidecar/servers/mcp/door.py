"""Where a connection begins to speak MCP. It knows neither the protocol nor the tools, and imports neither.

The method `mcp` is asked by the pipe (see pipe.py), which then waits: `{}` says that the next line is MCP's,
`{"leaving":true}` that another sidecar will be there soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct

from sidecar.ports import BadInputError
from sidecar.servers import wire
from sidecar.servers.connection import Connection
from sidecar.servers.control import Control, Peer, newer

if TYPE_CHECKING:
    from sidecar.servers.mcp.session import McpSpeaker
    from sidecar.servers.tools.toolbox import Toolbox

SPEAK: Final = b"{}"
LEAVING: Final = b'{"leaving":true}'


class Announced(Struct, frozen=True):
    """What a pipe says of itself. `resumed`: its host began the conversation with another sidecar."""

    version: str = ""
    resumed: bool = False


class McpDoor:
    """Lets connections speak MCP. `build` makes the tools; it is called in a thread, when the first comes."""

    def __init__(self, control: Control, build: Callable[[], Toolbox]) -> None:
        """Serve within the process that `control` speaks for."""
        self._control = control
        self._build = build
        self._speaker: asyncio.Future[McpSpeaker] | None = None

    async def open(self, params: Raw, peer: Peer) -> bytes:
        """Answer an announcement; a newer pipe gets a newer sidecar. Raises BadInputError."""
        announced = wire.read(params, Announced)
        if newer(announced.version, self._control.version):
            self._control.drain()
        if self._control.ending.is_set():
            return LEAVING
        if not isinstance(peer, Connection):
            raise BadInputError("this is no connection that could be handed over")
        speaker = await self._ready()
        peer.hand_over(speaker.resume if announced.resumed else speaker.speak)
        return SPEAK

    async def _ready(self) -> McpSpeaker:
        """Import and build once. Whoever comes meanwhile waits for the same; a failure is tried again."""
        if self._speaker is None or _failed(self._speaker):
            build = partial(_build, self._build, self._control.version)
            self._speaker = asyncio.get_running_loop().run_in_executor(None, build)
        return await asyncio.shield(self._speaker)


def _failed(speaker: asyncio.Future[McpSpeaker]) -> bool:
    return speaker.cancelled() or (speaker.done() and speaker.exception() is not None)


def _build(toolbox: Callable[[], Toolbox], version: str) -> McpSpeaker:
    from sidecar.servers.mcp.session import McpSpeaker  # noqa: PLC0415 - a second that no stop may wait for

    return McpSpeaker(toolbox(), version)
