"""What tests of the tools speak with: a toolbox whose work waits for the test, and sessions with a goal."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from servers.bench import LIMIT_S, SECRET, Bench, Caller
from servers.conftest import Start
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.rubric import sections
from sidecar.servers.control import Control, Methods
from sidecar.servers.mcp.door import McpDoor
from sidecar.servers.mcp.tool import Answer, Tool, Toolbox, Words
from sidecar.servers.sidecar import Pace

HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a test", "version": "1"},
}
CONDITION = "the parser accepts comments"


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    text: str = ""
    wait: bool = False


class Said(Struct, frozen=True):
    text: str


class Echo:
    """A toolbox with one tool, which says what it is told, at once or when `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.built = 0
        self.asked: list[str] = []
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
        tool = Tool(name="echo", takes=Asked, gives=Said, work=self.work)
        words = {"echo": "Says it.", "bad-arguments": "They do not fit: $why.", "failed": "It failed."}
        return Toolbox((tool,), Words(words))

    async def work(self, asked: Asked) -> Answer:
        self.asked.append(asked.text)
        if asked.text == SECRET:
            raise ValueError(SECRET)
        if asked.wait:
            self.begun.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        return Answer(Said(asked.text), asked.text)


def speaking(start: Start, echo: Echo) -> Bench:
    """A sidecar in the test's own loop whose connections may speak MCP."""
    held: list[Bench] = []

    def build(control: Control) -> Methods:
        return {**held[0].methods(control), "mcp": McpDoor(control, echo.build).open}

    held.append(start(build=build, pace=Pace(beat_s=0.001)))
    return held[0]


async def announced(bench: Bench, **about: object) -> tuple[Caller, Any]:
    """A client after its announcement, and the answer to that; signs of work before it are skipped."""
    client = await bench.caller()
    client.call("mcp", {"version": "1.2.3", **about})
    while "id" not in (answer := await client.hear()):
        assert answer["method"] == "working"
    return client, answer


async def begun(bench: Bench) -> Caller:
    """A client after its handshake."""
    client, answer = await announced(bench)
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}
    found = await client.ask("initialize", HELLO)
    assert found["result"]["serverInfo"]["name"] == "supervisor"
    client.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return client


def call(client: Caller, ident: int, **arguments: object) -> None:
    client.call("tools/call", {"name": "echo", "arguments": arguments}, ident)


async def said(client: Caller, ident: int, text: str) -> Any:
    call(client, ident, text=text)
    answer = await client.hear()
    assert answer["id"] == ident, answer
    return answer["result"]["structuredContent"]["text"]


def real_words() -> Words:
    return Words(sections(tools_file().read_text(encoding="utf-8")))


def tools_file() -> Path:
    return plugin_root() / "rubric" / "tools.md"
