"""Hook input that is hostile, broken or too big."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.claude_code.payloads import decode, payload
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AgentStopped
from support.table import over_table

MIB: Final = 1024 * 1024
EVENTS: Final = [
    "SessionStart",
    "UserPromptExpansion",
    "UserPromptSubmit",
    "Stop",
    "StopFailure",
    "SessionEnd",
]


@over_table("hostile", ["../../x", "a/b", "", "a\x00b", "x" * 10_000, "ä", "a\n", "a b", "..", "a.b"])
def test_a_hostile_session_id_is_refused_and_shown_short(hostile: str) -> None:
    with pytest.raises(BadInputError, match="session id") as caught:
        decode(payload("Stop", session_id=hostile))
    assert len(str(caught.value)) < 150
    assert str(caught.value).isprintable()


@over_table(
    ("raw", "said"),
    [
        (b"", "Input data was truncated"),
        (b"{", "Input data was truncated"),
        (b"null", "Expected `object`, got `null`"),
        (b"[1]", "Expected `object`, got `array`"),
        (b'{"hook_event_name":1}', r"Expected `str`, got `int` - at `\$.hook_event_name`"),
        (b"{}", "missing required field `hook_event_name`"),
        (b'{"hook_event_name":"Stop"}', "missing required field `session_id`"),
        (payload("Stop", cwd=7), r"Expected `str`, got `int` - at `\$.cwd`"),
        (payload("Stop", background_tasks=[{"id": 1}]), r"at `\$.background_tasks\[0\].id`"),
        (payload("Stop") + b"junk", "trailing characters"),
        (b'{"hook_event_name":"Stop","x":' + b"[" * 200_000, "recursion"),
    ],
)
def test_input_that_is_malformed_is_refused_with_the_place(raw: bytes, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        decode(raw)


def test_input_at_the_limit_is_read_and_one_byte_more_is_refused_with_both_sizes() -> None:
    bare = payload("Stop", last_assistant_message="")
    full = payload("Stop", last_assistant_message="x" * (4 * MIB - len(bare)))
    assert len(full) == 4 * MIB
    assert isinstance(decode(full), AgentStopped)
    with pytest.raises(BadInputError, match=r"4,194,305 bytes is over the limit of 4,194,304 bytes"):
        decode(full + b" ")


def test_half_characters_and_bytes_that_are_no_text_are_replaced() -> None:
    raw = payload("Stop", last_assistant_message="MARK").replace(
        b"MARK", rb"\ud83d cut, \ud83d\ude00 whole, \\ud83d " + b"\xff"
    )
    told = decode(raw)
    assert isinstance(told, AgentStopped)
    assert told.last_message == "� cut, 😀 whole, \\ud83d �"


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_understood_or_refused(raw: bytes) -> None:
    with pytest.raises(BadInputError):
        decode(raw)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
    st.sampled_from(["session_id", "cwd", "prompt_id", "permission_mode", "agent_id", "background_tasks"]),
    st.sampled_from(EVENTS),
)
def test_any_value_in_any_field_is_understood_or_refused(value: object, field: str, event: str) -> None:
    required = {"UserPromptSubmit": {"prompt": "x"}, "UserPromptExpansion": {"command_name": "x"}}
    try:
        decode(payload(event, **{**required.get(event, {}), field: value}))
    except BadInputError as error:
        assert len(str(error)) < 500  # noqa: PT017 - both outcomes are right
