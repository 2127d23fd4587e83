"""What a marker may say, and that nothing else comes in with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.hosts.shared import MESSAGE_LIMIT
from sidecar.hosts.unrecorded import (
    REQUEST_LIMIT,
    REQUESTS_LIMIT,
    StopMarker,
    UnfinishedMarkerError,
    parse_marker,
)
from sidecar.kernel.errors import BadInputError
from support.table import over_table


def written(**fields: Any) -> bytes:
    usual = {"version": 1, "session": "s1", "project": "/shop", "last_message": "Done."}
    return json.dumps(usual | fields, ensure_ascii=False).encode()


def test_a_marker_says_what_a_stop_says() -> None:
    marker = parse_marker(written(project="/shop/", requests=["Repair it."], edited=["a.py"], ran=["make"]))
    assert marker == StopMarker(
        version=1,
        session="s1",
        project="/shop",
        last_message="Done.",
        requests=("Repair it.",),
        edited=("a.py",),
        ran=("make",),
    )


@over_table("field", ["goal", "budget", "retry", "gates", "check", "environment", "PATH", "host", "accept"])
def test_a_field_that_could_order_something_refuses_the_marker(field: str) -> None:
    with pytest.raises(BadInputError, match=f"unknown field `{field}`"):
        parse_marker(written(**{field: "x"}))


@over_table(
    "fields",
    [
        {"version": 2},
        {"session": "../x"},
        {"session": ""},
        {"session": "s" * 129},
        {"project": "shop"},
        {"project": "/shop\0"},
        {"last_message": None},
        {"requests": "Repair it."},
        {"ran": [["make"]]},
    ],
)
def test_what_does_not_fit_is_refused_at_once(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInputError) as refused:
        parse_marker(written(**fields))
    assert not isinstance(refused.value, UnfinishedMarkerError)


def test_every_beginning_of_a_marker_is_unfinished() -> None:
    whole = written(last_message='Ein "Häkchen" \\ \n ✓', requests=["é"])
    for end in range(len(whole)):
        with pytest.raises(UnfinishedMarkerError):
            parse_marker(whole[:end])
    assert parse_marker(whole).last_message == 'Ein "Häkchen" \\ \n ✓'


@pytest.mark.parametrize(
    "raw", [b"[" * 1_000_000, b'{"version":' * 300_000, b'{"requests":' + b"[" * 1_000_000, b"\0" * 5000]
)
def test_what_is_nested_deeply_or_is_no_text_is_refused(raw: bytes) -> None:
    with pytest.raises(BadInputError):
        parse_marker(raw)


def test_bytes_that_are_no_utf_8_and_halves_of_characters_are_replaced() -> None:
    assert parse_marker(written().replace(b"Done.", b"a\xffb\\ud83dc")).last_message == "a\ufffdb\ufffdc"


def test_long_texts_are_cut_and_of_many_requests_the_first_and_the_newest_stay() -> None:
    marker = parse_marker(
        written(last_message="x" * 10**6, requests=[f"{at}" for at in range(500)] + ["y" * 10**5])
    )
    assert len(marker.last_message) <= MESSAGE_LIMIT
    assert len(marker.requests) == REQUESTS_LIMIT
    assert (marker.requests[0], marker.requests[-2]) == ("0", "499")
    assert len(marker.requests[-1]) <= REQUEST_LIMIT


@given(
    st.binary(max_size=300)
    | st.recursive(st.none() | st.text(), st.lists).map(lambda x: json.dumps(x).encode())
)
def test_no_bytes_do_more_than_be_refused(raw: bytes) -> None:
    with pytest.raises(BadInputError):
        parse_marker(raw)
