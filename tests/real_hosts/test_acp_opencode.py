"""A real OpenCode, driven over the Agent Client Protocol, works an errand with the tools of its session."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest
from msgspec import Struct
from msgspec.structs import replace

from real_hosts.opencode_supervised import SUPERVISOR, says
from real_hosts.waiting import until
from real_hosts.worker_processes import command_lines
from sidecar.hosts.acp.agent import AcpAgent
from sidecar.hosts.acp.link import PermissionLevel
from sidecar.hosts.limits import PatientAgent
from sidecar.hosts.ports import AgentResult, AgentTask, McpAccess
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import Paths
from sidecar.platform.session_store import SessionFiles
from support.cases import goal
from support.limits import LimitRoom
from support.model_script import (
    HttpErrorReply,
    ReplyRule,
    RequestMatch,
    reply_with_calls,
)
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from real_hosts.opencode_host import OpenCode
    from support.model_server import ScriptedModel

LIMIT_S: Final = 240.0
"""Bound of one run, in seconds. A start takes about five."""
KEY: Final = SessionKey("run", "nightly")
CONDITION: Final = "the parser accepts comments"
AGENT: Final = RequestMatch(has_tool="bash")


class Wanted(Struct):
    host: str
    session: str


@pytest.fixture
def host(opencode_host: OpenCode) -> Iterator[OpenCode]:
    """It asks before it edits a file, runs a command or calls a tool of ours."""
    opencode_host.configure(permission={"edit": "ask", "bash": "ask", "supervisor_*": "ask"})
    yield opencode_host
    subprocess.run([str(SUPERVISOR), "stop"], env=dict(opencode_host.env), check=True, timeout=LIMIT_S)


@pytest.fixture
def access(host: OpenCode) -> McpAccess:
    """The way to the tools of a session that has a goal."""
    state = host.home / ".local" / "state" / "supervisor"
    SessionFiles(state).save(Session(key=KEY, project=str(host.project), goal=goal(CONDITION)))
    status = [str(SUPERVISOR), "status", "--json"]
    subprocess.run(
        status, env=dict(host.env), cwd=host.project, capture_output=True, check=True, timeout=LIMIT_S
    )
    sidecar = SidecarClient(Paths(state=state, config=host.home / ".config" / "supervisor"))
    return sidecar.call("mcp_access", Wanted(KEY.host, KEY.id), McpAccess)


def errand(host: OpenCode, prompt: str, access: McpAccess | None = None) -> AgentTask:
    return AgentTask(
        prompt=prompt, project=str(host.project), environment=host.env, seconds=LIMIT_S, access=access
    )


def acp(host: OpenCode) -> AcpAgent:
    return AcpAgent([str(host.binary), "acp"], PermissionLevel.EDITS, ["status"])


@pytest.mark.proves("runs and the journal")
async def test_it_edits_a_file_and_reads_where_the_session_stands(
    host: OpenCode, access: McpAccess, model: ScriptedModel
) -> None:
    path = host.project / "parser.py"
    model.add(
        ReplyRule(reply_with_calls(ReplyToolCall("supervisor_status", {})), AGENT),
        ReplyRule(
            reply_with_calls(
                ReplyToolCall("write", {"filePath": str(path), "content": "done = 1\n"}), before="I write."
            ),
            AGENT,
        ),
        says("Done."),
    )
    heard: list[str] = []
    rest = await acp(host).run(errand(host, "Accept comments.", access), heard.append)
    assert rest.tokens > 0
    assert replace(rest, tokens=0, cents=None) == AgentResult(said="I write.Done.")
    assert path.read_text() == "done = 1\n"
    first, second, *_ = (request for request in model.requests if request.tools)
    assert "Accept comments." in first.last
    assert f"goal active: {CONDITION}" in second.last
    notes = "".join(heard)
    assert "allowed (edits): supervisor_status" in notes
    assert f"allowed (edits): {path}" in notes
    until(lambda: not any("opencode" in line for line in command_lines(host.home)), "one is left")


async def test_a_command_that_it_may_not_run_ends_its_turn(host: OpenCode, model: ScriptedModel) -> None:
    """That is this host's answer to any refusal; Claude Code goes on and tells its model."""
    path = host.project / "touched"
    model.add(
        ReplyRule(
            reply_with_calls(ReplyToolCall("bash", {"command": f"touch {path}", "description": "touch"})),
            AGENT,
        )
    )
    heard: list[str] = []
    rest = await acp(host).run(errand(host, "Touch it."), heard.append)
    assert replace(rest, tokens=0, cents=None) == AgentResult()
    assert f"[not allowed (edits): touch {path}]" in "".join(heard)
    assert not path.exists()


async def test_all_messages_of_a_session_are_counted(host: OpenCode, model: ScriptedModel) -> None:
    """What the protocol tells at the end of a turn is the last message's alone."""
    for name in ("one", "two"):
        call = ReplyToolCall("write", {"filePath": str(host.project / name), "content": "1\n"})
        model.add(ReplyRule(reply_with_calls(call), AGENT))
    model.add(says("Done."))
    rest = await acp(host).run(errand(host, "Write."), print)
    assert rest.tokens == 3 * 120


async def test_a_limit_of_its_service_is_waited_for(host: OpenCode, model: ScriptedModel) -> None:
    """Over the protocol it tells neither a status nor a time."""
    said, room = "This request would exceed your account's rate limit.", LimitRoom()
    model.add(
        ReplyRule(HttpErrorReply(429, "rate_limit_error", said, {"retry-after": "0.2"}), AGENT, times=6),
        says("Done."),
    )
    patient = PatientAgent(acp(host), "opencode", room.limits())
    rest = await patient.run(errand(host, "Wait."), lambda _: None)
    assert (rest.said, rest.trouble, rest.limit) == ("Done.", "", None)
    assert [said in limit.said for limit in room.told] == [True]
