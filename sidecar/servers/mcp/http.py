"""MCP over Streamable HTTP, on a socket that listens already. The only file that knows uvicorn and starlette.

The laws of this file:

- Nobody gets past the token: before it nothing is read of a request but its head. Who asks from a web page
  that is not of this machine, or under another machine's name, is refused by the package.
- A session of MCP belongs to the token that began it.
- A client that goes away waits for nothing: what it called for is cancelled, in every version of the
  protocol. We keep no answers to be fetched later.
- All is bounded: connections, sessions and their idle time, bodies, calls, and the time to end in.
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

from sidecar.servers.control import Control
from sidecar.servers.mcp.access import PATH, Tokens
from sidecar.servers.mcp.lines import CHANGED
from sidecar.servers.mcp.visit import CALLS, KEY, Visit
from sidecar.servers.tools.tool import Caller

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from sidecar.servers.mcp.session import McpSpeaker

NAMES: Final = ("127.0.0.1", "127.0.0.1:*", "localhost", "localhost:*", "[::1]", "[::1]:*")
"""What this machine may be called."""
BODY: Final = 4 * 1024 * 1024
"""Bytes of a request's body."""
SESSIONS: Final = 512
"""MCP sessions at once."""
CONNECTIONS: Final = 600
"""Connections at once. A process may open some thousand files, and hooks need some of them too."""
IDLE_S: Final = 1800
"""Seconds after which a session is closed that asks for nothing and listens to nothing."""
HEAD_S: Final = 10
"""Seconds within which a new connection asks for something: nobody without a token holds a place."""
KEEP_ALIVE_S: Final = 60
"""Seconds that a connection stays open for the next request."""
SHARED_CALLS: Final = 8 * CALLS
"""Calls under way of all clients of one token together that begin no session: those of newer protocols."""
UNKNOWN: Final = (
    "a bearer token is missing here, or wrong. `supervisor mcp --print-config json` prints this user's; an "
    "agent that `supervisor run` started finds its own in SUPERVISOR_MCP_TOKEN"
)

log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """Leaves the signals to the sidecar."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(H11Protocol):
    """Takes no more connections than are good for us."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
        self.loop.call_later(HEAD_S, self._hurry)

    def _hurry(self) -> None:
        """Let go whoever has asked for nothing yet."""
        if self.cycle is None:
            self.transport.abort()


class HttpService:
    """Serves one speaker over HTTP. Instances are applications as ASGI means them."""

    def __init__(self, speaker: McpSpeaker, tokens: Tokens, control: Control) -> None:
        """Let in who has one of these tokens."""
        self._speaker = speaker
        self._tokens = tokens
        self._control = control
        self._streams: set[asyncio.Task[Any]] = set()
        self._requests: set[asyncio.Task[Any]] = set()
        self._manager = StreamableHTTPSessionManager(
            speaker.server,
            security_settings=TransportSecuritySettings(
                allowed_hosts=list(NAMES),
                allowed_origins=[f"{way}://{name}" for way in ("http", "https") for name in NAMES],
            ),
            session_idle_timeout=IDLE_S,
            max_request_body_size=BODY,
            max_sessions=SESSIONS,
        )

    async def serve(self, listener: socket.socket, drain_s: float) -> None:
        """Serve until the sidecar ends, and let calls finish within `drain_s` where it has patience."""
        server = _Server(
            uvicorn.Config(
                self,
                http=_Protocol,
                lifespan="off",
                ws="none",
                loop="none",
                log_config=None,
                log_level="critical",  # what goes wrong here we log ourselves
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
            await _refusal(token)(scope, receive, send)
        elif scope["path"].rstrip("/") != PATH:
            await JSONResponse({"error": f"MCP is served at {PATH}"}, HTTPStatus.NOT_FOUND)(
                scope, receive, send
            )
        else:
            await self._admit(caller, headers.get("mcp-session-id", ""), (scope, receive, send))

    async def _admit(self, caller: Caller, session: str, request: tuple[Scope, Receive, Send]) -> None:
        scope, receive, send = request
        version = Headers(scope=scope).get("mcp-protocol-version")
        name = f"{caller.bound.host}/{caller.bound.id}" if caller.bound else ""
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        begun = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS  # later ones know no sessions
        visit = (
            Visit(caller, session, CALLS) if session and begun else Visit(caller, ("", name), SHARED_CALLS)
        )
        scope[KEY] = visit
        try:
            if scope["method"] == "GET":
                await self._listen(scope, receive, send)
            else:
                await self._manager.handle_request(scope, receive, send)
        finally:
            visit.end()

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a stream on which clients of older protocols hear of changes, until one of us leaves."""
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
    """What the package sends as a stream of events, and one event of ours between two of them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def send(self, message: Message) -> None:
        await self._send(message)
        self._begun |= message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK

    async def tell_changed(self) -> None:
        if self._begun:
            event = b"event: message\r\ndata: %b\r\n\r\n" % CHANGED.strip()
            await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def end(self) -> None:
        if self._begun:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _refusal(token: str) -> Response:
    challenge = 'Bearer realm="supervisor"' + (', error="invalid_token"' if token else "")
    headers = {"WWW-Authenticate": challenge, "Connection": "close"}
    return JSONResponse({"error": UNKNOWN}, HTTPStatus.UNAUTHORIZED, headers=headers)
