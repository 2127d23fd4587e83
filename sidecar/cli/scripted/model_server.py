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

import threading
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.cli.scripted.model_http import ModelListener
from sidecar.cli.scripted.model_script import ModelRequest, ReplyRule, default_rule, request_matches

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from sidecar.cli.scripted.model_wire import MessageRequest


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
