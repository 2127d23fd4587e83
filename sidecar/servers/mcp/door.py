"""Starts MCP on a connection to the sidecar's socket, without importing the protocol or the tools.

The pipe calls the method `mcp` (see pipe.py) and waits for the answer: `{}` means that the next line is MCP,
`{"leaving":true}` that another sidecar will start soon. The method `toolsets` says that the user may have
switched toolsets on or off. So does a change in the configuration folder, as users may edit the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform.ports import FileWatcher
from sidecar.platform.rpc import read_params
from sidecar.servers.control import Peer, SidecarControl, is_newer_version
from sidecar.servers.tools.tool import Caller

if TYPE_CHECKING:
    from sidecar.servers.mcp.session import McpSpeaker
    from sidecar.servers.tools.toolbox import Toolbox


SPEAK_ANSWER: Final = b"{}"
LEAVING_ANSWER: Final = b'{"leaving":true}'

MakeWatch = Callable[[Callable[[], None]], FileWatcher]
"""Creates a watcher that calls back from a thread of its own."""


AdmitToken = Callable[[str], Caller | None]
"""Returns the caller that a token admits, None if it is invalid."""


def admit_nobody(_token: str) -> None:
    """Reject every token."""


class PipeAnnouncement(Struct, frozen=True):
    """The parameters with which a pipe opens a conversation.

    `resumed`: its host began the conversation with another sidecar. `project`: the folder that its host works
    in, "" if unknown. `token`: that of its session, "" if the host's plugin names a session in each call.
    """

    version: str = ""
    resumed: bool = False
    project: str = ""
    token: str = ""


class McpHandler:
    """Lets connections speak MCP. `build` creates the tools; a thread calls it for the first client."""

    def __init__(
        self, control: SidecarControl, build: Callable[[], Toolbox], admit: AdmitToken = admit_nobody
    ) -> None:
        """Serve within the process that `control` represents. `admit` checks tokens."""
        self._control = control
        self._admit = admit
        self._build = build
        self._speaker: asyncio.Future[McpSpeaker] | None = None
        self._stirred = asyncio.Event()

    async def open(self, params: Raw, peer: Peer) -> bytes:
        """Answer a pipe's announcement; a newer pipe gets a newer sidecar. Raises BadInputError."""
        announced = read_params(params, PipeAnnouncement)
        if is_newer_version(announced.version, self._control.version):
            self._control.drain()
        if self._control.ending.is_set():
            return LEAVING_ANSWER
        caller = self._caller(announced)
        speaker = await self.ready()
        peer.hand_over(partial(speaker.speak, caller, resumed=announced.resumed))
        return SPEAK_ANSWER

    def _caller(self, announced: PipeAnnouncement) -> Caller:
        if not announced.token:
            return Caller(project=announced.project)
        caller = self._admit(announced.token)
        if caller is None:
            raise BadInputError("$SUPERVISOR_MCP_TOKEN lets nobody in: it was taken back, or it is not ours")
        return caller if caller.bound else Caller(project=announced.project)

    async def toolsets(self, _params: Raw, _peer: Peer) -> bytes:
        """Notify clients if the set of available tools has changed."""
        await self._look_again()
        return b"{}"

    async def ready(self) -> McpSpeaker:
        """Import and build once; concurrent callers wait for the same result. A failure is retried."""
        if self._speaker is None or _has_build_failed(self._speaker):
            build = partial(_build_speaker, self._build, self._control)
            self._speaker = asyncio.get_running_loop().run_in_executor(None, build)
            self._speaker.add_done_callback(lambda _: self._stirred.set())
        return await asyncio.shield(self._speaker)

    async def watch(self, watching: MakeWatch, folders: Collection[Path]) -> None:
        """Check the tools after every change in these folders, once a client has come. Ends if cancelled."""
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
        """Notify clients of changed tools. Without an MCP client so far, there is nobody to notify."""
        if self._speaker is not None and not _has_build_failed(self._speaker):
            await (await self.ready()).look_again()


def _has_build_failed(speaker: asyncio.Future[McpSpeaker]) -> bool:
    return speaker.cancelled() or (speaker.done() and speaker.exception() is not None)


def _build_speaker(toolbox: Callable[[], Toolbox], control: SidecarControl) -> McpSpeaker:
    from sidecar.servers.mcp.session import McpSpeaker  # noqa: PLC0415 - a second that no stop may wait for

    return McpSpeaker(toolbox(), control.version, control.ending)
