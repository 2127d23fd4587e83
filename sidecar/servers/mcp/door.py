"""Starts MCP on the socket and over HTTP, without importing the protocol or the tools before they are used.

- The pipe calls the method `mcp` (see pipe.py) and waits for the answer: `{}` means that the next line is
  MCP, `{"leaving":true}` that another sidecar will start soon. The method `toolsets` says that the user may
  have switched toolsets on or off. So does a change in the configuration folder, as users may edit the file.
- No port is open before a user requests the address of MCP over HTTP. From then on it is always open, at the
  same port while that is free, for every later sidecar as well. Only this machine can connect.
- Until the first request nothing heavy is imported; the kernel queues the first connections.
- A taken port does not stop the sidecar: requests for the address fail, and it is logged.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.ports import AccessRequest, McpAccess
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.orders import Giver
from sidecar.kernel.session import SessionKey
from sidecar.platform.installation import is_newer_version
from sidecar.platform.ports import FileWatcher
from sidecar.platform.rpc import read_params
from sidecar.servers.control import Peer, SidecarControl
from sidecar.servers.loopback import (
    DRAIN_S,
    LOOPBACK,
    LoopbackPort,
    bind_port,
    listener_port,
    serve_until_cancelled,
)
from sidecar.servers.mcp.access import MCP_PATH, McpFiles, McpTokens
from sidecar.servers.tools.tool import Caller

if TYPE_CHECKING:
    from sidecar.servers.mcp.http import McpHttpService
    from sidecar.servers.mcp.session import McpSpeaker
    from sidecar.servers.tools.toolbox import Toolbox

SPEAK_ANSWER: Final = b"{}"
LEAVING_ANSWER: Final = b'{"leaving":true}'

MakeWatch = Callable[[Callable[[], object]], FileWatcher]
"""Creates a watcher that calls back from a thread of its own."""


AdmitToken = Callable[[str], Caller | None]
"""Returns the caller that a token admits, None if it is invalid."""


class PipeAnnouncement(Struct, frozen=True):
    """The parameters with which a pipe opens a conversation.

    `resumed`: its host began the conversation with another sidecar. `token`: that of its session, "" if the
    host's plugin names a session in each call.
    """

    version: str = ""
    resumed: bool = False
    token: str = ""


class McpHandler:
    """Lets connections speak MCP. `build` creates the tools; a thread calls it for the first client."""

    def __init__(self, control: SidecarControl, build: Callable[[], Toolbox], admit: AdmitToken) -> None:
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
        caller = self._caller(announced.token, peer.pid)
        speaker = await self.ready()
        peer.hand_over(partial(speaker.speak, caller, resumed=announced.resumed))
        return SPEAK_ANSWER

    def _caller(self, token: str, pid: int) -> Caller:
        """Return the caller; whether a person can be asked over a pipe is told by its process alone.

        The user's own token calls for any session, from whatever process, as over HTTP.
        """
        caller = self._admit(token) if token else Caller()
        if caller is None:
            raise BadInputError("$SUPERVISOR_MCP_TOKEN lets nobody in: it was taken back, or it is not ours")
        alone = token and caller.bound is None
        return replace(caller, pid=0 if alone else pid, person=False)

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
        await self._stirred.wait()
        watch = watching(lambda: loop.call_soon_threadsafe(self._stirred.set))
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

    speaker = McpSpeaker(toolbox(), control.version, control.ending)
    control.tool_calls = speaker.calls
    return speaker


# --- over HTTP ----------------------------------------------------------------------------------------------


log = logging.getLogger(__name__)


class McpHttpEndpoint:
    """The listening socket and the service behind it."""

    def __init__(
        self,
        control: SidecarControl,
        ready: Callable[[], Awaitable[McpSpeaker]],
        kept: McpFiles,
        port: Callable[[], int],
        giver: Callable[[SessionKey, int], Giver],
    ) -> None:
        """`ready` returns the MCP server, `port` the port that the user configured (0 for any free one).

        `giver` says who asks for the token of a session: which process. It raises BadInputError for an agent.
        """
        self._control = control
        self._giver = giver
        self._ready = ready
        self._kept = kept
        self._port = port
        self._tokens = McpTokens(kept.token)
        self._http = LoopbackPort("MCP over HTTP", self._serve)
        self._came = asyncio.Event()

    async def access(self, asked: AccessRequest, peer: Peer) -> McpAccess:
        """Return the address and a token; opens the port if it is closed. Raises BadInputError.

        An agent gets none, and what may be one gets none by which a person could be asked.
        """
        if bool(asked.host) != bool(asked.session) or "/" in asked.host:
            raise BadInputError("name both the host and the session, or none of them")
        key = SessionKey(asked.host, asked.session)
        person = self._giver(key, peer.pid) is Giver.USER
        try:
            token = (
                self._tokens.of_session(key, asked.worker, person=person)
                if asked.session
                else self._tokens.of_user(person=person)
            )
            port = self._http.open(self._bind)
        except OSError as error:
            raise BadInputError(f"MCP cannot be served over HTTP: {error.strerror or error}") from error
        self._came.set()
        return McpAccess(f"http://{LOOPBACK}:{port}{MCP_PATH}", token)

    async def run(self) -> None:
        """Serve from the first request until the sidecar ends, in parallel to its Unix socket."""
        if self._kept.port() or self._port():
            try:
                self._http.open(self._bind)
            except (BadInputError, OSError) as error:
                log.warning("MCP over HTTP is closed: %s", error)
        await self._http.run()

    def _bind(self) -> socket.socket:
        """Listen at the port of the settings, else the last one, else a free one. Raises as `bind_port`."""
        wanted, last = self._port(), self._kept.port()
        listener = _open_listener(wanted, last)
        port = listener_port(listener)
        if not wanted and last not in (0, port):
            log.warning("port %d is taken: whoever knows it may show its token to a stranger there", last)
        try:
            if not wanted and port != last:
                self._kept.remember(port)
        except OSError as error:
            log.warning("the next sidecar will serve MCP at another port: %s", error)
        return listener

    async def _serve(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(listener, self._came.set)
        try:
            await self._came.wait()
        finally:
            loop.remove_reader(listener)  # before the server closes it
            self._came.clear()
        speaker = await self._ready()  # importing is a wait that no stop may have
        http = await asyncio.to_thread(importlib.import_module, "sidecar.servers.mcp.http")
        service: McpHttpService = http.McpHttpService(speaker, self._tokens, self._control)
        await serve_until_cancelled(service.serve(listener, DRAIN_S))


def _open_listener(wanted: int, last: int) -> socket.socket:
    """Listen at the wanted port, else the last one, else a free one. Raises BadInputError, OSError."""
    if wanted:
        try:
            return bind_port(wanted)
        except OSError as error:
            raise BadInputError(
                f"port {wanted} of {LOOPBACK} cannot be used ({error.strerror}). "
                "End the program that has it, or set another mcp_port in your config.toml, "
                "then: supervisor stop"
            ) from error
    try:
        return bind_port(last)
    except OSError:
        return bind_port(0)
