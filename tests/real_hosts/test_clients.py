"""Clients that are no host, over both transports, as the lines of `supervisor session new` say."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from real_hosts.install import MCP_SDK, MCP_SDK_PINNED, InstallError, hosts_folder, installed, missing
from servers.mcp_pipes import INITIALIZE, SUPERVISOR, Home

LIMIT_S: Final = 180.0
"""Bound of every client here, in seconds."""
ADD: Final[dict[str, Any]] = {"name": "task_add", "arguments": {"content": "say hello"}}
LIST: Final = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
CALL: Final = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": ADD}
HTTP, STDIO = "Cursor, in .cursor/mcp.json:", "A client that starts a program:"

Found = tuple[Sequence[str], Any]
"""The names of the tools, and the data of the call's answer."""

pytestmark = pytest.mark.proves("MCP")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("user"))
    home.environment["PATH"] = os.pathsep.join((str(SUPERVISOR.parent), home.environment["PATH"]))
    yield home
    home.supervisor("stop")


@pytest.fixture(scope="module")
def sdk() -> Path | InstallError:
    """The TypeScript SDK, looked up before a test replaces the folders of the user."""
    try:
        return installed(MCP_SDK, MCP_SDK_PINNED, hosts_folder())
    except InstallError as error:
        return error


def ran(home: Home, command: Sequence[str], said: str = "") -> str:
    done = subprocess.run(
        command,
        cwd=home.project,
        env=home.environment,
        input=said,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done
    return done.stdout


def entry(lines: dict[str, str], way: str) -> dict[str, Any]:
    """The server's entry in an mcp.json."""
    found: dict[str, Any] = json.loads(lines[way])["mcpServers"]["supervisor"]
    return found


def typescript(home: Home, lines: dict[str, str], way: str, sdk: Path | InstallError) -> Found:
    if isinstance(sdk, InstallError):
        missing(f"{MCP_SDK.name} {MCP_SDK_PINNED}: {sdk}")
    script = Path(__file__).with_name("sdk_client.mjs")
    node = shutil.which("node") or "node"
    told = ran(home, (node, str(script), str(sdk), json.dumps(entry(lines, way))))
    names, answer = json.loads(told)
    return names, answer


def python(home: Home, lines: dict[str, str], way: str, _sdk: object) -> Found:
    given = entry(lines, way)

    async def ask() -> Found:
        async with asyncio.timeout(LIMIT_S), httpx2.AsyncClient(headers=given.get("headers")) as http:
            if way == HTTP:
                transport = streamable_http_client(given["url"], http_client=http)
            else:
                known = {**home.environment, **given["env"]}
                transport = stdio_client(StdioServerParameters(**{**given, "env": known}))
            async with Client(transport) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                return names, (await client.call_tool(ADD["name"], ADD["arguments"])).meta

    return asyncio.run(ask())


def plain(home: Home, lines: dict[str, str], way: str, _sdk: object) -> Found:
    """A line of curl for each request, or a program to which lines are written."""
    if way == HTTP:
        line = shlex.split(lines["curl:"])
        listed, called = json.loads(ran(home, line)), json.loads(ran(home, [*line[:-1], json.dumps(CALL)]))
    else:
        given = entry(lines, way)
        with home.pipe((given["command"], *given["args"]), **given["env"]) as pipe:
            pipe.ask(INITIALIZE)
            listed, called = pipe.ask(LIST), pipe.ask(CALL)
    return [tool["name"] for tool in listed["result"]["tools"]], called["result"]["_meta"]


@pytest.mark.parametrize("way", [HTTP, STDIO], ids=["http", "stdio"])
@pytest.mark.parametrize("client", [typescript, python, plain])
def test_a_client_that_is_no_host_lists_and_calls_the_tools_of_its_session(
    home: Home, sdk: Path | InstallError, client: Any, way: str
) -> None:
    told = ran(home, ("supervisor", "session", "new"))
    lines = dict(block.split("\n") for block in told.strip().split("\n\n")[1:])
    names, answer = client(home, lines, way, sdk)
    assert {"task_add", "gates_run", "status"} <= {*names}
    assert answer["supervisor/data"] == {"id": "T1", "status": "remaining", "content": "say hello"}
