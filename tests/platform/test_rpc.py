"""Lines of JSON-RPC: what is read, what is refused, and the exact bytes that a relay compares."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw, Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform import rpc
from support.table import over_table


class Point(Struct):
    x: int


def params_of(text: bytes) -> object:
    line = b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + text + b"}"
    return json.loads(bytes(rpc.parse_message(line).params))


def test_a_request_keeps_its_parameters_unread() -> None:
    message = rpc.parse_message(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a": [1,  2]}}')
    assert (message.id, message.method, bytes(message.params)) == (7, "m", b'{"a": [1,  2]}')


def test_bytes_that_are_no_utf_8_are_replaced() -> None:
    assert rpc.parse_message(b'{"jsonrpc":"2.0","method":"\xff"}').method == "\ufffd"


def test_missing_parameters_are_an_empty_object() -> None:
    assert bytes(rpc.parse_message(b'{"jsonrpc":"2.0","method":"m"}').params) == b"{}"


@over_table(
    ("line", "code"),
    [
        (b"", rpc.MALFORMED_JSON),
        (b"GET / HTTP/1.1", rpc.MALFORMED_JSON),
        (b'{"jsonrpc":"2.0"', rpc.MALFORMED_JSON),
        (b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * 100_000, rpc.MALFORMED_JSON),
        (b"[]", rpc.INVALID_REQUEST),
        (b"null", rpc.INVALID_REQUEST),
        (b'{"method":"m"}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","method":"m"}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","method":1}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","method":"m","id":{}}', rpc.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","method":"m","id":1.5}', rpc.INVALID_REQUEST),
    ],
)
def test_what_is_no_message_is_refused_with_its_code(line: bytes, code: int) -> None:
    with pytest.raises(rpc.WireError) as caught:
        rpc.parse_message(line)
    answer = json.loads(caught.value.answer)
    assert (answer["id"], answer["error"]["code"]) == (None, code)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (rb'"cut \ud83d"', "cut �"),
        (rb'"\ude00 cut"', "� cut"),
        (rb'"\ud83d\ud83d\ude00"', "�😀"),
        (rb'"whole \ud83d\ude00 and cut \uD83D"', "whole 😀 and cut �"),
        (rb'"a backslash \\ud83d and cut \ud83d"', "a backslash \\ud83d and cut �"),
    ],
)
def test_half_a_character_is_mended_and_the_rest_kept(text: bytes, read: str) -> None:
    assert params_of(text) == read


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_of_a_javascript_host_can_be_read(text: str) -> None:
    assert isinstance(params_of(json.dumps(text).encode()), str)


def test_parameters_that_do_not_fit_are_bad_input_without_their_value() -> None:
    with pytest.raises(BadInputError, match=r"\$\.x") as caught:
        rpc.read_params(Raw(b'{"x":"a secret"}'), Point)
    assert "secret" not in str(caught.value)


def test_an_answer_is_one_line_whatever_the_method_returned() -> None:
    assert rpc.encode_result(1, b'{\n"a": 1\n}') == b'{"jsonrpc":"2.0","id":1,"result":{ "a": 1 }}\n'


def test_the_bytes_of_each_kind_of_line_are_as_the_relay_knows_them() -> None:
    assert rpc.encode_fault(1, -32603, "no") == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}\n'
    )
    assert rpc.encode_call("working", None) == b'{"jsonrpc":"2.0","method":"working"}\n'
    assert rpc.encode_call("m", Point(1), 5) == b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"x":1}}\n'


@given(st.none() | st.integers(-(2**63), 2**63 - 1) | st.text())
def test_the_id_of_a_request_comes_back_as_it_was(ident: int | str | None) -> None:
    answer = rpc.parse_message(rpc.encode_result(ident, b"{}"))
    assert answer.id == ident
    assert answer.result is not UNSET


def test_a_fault_is_read_back() -> None:
    fault = rpc.parse_message(rpc.encode_fault("a", 5, "why")).error
    assert fault == rpc.RpcError(5, "why")
    assert msgspec.json.encode(fault) == b'{"code":5,"message":"why"}'
