"""The HTTP side of a scripted model: connections in, bytes out. Which answer is not decided here.

Every request gets its own connection: replies say `connection: close`, so that ending is simple.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from sidecar.adapters.scripted import model_chat as chat
from sidecar.adapters.scripted import model_wire as wire
from sidecar.adapters.scripted.model_script import Dripping, Dropped, HttpError, Raw, Reply, Rule
from sidecar.adapters.scripted.model_wire import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

HOLD_LIMIT_S: Final = 120.0
"""Longest time, in seconds from the choice of the rule, that a gate may hold an answer."""
IDLE_LIMIT_S: Final = 30.0
"""Longest time, in seconds, that a connection may stay silent while it is being read or written."""


DRIP_S: Final = 0.01
"""Seconds between two bytes of an answer that never ends."""


class Script(Protocol):
    """Whoever chooses the answers."""

    def take(self, asked: wire.Asked, body: bytes, path: str, headers: Mapping[str, str]) -> Rule:
        """Record a request that arrived and return the rule that answers it. Must not block."""


class Listener(ThreadingHTTPServer):
    """The listening socket on a free port of 127.0.0.1, one thread for each connection.

    Closing it ends the connections that still wait for a request and joins the threads; whoever closes it
    opens the gates first.
    """

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        """Bind and listen; raises `OSError` when the machine has no free port."""
        self.script = script
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's types
        """Remember the connection, then handle it in its own thread."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - typeshed's type
        """Forget the connection and close it."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Close the socket, end the idle connections, and wait for the answers under way."""
        self.closing.set()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's types
        """Stay silent: a host that was interrupted or killed leaves its connections as they are."""


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = IDLE_LIMIT_S
    server: Listener

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Stay silent: the requests are the log."""

    def do_HEAD(self) -> None:
        """Answer the probe of a host that looks whether its model is there."""
        self._send(200, b"")

    def do_GET(self) -> None:
        """List no models."""
        if self.path.partition("?")[0].rstrip("/").endswith("/models"):
            self._send(200, b'{"data":[],"has_more":false,"first_id":null,"last_id":null}')
        else:
            self._refuse(HttpError(404, "not_found_error", self.path))

    def do_POST(self) -> None:
        """Answer a request for a message, or for the number of its tokens."""
        body = self._body()
        path = self.path.partition("?")[0]
        if path.endswith("/messages/count_tokens"):
            self._send(200, msgspec.json.encode(wire.Counted(max(1, len(body) // 4))))
        elif path.endswith(("/messages", "/chat/completions")):
            self._answer(body, chats=path.endswith("/completions"))
        else:
            self._refuse(HttpError(404, "not_found_error", self.path))

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _answer(self, body: bytes, *, chats: bool) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            asked = msgspec.json.decode(body, type=wire.Asked)
        except msgspec.DecodeError as error:
            self._refuse(HttpError(400, "invalid_request_error", str(error)))
            return
        rule = self.server.script.take(asked, body, self.path, headers)
        if rule.gate is not None:
            rule.gate.wait(HOLD_LIMIT_S)
        if chats and isinstance(rule.reply, Message):
            self._send(200, chat.whole(rule.reply, asked.model))
        else:
            self._reply(rule.reply, asked)

    def _reply(self, reply: Reply, asked: wire.Asked) -> None:
        match reply:
            case Message() if asked.stream:
                self._send(200, wire.streamed(reply, asked.model), content_type="text/event-stream")
            case Message():
                self._send(200, wire.whole(reply, asked.model))
            case HttpError():
                self._refuse(reply)
            case Raw():
                self._raw(reply)
            case Dripping():
                self._drip()
            case Dropped():
                self.close_connection = True

    def _raw(self, reply: Raw) -> None:
        length = {"content-length": str(2 * len(reply.body) + 1)} if reply.cut else {}
        headers = {**reply.headers, **length}
        self._send(reply.status, reply.body, headers, content_type=reply.content_type)

    def _drip(self) -> None:
        self._send(200, b"", {"content-length": "1000000"})
        with contextlib.suppress(OSError):
            while not self.server.closing.wait(DRIP_S):
                self.wfile.write(b" ")
                self.wfile.flush()

    def _refuse(self, error: HttpError) -> None:
        self._send(error.status, wire.refused(error.kind, error.message), error.headers)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        content_type: str = "application/json",
    ) -> None:
        plain = {"content-type": content_type, "content-length": str(len(body)), "connection": "close"}
        self.send_response_only(status)
        for name, value in {**plain, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
