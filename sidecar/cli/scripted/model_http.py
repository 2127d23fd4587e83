"""The HTTP server of a scripted model. It reads requests and writes replies; an AnswerScript chooses them.

Every request gets its own connection (replies say `connection: close`), so that shutdown is simple.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from sidecar.cli.scripted import model_chat as chat
from sidecar.cli.scripted import model_wire as wire
from sidecar.cli.scripted.model_script import (
    DroppedReply,
    EndlessReply,
    HttpErrorReply,
    RawReply,
    ReplyRule,
    ScriptedReply,
)
from sidecar.cli.scripted.model_wire import ModelMessage

if TYPE_CHECKING:
    from collections.abc import Mapping


HOLD_LIMIT_S: Final = 120.0
"""Longest time, in seconds from the choice of the rule, that a gate may hold a reply."""
IDLE_LIMIT_S: Final = 30.0
"""Longest time, in seconds, that one read or write of a connection may take."""


DRIP_S: Final = 0.01
"""Seconds between two bytes of an endless reply."""


class AnswerScript(Protocol):
    """Chooses the replies."""

    def take(
        self, asked: wire.MessageRequest, body: bytes, path: str, headers: Mapping[str, str]
    ) -> ReplyRule:
        """Record a request that arrived and return the rule that answers it. Must not block."""


class ModelListener(ThreadingHTTPServer):
    """The listening socket on a free port of 127.0.0.1, one thread for each connection.

    Closing it ends the connections that still wait for a request and joins the threads, so open the gates
    first.
    """

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, script: AnswerScript, tls: ssl.SSLContext | None = None) -> None:
        """Bind and listen. Raises `OSError` when the machine has no free port."""
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
        """Close the socket, end the idle connections, and wait for replies in progress."""
        self.closing.set()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's types
        """Log nothing: a host that was interrupted or killed breaks its connections."""


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = IDLE_LIMIT_S
    server: ModelListener

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Log nothing: the recorded requests are the log."""

    def do_HEAD(self) -> None:
        """Answer the probe by which a host checks that its model server is there."""
        self._send(200, b"")

    def do_GET(self) -> None:
        """Answer a request for the models with an empty list, and any other one with status 404."""
        if self.path.partition("?")[0].rstrip("/").endswith("/models"):
            self._send(200, b'{"data":[],"has_more":false,"first_id":null,"last_id":null}')
        else:
            self._refuse(HttpErrorReply(404, "not_found_error", self.path))

    def do_POST(self) -> None:
        """Answer a request for a message, or for the number of its tokens."""
        body = self._body()
        path = self.path.partition("?")[0]
        if path.endswith("/messages/count_tokens"):
            self._send(200, msgspec.json.encode(wire.TokenCount(max(1, len(body) // 4))))
        elif path.endswith(("/messages", "/chat/completions")):
            self._answer(body, chats=path.endswith("/completions"))
        else:
            self._refuse(HttpErrorReply(404, "not_found_error", self.path))

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _answer(self, body: bytes, *, chats: bool) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            asked = msgspec.json.decode(body, type=wire.MessageRequest)
        except msgspec.DecodeError as error:
            self._refuse(HttpErrorReply(400, "invalid_request_error", str(error)))
            return
        rule = self.server.script.take(asked, body, self.path, headers)
        if rule.gate is not None:
            rule.gate.wait(HOLD_LIMIT_S)
        if chats and isinstance(rule.reply, ModelMessage):
            self._send(200, chat.encode_chat_completion(rule.reply, asked.model))
        else:
            self._reply(rule.reply, asked)

    def _reply(self, reply: ScriptedReply, asked: wire.MessageRequest) -> None:
        match reply:
            case ModelMessage() if asked.stream:
                self._send(
                    200, wire.encode_message_stream(reply, asked.model), content_type="text/event-stream"
                )
            case ModelMessage():
                self._send(200, wire.encode_model_message(reply, asked.model))
            case HttpErrorReply():
                self._refuse(reply)
            case RawReply():
                self._raw(reply)
            case EndlessReply():
                self._drip()
            case DroppedReply():
                self.close_connection = True

    def _raw(self, reply: RawReply) -> None:
        length = {"content-length": str(2 * len(reply.body) + 1)} if reply.cut else {}
        headers = {**reply.headers, **length}
        self._send(reply.status, reply.body, headers, content_type=reply.content_type)

    def _drip(self) -> None:
        self._send(200, b"", {"content-length": "1000000"})
        with contextlib.suppress(OSError):
            while not self.server.closing.wait(DRIP_S):
                self.wfile.write(b" ")
                self.wfile.flush()

    def _refuse(self, error: HttpErrorReply) -> None:
        self._send(error.status, wire.encode_model_error(error.kind, error.message), error.headers)

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
