"""Whether the newest messages hold the last turn whole: then it reads as it does in the whole history."""

from __future__ import annotations

import json

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from hosts.opencode.writing import Fields, answer, bash, text, user
from sidecar.hosts.opencode import messages
from support.table import over_table

LISTED = (
    user("u1", text("old"), at=1),
    answer("a1", bash("old"), at=10),
    user("u2", text("new"), at=100),
    answer("a2", bash("make"), at=110, finish="tool-calls"),
    user("u3", text("faster"), at=115),
    answer("a3", text("Done."), at=130),
)


def newest(limit: int, listed: tuple[Fields, ...] = LISTED) -> bytes:
    return json.dumps(listed[-limit:]).encode()


@over_table("limit", range(1, 9))
def test_the_turns_own_prompt_and_an_answer_before_it_have_to_be_there(limit: int) -> None:
    assert bool(messages.read_whole_turn(newest(limit), limit=limit)) == (limit >= 5)


def test_a_whole_history_is_enough_however_it_begins() -> None:
    assert messages.read_whole_turn(newest(4), limit=5)
    assert messages.read_whole_turn(b"[]", limit=1)


def test_a_message_that_joined_the_turn_does_not_open_it() -> None:
    window = newest(2)
    assert messages.read_last_turn(window).prompts == ("faster",)
    assert not messages.read_whole_turn(window, limit=2)


def test_what_is_damaged_counts_as_a_message() -> None:
    listed = (user("u0", text("go")), answer("a0", finish="tool-calls"), {"info": None}, answer("a"))
    assert not messages.read_whole_turn(newest(3, listed), limit=3)
    assert not messages.read_whole_turn(json.dumps([7] * 3).encode(), limit=3)


@pytest.mark.parametrize("raw", [b"", b"null", b"{}", b"[", b"\xff", b"[" * 100_000])
def test_more_of_what_is_no_list_is_not_asked_for(raw: bytes) -> None:
    assert messages.read_whole_turn(raw, limit=64)


@st.composite
def histories(draw: st.DrawFn) -> list[Fields]:
    """Prompts that open turns, wait for them or join them; answers; notes; continuations."""
    listed: list[Fields] = []
    at, until = 0, 0
    for number in range(draw(st.integers(1, 20))):
        kind = draw(st.sampled_from(("answer", "prompt", "answer", "joins", "note", "continuation")))
        at = max(at, until) + 1
        if kind == "answer":
            finish = draw(st.sampled_from(("stop", "tool-calls", None)))
            parts = [bash(f"make {number}")] if draw(st.booleans()) else [text(f"Done {number}.")]
            listed.append(answer(f"m{number}", *parts, at=at, finish=finish))
            until = at + 10
        elif kind == "joins":
            listed.append(user(f"m{number}", text(f"prompt {number}"), at=max(until - 1, 1)))
        else:
            flags = {"note": {"ignored": True}, "continuation": {"synthetic": True}}.get(kind, {})
            listed.append(user(f"m{number}", text(f"[supervisor a1b2c{number % 10}]", **flags), at=at))
    return listed


@given(histories(), st.integers(1, 12))
def test_a_turn_that_is_covered_reads_as_in_the_whole_history(listed: list[Fields], limit: int) -> None:
    window, whole = json.dumps(listed[-limit:]).encode(), json.dumps(listed).encode()
    covered = messages.read_whole_turn(window, limit=limit)
    event(f"covered: {covered is not None}, cut: {len(listed) > limit}")

    if covered:
        assert covered == messages.read_last_turn(whole)
