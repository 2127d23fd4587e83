"""Events of the plugin that are hostile, broken or too big."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.opencode.telling import EVENTS, decode, telling
from sidecar.hosts import shared
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AgentStopped, CommandTyped, TurnFailed
from support.table import over_table

MIB: Final = 1024 * 1024
HOSTILE: Final = ["../../x", "a/b", "a\x00b", "x" * 10_000, "ä", "a\n", "a b", "..", "a.b", "\x1b[31m"]


@over_table("hostile", [*HOSTILE, ""])
def test_a_hostile_session_id_is_refused_and_shown_short(hostile: str) -> None:
    with pytest.raises(BadInputError, match="session id") as caught:
        decode(telling("session.idle", {"id": hostile}))
    assert len(str(caught.value)) < 150
    assert str(caught.value).isprintable()


@over_table("hostile", HOSTILE)
def test_a_hostile_parent_is_refused_too(hostile: str) -> None:
    with pytest.raises(BadInputError, match="session id"):
        decode(telling("session.idle", {"parentID": hostile}))


def test_the_longest_allowed_session_id_is_taken() -> None:
    assert decode(telling("session.idle", {"id": "a" * 128})).key.id == "a" * 128
    with pytest.raises(BadInputError, match="of length 129"):
        decode(telling("session.idle", {"id": "a" * 129}))


@pytest.mark.parametrize("folder", ["", "relative", "C:\\work", "/a\x00b", "\x1b[31m" * 1000, "~"])
def test_a_folder_that_is_no_absolute_path_is_refused_and_shown_short(folder: str) -> None:
    with pytest.raises(BadInputError, match="no absolute path") as caught:
        decode(telling("session.idle", {"directory": folder}))
    assert len(str(caught.value)) < 150
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["rubrics", "Goal", "", "goal ", "\x1b[31m" * 1000, "__class__"])
def test_an_unknown_command_is_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(
        BadInputError, match="/supervisor:goal, /supervisor:retry, /supervisor:rubric"
    ) as caught:
        decode(telling("command", name=name))
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@over_table(
    ("raw", "said"),
    [
        (b"", "Input data was truncated"),
        (b"{", "Input data was truncated"),
        (b"null", "Expected `object`, got `null`"),
        (b"[1]", "Expected `object`, got `array`"),
        (b"{}", "missing required field `type`"),
        (b'{"type":1}', r"Expected `str`"),
        (b'{"type":"session.compacted"}', r"Invalid value 'session.compacted' - at `\$.type`"),
        (b'{"type":"session.idle"}', "missing required field `session`"),
        (b'{"type":"session.idle","session":{"id":"a"}}', r"missing required field `directory`"),
        (telling("session.idle", {"id": 7}), r"Expected `str`, got `int` - at `\$.session.id`"),
        (telling("session.idle", {"parentID": 7}), r"at `\$.session.parentID`"),
        (telling("session.idle", run="yes"), r"Expected `bool`, got `str` - at `\$.run`"),
        (telling("prompt", parts="none"), r"Expected `array`, got `str` - at `\$.parts`"),
        (telling("command", arguments=None), r"at `\$.arguments`"),
        (telling("session.idle") + b"junk", "trailing characters"),
        (b'{"type":"session.idle","x":' + b"[" * 200_000, "recursion|truncated"),
    ],
)
def test_what_is_malformed_is_refused_with_the_place(raw: bytes, said: str) -> None:
    with pytest.raises(BadInputError, match=said) as caught:
        decode(raw)
    assert "supervisor doctor" in str(caught.value)


def test_an_unknown_event_with_a_long_hostile_name_is_shown_short() -> None:
    with pytest.raises(BadInputError) as caught:
        decode(telling("\x1b[31m" * 10_000))
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def test_an_event_at_the_limit_is_read_and_one_byte_more_is_refused_with_both_sizes() -> None:
    bare = telling("command", arguments="")
    full = telling("command", arguments="x" * (4 * MIB - len(bare)))
    assert len(full) == shared.INPUT_LIMIT == 4 * MIB
    assert isinstance(decode(full), CommandTyped)
    with pytest.raises(BadInputError, match=r"4,194,305 bytes is over the limit of 4,194,304 bytes"):
        decode(full + b" ")


def test_half_characters_and_bytes_that_are_no_text_are_replaced() -> None:
    raw = telling("command", arguments="MARK").replace(
        b"MARK", rb"\ud83d cut, \ud83d\ude00 whole, \\ud83d " + b"\xff"
    )
    told = decode(raw)
    assert isinstance(told, CommandTyped)
    assert told.order.text == "� cut, 😀 whole, \\ud83d �"


def test_an_error_that_is_nested_beyond_reading_is_left_out() -> None:
    deep = telling("session.error", error="MARK").replace(b'"MARK"', b"[" * 500 + b"]" * 500)
    told = decode(deep)
    assert isinstance(told, TurnFailed)
    assert told.error == ""


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
    st.sampled_from(["session", "fresh", "message", "parts", "name", "arguments", "last", "run", "error"]),
    st.sampled_from(sorted(EVENTS)),
)
def test_any_value_in_any_field_is_understood_or_refused(value: Any, field: str, event: str) -> None:
    try:
        decode(telling(event, **{field: value}))
    except BadInputError as error:
        assert len(str(error)) < 500  # noqa: PT017 - both outcomes are right


def test_what_the_newest_message_says_of_other_things_is_not_looked_at() -> None:
    last: dict[str, Any] = {
        "id": "m",
        "summary": {"diffs": []},
        "error": {"name": "x"},
        "tokens": "many",
        "agent": None,
    }
    assert isinstance(decode(telling("session.idle", last=last)), AgentStopped)
