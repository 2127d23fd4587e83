"""OpenCode's messages are read as one turn: the recorded example, and every way in which they may differ."""

from __future__ import annotations

import json
from typing import Any

from hosts.opencode.writing import RECORDED, answer, bash, read, text, user
from sidecar.hosts.opencode import messages
from sidecar.kernel.turn import CallOutcome, ToolAction


def test_the_recorded_example_is_read_whole() -> None:
    turn = messages.read_last_turn(RECORDED)

    assert turn.prompts == ("use bash now",)
    assert turn.prompt_id == "msg_1fff9c547001ET1JuyOfZKcUs9"
    assert turn.last_message == "Done with the tool."
    assert turn.last_message_id == "msg_1fff9ce48001XsLUSDVS8zdOaz"
    assert turn.tokens == 600 + 50 + 8446 + 5
    assert turn.position == 1795295924066
    assert (turn.queued, turn.interrupted, turn.readable, turn.native_goal) == (False, False, True, "")
    assert [(call.id, call.tool, call.doing, call.outcome, call.exit_code) for call in turn.calls] == [
        ("call_133_0", "bash", ToolAction.RUN, CallOutcome.FAILED, 3),
        ("call_133_1", "read", ToolAction.READ, CallOutcome.FAILED, None),
        ("call_133_2", "invalid", ToolAction.OTHER, CallOutcome.FAILED, None),
    ]
    assert turn.calls[0].output == "made.txt\nopencode.json\n"
    assert [run.argv[0] for run in turn.calls[0].runs] == ["echo", "ls", "exit"]
    assert turn.calls[1].output == "File not found: /home/user/lab/p1/nonexist.txt"


def test_a_new_prompt_opens_a_turn_and_one_typed_meanwhile_joins_it() -> None:
    turn = read(
        user("u1", text("old"), at=1),
        answer("a1", bash("old"), at=2),
        user("u2", text("new"), at=100),
        answer("a2", bash("make"), at=110, finish="tool-calls"),
        user("u3", text("faster"), at=115),
        answer("a3", text("Done."), at=130),
    )

    assert turn.prompts == ("new", "faster")
    assert turn.prompt_id == "u2"
    assert [call.command for call in turn.calls] == ["make"]


def test_a_prompt_that_the_shell_command_hands_on_in_quotes_is_read_as_typed() -> None:
    turn = read(user("u1", text('"call it \\"b\\", then commit"'), at=1), answer("a1", text("Done."), at=2))

    assert turn.prompts == ('call it "b", then commit',)


def test_a_prompt_after_an_answer_that_was_cut_short_opens_a_turn() -> None:
    error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    turn = read(
        user("u1", text("one"), at=1),
        answer("a1", bash("one"), at=5, finish=None, error=error),
        user("u2", text("two"), at=7),
        answer("a2", text("Done."), at=20),
    )

    assert turn.prompts == ("two",)
    assert not turn.interrupted


def test_a_prompt_that_nobody_answered_yet_waits() -> None:
    turn = read(user("u1", text("one")), answer("a1", text("Done.")), user("u2", text("two"), at=99))

    assert turn.queued
    assert turn.prompts == ("one",)
    assert turn.last_message_id == "a1"


def test_what_no_person_wrote_is_no_prompt() -> None:
    turn = read(
        user("u1", text("one"), text("<file> content", synthetic=True), text("for you alone", ignored=True)),
        answer("a1", bash("make"), finish="tool-calls"),
        user("u2", {"type": "compaction", "auto": True}),
        user("u3", text("Continue", synthetic=True, metadata={"compaction_continue": True})),
        answer("a2", text("Done.")),
    )

    assert turn.prompts == ("one",)
    assert len(turn.calls) == 1


def test_words_of_ours_that_came_as_a_prompt_are_not_what_a_person_asked() -> None:
    turn = read(
        user("u1", text("all tests pass"), at=1),
        answer("a1", text("Done."), at=2),
        user("u2", text("[supervisor abc123] Sent back 1 of 16: test_none fails."), at=3),
        answer("a2", bash("make"), text("Repaired."), at=9),
    )

    assert (turn.prompts, turn.prompt_id, turn.last_message) == (("all tests pass",), "u1", "Repaired.")
    assert turn.arrived == ()


def test_only_a_synthetic_part_of_the_host_shows_that_a_continuation_arrived() -> None:
    turn = read(
        user("u1", text("[supervisor aaaaaa] typed by a person")),
        answer("a1", bash("one"), text("[supervisor bbbbbb] said by the agent")),
        user("u2", text("[supervisor a1b2c3] go on", synthetic=True), text("sent back 1/16", ignored=True)),
        answer("a2", bash("two"), bash("three"), text("Done.")),
    )

    assert turn.arrived == ("a1b2c3",)
    assert turn.calls_since_arrival == 2
    assert turn.prompts == ("[supervisor aaaaaa] typed by a person",)


def test_continuations_of_an_older_turn_count_only_since_the_position() -> None:
    listed = (
        user("u1", text("one"), at=1),
        answer("a1", text("x"), at=2),
        user("u2", text("[supervisor a1b2c3] go on", synthetic=True), at=20),
        answer("a2", text("y"), at=30),
        user("u3", text("two"), at=50),
        answer("a3", text("z"), at=60),
    )

    assert read(*listed).arrived == ()
    assert read(*listed, counted_to=12).arrived == ("a1b2c3",)
    assert read(*listed, counted_to=20).arrived == ()


def test_tokens_are_those_since_the_position_or_of_the_turn() -> None:
    spent = {"input": 100, "output": 10, "reasoning": 5, "cache": {"read": 9000, "write": 7}}
    listed = (
        user("u1", text("one"), at=1),
        answer("a1", text("x"), at=2, tokens=spent),
        user("u2", text("two"), at=50),
        answer("a2", text("y"), at=60, tokens=spent),
    )
    turn = read(*listed)

    assert turn.tokens == 122
    assert turn.position == 70
    assert read(*listed, counted_to=0).tokens == 244
    assert read(*listed, counted_to=turn.position).tokens == 0


def test_a_command_of_the_user_is_no_call_of_the_agent() -> None:
    turn = read(
        user("u1", text("one"), at=1),
        answer("a1", text("Done."), at=2),
        user("u2", text("The following tool was executed by the user", synthetic=True), at=50),
        answer("a2", bash("git status"), at=51, finish=None),
    )

    assert turn.calls == ()
    assert turn.last_message == "Done."
    assert turn.last_message_id == "a1"


def test_a_summary_is_no_message_and_an_answer_without_text_leaves_the_one_before() -> None:
    turn = read(
        user("u1", text("one")),
        answer("a1", text("Looking."), bash("ls"), finish="tool-calls"),
        answer("a2", text("The user wants one."), summary=True),
        answer("a3", finish="stop"),
    )

    assert turn.last_message == "Looking."
    assert turn.last_message_id == "a3"


def test_an_abort_is_an_interruption_and_every_other_error_is_named() -> None:
    def cut(**error: Any) -> bytes:
        return json.dumps([user("u", text("go")), answer("a", finish=None, error=error)]).encode()

    aborted = cut(name="MessageAbortedError", data={"message": "Aborted"})
    failed = cut(name="APIError", data={"message": "over\nloaded", "statusCode": 529})
    assert messages.read_last_turn(aborted).interrupted
    assert not messages.read_last_turn(failed).interrupted
    assert messages.read_last_turn(failed).unfinished == "APIError: over loaded"
