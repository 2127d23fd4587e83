"""What tests of the tools speak with: a toolbox whose work waits for the test, and sessions with a goal."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any, Final

from mcp.types import CallToolResult
from msgspec import Struct

from servers.bench import LIMIT_S, SECRET, Bench, Caller
from servers.conftest import Start
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import TOOLSET
from sidecar.rubric.texts import Texts
from sidecar.servers.control import BackgroundWork, Methods, SidecarControl
from sidecar.servers.mcp.door import McpHandler
from sidecar.servers.sidecar import CallLater, SidecarIntervals
from sidecar.servers.tools.tool import AgentTool, Clients, Resource, ToolAnswer, ToolInvocation
from sidecar.servers.tools.toolbox import Toolbox
from support.clients import AnyClient

HANDSHAKES: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions of the protocol in which a client shakes hands."""
LATEST_WITH_HANDSHAKE: Final = HANDSHAKES[-1]
MODERN: Final = "2026-07-28"
"""The version in which each request says all there is to know."""
HELLO: Final = {
    "protocolVersion": LATEST_WITH_HANDSHAKE,
    "capabilities": {},
    "clientInfo": {"name": "a test", "version": "1"},
}
META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": HELLO["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": {},
}
CONDITION = "the parser accepts comments"
WORDS: Final = {
    "echo": "Says it.",
    "more": "Says it too.",
    "bad-arguments": "They do not fit: $why.",
    "failed": "It failed.",
    "no-session": "Whose session?",
    "foreign-session": "Session $session is of another host.",
    "other-session": "Session $session is another one.",
    "switched-off": "$tool is switched off.",
    "too-many-calls": "$most are the most.",
    "unknown-session": "Session $session is not known.",
}
SESSIONS: Final = {
    name: Session(key=SessionKey("opencode", name), project=project)
    for name, project in (("s1", "/home/user/project"), ("s2", "/home/user/other"))
}


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    text: str = ""
    wait: bool = False
    steps: int = 0
    ask: str = ""


class Said(Struct, frozen=True):
    text: str


class Echo:
    """A toolbox whose tool says what it is told, at once or when `go_on` is set, and tells of its steps.

    Or it asks the person `ask`, and says whether they said yes; None where there was no answer.

    The other tool does the same, and is offered while the toolset `journal` is in `on`.
    """

    def __init__(self) -> None:
        self.clients: Clients = AnyClient(self.find)
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.built = 0
        self.asked: list[str] = []
        self.callers: list[SessionKey] = []
        self.on: set[TOOLSET] = {"core"}
        self.broken = False
        self.building = threading.Event()
        self.built_when = threading.Event()
        self.built_when.set()

    def build(self) -> Toolbox:
        self.built += 1
        self.building.set()
        self.built_when.wait(LIMIT_S)
        if self.broken:
            raise OSError("no disk")
        echo = AgentTool(name="echo", toolset="core", takes=Asked, gives=Said, work=self.work, reads=True)
        more = AgentTool(
            name="more",
            toolset="journal",
            takes=Asked,
            gives=Said,
            work=self.work,
            repeats=True,
            typed=True,
        )
        state = Resource(uri="supervisor://state", toolset="loop", work=self.read)
        part = Resource(uri="supervisor://parts/{text}", toolset="loop", work=self.read, takes=Asked)
        return Toolbox((echo, more), Texts(WORDS), self.clients, lambda: self.on, (state, part))

    def find(self, named: str, key: SessionKey | None) -> Session | None:
        known = SESSIONS.get(key.id if key else named)
        return known if known is not None and key in (None, known.key) else None

    async def read(self, call: ToolInvocation, asked: Struct) -> Said:
        return Said(f"{call.session.key.id} {getattr(asked, 'text', '')}")

    async def work(self, call: ToolInvocation, asked: Asked) -> ToolAnswer:
        self.asked.append(asked.text)
        self.callers.append(call.session.key)
        if asked.text == SECRET:
            raise ValueError(SECRET)
        for step in range(asked.steps):
            await call.report(step + 1, asked.steps, f"step {step + 1}")
        if asked.wait:
            self.begun.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        text = str(await call.ask(asked.ask)) if asked.ask else asked.text
        return ToolAnswer(Said(text), text)


def speaking(start: Start, echo: Echo, *beside: BackgroundWork, later: CallLater | None = None) -> Bench:
    """A sidecar in the test's own loop whose connections may speak MCP."""
    held: list[Bench] = []

    def build(control: SidecarControl) -> Methods:
        door = McpHandler(control, echo.build, lambda _: None)
        control.beside += beside
        return {**held[0].methods(control), "mcp": door.open, "toolsets": door.toolsets}

    held.append(start(build=build, pace=SidecarIntervals(beat_s=0.001), later=later))
    return held[0]


async def announced(bench: Bench, **about: object) -> tuple[Caller, Any]:
    """A client after its announcement, and the answer to that; signs of work before it are skipped."""
    client = await bench.caller()
    client.call("mcp", {"version": "1.2.3", **about})
    while "id" not in (answer := await client.hear()):
        assert answer["method"] == "working"
    return client, answer


async def begun(
    bench: Bench,
    version: str = LATEST_WITH_HANDSHAKE,
    offers: Mapping[str, object] | None = None,
    **about: object,
) -> Caller:
    """A client after its handshake. `offers`: its capabilities."""
    client, answer = await announced(bench, **about)
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}
    found = await client.ask(
        "initialize", {**HELLO, "protocolVersion": version, "capabilities": offers or {}}
    )
    assert found["result"]["serverInfo"]["name"] == "supervisor"
    assert found["result"]["protocolVersion"] == version
    client.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return client


def call(client: Caller, ident: int, **arguments: object) -> None:
    client.call("tools/call", {"name": "echo", "arguments": {"session": "s1", **arguments}}, ident)


def data_of(found: CallToolResult) -> Any:
    """The data behind the text of an answer."""
    assert found.structured_content is None
    return (found.meta or {})["supervisor/data"]


async def said(client: Caller, ident: int, text: str) -> Any:
    call(client, ident, text=text)
    answer = await client.hear()
    assert answer["id"] == ident, answer
    return answer["result"]["content"][0]["text"]
