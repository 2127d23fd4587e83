"""Interactive OpenCode under supervision, typed into like a person would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import AGENT, Supervised, says, supervised
from support.model_script import ReplyRule, reply_with_text
from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("OpenCode")

CLAIM = "I looked at everything, all tests pass. Done."


@pytest.fixture
def under(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(opencode_host, model) as made:
        yield made


@pytest.mark.proves("seeing and asking back")
def test_where_the_goal_stands_is_shown_beside_the_prompt(under: Supervised) -> None:
    assert under.supervisor("install", "opencode", "--status-line").returncode == 0
    under.script(says("Hello."), says(CLAIM), ReplyRule(reply_with_text("Done."), AGENT, times=None))
    under.sidecar()  # a first prompt waits two seconds for it, and is told nothing after that
    with under.host.terminal() as terminal:
        terminal.submit("hello there")
        terminal.wait_for(r"on\. To hold the agent to a goal")
        terminal.wait_for(r"Hello\.")
        terminal.submit('/supervisor:goal it works --check "exit 1"')
        terminal.wait_for("supervisor: goal (active|stalled), sent back [1-9]")


def test_an_undo_goes_past_our_line_to_the_users_own_prompt_and_takes_the_goal_back(
    under: Supervised,
) -> None:
    under.script(says(CLAIM), says("Hello."))
    with under.host.terminal() as terminal:
        terminal.submit("/supervisor:goal it is fine")
        terminal.wait_for("not judged")
        terminal.submit("/undo")
        terminal.wait_until_gone("▣")  # the agent's answer, too
        terminal.wait_for("/supervisor:goal it is fine")
        terminal.press("C-u")
        terminal.wait_until_gone("it is fine")
        terminal.submit("hello there")
        terminal.wait_for("You took back the prompt that set it")
    assert under.report().status == "cleared"
