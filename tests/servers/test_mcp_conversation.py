"""A connection that speaks MCP, line by line: what is asked, and what is answered."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from servers.bench import Bench, happens
from servers.conftest import Start
from servers.mcp_clients import (
    HANDSHAKES,
    HELLO,
    META,
    MODERN,
    Echo,
    announced,
    begun,
    call,
    said,
    speaking,
)
from sidecar.kernel.session import SessionKey
from sidecar.platform import rpc
from sidecar.servers.mcp.lines import parse_client_line
from support.clients import AnyClient


def nested(depth: int) -> bytes:
    """A request whose parameters are `depth` lists deep."""
    params = b'{"arguments":' + b"[" * depth + b"]" * depth + b"}"
    return b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":%b}' % params


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def bench(start: Start, echo: Echo) -> Bench:
    return speaking(start, echo)


async def test_a_client_shakes_hands_lists_the_tools_and_calls_one(bench: Bench) -> None:
    client = await begun(bench)
    (listed,) = (await client.ask("tools/list"))["result"]["tools"]
    assert (listed["name"], "outputSchema" in listed) == ("echo", False)
    assert set(listed["inputSchema"]["properties"]) == {"text", "wait", "steps", "ask"}
    call(client, 2, text="a")
    result = (await client.hear())["result"]
    assert result["content"] == [{"type": "text", "text": "a"}]
    assert result["_meta"] == {"supervisor/data": {"text": "a"}}
    assert "structuredContent" not in result


async def test_only_a_tool_that_declares_a_schema_gives_structured_content(bench: Bench, echo: Echo) -> None:
    """A host may show a model that in place of the text."""
    echo.on = {"journal"}
    client = await begun(bench)
    (listed,) = (await client.ask("tools/list"))["result"]["tools"]
    assert set(listed["outputSchema"]["properties"]) == {"text"}
    asked = {"name": "more", "arguments": {"session": "s1", "text": "a"}}
    result = (await client.ask("tools/call", asked))["result"]
    assert (result["structuredContent"], "_meta" in result) == ({"text": "a"}, False)


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_every_version_with_a_handshake_is_spoken(bench: Bench, version: str) -> None:
    client = await begun(bench, version)
    assert [tool["name"] for tool in (await client.ask("tools/list"))["result"]["tools"]] == ["echo"]
    assert await said(client, 2, "a") == "a"


async def test_the_version_without_a_handshake_is_spoken(bench: Bench) -> None:
    client, _ = await announced(bench)
    found = (await client.ask("server/discover", {"_meta": META}))["result"]
    assert found["supportedVersions"] == [MODERN]
    assert found["capabilities"]["tools"] == {"listChanged": True}
    listed = (await client.ask("tools/list", {"_meta": META}))["result"]["tools"]
    assert [tool["name"] for tool in listed] == ["echo"]
    asked = {"name": "echo", "arguments": {"session": "s1", "text": "a"}, "_meta": META}
    assert (await client.ask("tools/call", asked))["result"]["content"] == [{"type": "text", "text": "a"}]


async def test_a_version_that_is_not_known_is_answered_with_one_that_is(bench: Bench) -> None:
    client, _ = await announced(bench)
    found = await client.ask("initialize", {**HELLO, "protocolVersion": "1999-01-01"})
    assert found["result"]["protocolVersion"] == HANDSHAKES[-1]


async def test_what_a_tool_may_do_is_told_to_hosts(bench: Bench, echo: Echo) -> None:
    echo.on = {"core", "journal"}
    client = await begun(bench)
    reading, writing = (await client.ask("tools/list"))["result"]["tools"]
    same = {"destructiveHint": False, "openWorldHint": False}
    assert reading["annotations"] == {"readOnlyHint": True, "idempotentHint": True, **same}
    assert writing["annotations"] == {"readOnlyHint": False, "idempotentHint": True, **same}


async def test_resources_are_there_while_their_toolset_is_on_and_have_the_session_that_was_named(
    bench: Bench, echo: Echo
) -> None:
    client = await begun(bench)
    read = {"uri": "supervisor://parts/a%20b", "_meta": {"supervisor/session": "s1"}}
    unknown = {"code": -32602, "message": "there is no resource supervisor://parts/a%20b: see resources/list"}
    assert (await client.ask("resources/read", read))["error"] == unknown
    echo.on = {"core", "loop"}
    (listed,) = (await client.ask("resources/list"))["result"]["resources"]
    (template,) = (await client.ask("resources/templates/list"))["result"]["resourceTemplates"]
    assert (listed["uri"], template["uriTemplate"]) == ("supervisor://state", "supervisor://parts/{text}")
    (content,) = (await client.ask("resources/read", read))["result"]["contents"]
    assert content == {"uri": read["uri"], "mimeType": "application/json", "text": '{"text":"s1 a b"}'}
    unnamed = await client.ask("resources/read", {"uri": "supervisor://state"})
    assert unnamed["error"] == {"code": -32602, "message": "Whose session?"}


@pytest.mark.proves("the loop")
async def test_resources_are_declared_where_a_session_can_be_known_and_their_toolset_is_on(
    bench: Bench, echo: Echo
) -> None:
    client, _ = await announced(bench)
    assert "resources" not in (await client.ask("server/discover", {"_meta": META}))["result"]["capabilities"]
    echo.on = {"core", "loop"}
    client, _ = await announced(bench)
    found = (await client.ask("server/discover", {"_meta": META}))["result"]["capabilities"]
    assert found["resources"] == {}
    pipe, _ = await announced(bench)
    assert "resources" not in (await pipe.ask("initialize", HELLO))["result"]["capabilities"]


async def test_nothing_is_put_into_the_prompts_of_hosts(bench: Bench) -> None:
    client, _ = await announced(bench)
    assert "instructions" not in (await client.ask("initialize", HELLO))["result"]


async def test_wrong_arguments_are_an_error_of_the_tool_and_an_unknown_tool_one_of_the_protocol(
    bench: Bench,
) -> None:
    client = await begun(bench)
    call(client, 2, text=7)
    result = (await client.hear())["result"]
    assert result["isError"] is True
    assert "Expected `str`, got `int`" in result["content"][0]["text"]
    refused = await client.ask("tools/call", {"name": "ecko"})
    assert refused["error"] == {"code": -32602, "message": "there is no tool ecko: see tools/list"}


@pytest.mark.parametrize(
    ("line", "code", "ident"),
    [
        (b"garbage", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"pi', -32700, None),
        (nested(100_000), -32700, None),
        (nested(900), -32602, 7),
        (b"[]", -32600, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":3}}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/shout"}', -32601, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"prompts/list"}', -32601, 7),
    ],
)
async def test_a_line_that_asks_for_nothing_possible_is_answered_and_the_conversation_goes_on(
    bench: Bench, line: bytes, code: int, ident: int | None
) -> None:
    client = await begun(bench)
    client.send(line)
    answer = await client.hear()
    assert (answer["error"]["code"], answer["id"]) == (code, ident)
    assert await said(client, 8, "still here") == "still here"


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":1}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}',
        b'{"jsonrpc":"2.0","id":5,"result":{}}',
        b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"no"}}',
    ],
)
async def test_what_asks_for_no_answer_gets_none(bench: Bench, line: bytes) -> None:
    client = await begun(bench)
    client.send(line)
    assert await said(client, 8, "still here") == "still here"


async def test_garbage_before_the_handshake_is_answered_too(bench: Bench) -> None:
    client, _ = await announced(bench)
    client.send(b"garbage")
    assert (await client.hear())["error"]["code"] == -32700
    assert "result" in await client.ask("initialize", HELLO)


async def test_half_of_a_surrogate_pair_is_mended(bench: Bench) -> None:
    client = await begun(bench)
    client.send(
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call",'
        b'"params":{"name":"echo","arguments":{"session":"s1","text":"a\\ud83d"}}}'
    )
    assert (await client.hear())["result"]["content"][0]["text"] == "a\ufffd"


async def test_an_argument_of_a_megabyte_comes_back_whole(bench: Bench) -> None:
    client = await begun(bench)
    text = "é\n" * 500_000
    assert await said(client, 2, text) == text


async def test_a_line_beyond_the_limit_ends_the_conversation_with_a_word(bench: Bench) -> None:
    client = await begun(bench)
    client.send(b'"' + b"x" * (rpc.LINE_LIMIT + 1) + b'"')
    assert "longer than" in (await client.hear())["error"]["message"]
    assert await client.is_hung_up_on()


async def test_two_clients_are_served_at_once_and_a_slow_call_holds_up_nobody(
    bench: Bench, echo: Echo
) -> None:
    first, second = await begun(bench), await begun(bench)
    call(first, 2, text="slow", wait=True)
    await happens(echo.begun)
    assert await said(second, 2, "quick") == "quick"
    assert await said(first, 3, "quick too") == "quick too"
    echo.go_on.set()
    assert (await first.hear())["id"] == 2
    assert echo.built == 1


async def test_hooks_are_answered_beside_it(bench: Bench) -> None:
    await begun(bench)
    other = await bench.caller()
    assert (await other.ask("hook", {}))["result"] == {}


async def test_a_client_that_leaves_cancels_its_calls(bench: Bench, echo: Echo) -> None:
    client = await begun(bench)
    call(client, 2, wait=True)
    await happens(echo.begun)
    client.leave()
    await happens(echo.cancelled)


async def test_a_call_that_the_client_cancels_is_cancelled_and_not_answered(bench: Bench, echo: Echo) -> None:
    client = await begun(bench)
    call(client, 2, wait=True)
    await happens(echo.begun)
    client.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}')
    await happens(echo.cancelled)
    assert await said(client, 3, "next") == "next"


async def test_the_session_that_a_host_names_beside_a_call_counts_and_not_what_a_model_wrote(
    bench: Bench,
) -> None:
    """Codex names it so, where no hook of ours adds it to the arguments."""
    client = await begun(bench)
    beside = {"_meta": {"sessionId": "s1"}}
    for written in ({}, {"session": "made-up"}):
        asked = {"name": "echo", "arguments": {"text": "a", **written}, **beside}
        assert (await client.ask("tools/call", asked))["result"]["content"][0]["text"] == "a"


async def test_a_tool_that_is_switched_off_is_refused_in_words(bench: Bench) -> None:
    client = await begun(bench)
    asked = {"name": "more", "arguments": {"session": "s1"}}
    result = (await client.ask("tools/call", asked))["result"]
    assert (result["isError"], result["content"][0]["text"]) == (True, "more is switched off.")


async def test_a_pipe_calls_for_no_session_that_is_not_of_its_process(bench: Bench, echo: Echo) -> None:
    class Bound(AnyClient, frozen=True):
        def serves(self, pid: int, key: SessionKey) -> bool:
            return (pid, key.id) == (os.getpid(), "s1")

    echo.clients = Bound(echo.find)
    client = await begun(bench)
    assert await said(client, 2, "a") == "a"
    call(client, 3, session="s2")
    refused = (await client.hear())["result"]
    assert (refused["isError"], refused["content"][0]["text"]) == (True, "Session s2 is of another host.")
    assert [key.id for key in echo.callers] == ["s1"]


@given(
    st.binary(max_size=200)
    | st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]),
        st.none()
        | st.just("2.0")
        | st.integers()
        | st.text(max_size=5)
        | st.dictionaries(st.text(), st.none()),
    ).map(lambda message: json.dumps(message).encode())
)
def test_every_line_is_understood_or_answered_as_json_rpc_wants(line: bytes) -> None:
    found = parse_client_line(line)
    if isinstance(found, bytes):
        answer = rpc.parse_message(found)
        assert answer.error is not None
        assert found.count(b"\n") == 1
    else:
        kinds = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError
        assert found is None or isinstance(found, kinds)


def test_parameters_that_are_null_are_none() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}'
    understood_as = parse_client_line(line)
    assert isinstance(understood_as, JSONRPCRequest)
    assert understood_as.params is None


def test_too_long_a_message_is_refused_before_it_is_read() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":[%b0]}}' % (b"[]," * 2_000_000)
    answer = parse_client_line(line)
    assert isinstance(answer, bytes)
    assert b"-32602" in answer
    assert b"at most" in answer
