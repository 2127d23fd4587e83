"""Every answer in the words that the plugin carries out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.hosts.opencode.codec import SAID_LIMIT, OpenCodeCodec
from sidecar.hosts.shared import NOTE_LIMIT
from sidecar.kernel.effects import CommandReply, Continue, Feedback, HostAnswer, NoReply, Rest, RestReason
from support.table import over_table

BACK = Feedback(kind="missing", id="a1b2c3", number=1, budget=16)
LOUD = (RestReason.UNJUDGED, RestReason.WAITING)


def encoded(answer: HostAnswer, feedback: str = "") -> Any:
    return json.loads(OpenCodeCodec().encode(b"{}", answer, feedback))


def test_a_continuation_has_words_for_the_agent_and_a_line_for_the_person() -> None:
    assert encoded(Continue(feedback=BACK, note="sent back 1/16"), "[supervisor a1b2c3] go on") == {
        "notice": "sent back 1/16",
        "variant": "warning",
        "say": "[supervisor a1b2c3] go on",
    }


@pytest.mark.parametrize("words", ["", " \n"])
def test_a_continuation_without_words_is_a_fault_of_ours(words: str) -> None:
    with pytest.raises(ValueError, match="without words"):
        encoded(Continue(feedback=BACK, note="sent back"), words)


@over_table("reason", sorted(RestReason))
@over_table("alarm", [False, True])
def test_a_rest_says_nothing_to_the_agent_and_shows_how_it_went(reason: RestReason, *, alarm: bool) -> None:
    variant = "warning" if alarm or reason in LOUD else "info"
    variant = "success" if reason in (RestReason.ACHIEVED, RestReason.COMPLETED) else variant
    shown = {} if variant == "info" else {"variant": variant}
    assert encoded(Rest(reason=reason, note="how it went", alarm=alarm)) == {"notice": "how it went", **shown}


def test_a_rest_that_nobody_need_hear_of_is_empty() -> None:
    assert encoded(Rest(reason=RestReason.CLEAN, detail="for the record")) == {}
    assert encoded(NoReply()) == {}


def test_a_greeting_is_shown() -> None:
    assert encoded(NoReply(note="goal active")) == {"notice": "goal active"}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (CommandReply(headline="goal: none"), {"notice": "Supervisor: goal: none"}),
        (
            CommandReply(headline="goal set", work=True, context="the goal is"),
            {"notice": "Supervisor: goal set", "work": True, "context": "the goal is"},
        ),
        (
            CommandReply(headline="refused", refused=True),
            {"notice": "Supervisor: refused", "variant": "error", "refused": True},
        ),
        (
            CommandReply(headline="refused", refused=True, work=True),
            {"notice": "Supervisor: refused", "variant": "error", "refused": True},
        ),
    ],
)
def test_a_reply_to_a_command_goes_on_to_the_model_only_where_there_is_work(
    reply: CommandReply, told: dict[str, Any]
) -> None:
    assert encoded(reply) == told


def test_colours_and_control_characters_do_not_reach_the_terminal() -> None:
    assert encoded(NoReply(note="\x1b[2Jred\x07\r\nalert")) == {"notice": "red\nalert"}


def test_everything_is_bounded() -> None:
    said = encoded(Continue(feedback=BACK, note="n" * 100_000), "s" * 100_000)
    assert NOTE_LIMIT - 2 < len(said["notice"]) <= NOTE_LIMIT
    assert SAID_LIMIT - 2 < len(said["say"]) <= SAID_LIMIT
    assert len(encoded(CommandReply(headline="t", work=True, context="c" * 100_000))["context"]) <= SAID_LIMIT


@given(
    st.text(st.characters(exclude_categories=())), st.sampled_from(["rest", "continue", "reply", "nothing"])
)
def test_any_text_can_be_said_even_names_that_are_no_utf8(text: str, kind: str) -> None:
    answers: dict[str, HostAnswer] = {
        "rest": Rest(reason=RestReason.UNJUDGED, note=text),
        "continue": Continue(feedback=BACK, note=text),
        "reply": CommandReply(headline=text, work=True, context=text),
        "nothing": NoReply(note=text),
    }
    encoded(answers[kind], f"go on {text}")


def test_half_a_character_is_replaced_and_the_rest_stays() -> None:
    answer = Continue(feedback=BACK, note="odd\udcff.txt 😀")
    assert encoded(answer, "odd\udcff.txt 😀") == {
        "notice": "odd�.txt 😀",
        "variant": "warning",
        "say": "odd�.txt 😀",
    }
