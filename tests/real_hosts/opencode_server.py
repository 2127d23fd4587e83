"""What a test says to `opencode serve` and hears from it: requests of one project, and the events of all.

Every wait has a bound. A first request while OpenCode starts may be accepted and never answered, so the wait
for its health asks again.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx2
import msgspec

from real_hosts.waiting import WAIT_LIMIT_S

READY_LIMIT_S: Final = 180.0
"""Longest time, in seconds, until a server is up."""
ASK_LIMIT_S: Final = 1.0
"""Longest time, in seconds, that one question for its health may take."""
ASK_EVERY_S: Final = 0.05
"""Seconds between two such questions."""
CALL_LIMIT_S: Final = 240.0
"""Longest time, in seconds, of a request; a prompt is answered when its turn is over."""
SILENCE_LIMIT_S: Final = 120.0
"""Longest time, in seconds, without a word on the stream of events; a heartbeat comes every 10."""

_T = TypeVar("_T")


class Event(msgspec.Struct, frozen=True):
    """One event of a server."""

    type: str
    directory: str
    session: str
    """Which session it is about, "" where about none."""
    properties: Any


class Info(msgspec.Struct, frozen=True, rename="camel"):
    """Who wrote a message and how it ended. `raw` is everything that OpenCode says of it."""

    id: str
    role: str
    agent: str = ""
    variant: str | None = None
    finish: str | None = None
    error: Any = None
    raw: Any = None


class Part(msgspec.Struct, frozen=True):
    """A piece of a message: `synthetic` is hidden from the person, `ignored` from the model."""

    type: str
    text: str = ""
    synthetic: bool = False
    ignored: bool = False
    tool: str = ""
    metadata: Any = None
    state: Any = None


class Message(msgspec.Struct, frozen=True):
    """A message of a session."""

    info: Info
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """What it says, hidden parts included."""
        return "\n".join(part.text for part in self.parts if part.type == "text")


class Session(msgspec.Struct, frozen=True):
    """A session. `parent` is empty where it has none."""

    id: str
    title: str = ""
    directory: str = ""
    parent: str = msgspec.field(default="", name="parentID")
    cost: float = 0.0


class _Payload(msgspec.Struct, frozen=True):
    type: str = ""
    properties: dict[str, Any] = {}


class _Heard(msgspec.Struct, frozen=True):
    directory: str = ""
    payload: _Payload = _Payload()


class Server:
    """A running `opencode serve`; its process is started and ended by who made it."""

    def __init__(self, port: int, password: str, process: subprocess.Popen[bytes]) -> None:
        """Listens at `port` of the loopback interface sometime soon; `begin` waits for it."""
        auth = ("opencode", password) if password else None
        self.url: Final = f"http://127.0.0.1:{port}"
        self.http: Final = httpx2.Client(base_url=self.url, auth=auth, timeout=CALL_LIMIT_S, trust_env=False)
        self._process = process
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        """Hold the connections open until the block ends, by when the process must be gone."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them. The stream of events has ended with the process."""
        if self._listener.is_alive():
            self._listener.join(SILENCE_LIMIT_S)
        self.http.close()

    def begin(self) -> None:
        """Wait until the server answers and tells events. Raises `TimeoutError`, or when it has died."""
        pause, end = threading.Event(), time.monotonic() + READY_LIMIT_S
        while not self._healthy():
            if time.monotonic() > end or self._process.poll() is not None:
                raise TimeoutError(f"opencode serve is not up (exit code {self._process.returncode})")
            pause.wait(ASK_EVERY_S)
        self._listener.start()
        self.wait_for(lambda event: event.type == "server.connected")

    def at(self, project: Path) -> Desk:
        """Speak to the server about `project`, as a client that was started there."""
        return Desk(self, project)

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything heard so far, of all projects."""
        with self._changed:
            return tuple(self._events)

    def wait_for(self, wanted: Callable[[Event], bool]) -> Event:
        """Return the first event, past or to come, that is `wanted`; raises `TimeoutError`."""
        return self.wait_for_many(wanted, 1)[0]

    def wait_for_many(self, wanted: Callable[[Event], bool], count: int) -> list[Event]:
        """Wait for so many events, past or to come, and return them all; raises `TimeoutError`."""
        with self._changed:
            self._changed.wait_for(lambda: sum(map(wanted, self._events)) >= count, WAIT_LIMIT_S)
            found = [event for event in self._events if wanted(event)]
            kinds = [f"{event.type} {event.session}".strip() for event in self._events[-20:]]
        if len(found) < count:
            raise TimeoutError(f"{len(found)} of {count} events within {WAIT_LIMIT_S:g} s; the last: {kinds}")
        return found

    def _healthy(self) -> bool:
        try:
            return self.http.get("/global/health", timeout=ASK_LIMIT_S).is_success
        except httpx2.HTTPError:
            return False

    def _listen(self) -> None:
        try:
            with self.http.stream("GET", "/global/event", timeout=SILENCE_LIMIT_S) as answer:
                for line in answer.iter_lines():
                    if line.startswith("data:"):
                        self._hear(line.removeprefix("data:"))
        except httpx2.HTTPError:
            pass  # the process has ended, as it does after every test

    def _hear(self, data: str) -> None:
        heard = msgspec.json.decode(data, type=_Heard)
        said = heard.payload
        event = Event(said.type, heard.directory, str(said.properties.get("sessionID", "")), said.properties)
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()


class Desk:
    """The server, asked about one project."""

    def __init__(self, server: Server, project: Path) -> None:
        self.server: Final = server
        self.project: Final = project

    def session(self, title: str = "A scenario", **body: object) -> str:
        """Begin a session and return its id. One with a title costs no request for a title."""
        asked = {"title": title, **body} if title else body
        return self._decoded(self.send("POST", "/session", asked), Session).id

    def get(self, session: str) -> Session:
        return self._decoded(self.send("GET", f"/session/{session}"), Session)

    def children(self, session: str) -> tuple[Session, ...]:
        return self._decoded(self.send("GET", f"/session/{session}/children"), tuple[Session, ...])

    def delete(self, session: str) -> None:
        self.send("DELETE", f"/session/{session}").raise_for_status()

    def abort(self, session: str) -> None:
        self.send("POST", f"/session/{session}/abort").raise_for_status()

    def prompt(self, session: str, text: str, **body: object) -> Message:
        """Say `text` and wait for the end of the turn; returns its last message."""
        answer = self.send("POST", f"/session/{session}/message", _said(text, body))
        return _message(self._decoded(answer, dict[str, Any]))

    def prompt_async(self, session: str, text: str, **body: object) -> None:
        """Say `text` and do not wait."""
        self.send("POST", f"/session/{session}/prompt_async", _said(text, body)).raise_for_status()

    def command(self, session: str, name: str, arguments: str = "", **body: object) -> httpx2.Response:
        """Type `/name arguments`. A command that a plugin answers by itself ends in an error 500."""
        asked = {"command": name, "arguments": arguments, **body}
        return self.send("POST", f"/session/{session}/command", asked)

    def shell(self, session: str, command: str) -> httpx2.Response:
        """Run `command` as a person does with `!`."""
        return self.send("POST", f"/session/{session}/shell", {"agent": "build", "command": command})

    def summarize(self, session: str, provider: str, model: str) -> httpx2.Response:
        """Compact the session."""
        return self.send("POST", f"/session/{session}/summarize", {"providerID": provider, "modelID": model})

    def reply(self, permission: str, reply: str, **body: object) -> None:
        """Answer a question for permission: "once", "always" or "reject"."""
        self.send("POST", f"/permission/{permission}/reply", {"reply": reply, **body}).raise_for_status()

    def messages(self, session: str) -> list[Message]:
        """All messages, oldest first."""
        found = self._decoded(self.send("GET", f"/session/{session}/message"), list[dict[str, Any]])
        return [_message(one) for one in found]

    def status(self) -> Mapping[str, Any]:
        """Which sessions are not idle."""
        return self._decoded(self.send("GET", "/session/status"), dict[str, Any])

    def send(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """Any request, in this project. Raises `httpx2.HTTPError` when there is no answer."""
        return self.server.http.request(method, path, params={"directory": str(self.project)}, json=body)

    def wait_for(self, type_: str, session: str, count: int = 1) -> Event:
        """Wait until so many events of `type_`, past or to come, are about `session`; returns the last."""
        return self.server.wait_for_many(
            lambda event: (event.type, event.session) == (type_, session), count
        )[count - 1]

    @staticmethod
    def _decoded(answer: httpx2.Response, kind: type[_T]) -> _T:
        assert answer.is_success, f"{answer.request.url}: {answer.status_code} {answer.text}"
        return msgspec.json.decode(answer.content, type=kind)


def _said(text: str, body: Mapping[str, object]) -> dict[str, object]:
    return {"parts": [{"type": "text", "text": text}], **body}


def _message(found: dict[str, Any]) -> Message:
    info = msgspec.convert(found["info"], Info)
    return Message(
        msgspec.structs.replace(info, raw=found["info"]), msgspec.convert(found["parts"], tuple[Part, ...])
    )
