"""Real agents behind `supervisor acp`: an editor's prompt is held, sent back, repaired and achieved."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import (
    AGENT,
    SUPERVISOR,
    Held,
    Supervised,
    reads_shop,
    says,
    supervised,
    writes_shop,
)
from support.acp_editor import AcpEditor
from support.model_script import ReplyRule, reply_with_calls
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("editors that speak ACP")

SENT_BACK = r"\[supervisor [0-9a-f]{6}\]"


@pytest.fixture
def shop(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    """An OpenCode with our plugin, and a project whose test fails."""
    with supervised(opencode_host, model) as under:
        assert under.supervisor("trust", "--yes").returncode == 0
        yield under


def editor(under: Supervised) -> AcpEditor:
    command = [str(SUPERVISOR), "acp", "--", str(under.host.binary), "acp"]
    return AcpEditor(command, under.host.project, under.host.env)


def test_a_turn_is_held_sent_back_once_and_achieved(shop: Supervised) -> None:
    host = shop.host
    task = ReplyToolCall("supervisor_task_add", {"content": "take a tenth off"})
    shop.script(says("Done."), ReplyRule(reply_with_calls(task), AGENT))
    shop.script(reads_shop(host), writes_shop(host), says("Repaired."))
    with editor(shop) as zed:
        session = zed.open()
        done = zed.prompt(session, "/supervisor:retry 5")
        assert done["result"] == {"stopReason": "end_turn"}
        assert not shop.model.requests
        done = zed.prompt(session, "/supervisor:goal all tests pass")
        assert done["result"]["stopReason"] == "end_turn"
        assert done["result"]["usage"]["totalTokens"] > 120
        said = zed.said()
        assert "> Supervisor: goal set: all tests pass" in said
        assert "test_a_tenth_is_taken_off" in said
        assert "goal achieved" in said
        assert zed.close() == 0
    assert shop.stops() == ["continue", "achieved"]
    report = shop.report()
    assert (report.host, [task.content for task in report.journal.tasks]) == ("acp", ["take a tenth off"])
    back = {found for one in shop.model.requests for found in re.findall(SENT_BACK, one.last)}
    assert len(back) == 1


def test_a_cancelled_judging_ends_the_prompt_at_once(shop: Supervised) -> None:
    shop.script(says("Done."))
    held = Held.made(shop.host.home.parent)
    with editor(shop) as zed:
        session = zed.open()
        asked = zed.begin(session, f"/supervisor:goal the file is there --check '{held.check}'")
        try:
            held.wait()
            zed.send(method="session/cancel", params={"sessionId": session})
            assert zed.answer(asked)["result"] == {"stopReason": "cancelled"}
        finally:
            held.release()
        assert "Done." in zed.said()
