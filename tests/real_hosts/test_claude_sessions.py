"""Sessions that are resumed, forked, work in the background, or have the host's own goal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real_hosts.host import Host
from real_hosts.supervised import AGENT, Supervised, runs, says, supervised
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("Claude Code")

GOAL = "/supervisor:goal all tests pass"
SESSION = "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f12"


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={}) as made:
        yield made


def _in_background(command: str) -> ReplyRule:
    arguments = {"command": command, "description": "Run it", "run_in_background": True}
    return ReplyRule(reply_with_calls(ReplyToolCall("Bash", arguments)), AGENT)


def _stalled(under: Supervised) -> None:
    """A goal that only talk was spent on, and then raised from the dead."""
    under.script(ReplyRule(reply_with_text("All tests pass."), AGENT, times=None))
    under.ask(GOAL, "--session-id", SESSION)
    assert under.supervisor("goal", "resume", "--session", SESSION).returncode == 0


def test_a_resumed_session_goes_on_with_its_goal_and_counts_anew(under: Supervised) -> None:
    _stalled(under)
    under.ask("Go on.", "--resume", SESSION)
    report = under.report()
    assert (report.session, report.status) == (SESSION, "stalled")
    assert "continuations 3/16" in report.text
    assert len(under.continuations()) == 6


def test_a_branched_session_takes_a_copy_of_the_goal_along(under: Supervised) -> None:
    under.script(ReplyRule(reply_with_text("Hello."), AGENT, times=None))
    with under.terminal() as terminal:
        terminal.submit("hello there")
        terminal.wait_for(r"for (\d+m )?\d+s")
        assert under.supervisor("goal", "set", "all tests pass").returncode == 0
        parent = under.report().session
        terminal.submit("/branch")
        terminal.wait_for(r"\(Branch\)")
        terminal.submit("/supervisor:goal")
        terminal.wait_for("goal active: all tests pass")
    assert under.report().session != parent


@pytest.mark.long
def test_in_a_terminal_judging_waits_for_the_end_of_background_work(under: Supervised) -> None:
    under.script(
        _in_background("until [ -e release ]; do sleep 0.1; done"),
        says("Started, I wait for it."),
        ReplyRule(reply_with_text("It has ended. All tests pass."), AGENT, times=None),
    )
    with under.terminal() as terminal:
        terminal.submit(GOAL)
        terminal.wait_for("Started, I wait for it")
        terminal.wait_for(r"for (\d+m )?\d+s")
        assert under.continuations() == []
        (under.host.project / "release").touch()
        terminal.wait_for("Supervisor: sent back 1/16")
    assert under.stops()[:2] == ["background-work", "continue"]


@pytest.mark.long
def test_headless_the_agent_is_told_to_wait_for_or_stop_its_background_work(under: Supervised) -> None:
    under.script(
        _in_background("until [ -e release ]; do sleep 0.1; done"),
        says("Started."),
        runs("touch release"),
        ReplyRule(reply_with_text("All tests pass."), AGENT, times=None),
    )
    under.ask(GOAL)
    assert "still runs in the background" in under.continuations()[0]


@pytest.mark.long
def test_while_the_hosts_own_goal_is_active_supervisor_steps_back_and_says_so_once(under: Supervised) -> None:
    asked = RequestMatch(tools="none", any="stopping condition")
    under.script(
        ReplyRule(reply_with_text('{"ok": false, "reason": "not yet"}'), asked, times=2),
        ReplyRule(reply_with_text('{"ok": true, "reason": "it was said"}'), asked, times=None),
        ReplyRule(reply_with_text("Hello."), AGENT, times=None),
    )
    with under.terminal() as terminal:
        terminal.submit("/supervisor:retry 5")
        terminal.wait_for("budget of 5")
        terminal.wipe()
        assert under.supervisor("goal", "set", "all", "tests", "pass").returncode == 0
        terminal.submit("/goal say hello")
        terminal.wait_for("Supervisor steps back")
    assert under.stops()[0] == "native-goal"
