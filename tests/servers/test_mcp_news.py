"""What a client hears beside its answers: progress, limits, and that the list of tools has changed."""

from __future__ import annotations

import pytest

from servers.bench import Bench, Caller
from servers.conftest import Start
from servers.mcp_clients import HELLO, META, Echo, announced, begun, call, said, speaking
from sidecar.servers.mcp.access import CALL_LIMIT


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def bench(start: Start, echo: Echo) -> Bench:
    return speaking(start, echo)


async def switched(user: Caller) -> None:
    """Say that toolsets were switched; signs of work before the answer are skipped."""
    user.call("toolsets", {})
    while "id" not in (answer := await user.hear()):
        assert answer["method"] == "working"
    assert answer["result"] == {}


async def test_who_asks_to_be_told_hears_how_far_a_call_is(bench: Bench) -> None:
    client = await begun(bench)
    arguments = {"session": "s1", "text": "a", "steps": 2}
    client.call("tools/call", {"name": "echo", "arguments": arguments, "_meta": {"progressToken": "p"}}, 2)
    heard = [await client.hear() for _ in range(3)]
    assert [one.get("method") for one in heard] == ["notifications/progress"] * 2 + [None]
    assert heard[0]["params"] == {"progressToken": "p", "progress": 1, "total": 2, "message": "step 1"}
    assert heard[2]["result"]["content"] == [{"type": "text", "text": "a"}]


async def test_who_does_not_ask_hears_the_answer_alone(bench: Bench) -> None:
    client = await begun(bench)
    call(client, 2, text="a", steps=3)
    assert (await client.hear())["id"] == 2


async def test_a_client_with_too_many_calls_is_told_to_wait_and_others_are_not(
    bench: Bench, echo: Echo
) -> None:
    client, other = await begun(bench), await begun(bench)
    for ident in range(CALL_LIMIT):
        call(client, ident, wait=True)
    call(client, 99)
    refused = await client.hear()
    assert (refused["id"], refused["result"]["isError"]) == (99, True)
    assert refused["result"]["content"][0]["text"] == f"{CALL_LIMIT} are the most."
    assert await said(other, 2, "mine") == "mine"
    echo.go_on.set()
    assert {(await client.hear())["id"] for _ in range(CALL_LIMIT)} == set(range(CALL_LIMIT))
    assert await said(client, 100, "again") == "again"


async def test_a_client_that_asks_on_and_on_without_reading_is_answered_all_when_it_reads(
    bench: Bench,
) -> None:
    client = await begun(bench)
    text = "x" * 10_000
    for ident in range(500):
        call(client, ident, text=text)
    assert {(await client.hear())["id"] for _ in range(500)} == set(range(500))


async def test_who_shook_hands_hears_that_the_list_has_changed_once_for_each_change(
    bench: Bench, echo: Echo
) -> None:
    clients = [await begun(bench) for _ in range(3)]
    for client in clients:
        assert await said(client, 2, "what was said before is heard") == "what was said before is heard"
    user = await bench.caller()
    echo.on = {"core", "journal"}
    for _ in range(2):
        await switched(user)
    for client in clients:
        assert await client.hear() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        listed = (await client.ask("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["echo", "more"]


async def test_a_client_in_the_middle_of_its_handshake_and_one_that_left_are_not_told(
    bench: Bench, echo: Echo
) -> None:
    half, _ = await announced(bench)
    assert "result" in await half.ask("initialize", HELLO)
    gone = await begun(bench)
    gone.leave()
    echo.on = set()
    await switched(await bench.caller())
    assert (await half.ask("ping"))["result"] == {}


async def test_who_subscribes_in_the_newer_protocol_hears_of_changes(bench: Bench, echo: Echo) -> None:
    client, _ = await announced(bench)
    client.call("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": META}, 5)
    assert (await client.hear())["method"] == "notifications/subscriptions/acknowledged"
    echo.on = set()
    await switched(await bench.caller())
    told = await client.hear()
    assert told["method"] == "notifications/tools/list_changed"
    assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 5}


async def test_toolsets_that_nobody_was_told_of_are_no_news(bench: Bench, echo: Echo) -> None:
    await switched(await bench.caller())
    assert echo.built == 0
