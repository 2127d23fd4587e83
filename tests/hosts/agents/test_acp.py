"""An agent that speaks the Agent Client Protocol works an errand through, and is answered when it asks.

The agent is a real process that follows a script.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidecar.hosts.acp.agent import AcpAgent
from sidecar.hosts.acp.link import PermissionLevel
from sidecar.hosts.ports import AgentResult
from sidecar.kernel.settings import ModelPrice
from support.acp_agent import DONE, GREETING, SESSION, asks, reply, says, update
from support.acp_runs import ACCESS, ONCE, WORKS, Driven, prompted
from support.table import often

pytestmark = pytest.mark.process


async def test_the_prompt_arrives_in_the_project_and_what_is_said_comes_back(tmp_path: Path) -> None:
    driven = Driven(tmp_path, prompted(*WORKS))
    assert await driven.run(prompt="Write it.\n") == AgentResult(said="I write it. Done.")
    assert driven.heard == ["I write it. ", "Done."]
    assert driven.agent.told("session/new") == {"cwd": str(tmp_path), "mcpServers": []}
    said = driven.agent.told("session/prompt")
    assert said == {"sessionId": SESSION, "prompt": [{"type": "text", "text": "Write it.\n"}]}


async def test_the_agent_is_offered_no_files_and_no_terminals(tmp_path: Path) -> None:
    driven = Driven(tmp_path, prompted(*WORKS))
    await driven.run()
    hello = driven.agent.told("initialize")
    assert hello["protocolVersion"] == 1
    files = {"readTextFile": False, "writeTextFile": False}
    assert hello["clientCapabilities"] == {"fs": files, "terminal": False}
    assert hello["clientInfo"]["name"] == "supervisor"


@pytest.mark.proves("runs and the journal")
async def test_the_agent_is_handed_the_tools_of_its_session(tmp_path: Path) -> None:
    driven = Driven(tmp_path, prompted(*WORKS))
    await driven.run(access=ACCESS)
    (server,) = driven.agent.told("session/new")["mcpServers"]
    header = {"name": "Authorization", "value": "Bearer svs.token"}
    assert server == {"type": "http", "name": "supervisor", "url": ACCESS.url, "headers": [header]}


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(
    "capabilities", often([{}, None, {"mcpCapabilities": None}, {"mcpCapabilities": {"sse": True}}], 2)
)
async def test_an_agent_that_reaches_no_url_is_given_a_pipe_that_knows_its_session(
    tmp_path: Path, capabilities: object
) -> None:
    hello = reply(protocolVersion=1, agentCapabilities=capabilities)
    driven = Driven(tmp_path, {**prompted(*WORKS), "initialize": [hello]})
    assert (await driven.run(access=ACCESS)).trouble == ""
    (server,) = driven.agent.told("session/new")["mcpServers"]
    assert Path(server.pop("command")).is_absolute()
    token = {"name": "SUPERVISOR_MCP_TOKEN", "value": ACCESS.token}
    arguments = ["-P", "-m", "sidecar", "mcp"]
    assert server == {"name": "supervisor", "args": arguments, "env": [token]}


async def test_tool_calls_are_heard_in_a_line_and_are_not_what_was_said(tmp_path: Path) -> None:
    steps = [
        update("tool_call", toolCallId="1", title="Run\nthe\x1b[31m tests", kind="execute", status="pending"),
        update("tool_call_update", toolCallId="1", status="in_progress", content=[]),
        update("tool_call_update", toolCallId="1", title="pytest"),
        update("tool_call_update", toolCallId="1", status="failed"),
        update("tool_call", toolCallId="2", title="ls", status="completed"),
        *WORKS,
    ]
    driven = Driven(tmp_path, prompted(*steps))
    assert (await driven.run()).said == "I write it. Done."
    notes = ["Run the tests", "pytest", "failed: pytest", "ls"]
    assert driven.heard[:4] == [f"\n[{note}]\n" for note in notes]


@pytest.mark.parametrize(
    ("cost", "usage", "spent"),
    [
        ({"amount": 0.02, "currency": "USD"}, {"totalTokens": 7}, (7, 2.0)),
        (
            None,
            {
                "totalTokens": 9_000,
                "inputTokens": 5,
                "outputTokens": 3,
                "thoughtTokens": 2,
                "cachedReadTokens": 8_989,
                "cachedWriteTokens": 1,
            },
            (11, None),
        ),
        ({"amount": 0.02, "currency": "EUR"}, {"totalTokens": -7}, (0, None)),
        ("much", "much", (0, None)),
    ],
)
async def test_what_a_session_spent_is_read_where_the_agent_tells_it(
    tmp_path: Path, cost: object, usage: object, spent: tuple[int, float | None]
) -> None:
    steps = [update("usage_update", used=5, size=9, cost=cost), reply(stopReason="end_turn", usage=usage)]
    rest = await Driven(tmp_path, prompted(*steps)).run()
    assert (rest.tokens, rest.cents, rest.trouble) == (*spent, "")


async def test_opencode_is_asked_what_the_whole_session_took_and_the_users_price_counts(
    tmp_path: Path,
) -> None:
    steps = [reply(stopReason="end_turn", usage={"inputTokens": 5, "outputTokens": 3})]
    driven = Driven(tmp_path, prompted(*steps))
    program, kept = (
        tmp_path / "opencode",
        '[{"input":6000,"cached":9,"output":600,"cents":0,"model":"p/mini"}]',
    )
    script = f"""[ "$1" = db ] && case "$4" in *"'{SESSION}'"*) echo '{kept}'; exit;; esac\nexec "$@"\n"""
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    for prices, cents in (({}, None), ({"p/m": ModelPrice(input=1000.0, output=0.0, cached=0.0)}, 6.0)):
        driven.runner = AcpAgent([str(program), *driven.agent.command], prices=prices)
        rest = await driven.run()
        assert (rest.tokens, rest.cents) == (6600, cents)


async def test_what_a_newer_agent_tells_besides_is_no_trouble(tmp_path: Path) -> None:
    steps = [
        update("a_kind_of_next_year", content={"new": True}, title=["not", "a", "text"]),
        update("agent_message_chunk", content={"type": "image", "data": "", "mimeType": "image/png"}),
        update("agent_message_chunk", content="no block"),
        ("tell", "session/next_year", {}),
        update("plan", entries=[]),
        ("tell", "session/update", None),
        says("of another session", "ses_2"),
        *WORKS,
    ]
    driven = Driven(tmp_path, prompted(*steps))
    assert await driven.run() == AgentResult(said="[image]I write it. Done.")


async def test_only_the_end_of_much_talk_is_kept_and_all_of_it_is_heard(tmp_path: Path) -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": says("")[1], "params": says("0123456789")[2]}) + "\n"
    driven = Driven(tmp_path, prompted(("print", line, 20_000), says("The end."), DONE))
    rest = await driven.run()
    assert (len(rest.said), rest.said[-18:]) == (20_000, "0123456789The end.")
    assert sum(map(len, driven.heard)) == 200_008


async def test_a_prompt_bigger_than_any_pipe_arrives_at_an_agent_that_talks_meanwhile(tmp_path: Path) -> None:
    chatty = {**prompted(*WORKS), "session/new": [*GREETING["session/new"], ("print", "\n" * 1000, 100)]}
    driven = Driven(tmp_path, chatty)
    assert (await driven.run(prompt="x" * 3_000_000)).trouble == ""
    assert len(driven.agent.told("session/prompt")["prompt"][0]["text"]) == 3_000_000


# --- what it asks ---


async def test_a_method_that_was_not_offered_is_refused_and_the_agent_goes_on(tmp_path: Path) -> None:
    driven = Driven(tmp_path, prompted(asks("fs/write_text_file", path="/x", content=""), *WORKS))
    assert (await driven.run()).trouble == ""
    (answer,) = (message for message in driven.agent.received if message.get("id") == "its own")
    assert answer["error"]["code"] == -32_601


async def test_a_permission_that_cannot_be_read_is_refused_and_the_agent_goes_on(tmp_path: Path) -> None:
    driven = Driven(tmp_path, prompted(asks("session/request_permission", options="all"), *WORKS))
    assert (await driven.run()).trouble == ""
    (answer,) = (message for message in driven.agent.received if message.get("id") == "its own")
    assert answer["error"]["code"] == -32_602


@pytest.mark.parametrize(
    ("leave", "chosen", "word"),
    [
        (PermissionLevel.ALL, "once", "allowed (all): rm -r /"),
        (PermissionLevel.EDITS, "no", "not allowed (edits): rm -r /"),
    ],
)
async def test_a_permission_is_answered_by_the_users_leave_and_that_is_heard(
    tmp_path: Path, leave: PermissionLevel, chosen: str, word: str
) -> None:
    options = [
        {"optionId": "ever", "kind": "allow_always", "name": "Always"},
        ONCE,
        {"optionId": "no", "kind": "reject_once", "name": "No"},
    ]
    question = asks(
        "session/request_permission", toolCall={"title": "rm -r /", "kind": "execute"}, options=options
    )
    driven = Driven(tmp_path, prompted(question, *WORKS), leave=leave)
    assert (await driven.run()).trouble == ""
    (answer,) = (message for message in driven.agent.received if message.get("id") == "its own")
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": chosen}}
    assert driven.heard[0] == f"\n[{word}]\n"
