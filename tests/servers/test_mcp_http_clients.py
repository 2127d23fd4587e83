"""Clients over HTTP, the package's own and such as leave: progress, cancelling, changes, limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp.client.subscriptions import ToolsListChanged
from mcp.types import ToolListChangedNotification

from servers.bench import LIMIT_S, happens
from servers.conftest import Start
from servers.mcp_clients import Echo, data_of
from servers.mcp_web import Web, calling, client_of, modern, shaken, visitor
from sidecar.hosts.ports import McpAccess
from sidecar.kernel.settings import TOOLSET
from sidecar.servers.mcp.access import McpFiles

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
BOTH: Final[set[TOOLSET]] = {"core", "journal"}
NONE: Final[set[TOOLSET]] = set()
MODERN_CALL = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def web(start: Start, echo: Echo, tmp_path: Path) -> Web:
    return Web(echo, McpFiles(tmp_path / "state")).started(start)


@pytest.fixture
async def access(web: Web) -> McpAccess:
    return await web.access()


@asynccontextmanager
async def under_way(
    client: httpx2.AsyncClient, echo: Echo, **request: Any
) -> AsyncIterator[asyncio.Task[Any]]:
    """A request whose tool has begun and waits."""
    task = asyncio.create_task(client.post("", **request))
    await happens(echo.begun)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.proves("runs and the journal")
@ERAS
async def test_a_client_lists_and_calls(access: McpAccess, mode: str) -> None:
    async with client_of(access, mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo"]
        found = await client.call_tool("echo", {"session": "s1", "text": "a"})
        assert data_of(found) == {"text": "a"}
        refused = await client.call_tool("echo", {"session": "s1", "text": 7})
        assert refused.is_error


@ERAS
async def test_a_client_hears_how_far_a_call_is(access: McpAccess, mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with client_of(access, mode) as client:
        found = await client.call_tool(
            "echo", {"session": "s1", "text": "a", "steps": 2}, progress_callback=hear
        )
        assert data_of(found) == {"text": "a"}
    assert heard == [(1, 2, "step 1"), (2, 2, "step 2")]


@pytest.mark.parametrize("era", ["legacy", "modern", "alone"])
async def test_a_call_whose_client_hangs_up_is_cancelled(access: McpAccess, echo: Echo, era: str) -> None:
    async with visitor(access, **(MODERN_CALL if era == "modern" else {})) as client:
        headers = await shaken(client) if era == "legacy" else {}
        arguments = {"session": "s1", "wait": True}
        body = modern("tools/call", {"name": "echo", "arguments": arguments})
        asked = body if era == "modern" else calling(**arguments)
        async with under_way(client, echo, json=asked, headers=headers):
            pass
    await happens(echo.cancelled)


@ERAS
async def test_a_client_that_listens_hears_that_the_list_has_changed(
    web: Web, access: McpAccess, echo: Echo, mode: str
) -> None:
    changed = asyncio.Event()

    async def hear(what: object) -> None:
        if isinstance(what, ToolListChangedNotification):
            changed.set()

    async with client_of(access, mode, message_handler=hear) as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed is True
        if mode == "legacy":
            await switched_until(changed, web)
        else:
            async with client.listen(tools_list_changed=True) as events:
                echo.on = BOTH
                await web.asked("toolsets", {})
                async with asyncio.timeout(LIMIT_S):
                    assert isinstance(await anext(aiter(events)), ToolsListChanged)
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo", "more"]


async def switched_until(heard: asyncio.Event, web: Web) -> None:
    """Switch toolsets until the client, which opens its stream behind our back, hears of it."""
    async with asyncio.timeout(LIMIT_S):
        while not heard.is_set():
            for on in (NONE, BOTH):
                web.echo.on = on
                await web.asked("toolsets", {})


async def test_a_stream_of_changes_is_one_event_for_each(web: Web, access: McpAccess, echo: Echo) -> None:
    async with visitor(access) as client:
        headers = await shaken(client)
        async with client.stream("GET", "", headers=headers) as stream:
            assert stream.status_code == 200
            lines = stream.aiter_lines()
            for on in (BOTH, NONE, BOTH):
                echo.on = on
                await web.asked("toolsets", {})
                async with asyncio.timeout(LIMIT_S):
                    event = [await anext(lines) for _ in range(3)]
                assert event[0] == "event: message"
                assert json.loads(event[1].removeprefix("data: ")) == {
                    "jsonrpc": "2.0",
                    "method": "notifications/tools/list_changed",
                }
                assert event[2] == ""
            second = await client.get("", headers=headers)
            assert second.status_code == 409
