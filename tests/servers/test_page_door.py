"""The port of the page: opened when somebody asks, refused where it is taken, closed with the sidecar."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from servers.bench import LIMIT_S
from sidecar.servers.connection import struct_handler
from sidecar.servers.page.door import PageAccess, PageEndpoint, PageRequest
from sidecar.servers.page.http import LocalPage
from sidecar.servers.page.readings import PageReadings
from sidecar.systems.supervision.people import CommandLineService
from support.fakes import Fakes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servers.bench import Bench
    from servers.conftest import Start
    from sidecar.servers.control import Methods, SidecarControl

pytestmark = pytest.mark.proves("seeing and asking back")


@pytest.fixture
async def bench(start: Start) -> Bench:
    fakes = Fakes()

    def build(control: SidecarControl) -> Methods:
        async def serve(access: PageAccess, listener: socket.socket) -> None:
            readings = PageReadings(fakes.services, CommandLineService(fakes.services, fakes.supervisor))
            await LocalPage(access, readings, fakes.log, fakes.clock, control).serve(listener)

        endpoint = PageEndpoint(PageAccess(fakes.clock), serve, lambda _pid: None)
        control.beside.append(endpoint.run)
        return {"dashboard": struct_handler(PageRequest, endpoint.address)}

    return start(build=build)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield int(other.getsockname()[1])


async def asked(bench: Bench, port: int = 0) -> Any:
    return await (await bench.caller()).ask("dashboard", {"port": port})


async def test_the_address_opens_the_page_until_the_sidecar_ends(bench: Bench) -> None:
    url, newest = [(await asked(bench))["result"]["url"] for _ in range(2)]
    port = int(newest.split(":")[2].split("/")[0])
    assert newest.partition("?")[0] == url.partition("?")[0]
    async with httpx2.AsyncClient(timeout=LIMIT_S) as client:
        assert (await client.get(url)).status_code == 403
        entered = await client.get(newest)
        room = entered.text.partition("url=")[2].partition('"')[0]
        async with client.stream("GET", f"http://127.0.0.1:{port}{room}stream?view=") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            bench.control.drain()
            async with asyncio.timeout(LIMIT_S):
                text = "".join([part async for part in stream.aiter_text()])
        assert "Sessions (0)" in text
    assert await bench.end() == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)


async def test_a_taken_port_is_refused_and_the_next_request_opens_another(bench: Bench, taken: int) -> None:
    refused = await asked(bench, taken)
    assert f"port {taken} of 127.0.0.1 cannot be used" in refused["error"]["message"]
    url = (await asked(bench))["result"]["url"]
    assert f":{taken}/" not in url
    assert "is open at port" in (await asked(bench, taken))["error"]["message"]
