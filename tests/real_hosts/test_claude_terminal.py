"""Interactive Claude Code under supervision, typed into like a person would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real_hosts.host import Host
from real_hosts.supervised import AGENT, Supervised, reads_shop, runs, says, supervised, writes_shop
from real_hosts.terminal import Terminal
from real_hosts.waiting import decided, until
from support.model_script import ReplyRule, reply_with_text
from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("Claude Code")

CLAIM = "I looked at everything, all tests pass. Done."
LOOSEN = (
    """printf '{"env": {"PYTEST_ADDOPTS": "--deselect=test_shop.py::%s"}}' """
    "test_a_tenth_is_taken_off > .claude/settings.json; sleep 3"
)
"""The host hears of it at once: with these options all tests pass."""
HELD = 'the file is there --check "until [ -e release ]; do sleep 0.1; done; false"'
"""A goal whose check runs until the test lets it go, and then fails."""


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={}) as made:
        yield made


def _judging(terminal: Terminal) -> None:
    terminal.wait_for("Supervisor checks the work; Esc ends it… ")


def test_a_prompt_typed_while_judging_wins(under: Supervised) -> None:
    under.script(
        says("Done."),
        says("You wanted something else: here it is."),
        ReplyRule(reply_with_text("Done."), AGENT, times=None),
    )
    with under.terminal() as terminal:
        terminal.submit(f"/supervisor:goal {HELD}")
        _judging(terminal)
        terminal.submit("actually do something else instead")
        terminal.wait_for("You wanted something else")
        (under.host.project / "release").touch()
    told = [asked for asked in under.model.requests if "do something else instead" in asked.last]
    assert told
    assert "[supervisor " not in told[0].text
    decided(under, "prompt-queued|superseded")


@pytest.mark.long
def test_a_cleared_conversation_starts_without_the_goal(under: Supervised) -> None:
    under.script(ReplyRule(reply_with_text("Working on it."), AGENT, times=None))
    with under.terminal() as terminal:
        terminal.submit("/supervisor:retry 1")
        terminal.wait_for("budget of 1 continuation")
        terminal.wipe()
        terminal.submit("/clear")
        terminal.wait_until_gone("budget of 1 continuation")
        until(lambda: "the session is closed: left by /clear" in under.report().text, "it is not closed")
        terminal.submit("/supervisor:goal")
        terminal.wait_for("no goal is set")


def test_a_stalled_goal_goes_on_with_the_next_prompt_until_it_is_achieved(under: Supervised) -> None:
    (under.host.project / ".claude").mkdir()
    (under.host.project / ".claude" / "settings.json").write_text("{}", encoding="utf-8")
    under.script(runs(LOOSEN), *[says(f"Attempt {number}: all tests pass.") for number in range(4)])
    under.script(says("Done."), runs("printf {} > .claude/settings.json"))
    under.script(reads_shop(under.host), writes_shop(under.host), says("Repaired and tested."))
    with under.terminal() as terminal:
        terminal.wait_for(r"Supervisor: on\. To hold the agent to a goal")
        terminal.submit("/supervisor:goal all tests pass")
        terminal.wait_for(r"environment was changed since the session began \(PYTEST_ADDOPTS\)")
        terminal.wait_for("To go on, type: what may help the agent", timeout=300)
        terminal.submit("go on")
        terminal.wait_for("Supervisor: sent back 4/16")
        terminal.wait_for("Supervisor: goal achieved")
    assert under.stops() == [*["continue"] * 3, "stalled", "continue", "achieved"]


def test_a_rewind_to_before_the_goal_ends_it_at_the_next_stop(under: Supervised) -> None:
    under.script(ReplyRule(reply_with_text("Working on it."), AGENT, times=None))
    with under.terminal() as terminal:
        terminal.submit(f"/supervisor:goal {HELD}")
        _judging(terminal)
        terminal.press("Escape")
        terminal.wait_for("Interrupted")
        terminal.submit("/rewind")
        terminal.wait_for(r"\S \(current\)")
        terminal.press("Up")
        terminal.wait_until_gone(r"\S \(current\)")  # the prompt above it is marked
        terminal.press("Enter")
        terminal.wait_for(r"\S 1\. Restore conversation")
        terminal.press("Enter")
        terminal.wait_until_gone("Interrupted")
        terminal.wipe()
        terminal.submit("hello there")
        terminal.wait_for("the goal ended, as the conversation went back to before it was set")
    assert "The last one ended" in under.report().text
    assert under.report().exit_code == 3
