"""A tool asks the person at the client: those that offer elicitation are asked, the others never."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Final

import pytest
from mcp.types import INTERNAL_ERROR, ElicitRequestParams, ElicitResult

from servers.bench import LIMIT_S
from servers.conftest import Start
from servers.mcp_clients import Echo, begun, call, data_of, speaking
from servers.mcp_web import Web, calling, client_of, shaken, visitor
from sidecar.hosts.ports import McpAccess
from sidecar.kernel.orders import Giver
from sidecar.kernel.session import Session
from sidecar.servers.mcp.access import McpFiles
from support.clients import AnyClient

pytestmark = pytest.mark.proves("governed phases")

QUESTION: Final = "Is it delivered?"
FAILED: Final = {"code": INTERNAL_ERROR, "message": "the window is gone"}
YES: Final = "(True, '')"
ANSWERS: Final[dict[str, tuple[dict[str, object], str]]] = {
    "accepted": ({"result": {"action": "accept", "content": {}}}, YES),
    "refused": ({"result": {"action": "accept", "content": {"no_because": "why"}}}, "(False, 'why')"),
    "declined": ({"result": {"action": "decline"}}, "(False, '')"),
    "cancelled": ({"result": {"action": "cancel"}}, "None"),
    "an error": ({"error": FAILED}, "None"),
    "no such answer": ({"result": {"action": "shrug"}}, "None"),
    "no form": ({"result": [True]}, "None"),
    "neither": ({}, "None"),
    "too long": ({"result": {"action": "accept", "content": {"x": "x" * 2**22}}}, "None"),
}
"""What a client answers, and what counts: None leaves the question open."""


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def access(start: Start, echo: Echo, tmp_path: Path) -> McpAccess:
    return await Web(echo, McpFiles(tmp_path / "state")).started(start).access()


@pytest.mark.parametrize("case", ANSWERS)
async def test_the_person_is_asked_over_a_pipe_and_their_answer_counts(
    start: Start, echo: Echo, case: str
) -> None:
    answer, counts = ANSWERS[case]
    client = await begun(speaking(start, echo), offers={"elicitation": {"form": {}}})
    client.send(b'{"jsonrpc":"2.0","id":77,"result":{"action":"accept"}}')  # nobody waits for that
    call(client, 2, ask=QUESTION)
    asked = await client.hear()
    assert (asked["method"], asked["params"]["message"]) == ("elicitation/create", QUESTION)
    assert [*asked["params"]["requestedSchema"]["properties"]] == ["no_because"]
    client.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode())
    assert (await client.hear())["result"]["content"] == [{"type": "text", "text": counts}]


async def test_who_cannot_ask_is_not_asked(start: Start, echo: Echo) -> None:
    client = await begun(speaking(start, echo))
    call(client, 2, ask=QUESTION)
    assert (await client.hear())["result"]["content"] == [{"type": "text", "text": "None"}]


@pytest.mark.parametrize(("mode", "counts"), [("legacy", YES), ("auto", "None")])
async def test_the_packages_client_is_asked_over_http_where_its_protocol_can(
    access: McpAccess, mode: str, counts: str
) -> None:
    """In the newest protocol a server cannot ask during a call."""
    heard: list[str] = []

    async def asked(_context: object, params: ElicitRequestParams) -> ElicitResult:
        heard.append(params.message)
        return ElicitResult(action="accept", content={})

    async with client_of(access, mode, elicitation_callback=asked) as client:
        found = await client.call_tool("echo", {"session": "s1", "ask": QUESTION})
    assert data_of(found) == {"text": counts}
    assert heard == ([QUESTION] if mode == "legacy" else [])


async def test_over_http_only_the_token_of_a_person_brings_questions(
    start: Start, echo: Echo, tmp_path: Path
) -> None:
    class Persons(AnyClient, frozen=True):
        def may_ask(self, pid: int, session: Session, tool: str, *, person: bool) -> bool:
            return person and (pid, session.key.id, tool) == (0, "s1", "echo")

    async def asked(_context: object, _params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={})

    echo.clients = Persons(echo.find)
    web = Web(echo, McpFiles(tmp_path / "state")).started(start)
    for web.giver, counts in ((Giver.USER, YES), (Giver.UNSURE, "None")):
        for access in (await web.access(), await web.access("opencode", "s1")):
            async with client_of(access, "legacy", elicitation_callback=asked) as client:
                found = await client.call_tool("echo", {"session": "s1", "ask": QUESTION})
            assert data_of(found) == {"text": counts}


async def test_who_listens_to_the_answer_of_its_call_alone_is_asked_there(access: McpAccess) -> None:
    async with asyncio.timeout(LIMIT_S), visitor(access) as client:
        headers = await shaken(client, offers={"elicitation": {}})
        body = calling(session="s1", ask=QUESTION)
        async with client.stream("POST", "", json=body, headers=headers) as response:
            told = (json.loads(line[6:]) async for line in response.aiter_lines() if line[6:].startswith("{"))
            asked = await anext(told)
            assert asked["params"]["message"] == QUESTION
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}}
            assert (await client.post("", json=answer, headers=headers)).status_code == 202
            assert (await anext(told))["result"]["content"] == [{"type": "text", "text": YES}]
