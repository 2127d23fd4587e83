"""The pipe as a process, with the mcp package's own client and with bare lines, to a real sidecar."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from servers.mcp_clients import data_of
from servers.mcp_pipes import COMMAND, INITIALIZE, KEY, LIMIT_S, PLUGIN, SUPERVISOR, WAYS, Home, status
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import user_paths
from sidecar.servers.mcp import pipe
from sidecar.servers.mcp.pipe import run_folder

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Shared: the sidecar imports the mcp package once. It runs: a pipe that starts one imports more."""
    home = Home(tmp_path_factory.mktemp("user"))
    with home.pipe() as pipe:
        assert "result" in pipe.ask(INITIALIZE)
    yield home
    home.supervisor("stop")


@pytest.fixture
def own_home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "user")
    yield home
    home.supervisor("stop")


@asynccontextmanager
async def client(home: Home, mode: Literal["legacy", "auto"] = "legacy") -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=str(SUPERVISOR), args=["mcp"], env=home.environment, cwd=home.project
    )
    errors = home.folder / "errors"
    with errors.open("w", encoding="utf-8") as file, anyio.fail_after(LIMIT_S):
        async with Client(stdio_client(parameters, errlog=file), mode=mode) as found:
            yield found
    assert errors.read_text(encoding="utf-8") == ""


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_of_either_era_lists_the_tools_and_calls_them(
    home: Home, mode: Literal["legacy", "auto"]
) -> None:
    async with client(home, mode) as found:
        assert {"status", "rubric", "task_add"} <= {tool.name for tool in (await found.list_tools()).tools}
        status = await found.call_tool("status", {"session": KEY.id})
        assert status.is_error is False
        assert data_of(status)["status"] == "active"
        rubric = await found.call_tool("rubric", {"session": KEY.id})
        criteria = data_of(rubric)
        assert criteria["file"].endswith("rubric.md")
        assert len(criteria["patterns"]) > 2


async def test_a_call_without_a_session_with_wrong_types_or_of_no_tool_says_what_is_wrong(home: Home) -> None:
    async with client(home) as found:
        for arguments, said in (
            ({}, "plugin fills in"),
            ({"session": "ses_2"}, 'no session "ses_2"'),
            ({"session": 7}, "plugin fills in"),
            ({"session": "x" * 1_000_000}, "no session"),
        ):
            result = await found.call_tool("status", arguments)
            assert result.is_error is True
            assert said in result.content[0].text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="there is no tool statu"):
            await found.call_tool("statu", {"session": KEY.id})


@pytest.mark.parametrize("command", WAYS.values(), ids=list(WAYS))
def test_it_starts_the_sidecar_where_none_runs_and_ends_with_its_input(
    own_home: Home, command: Sequence[str]
) -> None:
    with own_home.pipe(command) as pipe:
        assert pipe.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "supervisor"
        assert pipe.end() == (0, b"", b"")
    assert "INFO sidecar.servers.serve: listening" in own_home.log
    assert "ERROR" not in own_home.log


def test_a_host_that_does_not_read_any_more_ends_the_pipe_quietly(home: Home) -> None:
    with home.pipe() as pipe:
        assert "result" in pipe.ask(INITIALIZE)
        assert pipe.process.stdout is not None
        pipe.process.stdout.close()
        pipe.say(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
        assert pipe.ended() == (0, b"")


@pytest.mark.parametrize("by", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
@pytest.mark.parametrize("command", WAYS.values(), ids=list(WAYS))
def test_when_the_sidecar_has_ended_the_next_line_goes_to_the_next_one(
    own_home: Home, by: signal.Signals, command: Sequence[str]
) -> None:
    with own_home.pipe(command) as pipe:
        assert "result" in pipe.ask(INITIALIZE)
        before = own_home.sidecar()
        own_home.end_sidecar(by)
        answer = pipe.ask(status(2))
        assert answer["id"] == 2
        assert answer["result"]["_meta"]["supervisor/data"]["session"] == KEY.id
        assert own_home.sidecar() != before
        assert pipe.ask(status(3))["id"] == 3
        assert pipe.end() == (0, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", WAYS.values(), ids=list(WAYS))
def test_a_signal_ends_it_without_a_word(home: Home, number: signal.Signals, command: Sequence[str]) -> None:
    with home.pipe(command) as pipe:
        assert "result" in pipe.ask(INITIALIZE)
        pipe.process.send_signal(number)
        assert pipe.ended() == (-number, b"")


@pytest.mark.parametrize("command", WAYS.values(), ids=list(WAYS))
def test_a_sidecar_that_cannot_be_started_is_told_with_a_move(tmp_path: Path, command: Sequence[str]) -> None:
    home = Home(tmp_path / "user")
    (home.state / "run").write_text("in the way", encoding="utf-8")
    with home.pipe(command) as pipe:
        code, out, err = pipe.end()
    assert (code, out) == (1, b"")
    assert b"Traceback" not in err
    assert b"supervisor doctor" in err


def test_a_copy_of_the_plugin_needs_only_the_files_that_the_wheel_carries(home: Home, tmp_path: Path) -> None:
    root = plugin_root()
    shutil.copytree(root / "hooks", tmp_path / "hooks")
    with home.pipe((*PLUGIN[:3], str(tmp_path / "hooks" / "mcp.py"))) as pipe:
        assert pipe.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "supervisor"
        assert pipe.end() == (0, b"", b"")


def imported(log: bytes) -> set[str]:
    return {row.rpartition(b"|")[2].strip().decode() for row in log.splitlines() if b"|" in row}


def test_the_pipe_of_the_plugin_imports_next_to_nothing(home: Home) -> None:
    with home.pipe((PLUGIN[0], "-X", "importtime", *PLUGIN[1:])) as pipe:
        assert "result" in pipe.ask(INITIALIZE)
        _, _, errors = pipe.end()
    heavy = {
        "asyncio",
        "collections",
        "contextlib",
        "enum",
        "json",
        "pathlib",
        "re",
        "runpy",
        "socket",
        "typing",
    }
    assert {"pipe", "_socket"} <= imported(errors)
    assert not imported(errors) & heavy


def test_the_pipe_of_the_command_imports_no_command_line(home: Home) -> None:
    with home.pipe((sys.executable, "-X", "importtime", *COMMAND)) as pipe:
        assert "result" in pipe.ask(INITIALIZE)
        _, _, errors = pipe.end()
    assert "sidecar.servers.mcp.pipe" in imported(errors)
    assert not imported(errors) & {"asyncio", "click", "mcp", "msgspec", "rich", "socket"}


def test_the_pipe_is_grammar_that_python_3_8_knows() -> None:
    ast.parse(Path(pipe.__file__).read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("state", ["/elsewhere", "", "relative/path", None])
def test_the_pipe_looks_for_the_socket_where_the_sidecar_has_it(
    state: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    if state is not None:
        monkeypatch.setenv("XDG_STATE_HOME", state)
    assert run_folder(os.environ) == str(user_paths().run)
