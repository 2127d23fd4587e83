"""The harness itself, on the real hosts: what it relies on is so."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Final

from real_hosts.host import BUSY
from real_hosts.terminal import WAIT_LIMIT_S
from support.model_script import (
    HttpErrorReply,
    ReplyRule,
    RequestMatch,
    reply_structured,
    reply_with_calls,
    reply_with_text,
)
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from pathlib import Path

    from real_hosts.host import Host
    from support.model_server import ScriptedModel

AGENT: Final = RequestMatch(tools="some")
ANYTHING_GOES: Final = ("--permission-mode", "bypassPermissions")


def test_a_headless_host_says_what_the_script_says(host: Host, model: ScriptedModel) -> None:
    model.add(ReplyRule(reply_with_text("Scripted hello."), AGENT))
    done = host.ask("Say hello.")
    assert (done.result, done.is_error, done.num_turns) == ("Scripted hello.", False, 1)
    assert done.ran.returncode == 0
    assert model.unmatched == ()
    assert "Say hello." in model.requests[-1].last
    assert [path.stem for path in host.transcripts] == [done.session_id]


def test_a_tool_call_runs_and_its_output_comes_back(host: Host, model: ScriptedModel) -> None:
    model.add(
        ReplyRule(reply_with_calls(ReplyToolCall("Bash", {"command": "pwd", "description": "Where"})), AGENT),
        ReplyRule(reply_with_text("Ran it."), AGENT),
    )
    done = host.stream("Where are you?", *ANYTHING_GOES)
    assert done.result.result == "Ran it."
    assert str(host.project) in model.requests[-1].last
    assert [line.type for line in done.lines][-1] == "result"


def test_a_model_that_refuses_shows_in_the_result(host: Host, model: ScriptedModel) -> None:
    model.add(ReplyRule(HttpErrorReply(401, "authentication_error"), times=None))
    done = host.ask("Say hello.")
    assert (done.is_error, done.api_error_status, done.ran.returncode) == (True, 401, 1)


def test_an_answer_with_a_schema_arrives_as_asked(host: Host, model: ScriptedModel) -> None:
    schema = '{"type":"object","properties":{"complete":{"type":"boolean"}},"required":["complete"]}'
    model.add(ReplyRule(reply_structured({"complete": False}), RequestMatch(has_tool="StructuredOutput")))
    done = host.ask("Judge.", "--json-schema", schema, "--tools", "", "--safe-mode")
    assert json.loads(bytes(done.structured)) == {"complete": False}


def test_a_person_sees_what_the_script_says(host: Host, model: ScriptedModel) -> None:
    model.add(
        ReplyRule(reply_with_text("Scripted hello."), RequestMatch(tools="some", last="Say it")),
        ReplyRule(reply_with_text("Again."), AGENT),
    )
    with host.terminal() as terminal:
        terminal.submit("Say it.")
        terminal.wait_for("Scripted hello")
        terminal.wait_until_gone(BUSY)
        terminal.submit("And again.")
        terminal.wait_for(r"Again\.")
    assert model.unmatched == ()


def test_a_person_can_type_while_the_model_is_thinking(host: Host, model: ScriptedModel) -> None:
    gate = threading.Event()
    model.add(
        ReplyRule(reply_with_text("First."), AGENT, gate=gate), ReplyRule(reply_with_text("Second."), AGENT)
    )
    with host.terminal() as terminal:
        terminal.submit("Begin.")
        model.wait_for(lambda request: "Begin." in request.last, timeout=WAIT_LIMIT_S)
        terminal.submit("One more thing.")
        gate.set()
        terminal.wait_for(r"Second\.")
    assert "One more thing." in model.requests[-1].last


def test_a_stop_hook_of_a_plugin_makes_the_agent_go_on_once(host: Host, model: ScriptedModel) -> None:
    model.add(ReplyRule(reply_with_text("First."), AGENT), ReplyRule(reply_with_text("Second."), AGENT))
    done = host.ask("Work.", "--plugin-dir", str(one_continuation(host.home.parent / "plugin")))
    assert done.result == "Second."
    assert "Stop hook additional context: go on" in model.requests[-1].last
    assert model.unmatched == ()


def one_continuation(plugin: Path) -> Path:
    """Write a plugin whose Stop hook gives additional context when the stop is the first of its turn."""
    answer = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "go on"}}
    script = f"""
import json, sys
if not json.load(sys.stdin)["stop_hook_active"]:
    print({json.dumps(answer)!r})
"""
    hook = {"type": "command", "command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/stop.py"]}
    texts = {
        ".claude-plugin/plugin.json": json.dumps({"name": "once", "version": "0.0.1"}),
        "hooks/hooks.json": json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}),
        "stop.py": script,
    }
    for name, text in texts.items():
        path = plugin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return plugin
