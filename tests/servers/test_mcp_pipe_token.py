"""A pipe that is told of one session by its token: for agents that no plugin of ours speaks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from servers.mcp_pipes import INITIALIZE, KEY, WAYS, Home, status
from sidecar.kernel.session import SessionKey
from sidecar.servers.mcp.access import McpFiles, McpTokens


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Shared: the sidecar imports the mcp package once."""
    home = Home(tmp_path_factory.mktemp("user"))
    yield home
    home.supervisor("stop")


def with_token(home: Home, token: str) -> Home:
    home.environment["SUPERVISOR_MCP_TOKEN"] = token
    return home


def token_of(home: Home, key: SessionKey) -> str:
    return McpTokens(McpFiles(home.state).token).of_session(key)


@pytest.mark.parametrize("command", WAYS.values(), ids=list(WAYS))
def test_its_calls_are_of_that_session_and_of_no_other(home: Home, command: Sequence[str]) -> None:
    with with_token(home, token_of(home, KEY)).pipe(command) as pipe:
        assert "result" in pipe.ask(INITIALIZE)
        unnamed = status(2)
        unnamed["params"]["arguments"] = {}
        assert pipe.ask(unnamed)["result"]["_meta"]["supervisor/data"]["session"] == KEY.id
        other = status(3)
        other["params"]["arguments"] = {"session": "ses_2"}
        assert "belongs to one session" in pipe.ask(other)["result"]["content"][0]["text"]


@pytest.mark.parametrize("token", ["svs.b3BlbmNvZGUvc2VzXzE.0000", "x", "svs", "svs..", "\u00e9"])
def test_a_token_that_is_none_lets_nobody_in(home: Home, token: str) -> None:
    with with_token(home, token).pipe(WAYS["the command"]) as pipe:
        code, out, err = pipe.end()
    assert (code, out) == (1, b"")
    assert b"$SUPERVISOR_MCP_TOKEN lets nobody in" in err


def test_the_users_own_token_binds_nothing(home: Home) -> None:
    with with_token(home, McpFiles(home.state).token()).pipe(WAYS["the plugin"]) as pipe:
        assert "result" in pipe.ask(INITIALIZE)
        assert pipe.ask(status(2))["result"]["_meta"]["supervisor/data"]["session"] == KEY.id
        unnamed = status(3)
        unnamed["params"]["arguments"] = {}
        assert pipe.ask(unnamed)["result"]["isError"] is True
