"""A real OpenCode is given our tools: it offers them to the model, calls them, and shows what they said."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from real_hosts.opencode_supervised import SUPERVISOR, Supervised, says, supervised
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.session_store import SessionFiles
from support.cases import goal
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from real_hosts.opencode_host import OpenCode
    from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("OpenCode")

SERVER: Final = {"supervisor": {"type": "local", "command": [str(SUPERVISOR), "mcp"]}}
KEY: Final = SessionKey("opencode", "ses_scripted")
CONDITION: Final = "the parser accepts comments"
OFFERED: Final = {
    f"supervisor_{name}"
    for name in (
        "status",
        "rubric",
        "gates",
        "gates_run",
        "evidence",
        "task_add",
        "task_list",
        "session_complete",
    )
}
TASK: Final = "write the parser"
WAITING: Final = RequestMatch(has_tool="supervisor_status")


@pytest.fixture
def host(opencode_host: OpenCode) -> Iterator[OpenCode]:
    """With the server in its configuration, and a session with a goal in its user's state."""
    opencode_host.configure(mcp=SERVER)
    state = opencode_host.home / ".local" / "state" / "supervisor"
    project, above = str(opencode_host.project), os.getpid()  # we start the host
    held = Session(key=KEY, project=project, goal=goal(CONDITION), host_process=above, seen_at=time.time())
    SessionFiles(state).save(held)
    yield opencode_host
    subprocess.run([str(SUPERVISOR), "stop"], env=dict(opencode_host.env), check=True, timeout=120)


def used(stdout: str) -> list[dict[str, Any]]:
    """The tool calls of a run, as it tells of them."""
    lines = map(json.loads, stdout.splitlines())
    return [line["part"] for line in lines if line["type"] == "tool_use"]


def test_the_model_is_offered_the_tools_calls_one_and_reads_what_it_says(
    host: OpenCode, model: ScriptedModel
) -> None:
    model.add(
        ReplyRule(reply_with_calls(ReplyToolCall("supervisor_status", {"session": KEY.id})), WAITING),
        ReplyRule(reply_with_calls(ReplyToolCall("supervisor_rubric", {"session": KEY.id})), WAITING),
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


@pytest.mark.long
def test_a_call_that_nobody_gave_a_session_fails_and_the_model_is_told_why(
    host: OpenCode, model: ScriptedModel
) -> None:
    model.add(ReplyRule(reply_with_calls(ReplyToolCall("supervisor_status", {})), WAITING), says("I see."))
    done = host.run("run", "--format", "json", "Where do you stand?")
    assert done.returncode == 0, done
    _, told = (request for request in model.requests if request.tools)
    assert "do not guess" in told.last
    (part,) = used(done.stdout)
    assert part["state"]["status"] == "error"


@pytest.fixture
def under(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    """With the plugin, which brings the server, and the host's own permissions."""
    with supervised(opencode_host, model) as made:
        made.host.configure(permission={})
        yield made


def calls(tool: str, match: RequestMatch = WAITING, /, **arguments: object) -> ReplyRule:
    """The agent calls a tool of ours."""
    return ReplyRule(reply_with_calls(ReplyToolCall(f"supervisor_{tool}", arguments)), match)


def tasks(under: Supervised, session: str) -> list[str]:
    """What is in the journal of a session, as its user sees it."""
    done = under.supervisor("tool", "task_list", "--session", session)
    assert done.returncode == 0, done.stderr
    return [line.split(maxsplit=2)[2] for line in done.stdout.splitlines() if line.startswith("- ")]


def test_the_plugin_brings_the_tools_and_says_whose_session_it_is_and_nobody_is_asked(
    under: Supervised, model: ScriptedModel
) -> None:
    model.add(
        calls("status", session="a guess"),
        calls("task_add", content=TASK),
        calls("task_list"),
        says("Thank you."),
    )
    done = under.ask("Where do you stand?", "--format", "json")
    assert done.returncode == 0, done
    parts = used(done.stdout)
    assert [part["state"]["status"] for part in parts] == ["completed"] * 3
    assert {part["state"]["input"]["session"] for part in parts} == {parts[0]["sessionID"]}
    assert "no goal is set" in parts[0]["state"]["output"]
    assert set(next(request for request in model.requests if request.tools).tools) >= OFFERED
    assert tasks(under, parts[0]["sessionID"]) == [TASK]


@pytest.mark.long
def test_the_users_own_rule_to_be_asked_stays_in_force(under: Supervised, model: ScriptedModel) -> None:
    under.host.configure(permission={"supervisor_*": "ask"})
    model.add(calls("status"), says("I see."))
    done = under.ask("Where do you stand?", "--format", "json")
    (part,) = used(done.stdout)
    assert "rejected permission" in part["state"]["error"]


@pytest.mark.long
def test_sessions_of_one_server_have_a_journal_each_also_after_the_sidecar_has_ended(
    under: Supervised, model: ScriptedModel
) -> None:
    words = ("alpha", "beta")
    with under.host.serve() as server:
        desk = server.at(under.host.project)
        sessions = [desk.session(word) for word in words]
        for number in range(2):
            for word in words:
                mine = RequestMatch(has_tool="supervisor_status", last=f"Plan {word}")
                model.add(calls("task_add", mine, content=f"{word} {number}"))
            model.add(ReplyRule(reply_with_text("Planned."), WAITING, times=len(words)))
            for word, session in zip(words, sessions, strict=True):
                desk.prompt_async(session, f"Plan {word}")
            for session in sessions:
                desk.wait_for("session.idle", session, number + 1)
            assert under.supervisor("stop").returncode == 0
    for word, session in zip(words, sessions, strict=True):
        assert tasks(under, session) == [f"{word} {number}" for number in range(2)]


@pytest.mark.long
def test_a_project_behind_a_link_is_the_sessions_own(under: Supervised, model: ScriptedModel) -> None:
    link = under.host.home.parent / "link"
    link.symlink_to(under.host.project)
    linked = Supervised(under.host.at(link).having(PWD=str(link)), model)
    model.add(calls("status"), says("Thank you."))
    done = linked.ask("Where do you stand?", "--format", "json")
    (part,) = used(done.stdout)
    assert part["state"]["status"] == "completed", part
