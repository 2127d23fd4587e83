"""What we answer, in the words of Claude Code's hooks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.hosts.claude_code.codec import ClaudeCodeCodec
from sidecar.kernel.effects import CommandReply, Continue, Feedback, HostAnswer, NoReply, Rest, RestReason
from sidecar.kernel.errors import BadInputError
from support.table import over_table

CONTINUE = Continue(feedback=Feedback(kind="gates", id="a1b2c3", number=2, budget=16), note="Sent back 2/16")
ANSWERS: list[HostAnswer] = [Rest(reason=RestReason.ACHIEVED), NoReply()]
EVENTS = [
    *("SessionStart", "UserPromptExpansion", "UserPromptSubmit", "PreToolUse"),
    *("Stop", "StopFailure", "FileChanged", "SessionEnd"),
]


def encode(event: str, answer: HostAnswer, feedback: str = "") -> Any:
    raw = json.dumps({"hook_event_name": event, "session_id": "s", "cwd": "/p"}).encode()
    return json.loads(ClaudeCodeCodec().encode(raw, answer, feedback))


def test_a_continuation_goes_to_the_agent_as_context_and_to_the_user_as_a_note() -> None:
    assert encode("Stop", CONTINUE, "[supervisor a1b2c3] Two tests fail.") == {
        "systemMessage": "Sent back 2/16",
        "hookSpecificOutput": {
            "hookEventName": "Stop",
            "additionalContext": "[supervisor a1b2c3] Two tests fail.",
        },
    }


def test_rest_with_a_note_tells_the_user_only() -> None:
    assert encode("Stop", Rest(reason=RestReason.UNJUDGED, note="Not judged.")) == {
        "systemMessage": "Not judged."
    }


def test_rest_after_a_goal_came_to_its_end_rings_the_bell() -> None:
    assert encode("Stop", Rest(reason=RestReason.ACHIEVED, note="Goal achieved.", alarm=True)) == {
        "systemMessage": "Goal achieved.",
        "terminalSequence": "\u0007",
    }


@over_table("event", EVENTS)
@over_table("answer", ANSWERS)
def test_an_answer_without_a_note_changes_nothing(event: str, answer: HostAnswer) -> None:
    assert encode(event, answer) == {}


def test_a_greeting_is_shown_at_the_start_of_a_session() -> None:
    assert encode("SessionStart", NoReply(note="Supervisor is on.")) == {"systemMessage": "Supervisor is on."}


def test_the_files_that_matter_are_named_at_the_start_of_a_session_and_nowhere_else() -> None:
    answer = NoReply(watch=("/p/.supervisor/rubric.md",))
    assert encode("SessionStart", answer) == {
        "hookSpecificOutput": {
            "hookEventName": "SessionStart",
            "watchPaths": ["/p/.supervisor/rubric.md"],
        }
    }
    assert encode("FileChanged", answer) == {}


def test_a_reply_that_ends_the_prompt_lets_the_expansion_pass_and_blocks_the_prompt() -> None:
    reply = CommandReply(headline="Retries set to 5.")
    assert encode("UserPromptExpansion", reply) == {}
    assert encode("UserPromptSubmit", reply) == {
        "decision": "block",
        "reason": "Supervisor: Retries set to 5.",
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True},
    }


@pytest.mark.parametrize("event", ["UserPromptExpansion", "UserPromptSubmit"])
@pytest.mark.parametrize("work", [False, True])
def test_a_refusal_blocks_at_whichever_event_comes_first(event: str, work: bool) -> None:  # noqa: FBT001 - a table
    assert encode(event, CommandReply(headline="off.", refused=True, work=work)) == {
        "decision": "block",
        "reason": "Supervisor: off.",
        "hookSpecificOutput": {"hookEventName": event, "suppressOriginalPrompt": True},
    }


@pytest.mark.parametrize("event", ["UserPromptExpansion", "UserPromptSubmit"])
def test_a_reply_that_starts_work_adds_context_at_whichever_event_comes_first(event: str) -> None:
    assert encode(event, CommandReply(headline="Goal set.", work=True, context="Work toward it.")) == {
        "systemMessage": "Supervisor: Goal set.",
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": "Work toward it."},
    }


@pytest.mark.parametrize("event", [event for event in EVENTS if event != "Stop"])
def test_a_continuation_of_anything_but_a_stop_is_a_fault_of_ours(event: str) -> None:
    with pytest.raises(ValueError, match=f"cannot answer {event}"):
        encode(event, CONTINUE, "go on")


def test_a_continuation_without_words_is_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="of 1 characters cannot answer Stop"):
        encode("Stop", CONTINUE, " ")


def test_a_reply_to_anything_but_a_prompt_is_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="a reply cannot answer Stop"):
        encode("Stop", CommandReply(headline="x"))


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]"])
def test_an_event_that_cannot_be_read_cannot_be_answered(raw: bytes) -> None:
    with pytest.raises(BadInputError):
        ClaudeCodeCodec().encode(raw, NoReply(), "")


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@given(st.text(min_size=1, max_size=40).filter(lambda text: text.strip() != ""), st.integers(1, 2000))
def test_a_context_never_exceeds_what_the_host_shows_whole(text: str, times: int) -> None:
    context = encode("Stop", CONTINUE, text * times)["hookSpecificOutput"]["additionalContext"]
    assert utf16_units(context) <= 9500
    assert context == text * times or "characters left out" in context


def test_a_context_of_exactly_the_limit_is_whole_and_a_longer_one_keeps_both_ends() -> None:
    whole = "x" * 9500
    assert encode("Stop", CONTINUE, whole)["hookSpecificOutput"]["additionalContext"] == whole
    cut = encode("Stop", CONTINUE, "BEGIN" + whole + "END")["hookSpecificOutput"]["additionalContext"]
    assert cut.startswith("BEGIN")
    assert cut.endswith("END")
    assert 9490 <= utf16_units(cut) <= 9500


def test_characters_that_count_twice_for_the_host_count_twice_here() -> None:
    cut = encode("Stop", CONTINUE, "\N{GRINNING FACE}" * 6000)["hookSpecificOutput"]["additionalContext"]
    assert "characters left out" in cut
    assert 9000 < utf16_units(cut) <= 9500


def test_half_characters_and_terminal_colours_do_not_reach_the_host() -> None:
    answer = Rest(reason=RestReason.UNJUDGED, note="\x1b[31mred\x1b[0m\x07 \ud83d end\r\nnext")
    assert encode("Stop", answer) == {"systemMessage": "red � end\nnext"}
