"""How a connection begins to speak MCP, what ends that, and how another sidecar takes it up."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial

import pytest
from msgspec import Raw

from servers.bench import LIMIT_S, SECRET, Bench, Caller, happens
from servers.conftest import Start
from servers.mcp_clients import HELLO, META, Echo, announced, begun, call, said, speaking
from sidecar.platform import rpc
from sidecar.servers.control import Methods, Peer, SidecarControl
from sidecar.servers.mcp.session import McpSpeaker
from sidecar.servers.sidecar import SidecarIntervals
from sidecar.servers.tools.tool import Caller as ToolCaller


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def bench(start: Start, echo: Echo) -> Bench:
    return speaking(start, echo)


async def until_hung_up(client: Caller) -> list[str]:
    """What the client still hears."""
    heard = []
    while line := await client.line():
        heard.append(line.decode())
    return heard


async def test_once_handed_over_a_peer_hears_no_sign_of_work_even_before_its_answer(
    start: Start, echo: Echo
) -> None:
    held: list[Bench] = []

    async def slow(_params: Raw, peer: Peer) -> bytes:
        speaker = McpSpeaker(echo.build(), "1", asyncio.Event())
        peer.hand_over(partial(speaker.speak, ToolCaller()))
        held[0].begun.set()
        await held[0].go_on.wait()
        return b"{}"

    def build(control: SidecarControl) -> Methods:
        return {**held[0].methods(control), "slow": slow}

    held.append(start(build=build, pace=SidecarIntervals(beat_s=0.001)))
    client = await held[0].caller()
    client.call("slow")
    await happens(held[0].begun)
    other = await held[0].caller()
    other.call("wait")
    assert [(await other.hear())["method"] for _ in range(3)] == ["working"] * 3
    held[0].go_on.set()
    assert await client.hear() == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_after_the_announcement_a_client_hears_nothing_that_is_ours(bench: Bench, echo: Echo) -> None:
    """With a beat of a millisecond any sign of work would come before the answer."""
    client = await begun(bench)
    call(client, 2, wait=True)
    await happens(echo.begun)
    other = await bench.caller()
    other.call("wait")
    assert (await other.hear())["method"] == "working"
    echo.go_on.set()
    assert (await client.hear())["id"] == 2
    bench.go_on.set()


async def test_a_newer_client_gets_a_newer_sidecar(bench: Bench) -> None:
    client, answer = await announced(bench, version="1.3.0")
    assert answer["result"] == {"leaving": True}
    assert await client.is_hung_up_on()
    assert await bench.end() == 0


async def test_a_sidecar_that_is_stopped_hangs_up_at_once(bench: Bench, echo: Echo) -> None:
    client = await begun(bench)
    call(client, 2, wait=True)
    await happens(echo.begun)
    bench.control.stop()
    assert "result" not in "".join(await until_hung_up(client))
    assert await bench.end() == 0
    await happens(echo.cancelled)


async def test_a_sidecar_that_makes_room_first_answers_what_was_asked_for(bench: Bench, echo: Echo) -> None:
    client = await begun(bench)
    call(client, 2, wait=True, text="late")
    await happens(echo.begun)
    bench.control.drain()
    assert await said(client, 3, "while it drains") == "while it drains"
    echo.go_on.set()
    assert (await client.hear())["result"]["content"] == [{"type": "text", "text": "late"}]
    assert await client.is_hung_up_on()
    assert await bench.end() == 0
    assert not echo.cancelled.is_set()


async def test_a_call_that_was_cancelled_holds_up_no_sidecar_that_makes_room(
    bench: Bench, echo: Echo
) -> None:
    client = await begun(bench)
    call(client, 2, wait=True)
    await happens(echo.begun)
    client.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}')
    await happens(echo.cancelled)
    bench.control.drain()
    assert await client.is_hung_up_on()


@pytest.mark.parametrize("spoken", [True, False])
async def test_a_client_that_waits_for_nothing_holds_up_no_sidecar_that_makes_room(
    bench: Bench,
    spoken: bool,  # noqa: FBT001 - pytest's way
) -> None:
    client = await begun(bench) if spoken else (await announced(bench))[0]
    bench.control.drain()
    assert await client.is_hung_up_on()
    assert await bench.end() == 0


async def test_a_client_of_a_newer_protocol_that_listens_holds_up_no_sidecar_that_makes_room(
    bench: Bench,
) -> None:
    client, _ = await announced(bench)
    listen = {"notifications": {"toolsListChanged": True}, "_meta": META}
    assert (await client.ask("subscriptions/listen", listen))["method"].endswith("acknowledged")
    bench.control.drain()
    assert len(await until_hung_up(client)) <= 1


async def test_a_conversation_is_taken_up_where_another_sidecar_left_it(bench: Bench) -> None:
    client, _ = await announced(bench, resumed=True)
    client.call("initialize", HELLO)
    assert await said(client, 2, "a") == "a"
    client.call("ping", ident=1)
    assert (await client.hear()) == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_of_a_conversation_without_a_handshake_nothing_is_done_twice(bench: Bench, echo: Echo) -> None:
    client, _ = await announced(bench, resumed=True)
    for ident, text in enumerate(("before", "after"), start=1):
        params = {"name": "echo", "arguments": {"text": text, "session": "s1"}, "_meta": META}
        client.call("tools/call", params, ident)
    answer = await client.hear()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (2, "after")
    assert echo.asked == ["after"]


async def test_a_client_that_leaves_before_its_first_line_is_no_trouble(bench: Bench) -> None:
    for resumed in (True, False):
        client, _ = await announced(bench, resumed=resumed)
        client.leave()
    assert await said(await begun(bench), 2, "a") == "a"


async def test_what_a_client_says_is_never_logged_and_a_fault_of_ours_never_told(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        client = await begun(bench)
        client.send(SECRET.encode())
        assert SECRET not in json.dumps(await client.hear())
        for params in ({"name": {"x": SECRET}}, {"name": "echo", "arguments": SECRET}):
            assert SECRET not in json.dumps(await client.ask("tools/call", params))
        client.send(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"x":"%b"}}' % SECRET.encode()
        )
        call(client, 2, text=SECRET)
        failed = (await client.hear())["result"]
    assert (failed["isError"], failed["content"][0]["text"]) == (True, "It failed.")
    assert "a tool failed" in caplog.text
    assert SECRET not in "".join(record.getMessage() for record in caplog.records)


async def test_a_client_that_leaves_while_the_tools_are_built_does_not_stop_that(
    bench: Bench, echo: Echo
) -> None:
    echo.built_when.clear()
    impatient, patient = await bench.caller(), await bench.caller()
    for client in (impatient, patient):
        client.call("mcp", {})
    await asyncio.to_thread(echo.building.wait, LIMIT_S)
    impatient.leave()
    other = await bench.caller()
    assert (await other.ask("echo", {}))["result"] == {}
    echo.built_when.set()
    while "id" not in (answer := await patient.hear()):
        pass
    assert answer["result"] == {}
    assert echo.built == 1


async def test_tools_that_cannot_be_built_are_said_so_and_tried_again(bench: Bench, echo: Echo) -> None:
    echo.broken = True
    _, answer = await announced(bench)
    assert answer["error"]["code"] == rpc.INTERNAL_FAULT
    assert "sidecar.log" in answer["error"]["message"]
    echo.broken = False
    assert await said(await begun(bench), 2, "a") == "a"


async def test_toolsets_can_be_switched_while_the_tools_cannot_be_built(bench: Bench, echo: Echo) -> None:
    echo.broken = True
    _, answer = await announced(bench)
    assert "error" in answer
    user = await bench.caller()
    assert (await user.ask("toolsets", {}))["result"] == {}
    assert echo.built == 1
