"""MCP over Streamable HTTP, on a socket that already listens. Only this file uses uvicorn and starlette.

Rules of this module:

- Every request needs a token; without one only its head is read, limited in size (16 KiB, by h11) and time.
  The connections that have sent no whole head yet are limited among themselves: the newest takes the place of
  the oldest, so that they keep nobody out. All peers are this machine, so their addresses tell nothing. The
  MCP package refuses requests from web pages of other machines or under another machine's name.
- An MCP session belongs to the token that started it.
- If a client disconnects, its calls are cancelled, in every version of the protocol. Answers are not stored
  for later.
- Everything is limited: connections, sessions and their idle time, bodies, calls, and the time to shut down.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from sidecar.servers.control import SidecarControl
from sidecar.servers.mcp.access import CALL_LIMIT, HTTP_BACKLOG, MCP_PATH, REQUEST_KEY, McpRequest, McpTokens
from sidecar.servers.mcp.lines import TOOLS_CHANGED
from sidecar.servers.tools.tool import Caller

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from sidecar.servers.mcp.session import McpSpeaker


LOCAL_NAMES: Final = ("127.0.0.1", "127.0.0.1:*", "localhost", "localhost:*", "[::1]", "[::1]:*")
"""Host names of this machine."""
BODY_BYTES: Final = 4 * 1024 * 1024
"""Maximum size in bytes of a request body."""
SESSION_LIMIT: Final = 512
"""Maximum number of concurrent MCP sessions."""
CONNECTION_LIMIT: Final = 600
"""Maximum number of connections that have sent a request. A process may open some thousand files, and hooks
need some of them too."""
IDLE_S: Final = 1800
"""Seconds after which a session without requests and open streams is closed."""
HEAD_S: Final = 10
"""Seconds within which a new connection must send the head of a request."""
HEADLESS_LIMIT: Final = 2 * HTTP_BACKLOG
"""Connections that may wait at once for the head of their first request. What is accepted in two turns of the
event loop has room, so that a head that comes with its connection is read before newer ones crowd it out."""
KEEP_ALIVE_S: Final = 60
"""Seconds that an idle connection stays open for the next request."""
SHARED_CALLS: Final = 8 * CALL_LIMIT
"""Concurrent calls of all clients of one token that have no session: those of newer protocol versions."""
UNAUTHORIZED_HINT: Final = (
    "a bearer token is missing here, or wrong. `supervisor mcp --print-config json` prints this user's; an "
    "agent that `supervisor run` started finds its own in SUPERVISOR_MCP_TOKEN"
)

log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the sidecar."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(H11Protocol):
    """HTTP connections, limited in number and in the time until their first request."""

    headless: dict[_Protocol, None]
    """The connections of a server that have sent no whole head, the oldest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.headless[self] = None
        if len(self.headless) > HEADLESS_LIMIT:
            next(iter(self.headless)).drop()
        if len(self.connections) - len(self.headless) >= CONNECTION_LIMIT:
            self.drop()
        self.loop.call_later(HEAD_S, self._hurry)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None:
            self.headless.pop(self, None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.headless.pop(self, None)
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close the connection, which counts no more from now on."""
        self.headless.pop(self, None)
        self.connections.discard(self)
        self.transport.abort()

    def _hurry(self) -> None:
        """Close the connection if it has sent no request yet."""
        if self.cycle is None:
            self.drop()


class McpHttpService:
    """Serves one `McpSpeaker` over HTTP. Instances are ASGI applications."""

    def __init__(self, speaker: McpSpeaker, tokens: McpTokens, control: SidecarControl) -> None:
        """Admit requests with one of these tokens."""
        self._speaker = speaker
        self._tokens = tokens
        self._control = control
        self._streams: set[asyncio.Task[Any]] = set()
        self._requests: set[asyncio.Task[Any]] = set()
        self._manager = StreamableHTTPSessionManager(
            speaker.server,
            security_settings=TransportSecuritySettings(
                allowed_hosts=list(LOCAL_NAMES),
                allowed_origins=[f"{way}://{name}" for way in ("http", "https") for name in LOCAL_NAMES],
            ),
            session_idle_timeout=IDLE_S,
            max_request_body_size=BODY_BYTES,
            max_sessions=SESSION_LIMIT,
        )

    async def serve(self, listener: socket.socket, drain_s: float) -> None:
        """Serve until the sidecar ends; unless it must end at once, calls get `drain_s` to finish."""
        server = _Server(
            uvicorn.Config(
                self,
                http=type("_OwnProtocol", (_Protocol,), {"headless": {}}),
                backlog=HTTP_BACKLOG,
                lifespan="off",
                ws="none",
                loop="none",
                log_config=None,
                log_level="critical",  # this module logs errors itself
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=int(drain_s),
            )
        )
        async with self._manager.run():
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            ending = asyncio.create_task(self._control.ending.wait())
            try:
                await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
                self._speaker.listens.close()
                for task in self._streams if self._control.patience_s else self._requests:
                    task.cancel()
                server.should_exit = True
                await serving
            finally:
                ending.cancel()
                serving.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        task = asyncio.current_task()
        if task is None or scope["type"] != "http":
            return
        self._requests.add(task)
        try:
            with self._control.visit():
                await self._answer(scope, receive, send)
        except Exception:
            log.exception("a request over HTTP failed")
        finally:
            self._requests.discard(task)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        caller = self._tokens.caller(token.strip()) if scheme.lower() == "bearer" else None
        if caller is None:
            await _unauthorized_response(token)(scope, receive, send)
        elif scope["path"].rstrip("/") != MCP_PATH:
            await JSONResponse({"error": f"MCP is served at {MCP_PATH}"}, HTTPStatus.NOT_FOUND)(
                scope, receive, send
            )
        else:
            await self._admit(caller, headers.get("mcp-session-id", ""), (scope, receive, send))

    async def _admit(self, caller: Caller, session: str, request: tuple[Scope, Receive, Send]) -> None:
        scope, receive, send = request
        version = Headers(scope=scope).get("mcp-protocol-version")
        name = f"{caller.bound.host}/{caller.bound.id}" if caller.bound else ""
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        begun = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS  # later versions have no sessions
        visit = (
            McpRequest(caller, session, CALL_LIMIT)
            if session and begun
            else McpRequest(caller, ("", name), SHARED_CALLS)
        )
        scope[REQUEST_KEY] = visit
        try:
            if scope["method"] == "GET":
                await self._listen(scope, receive, send)
            else:
                await self._manager.handle_request(scope, receive, send)
        finally:
            visit.end()

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream that notifies clients of older protocols, until they or the sidecar end it."""
        stream, task = _Stream(send), asyncio.current_task()
        if task is None:
            return
        self._streams.add(task)
        self._speaker.add_listener(stream.tell_changed)
        try:
            await self._manager.handle_request(scope, receive, stream.send)
        except asyncio.CancelledError:
            await stream.end()
            raise
        finally:
            self._speaker.remove_listener(stream.tell_changed)
            self._streams.discard(task)


class _Stream:
    """The event stream of the MCP package, into which our own events can be inserted."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def send(self, message: Message) -> None:
        await self._send(message)
        self._begun |= message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK

    async def tell_changed(self) -> None:
        if self._begun:
            event = b"event: message\r\ndata: %b\r\n\r\n" % TOOLS_CHANGED.strip()
            await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def end(self) -> None:
        if self._begun:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _unauthorized_response(token: str) -> Response:
    challenge = 'Bearer realm="supervisor"' + (', error="invalid_token"' if token else "")
    headers = {"WWW-Authenticate": challenge, "Connection": "close"}
    return JSONResponse({"error": UNAUTHORIZED_HINT}, HTTPStatus.UNAUTHORIZED, headers=headers)
