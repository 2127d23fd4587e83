"""Gemini CLI's events: what the scenes of all hosts do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidecar.hosts.gemini.codec import GeminiCodec
from sidecar.kernel.effects import CommandReply, Continue, Feedback, HostAnswer, ToolCallReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    AnyHostEvent,
    CommandTyped,
    PromptSubmitted,
    ToolCalled,
    TurnFailed,
)
from support.table import over_table

CODEC = GeminiCodec()
SENT_BACK = Continue(feedback=Feedback(kind="gates", id="a1b2c3", number=1, budget=16), note="sent back")


def raw(event: str, **fields: Any) -> bytes:
    about = {"session_id": "s", "transcript_path": "/t", "cwd": "/p/deep", "hook_event_name": event}
    return json.dumps({**about, "timestamp": "2026-11-28T15:32:18.748Z", **fields}).encode()


def decode(event: str, **fields: Any) -> AnyHostEvent:
    return CODEC.decode(raw(event, **fields), {"GEMINI_PROJECT_DIR": "/p"}, 42)


def test_a_turn_in_which_no_model_answered_is_no_stop() -> None:
    late = decode("AfterAgent", prompt="x", prompt_response="[no response text]", stop_hook_active=True)
    assert isinstance(late, TurnFailed)
    stop = decode("AfterAgent", prompt="x", prompt_response="Done.", stop_hook_active=True)
    assert isinstance(stop, AgentStopped)
    assert (stop.continued, stop.project, stop.cwd) == (True, "/p", "/p/deep")


def test_our_own_words_that_come_back_name_the_continuation() -> None:
    event = decode("BeforeAgent", prompt="[supervisor a1b2c3] A test fails.")
    assert isinstance(event, PromptSubmitted)
    assert (event.human, event.continuation) == (False, "a1b2c3")


@over_table(
    ("prompt", "name", "text"),
    [
        ("supervisor:goal a\nb --max-minutes 5\n</supervisor>\n\nThe user", "goal", "a b --max-minutes 5"),
        ("supervisor:retry \n</supervisor>\n\nNothing", "retry", ""),
        ("/supervisor:retry 3", "retry", "3"),
    ],
)
def test_a_command_is_the_text_of_its_template(prompt: str, name: str, text: str) -> None:
    event = decode("BeforeAgent", prompt=prompt)
    assert isinstance(event, CommandTyped)
    assert (event.order.name, event.order.text) == (name, text)
    assert event.prompt_id == "2026-11-28T15:32:18.748Z"


def test_a_server_of_our_name_that_is_not_ours_is_not_certain_and_another_tool_is_refused() -> None:
    event = decode("BeforeTool", tool_name="mcp_supervisor_status", tool_input={})
    assert isinstance(event, ToolCalled)
    assert not event.certain
    with pytest.raises(BadInputError, match="run_shell_command"):
        decode("BeforeTool", tool_name="run_shell_command")


@over_table(
    ("event", "answer"),
    [
        ("BeforeAgent", SENT_BACK),
        ("AfterAgent", CommandReply(headline="x")),
        ("AfterAgent", ToolCallReply(session="s", spared=True)),
    ],
)
def test_an_answer_in_the_wrong_place_is_a_fault_of_ours(event: str, answer: HostAnswer) -> None:
    with pytest.raises(ValueError, match="cannot answer"):
        CODEC.encode(raw(event), answer, "[supervisor a1b2c3] x")
