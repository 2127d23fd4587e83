"""A real OpenCode is given our tools: it offers them to the model, calls them, and shows what they said."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from hosts.opencode_supervised import SUPERVISOR, says, supervised
from sidecar.adapters.scripted.model_server import Match, Rule, ToolCall, call
from sidecar.adapters.session_files import SessionFiles
from sidecar.model.session import Session, SessionKey
from support.cases import goal

if TYPE_CHECKING:
    from hosts.opencode_host import OpenCode
    from sidecar.adapters.scripted.model_server import ScriptedModel

SERVER: Final = {"supervisor": {"type": "local", "command": [str(SUPERVISOR), "mcp"]}}
KEY: Final = SessionKey("opencode", "ses_scripted")
CONDITION: Final = "the parser accepts comments"
OFFERED: Final = {"supervisor_status", "supervisor_rubric"}
WAITING: Final = Match(has_tool="supervisor_status")


@pytest.fixture
def host(opencode_host: OpenCode) -> Iterator[OpenCode]:
    """With the server in its configuration, and a session with a goal in its user's state."""
    opencode_host.configure(mcp=SERVER)
    state = opencode_host.home / ".local" / "state" / "supervisor"
    SessionFiles(state).save(Session(key=KEY, project=str(opencode_host.project), goal=goal(CONDITION)))
    yield opencode_host
    subprocess.run([str(SUPERVISOR), "stop"], env=dict(opencode_host.env), check=True, timeout=60)


def used(stdout: str) -> list[dict[str, Any]]:
    """The tool calls of a run, as it tells of them."""
    lines = map(json.loads, stdout.splitlines())
    return [line["part"] for line in lines if line["type"] == "tool_use"]


def test_the_model_is_offered_the_tools_calls_one_and_reads_what_it_says(
    host: OpenCode, model: ScriptedModel
) -> None:
    model.add(
        Rule(call(ToolCall("supervisor_status", {"session": KEY.id})), WAITING),
        Rule(call(ToolCall("supervisor_rubric", {"session": KEY.id})), WAITING),
        says("Thank you."),
    )
    done = host.run("run", "--format", "json", "Where do you stand?")
    assert done.returncode == 0, done
    first, second, third = (request for request in model.requests if request.tools)
    assert set(first.tools) >= OFFERED
    assert f"goal active: {CONDITION}" in second.last
    assert "continuations 0/16" in second.last
    assert "patterns" in third.last
    assert [part["state"]["status"] for part in used(done.stdout)] == ["completed", "completed"]


def test_a_call_that_nobody_gave_a_session_fails_and_the_model_is_told_why(
    host: OpenCode, model: ScriptedModel
) -> None:
    model.add(Rule(call(ToolCall("supervisor_status", {})), WAITING), says("I see."))
    done = host.run("run", "--format", "json", "Where do you stand?")
    assert done.returncode == 0, done
    _, told = (request for request in model.requests if request.tools)
    assert "do not guess" in told.last
    (part,) = used(done.stdout)
    assert part["state"]["status"] == "error"


def test_the_tools_work_on_when_the_sidecar_has_ended_meanwhile(host: OpenCode, model: ScriptedModel) -> None:
    """This host never starts a server again that has ended: its tools would be gone for good."""
    with host.serve() as server:
        desk = server.at(host.project)
        for _ in range(2):
            model.add(
                Rule(call(ToolCall("supervisor_status", {"session": KEY.id})), WAITING), says("Thank you.")
            )
            done = desk.prompt(desk.session(), "Where do you stand?")
            assert done.text == "Thank you."
            told = next(request for request in reversed(model.requests) if request.tools)
            assert f"goal active: {CONDITION}" in told.last
            subprocess.run([str(SUPERVISOR), "stop"], env=dict(host.env), check=True, timeout=60)


def test_the_plugin_says_whose_session_it_is(opencode_host: OpenCode, model: ScriptedModel) -> None:
    with supervised(opencode_host, model) as under:
        under.host.configure(mcp=SERVER)
        model.add(Rule(call(ToolCall("supervisor_status", {"session": "a guess"})), WAITING), says("I see."))
        done = under.ask("Where do you stand?", "--format", "json")
        assert done.returncode == 0, done
        (part,) = used(done.stdout)
        assert part["state"]["status"] == "completed"
        assert part["state"]["input"]["session"] == part["sessionID"]
        assert "no goal is set" in part["state"]["output"]
