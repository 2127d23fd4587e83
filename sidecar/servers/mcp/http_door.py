"""The address of MCP over HTTP: opened when somebody asks for it, and again by every later sidecar.

The laws of this file:

- Nobody who never asked for an address has an open port. Whoever asked once finds it open from then on, at
  the same port while that is free.
- Until the first request comes nothing heavy is imported: the kernel lets the first callers wait.
- A port that is taken is no reason to fail: whoever asks for an address is told, and the log says it.
- Only this machine reaches it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from sidecar.model.session import SessionKey
from sidecar.ports import Access, BadInputError
from sidecar.servers import wire
from sidecar.servers.control import Control, Peer
from sidecar.servers.mcp.access import PATH, Kept, Tokens

if TYPE_CHECKING:
    from sidecar.servers.mcp.http import HttpService
    from sidecar.servers.mcp.session import McpSpeaker

HOST: Final = "127.0.0.1"
WAITING: Final = 128
"""Callers that the kernel lets wait before they are accepted."""
DRAIN_S: Final = 2.0
"""Seconds that calls under way get to finish when the sidecar ends."""
CLOSING_S: Final = 1.0
"""Seconds that it takes at most to put the rest away."""

Name = Annotated[str, Meta(max_length=500)]

log = logging.getLogger(__name__)


class Asked(Struct, frozen=True):
    """For which session an address is asked; for any where both are empty."""

    host: Name = ""
    session: Name = ""


class HttpDoor:
    """The listening socket, and what is behind it."""

    def __init__(
        self,
        control: Control,
        ready: Callable[[], Awaitable[McpSpeaker]],
        kept: Kept,
        port: Callable[[], int],
    ) -> None:
        """`ready` gives what speaks MCP; `port` the port that the user wants, 0 for a free one."""
        self._control = control
        self._ready = ready
        self._kept = kept
        self._port = port
        self._tokens = Tokens(kept.token)
        self._listener: socket.socket | None = None
        self._opened = asyncio.Event()
        self._came = asyncio.Event()

    async def access(self, params: Raw, _peer: Peer) -> bytes:
        """Say where MCP is served and with which token; opens it where it is closed. Raises BadInputError."""
        asked = wire.read(params, Asked)
        if bool(asked.host) != bool(asked.session) or "/" in asked.host:
            raise BadInputError("name both the host and the session, or none of them")
        key = SessionKey(asked.host, asked.session)
        try:
            token = self._tokens.of_session(key) if asked.session else self._tokens.of_user()
            port = self._open()
        except OSError as error:
            raise BadInputError(f"MCP cannot be served over HTTP: {error.strerror or error}") from error
        self._came.set()
        return msgspec.json.encode(Access(f"http://{HOST}:{port}{PATH}", token))

    async def run(self) -> None:
        """Serve from the first request on, until the sidecar ends. Runs beside the serving of the socket."""
        if self._kept.port() or self._port():
            try:
                self._open()
            except (BadInputError, OSError) as error:
                log.warning("MCP over HTTP is closed: %s", error)
        while True:
            await self._opened.wait()
            try:
                await self._serve()
            except Exception:
                log.exception("MCP over HTTP is closed until somebody asks for its address")
            finally:
                self._close()

    def _open(self) -> int:
        """Listen, where we do not yet; the port. Raises BadInputError where that one is taken."""
        if self._listener is None:
            wanted = self._port()
            self._listener = _listening(wanted, self._kept.port())
            self._opened.set()
            port, last = _port_of(self._listener), self._kept.port()
            log.info("MCP is served over HTTP at port %d", port)
            if not wanted and last not in (0, port):
                log.warning(
                    "port %d is taken: whoever was told of it may show its token to a stranger there", last
                )
            self._remember(0 if wanted else port)
        return _port_of(self._listener)

    def _remember(self, port: int) -> None:
        try:
            if port not in (0, self._kept.port()):
                self._kept.remember(port)
        except OSError as error:
            log.warning("the next sidecar will serve MCP at another port: %s", error)

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._listener = None
        self._opened.clear()
        self._came.clear()

    async def _serve(self) -> None:
        if self._listener is None:
            return
        await self._first_request(self._listener)
        speaker = await self._ready()
        kind = await asyncio.to_thread(_service)
        service = kind(speaker, self._tokens, self._control)
        serving = asyncio.create_task(service.serve(self._listener, DRAIN_S))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            await asyncio.wait({serving}, timeout=DRAIN_S + CLOSING_S)
            serving.cancel()
            raise

    async def _first_request(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(listener, self._came.set)
        try:
            await self._came.wait()
        finally:
            loop.remove_reader(listener)


def _service() -> type[HttpService]:
    from sidecar.servers.mcp.http import HttpService  # noqa: PLC0415 - a wait that no stop may have

    return HttpService


def _listening(wanted: int, last: int) -> socket.socket:
    """Listen at the wanted port, else at the last one, else at a free one. Raises BadInputError, OSError."""
    if wanted:
        try:
            return _bound(wanted)
        except OSError as error:
            raise BadInputError(
                f"port {wanted} of {HOST} cannot be used ({error.strerror}). End the program that has it, or "
                "set another mcp_port in your config.toml, then: supervisor stop"
            ) from error
    try:
        return _bound(last)
    except OSError:
        return _bound(0)


def _bound(port: int) -> socket.socket:
    """Raises OSError."""
    # The protocol is named, as asyncio sends small answers at once only then.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(WAITING)
        found.settimeout(0)
    except BaseException:
        found.close()
        raise
    return found


def _port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port
