"""MCP over Streamable HTTP, on a socket that already listens.

Rules of this module:

- Every request needs a token; without one only its head is read. The MCP package refuses requests from web
  pages of other machines or under another machine's name.
- An MCP session belongs to the token that started it.
- A request that neither has a session nor begins one is answered by itself, in every version.
- If a client disconnects, its calls are cancelled, in every version of the protocol. Answers are not stored
  for later.
- Everything is limited: connections, sessions and their idle time, bodies, calls, and the time to shut down.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware, TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sidecar.platform import rpc
from sidecar.servers.control import SidecarControl
from sidecar.servers.http_server import serve_http
from sidecar.servers.mcp.access import CALL_LIMIT, MCP_PATH, REQUEST_KEY, McpRequest, McpTokens
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
IDLE_S: Final = 1800
"""Seconds after which a session without requests and open streams is closed."""
SHARED_CALLS: Final = 8 * CALL_LIMIT
"""Concurrent calls of all clients of one token that have no session: those of newer protocol versions."""
UNAUTHORIZED_HINT: Final = (
    "a bearer token is missing here, or wrong. `supervisor mcp --print-config json` prints this user's; an "
    "agent that `supervisor run` started finds its own in SUPERVISOR_MCP_TOKEN"
)

log = logging.getLogger(__name__)


class McpHttpService:
    """Serves one `McpSpeaker` over HTTP. Instances are ASGI applications."""

    def __init__(self, speaker: McpSpeaker, tokens: McpTokens, control: SidecarControl) -> None:
        """Admit requests with one of these tokens."""
        self._speaker = speaker
        self._tokens = tokens
        self._control = control
        self._streams: set[asyncio.Task[Any]] = set()
        self._requests: set[asyncio.Task[Any]] = set()
        manage = partial(
            StreamableHTTPSessionManager,
            speaker.server,
            security_settings=TransportSecuritySettings(
                allowed_hosts=list(LOCAL_NAMES),
                allowed_origins=[f"{way}://{name}" for way in ("http", "https") for name in LOCAL_NAMES],
            ),
            max_request_body_size=BODY_BYTES,
        )
        self._manager = manage(session_idle_timeout=IDLE_S, max_sessions=SESSION_LIMIT)
        self._single = manage(stateless=True, json_response=True)
        self._first = RequestBodyLimitMiddleware(self._answer_first, BODY_BYTES)

    async def serve(self, listener: socket.socket, drain_s: float) -> None:
        """Serve until the sidecar ends; unless it must end at once, calls get `drain_s` to finish."""
        async with self._manager.run(), self._single.run():
            await serve_http(self, listener, drain_s, self._control.ending, self._end_streams)

    def _end_streams(self) -> None:
        self._speaker.listens.close()
        for task in self._streams if self._control.patience_s else self._requests:
            task.cancel()

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
            elif begun and not session and scope["method"] == "POST":
                await self._first(scope, receive, send)
            else:
                await self._manager.handle_request(scope, receive, send)
        finally:
            visit.end()

    async def _answer_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin a session by a handshake; answer anything else, which ends if the client hangs up."""
        body, visit = await Request(scope, receive).body(), scope[REQUEST_KEY]
        messages: list[Message] = [{"type": "http.request", "body": body}]

        async def repeat() -> Message:
            return messages.pop() if messages else await receive()

        if _begins_session(body):
            await self._manager.handle_request(scope, repeat, send)
            return
        gone = asyncio.ensure_future(receive())  # after the body there is only the client's end
        gone.add_done_callback(lambda _: visit.end())
        try:
            await self._single.handle_request(scope, repeat, send)
        finally:
            gone.cancel()

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


def _begins_session(body: bytes) -> bool:
    with suppress(rpc.WireError):
        return rpc.parse_message(body).method == "initialize"
    return False


def _unauthorized_response(token: str) -> Response:
    challenge = 'Bearer realm="supervisor"' + (', error="invalid_token"' if token else "")
    headers = {"WWW-Authenticate": challenge, "Connection": "close"}
    return JSONResponse({"error": UNAUTHORIZED_HINT}, HTTPStatus.UNAUTHORIZED, headers=headers)
