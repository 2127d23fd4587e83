"""Nothing that a host may write hangs, raises or grows without bound; damage is left out by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.opencode.writing import RECORDED, answer, bash, read, text, tool, user
from sidecar.hosts import turns
from sidecar.hosts.opencode import messages, wire
from sidecar.hosts.shared import CALLS_LIMIT, MESSAGE_LIMIT, PROMPT_LIMIT, PROMPTS_LIMIT
from support.table import over_table


@over_table("raw", [b"", b"null", b"{}", b'"x"', b"[", b"\xff\xfe", b"[" * 100_000, b"[1e999]"])
def test_what_is_no_list_of_messages_is_not_readable_or_empty(raw: bytes) -> None:
    turn = messages.read_last_turn(raw, 7)

    assert turn.prompts == ()
    assert turn.position == 7
    assert turn.readable == (raw == b"[1e999]")


def test_a_history_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "BYTES_LIMIT", 10)

    assert not messages.read_last_turn(b"[" + b" " * 20 + b"]").readable


def test_what_is_damaged_is_left_out_by_itself() -> None:
    turn = read(
        {"info": {"role": "user"}},
        user("u", text("go"), {"type": 5}, {"no": "type"}, "part"),  # type: ignore[arg-type]
        {"info": {"id": "x", "role": "assistant"}, "parts": "none"},
        answer(
            "a", {"type": "hologram", "new": True}, bash("make"), text("Done."), tokens="many", time="now"
        ),
        {"info": None},
    )

    assert turn.prompts == ("go",)
    assert turn.last_message == "Done."
    assert [call.command for call in turn.calls] == ["make"]


def test_everything_is_bounded() -> None:
    many = [
        answer(f"a{number}", bash("x" * 5000, 0, "y" * 5000), finish="tool-calls") for number in range(450)
    ]
    todos = [{"content": "z" * 900, "status": "pending"}] * 300
    turn = read(
        user("u", text("p" * 9000)),
        *many,
        answer("t", tool("todowrite", {"todos": todos}), finish="tool-calls"),
        answer("b", text("m" * 50_000)),
    )

    assert len(turn.calls) == CALLS_LIMIT == turn.calls_since_arrival
    assert len(turn.prompts[0]) == PROMPT_LIMIT
    assert len(turn.last_message) == MESSAGE_LIMIT
    assert max(len(call.command) for call in turn.calls) == turns.COMMAND_LIMIT
    assert (len(turn.todos), len(turn.todos[0].text)) == (turns.TODO_LIMIT, turns.TODO_TEXT_LIMIT)


def test_of_many_prompts_the_first_and_the_newest_are_kept() -> None:
    listed = [user("u0", text("0"), at=1)]
    for number in range(1, 40):
        listed += [answer(f"a{number}", at=number * 100, finish="tool-calls")]
        listed += [user(f"u{number}", text(str(number)), at=number * 100 + 5)]
    prompts = read(*listed, answer("end", text("Done."), at=9000)).prompts

    assert len(prompts) == PROMPTS_LIMIT
    assert (prompts[0], prompts[1], prompts[-1]) == ("0", "21", "39")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
KEYS = (
    "id",
    "role",
    "time",
    "finish",
    "error",
    "tokens",
    "summary",
    "type",
    "text",
    "tool",
    "state",
    "callID",
)
shaped = st.fixed_dictionaries(
    {},
    optional={
        "info": json_values | st.dictionaries(st.sampled_from(KEYS), json_values),
        "parts": json_values | st.lists(st.dictionaries(st.sampled_from(KEYS), json_values), max_size=3),
    },
)


@given(st.lists(shaped | json_values, max_size=5), st.integers(-1, 10))
def test_nothing_that_a_host_may_write_raises(listed: list[Any], counted_to: int) -> None:
    turn = messages.read_last_turn(json.dumps(listed).encode(), counted_to)

    assert turn.readable
    assert len(turn.calls) >= turn.calls_since_arrival


@given(st.data())
def test_a_damaged_recording_never_raises(data: st.DataObject) -> None:
    raw = bytearray(RECORDED)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))

    messages.read_last_turn(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
