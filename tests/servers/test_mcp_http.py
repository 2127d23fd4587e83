"""Who is let in over HTTP, and what is answered to whoever asks wrongly."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from servers.bench import LIMIT_S, SECRET, Bench
from servers.conftest import Start
from servers.mcp_clients import HANDSHAKES, HELLO, Echo
from servers.mcp_web import Web, calling, message, shaken, told, visitor
from sidecar.hosts.ports import McpAccess
from sidecar.servers import http_server
from sidecar.servers.mcp.access import McpFiles
from sidecar.servers.mcp.http import BODY_BYTES


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def web(start: Start, echo: Echo, tmp_path: Path) -> Web:
    return Web(echo, McpFiles(tmp_path / "state")).started(start)


@pytest.fixture
async def access(web: Web) -> McpAccess:
    return await web.access()


async def raw(access: McpAccess, request: bytes) -> bytes:
    """What the door answers to these bytes, until it hangs up."""
    port = int(access.url.split(":")[2].split("/")[0])
    async with asyncio.timeout(LIMIT_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        try:
            return await reader.read()
        finally:
            writer.close()


async def test_the_list_is_said_to_change(access: McpAccess) -> None:
    async with visitor(access) as client:
        (answer,) = told(await client.post("", json=message("initialize", HELLO)))
        assert answer["result"]["capabilities"]["tools"] == {"listChanged": True}
        assert "instructions" not in answer["result"]


@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [
        ("", 'Bearer realm="supervisor"'),
        ("Bearer", 'Bearer realm="supervisor"'),
        ("Bearer wrong", 'Bearer realm="supervisor", error="invalid_token"'),
        ("Basic {token}", 'Bearer realm="supervisor", error="invalid_token"'),
        ("Bearer {token}x", 'Bearer realm="supervisor", error="invalid_token"'),
        ("Bearer svs.b3BlbmNvZGUvczE.00", 'Bearer realm="supervisor", error="invalid_token"'),
        ("Bearer é", 'Bearer realm="supervisor", error="invalid_token"'),
        ("Bearer " + "x" * 20_000, 'Bearer realm="supervisor", error="invalid_token"'),
    ],
)
async def test_nobody_gets_in_without_the_token_and_is_told_what_to_do(
    access: McpAccess, echo: Echo, authorization: str, challenge: str
) -> None:
    given = authorization.format(token=access.token).encode("latin-1", "replace")
    async with visitor(access) as client:
        del client.headers["Authorization"]
        for method in ("POST", "GET", "DELETE", "OPTIONS"):
            headers = [(b"Authorization", given)] if given else []
            response = await client.request(method, "", json=calling(session="s1"), headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == challenge
            assert "supervisor mcp --print-config" in response.json()["error"]
            assert access.token not in response.text
    assert echo.asked == []


@pytest.mark.proves("runs and the journal")
async def test_a_token_of_one_session_calls_for_this_one_without_naming_it_and_for_no_other(
    web: Web, echo: Echo
) -> None:
    bound = await web.access("opencode", "s1")
    async with visitor(bound) as client:
        headers = await shaken(client)
        for session in ({}, {"session": "s1"}):
            called = told(await client.post("", json=calling(text="a", **session), headers=headers))
            assert called[0]["result"]["content"] == [{"type": "text", "text": "a"}]
        (other,) = told(await client.post("", json=calling(session="s2"), headers=headers))
        assert other["result"]["isError"] is True
        assert other["result"]["content"][0]["text"] == "Session s2 is another one."
    assert [key.id for key in echo.callers] == ["s1", "s1"]


async def test_the_users_own_token_has_to_name_the_session(access: McpAccess) -> None:
    async with visitor(access) as client:
        headers = await shaken(client)
        (refused,) = told(await client.post("", json=calling(text="a"), headers=headers))
        assert refused["result"]["content"][0]["text"] == "Whose session?"


async def test_a_request_alone_is_answered_in_json_in_every_version_and_begins_nothing(web: Web) -> None:
    async with visitor(await web.access("opencode", "s1"), Accept="*/*") as client:
        for version in ({}, *({"MCP-Protocol-Version": each} for each in HANDSHAKES)):
            listed = await client.post("", json=message("tools/list"), headers=version)
            called = await client.post("", json=calling(text="a"), headers=version)
            assert [tool["name"] for tool in listed.json()["result"]["tools"]] == ["echo"]
            assert called.json()["result"]["content"] == [{"type": "text", "text": "a"}]
            assert "mcp-session-id" not in called.headers


async def test_a_conversation_belongs_to_the_token_that_began_it(
    web: Web, access: McpAccess, echo: Echo
) -> None:
    async with visitor(access) as client, visitor(await web.access("opencode", "s2")) as other:
        headers = await shaken(client)
        stolen = await other.post("", json=calling(text="a"), headers=headers)
        assert stolen.status_code == 404
        assert (await other.delete("", headers=headers)).status_code == 404
        assert told(await client.post("", json=message("ping"), headers=headers))[0]["result"] == {}
    assert echo.asked == []


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("http://127.0.0.1.evil.example", 403),
        ("null", 403),
        ("http://localhost:8000", 200),
        ("http://127.0.0.1", 200),
        ("http://[::1]:3000", 200),
    ],
)
async def test_a_web_page_that_is_not_of_this_machine_is_refused(
    access: McpAccess, origin: str, status: int
) -> None:
    async with visitor(access, Origin=origin) as client:
        assert (await client.post("", json=message("initialize", HELLO))).status_code == status


@pytest.mark.parametrize(("host", "status"), [("evil.example", 421), ("", 421), ("localhost:1", 200)])
async def test_another_machines_name_is_refused(access: McpAccess, host: str, status: int) -> None:
    async with visitor(access, Host=host) as client:
        assert (await client.post("", json=message("initialize", HELLO))).status_code == status


async def test_a_conversation_that_its_client_ended_is_over(access: McpAccess) -> None:
    async with visitor(access) as client:
        headers = await shaken(client)
        assert (await client.delete("", headers=headers)).status_code == 200
        assert (await client.post("", json=message("ping"), headers=headers)).status_code == 404


@pytest.mark.parametrize("session", ["unknown", "x" * 4000])
async def test_a_conversation_of_which_nothing_is_known_has_to_begin_anew(
    access: McpAccess, session: str
) -> None:
    async with visitor(access, **{"Mcp-Session-Id": session}) as client:
        assert (await client.post("", json=message("ping"))).status_code == 404


async def test_a_body_beyond_the_limit_is_refused_and_one_below_it_is_not(access: McpAccess) -> None:
    async with visitor(access) as client:
        headers = await shaken(client)
        big = await client.post("", json=calling(session="s1", text="x" * (BODY_BYTES + 1)), headers=headers)
        assert big.status_code == 413
        text = "x" * 3_000_000
        (answer,) = told(await client.post("", json=calling(session="s1", text=text), headers=headers))
        assert answer["result"]["content"] == [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"garbage", 400),
        (b"\xff\xfe", 400),
        (b"", 400),
        (b"[]", 400),
        (b"[" * 100_000, 400),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 400),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', 400),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}', 200),
    ],
)
async def test_a_body_that_asks_for_nothing_possible_is_answered_and_the_door_stays_open(
    access: McpAccess, body: bytes, status: int
) -> None:
    async with visitor(access) as client:
        assert (await client.post("", content=body)).status_code == status
        headers = await shaken(client)
        response = await client.post("", content=body, headers=headers)
        assert response.status_code == status
        assert told(await client.post("", json=message("ping"), headers=headers))[0]["result"] == {}


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /mcp\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: nine\r\n\r\n",
    ],
)
async def test_bytes_that_are_no_request_are_answered_so_and_hung_up_on(
    access: McpAccess, request_: bytes
) -> None:
    assert (await raw(access, request_)).startswith(b"HTTP/1.1 400 ")
    async with visitor(access) as client:
        assert await shaken(client)


async def test_a_head_that_takes_too_long_is_hung_up_on(
    access: McpAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "HEAD_S", 0)
    with suppress(ConnectionError):
        assert await raw(access, b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: ") == b""


async def test_what_a_client_says_is_never_logged(
    access: McpAccess, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        async with visitor(access) as client:
            headers = await shaken(client)
            (failed,) = told(await client.post("", json=calling(session="s1", text=SECRET), headers=headers))
            assert failed["result"]["content"][0]["text"] == "It failed."
            await client.post("", content=SECRET.encode(), headers=headers)
    ours = [record for record in caplog.records if record.name.startswith(("sidecar", "uvicorn", "mcp"))]
    assert "a tool failed" in caplog.text
    assert SECRET not in "".join(record.getMessage() for record in ours)
    assert access.token not in "".join(record.getMessage() for record in ours)
    assert isinstance(web.bench, Bench)
