"""The tools in a real Claude Code: brought by the plugin, called for the right session, asked about or not.

A newer host does not list the tools of servers in each request: it names them, and the model looks one up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from real_hosts.host import Host
from real_hosts.install import PINNED
from real_hosts.supervised import AGENT, SUPERVISOR, WAITS_FOR_TOOLS, Supervised, says, supervised
from real_hosts.terminal import Terminal
from support.model_script import (
    ReplyRule,
    RequestMatch,
    reply_with_calls,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("Claude Code")

PREFIX: Final = "mcp__plugin_supervisor_supervisor__"
TASK: Final = "write the parser"
LISTED: Final = (
    "status",
    "rubric",
    "gates",
    "gates_run",
    "evidence",
    "task_add",
    "task_list",
    "session_complete",
)
ASKS: Final = "Do you want to proceed"
"""What a terminal says when it asks for leave."""
JUDGE: Final = RequestMatch(has_tool="StructuredOutput")


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    """Told to wait for its servers, as a scripted model waits for nothing."""
    with supervised(host, model, environment=WAITS_FOR_TOOLS) as made:
        yield made


def calls(tool: str, match: RequestMatch = AGENT, /, **arguments: object) -> ReplyRule:
    """The agent calls a tool of ours."""
    return ReplyRule(reply_with_calls(ReplyToolCall(PREFIX + tool, arguments)), match)


def told(under: Supervised, match: str = "") -> list[str]:
    """What the agent was told after each call, oldest first; of the requests that hold `match`."""
    asked = [request for request in under.model.requests if "Bash" in request.tools and match in request.text]
    return [request.last for request in asked[1:]]


@contextmanager
def connected(under: Supervised) -> Iterator[Terminal]:
    """A terminal in which the host asks before it runs things, once it has the tools."""
    with under.host.terminal(*under.plugin, "--permission-mode", "default") as terminal:
        terminal.submit("/mcp")
        terminal.wait_for(r"supervisor:supervisor\D*\d+ tools")
        terminal.press("Escape")
        terminal.wait_until_gone(r"\d+ tools")
        yield terminal


def tasks(under: Supervised, session: str) -> list[str]:
    """What is in the journal of a session, as its user sees it."""
    done = under.supervisor("tool", "task_list", "--session", session)
    assert done.returncode == 0, done.stderr
    return [line.split(maxsplit=2)[2] for line in done.stdout.splitlines() if line.startswith("- ")]


def test_the_plugin_brings_the_tools_and_each_call_is_of_the_session_that_makes_it(
    under: Supervised, claude_version: str
) -> None:
    under.script(
        calls("status"),
        calls("task_add", content=TASK, session="a guess"),
        calls("task_list"),
        says("Thank you."),
    )
    result = under.host.ask("Where do you stand?", *under.plugin)
    assert result.result == "Thank you."
    first = next(request for request in under.model.requests if "Bash" in request.tools)
    offered = first.tools if claude_version == PINNED else first.text.split()
    assert {PREFIX + name for name in LISTED} <= set(offered)
    status, added, listed = told(under)
    assert "no goal is set" in status
    assert added == f"T1 [remaining] {TASK}"
    assert TASK in listed
    assert tasks(under, result.session_id) == [TASK]


def test_what_makes_something_run_is_refused_where_nobody_can_be_asked(under: Supervised) -> None:
    under.script(calls("gates_run"), says("I see."))
    under.host.ask("Check it.", *under.plugin)
    (refused,) = told(under)
    assert "requested permissions" in refused


@pytest.mark.long
def test_a_server_that_is_only_called_as_ours_gets_no_leave(under: Supervised) -> None:
    named = {"mcpServers": {"supervisor": {"command": str(SUPERVISOR), "args": ["mcp"]}}}
    name = "mcp__supervisor__status"
    under.script(ReplyRule(reply_with_calls(ReplyToolCall(name, {})), AGENT, times=None))
    config = ("--mcp-config", json.dumps(named))
    under.host.ask("Where do you stand?", *under.plugin, *config, "--max-turns", "2")
    assert "requested permissions" in told(under)[0]


@pytest.mark.long
def test_a_host_without_the_plugin_is_told_what_to_do_about_it(under: Supervised) -> None:
    named = {"mcpServers": {"supervisor": {"command": str(SUPERVISOR), "args": ["mcp"]}}}
    under.script(
        ReplyRule(reply_with_calls(ReplyToolCall("mcp__supervisor__status", {})), AGENT), says("I see.")
    )
    under.host.ask("Where?", "--mcp-config", json.dumps(named), "--allowedTools", "mcp__supervisor__status")
    (said,) = told(under)
    assert "do not guess one" in said
    assert "supervisor install" in said


@pytest.mark.long
def test_a_helper_of_the_agent_writes_into_the_journal_of_its_session(under: Supervised) -> None:
    helper = RequestMatch(has_tool="Bash", any="Plan it, helper")
    order = {"description": "plan", "prompt": "Plan it, helper", "subagent_type": "general-purpose"}
    main = RequestMatch(has_tool="Agent")
    under.script(
        ReplyRule(
            reply_with_calls(ReplyToolCall("Agent", order)),
            RequestMatch(has_tool="Agent", n=0, last="Let a helper"),
        ),
        calls("task_add", helper, content=TASK),
        ReplyRule(reply_with_text("Planned."), helper),
        ReplyRule(reply_with_text("Thank you."), main, times=None),
    )
    result = under.host.ask("Let a helper plan.", *under.plugin)
    assert tasks(under, result.session_id) == [TASK]


def test_in_a_terminal_nobody_is_asked_about_the_journal_and_everybody_about_a_run(under: Supervised) -> None:
    under.script(calls("task_add", content=TASK), says("Noted it."), calls("gates_run"), says("Checked it."))
    with connected(under) as terminal:
        terminal.submit("note it")
        seen = terminal.wait_for("Noted it")
        assert ASKS not in seen
        terminal.submit("check it")
        terminal.wait_for(ASKS)
        terminal.agree(ASKS)
        terminal.wait_for("Checked it")
    assert "requested permissions" not in "".join(told(under))
    assert "python -m pytest -q" in told(under)[-1]


def test_after_clear_the_next_call_is_of_the_new_session(under: Supervised) -> None:
    under.script(
        *(told for one in ("one", "two") for told in (calls("task_add", content=one), says(f"Seen {one}.")))
    )
    with connected(under) as terminal:
        terminal.submit("where do you stand")
        terminal.wait_for("Seen one")
        terminal.submit("/clear")
        terminal.wait_until_gone("Seen one")
        terminal.submit("and now, where")
        terminal.wait_for("Seen two")
    assert tasks(under, under.report().session) == ["two"]
