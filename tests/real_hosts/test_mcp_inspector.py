"""The MCP inspector's command line lists and calls our tools, over both transports and in both protocols."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from real_hosts.host import Ran
from real_hosts.install import INSPECTOR, INSPECTOR_PINNED
from real_hosts.mcp_room import CONDITION, KEY, SUPERVISOR, Room, room
from real_hosts.node_program import NodeProgram, node_program

ROADS: Final = ("stdio", "http")
ERAS: Final = ("legacy", "modern")
"""With a handshake, and without: since 2026-07-28 every request stands alone."""
CORE: Final = {"status", "rubric"}
JOURNAL: Final = {
    "task_add", "task_batch_add", "task_status", "task_priority", "task_depends", "task_list", "task_next",
    "note_add", "note_list", "iteration_summary", "session_complete",
}  # fmt: skip
PATIENCE_MS: Final = "60000"
"""Longest time in which it may be connected; by itself it gives up after 15 s, and a machine may be busy."""
UNAUTHORIZED: Final = 3
TOOL_ERROR: Final = 5
"""Exit codes of the inspector."""

pytestmark = [pytest.mark.xdist_group("mcp-inspector"), pytest.mark.long, pytest.mark.proves("MCP")]


class Inspector:
    """The program, pointed at the sidecar of one room."""

    def __init__(self, program: NodeProgram, at: Room) -> None:
        self.room = at
        self._program = program

    def ask(self, road: str, *arguments: str, era: str = "legacy", token: str = "") -> Ran:
        """Connect, ask one thing, and leave; `token`: another than the user's."""
        style = (
            "--cli",
            "--format",
            "json",
            "--quiet",
            "--connect-timeout",
            PATIENCE_MS,
            "--protocol-era",
            era,
        )
        return self._program.run([*style, *arguments, *self._way(road, token)], self.room.home)

    def _way(self, road: str, token: str) -> tuple[str, ...]:
        if road == "stdio":
            return (str(SUPERVISOR), "mcp")
        access = self.room.access()
        bearer = f"Authorization: Bearer {token or access.token}"
        return ("--transport", "http", "--server-url", access.url, "--stored-auth-only", "--header", bearer)


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    program = node_program(INSPECTOR, INSPECTOR_PINNED)
    with room(tmp_path_factory.mktemp("inspected")) as at:
        yield Inspector(program, at)


def found(ran: Ran) -> Any:
    assert ran.returncode == 0, ran
    return json.loads(ran.stdout)["result"]


def calling(tool: str, **arguments: object) -> tuple[str, ...]:
    return ("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("era", ERAS)
def test_it_lists_the_tools_of_core_and_journal(inspector: Inspector, road: str, era: str) -> None:
    tools = found(inspector.ask(road, "--method", "tools/list", "--strict", era=era))["tools"]
    assert {tool["name"] for tool in tools} >= CORE | JOURNAL
    assert not [tool["name"] for tool in tools if "session" in tool["inputSchema"].get("properties", {})]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("era", ERAS)
def test_it_calls_a_tool_for_a_session(inspector: Inspector, road: str, era: str) -> None:
    done = found(inspector.ask(road, *calling("status", session=KEY.id), era=era))
    assert done["structuredContent"]["session"] == KEY.id
    assert CONDITION in done["content"][0]["text"]
    assert not done["isError"]


def test_what_one_road_writes_the_other_reads(inspector: Inspector) -> None:
    written = inspector.ask("stdio", *calling("task_add", session=KEY.id, content="write the parser"))
    assert "write the parser" in json.dumps(found(written))
    assert "write the parser" in json.dumps(
        found(inspector.ask("http", *calling("task_list", session=KEY.id)))
    )


@pytest.mark.parametrize("road", ROADS)
def test_a_call_that_names_no_session_is_a_tools_error(inspector: Inspector, road: str) -> None:
    done = inspector.ask(road, *calling("status"))
    assert done.returncode == TOOL_ERROR, done
    assert json.loads(done.stdout)["result"]["isError"] is True


def test_the_token_of_a_session_says_whose_call_it_is(inspector: Inspector) -> None:
    bound = inspector.room.access(KEY).token
    done = found(inspector.ask("http", *calling("status"), token=bound))
    assert done["structuredContent"]["session"] == KEY.id


def test_a_wrong_token_opens_nothing(inspector: Inspector) -> None:
    done = inspector.ask("http", "--method", "tools/list", token="svs.b3BlbmNvZGUvc2VzXzE.made-up")
    assert done.returncode == UNAUTHORIZED, done
    assert json.loads(done.stderr)["error"]["code"] == "auth_required"
    assert not done.stdout
