"""Two hundred clients write one journal at the same time: nothing is lost, doubled, or out of its order."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, chdir
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
import pytest

from servers.mcp_clients import HELLO
from servers.mcp_pipes import KEY, SUPERVISOR, Home
from servers.mcp_web import BOTH, message, shaken, told
from sidecar.hosts.ports import McpAccess
from sidecar.servers.http_server import HEADLESS_LIMIT

pytestmark = pytest.mark.proves("crashes and bad input")

CLIENTS: Final = 200
TASKS: Final = 2
"""Tasks that each client adds, one after the other."""
LIMIT_S: Final = 100.0
"""Bound of the whole crowd, in seconds."""
NEWER: Final = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "task_add"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "user")
    yield home
    home.supervisor("stop")


@pytest.fixture
def access(home: Home) -> McpAccess:
    command = [str(SUPERVISOR), "mcp", "--print-config", "json"]
    done = subprocess.run(command, env=home.environment, check=True, capture_output=True, timeout=LIMIT_S)
    return msgspec.json.decode(done.stdout, type=McpAccess)


def adding(text: str) -> dict[str, object]:
    return {"name": "task_add", "arguments": {"session": KEY.id, "content": text}}


async def shaking_hands(client: httpx2.AsyncClient, name: str) -> None:
    headers = await shaken(client)
    for number in range(TASKS):
        body = message("tools/call", adding(f"{name} {number}"))
        (answer,) = told(await client.post("", json=body, headers=headers))
        assert not answer["result"].get("isError"), answer


@asynccontextmanager
async def piped(home: Home, door: asyncio.Semaphore) -> AsyncIterator[Callable[[object], Awaitable[Any]]]:
    """What a pipe is to the sidecar: a connection that was announced, and takes lines."""

    async def ask(said: object) -> Any:
        writer.write(json.dumps(said).encode() + b"\n")
        while "id" not in (answer := json.loads(await reader.readline())):
            assert answer["method"] == "working"
        return answer["result"]

    async with door:
        reader, writer = await asyncio.open_unix_connection("sidecar.sock", limit=1 << 20)
        assert await ask(message("mcp", {"version": "", "project": str(home.folder / "project")})) == {}
    try:
        yield ask
    finally:
        writer.close()


async def test_connections_that_say_nothing_are_bounded_and_leave_room_for_hooks(
    home: Home, access: McpAccess
) -> None:
    port = int(access.url.split(":")[2].split("/")[0])
    async with asyncio.timeout(LIMIT_S):
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(HEADLESS_LIMIT + 10)]
        try:
            heard = [asyncio.create_task(reader.read()) for reader, _ in idle]
            with chdir(home.state / "run"):
                async with piped(home, asyncio.Semaphore()) as ask:
                    assert await ask(message("initialize", HELLO))
            done, _ = await asyncio.wait(heard, return_when=asyncio.FIRST_COMPLETED)
            refused = [task.exception() or task.result() for task in done]
            assert 1 <= len(refused) <= 10
            assert all(isinstance(one, ConnectionError) or one == b"" for one in refused)
        finally:
            for task in heard:
                task.cancel()
            for _, writer in idle:
                writer.close()


@pytest.mark.long
async def test_a_client_with_a_token_gets_in_while_a_thousand_requests_are_half_sent(
    access: McpAccess,
) -> None:
    port = int(access.url.split(":")[2].split("/")[0])
    half = []
    async with asyncio.timeout(LIMIT_S):
        for _ in range(1000):
            half.append(await asyncio.open_connection("127.0.0.1", port))
            half[-1][1].write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        try:
            given = {**BOTH, "Authorization": f"Bearer {access.token}"}
            async with httpx2.AsyncClient(base_url=access.url, headers=given, timeout=LIMIT_S) as client:
                await shaking_hands(client, "in")
            open_ones = [reader for reader, _ in half if not reader.at_eof() and reader.exception() is None]
            assert 0 < len(open_ones) <= HEADLESS_LIMIT
        finally:
            for _, writer in half:
                writer.close()
