"""A real OpenCode, driven over the Agent Client Protocol, works an errand with the tools of its session."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from msgspec import Struct

from hosts.opencode_supervised import SUPERVISOR, says
from sidecar.adapters.agents.acp import AcpAgent
from sidecar.adapters.agents.acp_permission import Leave
from sidecar.adapters.client import Client
from sidecar.adapters.paths import Paths
from sidecar.adapters.scripted.model_server import HttpError, Match, Rule, ToolCall, call, say
from sidecar.adapters.session_files import SessionFiles
from sidecar.model.session import Session, SessionKey
from sidecar.ports import Access, AgentRest, Errand
from support.cases import goal

if TYPE_CHECKING:
    from hosts.opencode_host import OpenCode
    from sidecar.adapters.scripted.model_server import ScriptedModel

LIMIT_S: Final = 120.0
"""Bound of one run, in seconds. A start takes about five."""
KEY: Final = SessionKey("run", "nightly")
CONDITION: Final = "the parser accepts comments"
AGENT: Final = Match(has_tool="bash")


class Wanted(Struct):
    host: str
    session: str


@pytest.fixture
def host(opencode_host: OpenCode) -> Iterator[OpenCode]:
    """It asks before it edits a file, runs a command or calls a tool of ours."""
    opencode_host.configure(permission={"edit": "ask", "bash": "ask", "supervisor_*": "ask"})
    yield opencode_host
    subprocess.run([str(SUPERVISOR), "stop"], env=dict(opencode_host.env), check=True, timeout=60)


@pytest.fixture
def access(host: OpenCode) -> Access:
    """The way to the tools of a session that has a goal."""
    state = host.home / ".local" / "state" / "supervisor"
    SessionFiles(state).save(Session(key=KEY, project=str(host.project), goal=goal(CONDITION)))
    status = [str(SUPERVISOR), "status", "--json"]
    subprocess.run(status, env=dict(host.env), cwd=host.project, capture_output=True, check=True, timeout=60)
    sidecar = Client(Paths(state=state, config=host.home / ".config" / "supervisor"))
    return sidecar.call("mcp_access", Wanted(KEY.host, KEY.id), Access)


def errand(host: OpenCode, prompt: str, access: Access | None = None) -> Errand:
    return Errand(
        prompt=prompt, project=str(host.project), environment=host.env, seconds=LIMIT_S, access=access
    )


def acp(host: OpenCode) -> AcpAgent:
    return AcpAgent([str(host.binary), "acp"], Leave.EDITS, ["status"])


def processes_of(host: OpenCode) -> list[str]:
    """The command lines of all processes of that home."""
    home = f"HOME={host.home}\0".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if home in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return [line for line in found if "opencode" in line]


async def test_it_edits_a_file_and_reads_where_the_session_stands(
    host: OpenCode, access: Access, model: ScriptedModel
) -> None:
    path = host.project / "parser.py"
    model.add(
        Rule(call(ToolCall("supervisor_status", {})), AGENT),
        Rule(
            call(ToolCall("write", {"filePath": str(path), "content": "done = 1\n"}), before="I write."),
            AGENT,
        ),
        says("Done."),
    )
    heard: list[str] = []
    rest = await acp(host).run(errand(host, "Accept comments.", access), heard.append)
    assert rest == AgentRest(said="I write.Done.")
    assert path.read_text() == "done = 1\n"
    first, second, *_ = (request for request in model.requests if request.tools)
    assert "Accept comments." in first.last
    assert f"goal active: {CONDITION}" in second.last
    notes = "".join(heard)
    assert "allowed (edits): supervisor_status" in notes
    assert f"allowed (edits): {path}" in notes
    assert processes_of(host) == []


async def test_a_command_that_it_may_not_run_ends_its_turn(host: OpenCode, model: ScriptedModel) -> None:
    """That is this host's answer to any refusal; Claude Code goes on and tells its model."""
    path = host.project / "touched"
    model.add(Rule(call(ToolCall("bash", {"command": f"touch {path}", "description": "touch"})), AGENT))
    heard: list[str] = []
    rest = await acp(host).run(errand(host, "Touch it."), heard.append)
    assert rest == AgentRest()
    assert f"[not allowed (edits): touch {path}]" in "".join(heard)
    assert not path.exists()


async def test_cancelled_in_the_middle_it_leaves_nobody(host: OpenCode, model: ScriptedModel) -> None:
    model.add(Rule(say("Too late."), AGENT, gate=threading.Event()))
    running = asyncio.create_task(acp(host).run(errand(host, "Think for long."), print))
    await asyncio.to_thread(model.wait_for, lambda request: "bash" in request.tools, timeout=LIMIT_S)
    assert processes_of(host) != []
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert processes_of(host) == []


async def test_a_model_that_fails_is_told_as_trouble(host: OpenCode, model: ScriptedModel) -> None:
    model.add(Rule(HttpError(400, "invalid_request_error"), AGENT, times=None))
    rest = await acp(host).run(errand(host, "Think."), print)
    assert rest.trouble.startswith("it refused session/prompt: Internal error: scripted error")
