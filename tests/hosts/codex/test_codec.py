"""What Codex wrote to hooks becomes our events, and what it takes for an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.hosts.codex.codec import REASON_LIMIT, CodexCodec
from sidecar.kernel.effects import CommandReply, Continue, Feedback, NoReply, Rest, RestReason
from sidecar.kernel.events import AgentStopped, CommandTyped, PromptSubmitted, TurnFailed
from support.table import over_table

FIXTURES: Final = Path(__file__).parent / "fixtures"
PAYLOADS: Final = [
    json.loads(line) for line in (FIXTURES / "payloads-0.171.0.jsonl").read_text().splitlines()
]
SENT_BACK: Final = Continue(feedback=Feedback(kind="gates", id="a1b2c3", number=1, budget=16), note="back")


def payload(name: str, **fields: Any) -> bytes:
    found = next(one["stdin"] for one in PAYLOADS if one["event"] == name)
    return json.dumps({**found, **fields}).encode()


def test_recorded_events_are_told_by_their_session_and_folder() -> None:
    told: dict[str, list[str]] = {}
    for one in PAYLOADS:
        if one["event"] in ("SessionStart", "UserPromptSubmit", "Stop", "Interrupt", "SessionEnd"):
            event = CodexCodec().decode(json.dumps(one["stdin"]).encode(), {"SUPERVISOR_WORKER": ""}, 42)
            assert (event.key.host, event.key.id, event.project) == (
                "codex", one["stdin"]["session_id"], "/home/user/project",
            )  # fmt: skip
            told.setdefault(one["event"], []).append(type(event).__name__)
    assert told == {
        "SessionStart": ["SessionStarted"],
        "UserPromptSubmit": ["PromptSubmitted", "PromptSubmitted"],
        "Stop": ["AgentStopped", "AgentStopped"],
        "SessionEnd": ["SessionEnded"],
        "Interrupt": ["TurnFailed"],
    }


def test_a_stop_says_whether_it_follows_a_continuation_and_has_no_message_for_an_empty_answer() -> None:
    event = CodexCodec().decode(
        payload("Stop", stop_hook_active=True, last_assistant_message=None, transcript_path=None), {}, 42
    )
    assert isinstance(event, AgentStopped)
    assert (event.continued, event.last_message, event.transcript) == (True, "", "")


def test_an_interrupt_ends_the_turn() -> None:
    event = CodexCodec().decode(payload("Interrupt"), {}, 42)
    assert isinstance(event, TurnFailed)
    assert event.error == "interrupted"


@over_table(
    "prompt,name",
    [
        ("$supervisor:goal all tests pass", "goal"),
        (" /supervisor:goal all tests pass", "goal"),
        ("/supervisor:retry 5", "retry"),
        ("$supervisor:retry", "retry"),
        ("$supervisor:goals x", ""),
        ("Type $supervisor:goal x", ""),
        ("[supervisor a1b2c3] Sent back 1 of 16", ""),
    ],
)
def test_a_command_is_typed_as_a_skill_or_behind_a_blank(prompt: str, name: str) -> None:
    event = CodexCodec().decode(payload("UserPromptSubmit", prompt=prompt), {}, 42)
    if name:
        assert isinstance(event, CommandTyped)
        assert (event.order.name, event.prompt_id) == (name, "")
    else:
        assert isinstance(event, PromptSubmitted)
        assert event.human is not prompt.startswith("[")


def test_the_task_of_a_subagent_is_no_prompt_of_a_person() -> None:
    raw = payload("UserPromptSubmit", agent_id="a1", prompt="$supervisor:goal x")
    event = CodexCodec().decode(raw, {}, 42)
    assert isinstance(event, PromptSubmitted)
    assert (event.human, event.subagent) == (False, True)


@over_table("text", ["é" * 20_000, "<&>" * 20_000, "x" * 9001, "\U0001f600" * 5000])
def test_a_reason_stays_below_what_the_host_cuts_however_it_counts(text: str) -> None:
    said = json.loads(CodexCodec().encode(payload("Stop"), SENT_BACK, f"[supervisor a1b2c3] {text} end"))
    as_sent = said["reason"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert REASON_LIMIT * 0.8 < len(as_sent.encode()) <= REASON_LIMIT
    assert said["reason"].startswith("[supervisor a1b2c3]")
    assert said["reason"].endswith("end")


@over_table(
    "event,answer,encoded",
    [
        ("Stop", Rest(reason=RestReason.CLEAN), {}),
        ("Stop", Rest(reason=RestReason.ACHIEVED, note="n", alarm=True), {"systemMessage": "n"}),
        ("SessionStart", NoReply(note="n", watch=("/p/x",)), {"systemMessage": "n"}),
        (
            "SessionStart",
            NoReply(note="type: /supervisor:goal x"),
            {"systemMessage": "type: $supervisor:goal x"},
        ),
        ("Interrupt", NoReply(), {}),
        ("UserPromptSubmit", CommandReply(headline="h"), {"decision": "block", "reason": "Supervisor: h"}),
    ],
)
def test_an_answer_has_no_field_that_the_host_does_not_take(
    event: str, answer: Any, encoded: dict[str, Any]
) -> None:
    assert json.loads(CodexCodec().encode(payload(event), answer, "")) == encoded


def test_a_misplaced_answer_is_a_bug() -> None:
    for event in ("UserPromptSubmit", "SessionStart"):
        with pytest.raises(ValueError, match=event):
            CodexCodec().encode(payload(event), SENT_BACK, "[supervisor a1b2c3] x")
    with pytest.raises(ValueError, match="Stop"):
        CodexCodec().encode(payload("Stop"), CommandReply(headline="h"), "")
