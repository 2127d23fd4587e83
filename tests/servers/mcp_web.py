"""MCP over HTTP for a test: a sidecar in the test's own loop, its address, and who asks there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import msgspec
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from servers.bench import LIMIT_S, Bench
from servers.conftest import Start
from servers.mcp_clients import HELLO, LATEST_WITH_HANDSHAKE, META, Echo
from sidecar.hosts.ports import AccessRequest, McpAccess
from sidecar.kernel.orders import Giver
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods, SidecarControl
from sidecar.servers.mcp.access import McpFiles
from sidecar.servers.mcp.door import McpHandler, McpHttpEndpoint
from sidecar.servers.sidecar import CallLater, SidecarIntervals

BOTH: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass
class Web:
    """A sidecar that serves MCP over HTTP. `port` is what the user set, `giver` who asks for tokens."""

    echo: Echo
    kept: McpFiles
    port: int = 0
    giver: Giver = Giver.USER
    held: list[Bench] = field(default_factory=list)

    @property
    def bench(self) -> Bench:
        return self.held[-1]

    def started(self, start: Start, later: CallLater | None = None) -> Web:
        self.held.append(start(build=self._build, pace=SidecarIntervals(beat_s=0.001), later=later))
        return self

    def _build(self, control: SidecarControl) -> Methods:
        door = McpHandler(control, self.echo.build, lambda _: None)
        http = McpHttpEndpoint(control, door.ready, self.kept, lambda: self.port, lambda *_: self.giver)
        control.beside.append(http.run)
        own = {
            "mcp": door.open,
            "toolsets": door.toolsets,
            "mcp_access": struct_handler(AccessRequest, http.access),
        }
        return {**self.bench.methods(control), **own}

    async def asked(self, method: str, params: object) -> Any:
        """Ask on the sidecar's socket; signs of work before the answer are skipped."""
        user = await self.bench.caller()
        user.call(method, params)
        while "id" not in (answer := await user.hear()):
            assert answer["method"] == "working"
        return answer

    async def access(self, host: str = "", session: str = "") -> McpAccess:
        answer = await self.asked("mcp_access", {"host": host, "session": session})
        return msgspec.convert(answer["result"], McpAccess)


@asynccontextmanager
async def visitor(access: McpAccess, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Who sends requests of its own making, to the URL ""."""
    given = {**BOTH, "Authorization": f"Bearer {access.token}", **headers}
    async with httpx2.AsyncClient(base_url=access.url, headers=given, timeout=LIMIT_S) as client:
        yield client


@asynccontextmanager
async def client_of(access: McpAccess, mode: str, **hooks: Any) -> AsyncIterator[Client]:
    """The package's own client, "legacy" with a handshake or "auto" for the newest protocol."""
    headers = {"Authorization": f"Bearer {access.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=LIMIT_S) as http,
        Client(streamable_http_client(access.url, http_client=http), mode=mode, **hooks) as client,
    ):
        yield client


def message(method: str, params: Mapping[str, object] | None = None, ident: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params or {}}


def modern(method: str, params: Mapping[str, object] | None = None, ident: int = 1) -> dict[str, Any]:
    return message(method, {**(params or {}), "_meta": META}, ident)


def told(response: httpx2.Response) -> list[Any]:
    """What a response says, be it one answer or a stream of events."""
    if response.headers["content-type"].startswith("application/json"):
        return [json.loads(response.text)]
    lines = response.text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


async def shaken(
    client: httpx2.AsyncClient,
    version: str = LATEST_WITH_HANDSHAKE,
    offers: Mapping[str, object] | None = None,
) -> dict[str, str]:
    """Shake hands; the headers of what comes next. `offers`: the client's capabilities."""
    hello = {**HELLO, "protocolVersion": version, "capabilities": offers or {}}
    response = await client.post("", json=message("initialize", hello))
    assert response.status_code == 200, response.text
    assert told(response)[0]["result"]["protocolVersion"] == version
    headers = {"Mcp-Session-Id": response.headers["mcp-session-id"], "MCP-Protocol-Version": version}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await client.post("", json=note, headers=headers)).status_code == 202
    return headers


def calling(**arguments: object) -> dict[str, Any]:
    return message("tools/call", {"name": "echo", "arguments": arguments}, 2)
