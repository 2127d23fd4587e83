"""A scripted model on the loopback interface: the Anthropic Messages API and OpenAI's chat completions.

    with ScriptedModel([ReplyRule(reply_with_text("Done."), RequestMatch(tools="some"))]) as model:
        start_claude(ANTHROPIC_BASE_URL=model.url)
        model.wait_for(lambda request: "Bash" in request.tools, timeout=10)

Rules of this module:

- The first rule that matches and is not used up answers. It counts as used when it is chosen, not when its
  reply is sent.
- A request that no rule matches still gets a reply (a host must never hang), and stays visible: in
  `unmatched` if it has tools, else in `asides` (hosts ask for a session title, among others).
- Nothing sleeps: a reply is held by an event, every wait has a limit, and closing opens every gate.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from support import gemini_wire
from support import model_wire as wire
from support.model_script import (
    DroppedReply,
    EndlessReply,
    HttpErrorReply,
    ModelRequest,
    RawReply,
    ReplyRule,
    ScriptedReply,
    default_rule,
    request_matches,
)
from support.model_wire import ModelMessage
from support.responses_wire import encode_responses_stream, read_responses_request

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from support.model_wire import MessageRequest


CLOSE_LIMIT_S: Final = 5.0
"""Longest time, in seconds, that `close` waits for the listening thread."""


class ScriptedModel:
    """A model server in this process, on a free port of 127.0.0.1, between `start` and `close`.

    All methods may be called from any thread.
    """

    def __init__(self, rules: Iterable[ReplyRule] = (), tls: ssl.SSLContext | None = None) -> None:
        """Start with `rules`; nothing listens yet. `tls`: serve https with this context."""
        self._tls = tls
        self._rules: list[ReplyRule] = []
        self._used: list[int] = []
        self._requests: list[ModelRequest] = []
        self._changed = threading.Condition()
        self._server: ModelListener | None = None
        self._thread: threading.Thread | None = None
        self.add(*rules)

    def __enter__(self) -> Self:
        """Listen until the block ends."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, whatever happened in the block."""
        self.close()

    def start(self) -> None:
        """Listen. Raises `RuntimeError` when it already does."""
        if self._server is not None:
            raise RuntimeError("this scripted model already listens")
        self._server = ModelListener(self, self._tls)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Open every gate, stop listening and wait for replies in progress. A second call does nothing."""
        with self._changed:
            rules, server, thread = tuple(self._rules), self._server, self._thread
            self._server = self._thread = None
        for rule in rules:
            if rule.gate is not None:
                rule.gate.set()
        if server is not None and thread is not None:
            server.shutdown()
            thread.join(CLOSE_LIMIT_S)
            server.server_close()

    @property
    def url(self) -> str:
        """The value for `ANTHROPIC_BASE_URL`. Raises `RuntimeError` when it does not listen."""
        if self._server is None:
            raise RuntimeError("this scripted model does not listen; use it in a with statement")
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._server.server_port}"

    def add(self, *rules: ReplyRule) -> None:
        """Append rules to the script; they apply from the next request on."""
        with self._changed:
            self._rules.extend(rules)
            self._used.extend(0 for _ in rules)

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """Every request for a message so far, in order of arrival."""
        with self._changed:
            return tuple(self._requests)

    @property
    def unmatched(self) -> tuple[ModelRequest, ...]:
        """The requests with tools, so from an agent, that no rule matched."""
        return tuple(request for request in self.requests if request.rule is None and request.tools)

    @property
    def asides(self) -> tuple[ModelRequest, ...]:
        """The requests without tools that no rule matched, such as for the title of a session."""
        return tuple(request for request in self.requests if request.rule is None and not request.tools)

    def wait_for(self, wanted: Callable[[ModelRequest], bool], *, timeout: float) -> ModelRequest:
        """Return the first past or future request for which `wanted` is true.

        Raises `TimeoutError` after `timeout` seconds; its message lists the requests seen.
        """
        with self._changed:
            self._changed.wait_for(lambda: any(map(wanted, self._requests)), timeout)
            for request in self._requests:
                if wanted(request):
                    return request
            seen = [f"{request.n}: {request.last[-80:]!r}" for request in self._requests]
        raise TimeoutError(f"no such request within {timeout} s; seen: {seen}")

    def take(self, asked: MessageRequest, body: bytes, path: str, headers: Mapping[str, str]) -> ReplyRule:
        """Record a request that arrived and return the rule that answers it."""
        with self._changed:
            request = ModelRequest(
                n=len(self._requests) + 1,
                path=path,
                headers=headers,
                model=asked.model,
                tools=asked.tool_names,
                last=asked.news,
                system=asked.system_text,
                text=asked.text,
                body=msgspec.Raw(body),
                rule=None,
            )
            index = self._choose(request)
            request = msgspec.structs.replace(request, rule=index)
            self._requests.append(request)
            self._changed.notify_all()
            return default_rule(request) if index is None else self._rules[index]

    def _choose(self, request: ModelRequest) -> int | None:
        for index, rule in enumerate(self._rules):
            if (rule.times is None or self._used[index] < rule.times) and request_matches(
                rule.match, request
            ):
                self._used[index] += 1
                return index
        return None


HOLD_LIMIT_S: Final = 480.0
"""Longest time, in seconds from the choice of the rule, that a gate may hold a reply."""
IDLE_LIMIT_S: Final = 240.0
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

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, then handle it in its own thread."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
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

    def handle_error(self, request: Any, client_address: Any) -> None:
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
        elif path.endswith("/responses"):
            self._respond(body)
        elif path.endswith(gemini_wire.COUNT):
            self._send(200, msgspec.json.encode({"totalTokens": max(1, len(body) // 4)}))
        elif path.endswith((gemini_wire.WHOLE, gemini_wire.STREAM)):
            self._generate(body, path)
        elif path.endswith(("/messages", "/chat/completions")):
            self._answer(body, chats=path.endswith("/completions"))
        else:
            self._refuse(HttpErrorReply(404, "not_found_error", self.path))

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _choose(self, asked: wire.MessageRequest, body: bytes) -> ReplyRule:
        """Return the rule that answers, once its gate is open."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        rule = self.server.script.take(asked, body, self.path, headers)
        if rule.gate is not None:
            rule.gate.wait(HOLD_LIMIT_S)
        return rule

    def _answer(self, body: bytes, *, chats: bool) -> None:
        try:
            asked = msgspec.json.decode(body, type=wire.MessageRequest)
        except msgspec.DecodeError as error:
            self._refuse(HttpErrorReply(400, "invalid_request_error", str(error)))
            return
        rule = self._choose(asked, body)
        if chats and isinstance(rule.reply, ModelMessage):
            self._send(200, wire.encode_chat_completion(rule.reply, asked.model))
        else:
            self._reply(rule.reply, asked)

    def _respond(self, body: bytes) -> None:
        """Answer as the Responses API does, which is always a stream."""
        asked = read_responses_request(body)
        rule = self._choose(asked, body)
        if isinstance(rule.reply, ModelMessage):
            stream = encode_responses_stream(rule.reply, asked.model)
            self._send(200, stream, content_type="text/event-stream")
        else:
            self._reply(rule.reply, asked)

    def _generate(self, body: bytes, path: str) -> None:
        """Answer as the Gemini API does."""
        asked = gemini_wire.read_gemini_request(body, path)
        rule = self._choose(asked, body)
        if isinstance(rule.reply, ModelMessage):
            kind = "text/event-stream" if asked.stream else "application/json"
            self._send(200, gemini_wire.encode_gemini_reply(rule.reply, path), content_type=kind)
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
