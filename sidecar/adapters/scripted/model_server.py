"""A scripted model on the loopback interface: the Anthropic Messages API and OpenAI's chat completions.

    with ScriptedModel([Rule(say("Done."), Match(tools="some"))]) as model:
        start_claude(ANTHROPIC_BASE_URL=model.url)
        model.wait_for(lambda request: "Bash" in request.tools, timeout=10)

The laws of this file:

- The first rule that matches and is not used up answers. It is used when it is chosen, not when it is sent.
- A request that no rule matches is answered all the same (a host must never hang), and stays visible: in
  `unmatched` if it has tools, else in `asides` (hosts ask for a session title, among others).
- Nothing sleeps: an answer is held by an event, every wait has a bound, and closing opens every gate.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.adapters.scripted.model_http import Listener
from sidecar.adapters.scripted.model_script import (
    Dripping,
    Dropped,
    HttpError,
    Match,
    Raw,
    Reply,
    Request,
    Rule,
    call,
    default_rule,
    matches,
    say,
    structured,
)
from sidecar.adapters.scripted.model_wire import Message, Text, Thinking, ToolCall, Usage

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from sidecar.adapters.scripted.model_wire import Asked

__all__ = [
    "Dripping",
    "Dropped",
    "HttpError",
    "Match",
    "Message",
    "Raw",
    "Reply",
    "Request",
    "Rule",
    "ScriptedModel",
    "Text",
    "Thinking",
    "ToolCall",
    "Usage",
    "call",
    "say",
    "structured",
]

CLOSE_LIMIT_S: Final = 5.0
"""Longest time, in seconds, that closing waits for the listening thread."""


class ScriptedModel:
    """A model server in this process, on a free port of 127.0.0.1, between `start` and `close`.

    All methods may be called from any thread.
    """

    def __init__(self, rules: Iterable[Rule] = (), tls: ssl.SSLContext | None = None) -> None:
        """Start with `rules`; nothing listens yet. `tls`: speak https, as this server."""
        self._tls = tls
        self._rules: list[Rule] = []
        self._used: list[int] = []
        self._requests: list[Request] = []
        self._changed = threading.Condition()
        self._server: Listener | None = None
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
        self._server = Listener(self, self._tls)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Open every gate, stop listening and wait for the answers under way. A second call does nothing."""
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
        """What to put into `ANTHROPIC_BASE_URL`. Raises `RuntimeError` when it does not listen."""
        if self._server is None:
            raise RuntimeError("this scripted model does not listen; use it in a with statement")
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._server.server_port}"

    def add(self, *rules: Rule) -> None:
        """Append rules to the script; they answer from the next request on."""
        with self._changed:
            self._rules.extend(rules)
            self._used.extend(0 for _ in rules)

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request for a message so far, in order of arrival."""
        with self._changed:
            return tuple(self._requests)

    @property
    def unmatched(self) -> tuple[Request, ...]:
        """The requests of an agent (with tools) that the script did not foresee."""
        return tuple(request for request in self.requests if request.rule is None and request.tools)

    @property
    def asides(self) -> tuple[Request, ...]:
        """The requests without tools that the script did not foresee, as for the title of a session."""
        return tuple(request for request in self.requests if request.rule is None and not request.tools)

    def wait_for(self, wanted: Callable[[Request], bool], *, timeout: float) -> Request:
        """Return the first request, past or to come, that is `wanted`.

        Raises `TimeoutError` after `timeout` seconds, with what was asked meanwhile.
        """
        with self._changed:
            self._changed.wait_for(lambda: any(map(wanted, self._requests)), timeout)
            for request in self._requests:
                if wanted(request):
                    return request
            seen = [f"{request.n}: {request.last[-80:]!r}" for request in self._requests]
        raise TimeoutError(f"no such request within {timeout} s; seen: {seen}")

    def take(self, asked: Asked, body: bytes, path: str, headers: Mapping[str, str]) -> Rule:
        """Record a request that arrived and return the rule that answers it."""
        with self._changed:
            request = Request(
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

    def _choose(self, request: Request) -> int | None:
        for index, rule in enumerate(self._rules):
            if (rule.times is None or self._used[index] < rule.times) and matches(rule.match, request):
                self._used[index] += 1
                return index
        return None
