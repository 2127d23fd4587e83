"""The address of MCP over HTTP: opened when it is first requested, then by every later sidecar as well.

Rules of this module:

- No port is open before a user requests the address. From then on it is always open, at the same port while
  that is free.
- Until the first request nothing heavy is imported; the kernel queues the first connections.
- A taken port does not stop the sidecar: requests for the address fail, and it is logged.
- Only this machine can connect.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from sidecar.hosts.ports import McpAccess
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.platform.files import (
    FileFault,
    UnusableFileError,
    ensure_folder,
    read_whole,
    set_aside,
    write_whole,
)
from sidecar.platform.rpc import read_params
from sidecar.servers.control import Peer, SidecarControl
from sidecar.servers.loopback import DRAIN_S, LOOPBACK, bind_port, listener_port, serve_until_cancelled
from sidecar.servers.mcp.access import MCP_PATH, McpAccessStore, McpTokens

if TYPE_CHECKING:
    from sidecar.servers.mcp.http import McpHttpService
    from sidecar.servers.mcp.session import McpSpeaker


Name = Annotated[str, Meta(max_length=500)]

log = logging.getLogger(__name__)


class AccessRequest(Struct, frozen=True):
    """The session for which an address is requested; any session if both names are empty.

    `worker`: the iteration of one of several agents at work, else 0.
    """

    host: Name = ""
    session: Name = ""
    worker: int = 0


class McpHttpEndpoint:
    """The listening socket and the service behind it."""

    def __init__(
        self,
        control: SidecarControl,
        ready: Callable[[], Awaitable[McpSpeaker]],
        kept: McpAccessStore,
        port: Callable[[], int],
    ) -> None:
        """`ready` returns the MCP server, `port` the port that the user configured (0 for any free one)."""
        self._control = control
        self._ready = ready
        self._kept = kept
        self._port = port
        self._tokens = McpTokens(kept.token)
        self._listener: socket.socket | None = None
        self._opened = asyncio.Event()
        self._came = asyncio.Event()

    async def access(self, params: Raw, _peer: Peer) -> bytes:
        """Return the address and a token; opens the port if it is closed. Raises BadInputError."""
        asked = read_params(params, AccessRequest)
        if bool(asked.host) != bool(asked.session) or "/" in asked.host:
            raise BadInputError("name both the host and the session, or none of them")
        key = SessionKey(asked.host, asked.session)
        try:
            token = self._tokens.of_session(key, asked.worker) if asked.session else self._tokens.of_user()
            port = self._open()
        except OSError as error:
            raise BadInputError(f"MCP cannot be served over HTTP: {error.strerror or error}") from error
        self._came.set()
        return msgspec.json.encode(McpAccess(f"http://{LOOPBACK}:{port}{MCP_PATH}", token))

    async def run(self) -> None:
        """Serve from the first request until the sidecar ends, in parallel to its Unix socket."""
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
        """Listen unless already listening, and return the port. Raises BadInputError if it is taken."""
        if self._listener is None:
            wanted = self._port()
            self._listener = _open_listener(wanted, self._kept.port())
            self._opened.set()
            port, last = listener_port(self._listener), self._kept.port()
            log.info("MCP is served over HTTP at port %d", port)
            if not wanted and last not in (0, port):
                log.warning(
                    "port %d is taken: whoever was told of it may show its token to a stranger there", last
                )
            self._remember(0 if wanted else port)
        return listener_port(self._listener)

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
        kind = await asyncio.to_thread(_import_http_service)
        service = kind(speaker, self._tokens, self._control)
        await serve_until_cancelled(service.serve(self._listener, DRAIN_S))

    async def _first_request(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(listener, self._came.set)
        try:
            await self._came.wait()
        finally:
            loop.remove_reader(listener)


def _import_http_service() -> type[McpHttpService]:
    from sidecar.servers.mcp.http import McpHttpService  # noqa: PLC0415 - a wait that no stop may have

    return McpHttpService


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


# --- files of MCP over HTTP in the state folder: the user's token, and the port that was used last ----------
# An unusable file is set aside and created anew; addresses that were given out before are then invalid.


TOKEN_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]{32,200}")
PORT_PATTERN: Final = re.compile(r"[1-9][0-9]{0,4}")
LIMIT: Final = 400
"""Bytes that are read of a file."""
USER_TOKEN_MARK: Final = "svu_"  # noqa: S105 - no token
"""The beginning of a token, by which masking knows one (data/secrets/ours.toml)."""
TOKEN_BYTES: Final = 32
"""Random bytes in a token."""
HIGHEST_PORT: Final = 65535


class McpFiles:
    """The files `mcp-token` and `mcp-port` of a state folder."""

    def __init__(self, state: Path) -> None:
        self._token, self._port = state / "mcp-token", state / "mcp-port"

    def token(self) -> str:
        """Return the user's token, which is created on first use. Raises OSError."""
        try:
            return self._read(self._token, TOKEN_PATTERN)
        except FileNotFoundError:
            ensure_folder(self._token.parent)
            import secrets  # noqa: PLC0415 - made once for all time

            token = f"{USER_TOKEN_MARK}{secrets.token_urlsafe(TOKEN_BYTES)}"
            write_whole(self._token, f"{token}\n".encode(), durable=True)
            return token

    def port(self) -> int:
        """Return the port used last, 0 if none. Never raises."""
        try:
            return min(int(self._read(self._port, PORT_PATTERN)), HIGHEST_PORT)
        except OSError:
            return 0

    def remember(self, port: int) -> None:
        """Store the port for the next start. Raises OSError."""
        ensure_folder(self._port.parent)
        write_whole(self._port, b"%d\n" % port)

    def _read(self, path: Path, form: re.Pattern[str]) -> str:
        """Read a file. Raises OSError; FileNotFoundError also if the content was unusable and set aside."""
        try:
            found = read_whole(path, LIMIT).decode("ascii", "replace").strip()
        except UnusableFileError as error:
            set_aside(path, FileFault.UNREADABLE, str(error))
            raise FileNotFoundError(str(path)) from error
        if not form.fullmatch(found):
            set_aside(path, FileFault.CORRUPT, "not what was written there")
            raise FileNotFoundError(str(path))
        return found


def parse_mcp_port(text: str, fallback: int) -> int:
    """Return the port that the environment sets, else `fallback`."""
    return int(text) if PORT_PATTERN.fullmatch(text) and int(text) <= HIGHEST_PORT else fallback
