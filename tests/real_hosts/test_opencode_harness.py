"""The harness itself: an OpenCode without our plugin does what the script says, however it is used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from real_hosts.opencode_host import BUSY, SMALL_MODEL
from real_hosts.opencode_supervised import agent, runs, says
from support.model_script import HttpErrorReply, ReplyRule, RequestMatch, reply_with_text

if TYPE_CHECKING:
    from real_hosts.opencode_host import OpenCode
    from support.model_server import ScriptedModel

TITLE: Final = RequestMatch(model=SMALL_MODEL, tools="none")


def test_a_run_says_what_the_script_says_and_asks_for_a_title_without_tools(
    opencode_host: OpenCode, model: ScriptedModel
) -> None:
    model.add(runs("pwd"), says("Scripted hello."))
    done = opencode_host.run("run", "--format", "json", "Where are you?")
    assert done.returncode == 0, done
    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert kinds == ["step_start", "tool_use", "step_finish", "step_start", "text", "step_finish"]
    asked = [request for request in model.requests if request.tools]
    assert "Where are you?" in asked[0].last
    assert str(opencode_host.project) in asked[-1].last
    (title,) = model.asides
    assert (title.tools, title.model) == ((), SMALL_MODEL)
    assert "title" in title.system
    assert model.unmatched == ()


def test_a_server_answers_prompts_of_two_projects_and_tells_of_both_and_of_errors(
    opencode_host: OpenCode, model: ScriptedModel
) -> None:
    other = opencode_host.project.with_name("other")
    other.mkdir()
    model.add(says("Hello here.", opencode_host.project), says("Hello there.", other))
    model.add(ReplyRule(HttpErrorReply(400, "invalid_request_error"), agent(other)))
    with opencode_host.serve(password="open sesame") as server:
        here, there = server.at(opencode_host.project), server.at(other)
        one, two = here.session(), there.session()
        assert there.prompt(two, "Say hello.").text == "Hello there."
        here.prompt_async(one, "Say hello.")
        assert here.wait_for("session.idle", one).directory == str(opencode_host.project)
        assert there.wait_for("session.idle", two).directory == str(other)
        assert [(said.info.role, said.text) for said in here.messages(one)] == [
            ("user", "Say hello."),
            ("assistant", "Hello here."),
        ]
        assert (here.get(one).title, here.get(one).parent, here.children(one)) == ("A scenario", "", ())
        assert here.command(one, "no-such-command").status_code >= 400
        there.prompt_async(two, "And now?")
        there.wait_for("session.idle", two, 3)
        assert there.messages(two)[-1].info.error["name"] == "APIError"
        here.delete(one)
        here.wait_for("session.deleted", one)
    assert model.asides == ()


@pytest.mark.long
def test_a_person_sees_what_the_script_says(opencode_host: OpenCode, model: ScriptedModel) -> None:
    model.add(
        says("Scripted hello."), says("Again."), ReplyRule(reply_with_text('{"title": "Greetings"}'), TITLE)
    )
    with opencode_host.terminal() as terminal:
        terminal.submit("Say it.")
        terminal.wait_for("Scripted hello")
        terminal.wait_until_gone(BUSY)
        terminal.submit("And then")
        terminal.wait_for(r"Again\.")
    assert model.unmatched == ()
