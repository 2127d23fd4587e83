"""When the door of MCP over HTTP opens and closes, and what outlives a sidecar."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from servers.bench import LIMIT_S, happens
from servers.conftest import Start
from servers.mcp_clients import Echo
from servers.mcp_web import Web, calling, message, shaken, told, visitor
from sidecar.hosts.ports import McpAccess
from sidecar.servers.mcp.access import McpFiles
from sidecar.servers.sidecar import Timer


class Never:
    """A timer that somebody else lets go off."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Clockwork:
    """Timers of a loop that go off when the test says so."""

    def __init__(self) -> None:
        self.timers: list[tuple[Never, Callable[[], None]]] = []
        self.set = asyncio.Event()

    def later(self, _seconds: float, call: Callable[[], None]) -> Timer:
        self.set.set()
        self.timers.append((Never(), call))
        return self.timers[-1][0]

    def waiting(self) -> list[Callable[[], None]]:
        return [call for timer, call in self.timers if not timer.cancelled]


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def web(echo: Echo, tmp_path: Path) -> Web:
    return Web(echo, McpFiles(tmp_path / "state"))


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody else listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield int(other.getsockname()[1])


def port_of(access: McpAccess) -> int:
    return int(access.url.split(":")[2].split("/")[0])


async def restarted(web: Web, start: Start) -> None:
    web.bench.control.stop()
    assert await web.bench.end() == 0
    web.started(start)


async def refused(port: int) -> bool:
    """Whether nobody listens at this port any more."""
    async with asyncio.timeout(LIMIT_S):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return True
    writer.close()
    return False


async def test_nobody_who_did_not_ask_for_an_address_has_an_open_port(web: Web, start: Start) -> None:
    web.started(start)
    assert (await web.asked("echo", {}))["result"] == {}
    assert web.kept.port() == 0
    await restarted(web, start)
    assert (await web.asked("echo", {}))["result"] == {}
    assert web.kept.port() == 0


async def test_an_address_outlives_the_sidecar_and_conversations_do_not(
    web: Web, start: Start, echo: Echo
) -> None:
    access = await web.started(start).access()
    bound = await web.access("opencode", "s1")
    async with visitor(access) as client:
        headers = await shaken(client)
        await restarted(web, start)
        async with asyncio.timeout(LIMIT_S):
            while await refused(port_of(access)):
                await web.asked("echo", {})
        assert (await client.post("", json=message("ping"), headers=headers)).status_code == 404
        headers = await shaken(client)
        (answer,) = told(await client.post("", json=calling(session="s1", text="a"), headers=headers))
        assert answer["result"]["content"] == [{"type": "text", "text": "a"}]
    async with visitor(bound) as client:
        headers = await shaken(client)
        assert "result" in told(await client.post("", json=calling(text="b"), headers=headers))[0]
    assert [await web.access(), await web.access("opencode", "s1")] == [access, bound]
    assert [key.id for key in echo.callers] == ["s1", "s1"]


async def test_the_end_of_a_sidecar_ends_its_door(
    web: Web, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    async with visitor(await web.started(start).access()) as client:
        await shaken(client)
    web.bench.control.stop()
    await web.bench.end()
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_port_that_is_taken_meanwhile_is_replaced_by_a_free_one(
    web: Web, start: Start, taken: int
) -> None:
    web.kept.remember(taken)
    access = await web.started(start).access()
    assert port_of(access) not in (0, taken)
    assert web.kept.port() == port_of(access)
    async with visitor(access) as client:
        assert await shaken(client)


async def test_a_port_that_the_user_wants_is_used_and_not_remembered(
    web: Web, start: Start, taken: int
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as free:
        free.bind(("127.0.0.1", 0))
        web.port = int(free.getsockname()[1])
    assert web.port != taken
    access = await web.started(start).access()
    assert port_of(access) == web.port
    assert web.kept.port() == 0


async def test_a_sidecar_that_makes_room_lets_a_call_finish_and_closes_streams(
    web: Web, start: Start, echo: Echo
) -> None:
    access = await web.started(start).access()
    async with visitor(access) as client:
        headers = await shaken(client)
        async with client.stream("GET", "", headers=headers) as stream:
            asking = asyncio.create_task(
                client.post("", json=calling(session="s1", wait=True, text="late"), headers=headers)
            )
            await happens(echo.begun)
            web.bench.control.drain()
            async with asyncio.timeout(LIMIT_S):
                assert await stream.aread() == b""
            echo.go_on.set()
            (answer,) = told(await asking)
            assert answer["result"]["content"] == [{"type": "text", "text": "late"}]
    assert await web.bench.end() == 0
    assert not echo.cancelled.is_set()
    assert await refused(port_of(access))


async def test_a_request_is_a_visit_that_puts_off_the_idle_end(web: Web, start: Start, echo: Echo) -> None:
    clockwork = Clockwork()
    access = await web.started(start, clockwork.later).access()
    for caller in web.bench.callers:
        caller.leave()
    async with visitor(access) as client:
        headers = await shaken(client)
        asking = asyncio.create_task(client.post("", json=calling(session="s1", wait=True), headers=headers))
        await happens(echo.begun)
        assert clockwork.waiting() == []
        clockwork.set.clear()
        echo.go_on.set()
        await asking
        await happens(clockwork.set)
        (end,) = clockwork.waiting()
        end()
    assert await web.bench.end() == 0
