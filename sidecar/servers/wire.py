"""Newline-delimited JSON-RPC 2.0, in both directions: bytes to messages and back.

The laws of this file:

- One message is one line of at most 16 MiB; a peer that sends anything else is told so and stays connected.
- What a peer sent is never repeated to it or logged: an error names the place, not the value.
- hooks/claude_code.py compares the first bytes of an answer: the order of the keys belongs to the protocol.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sidecar.ports import BadInputError

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of one message, without its newline."""

MALFORMED: Final = -32700
INVALID: Final = -32600
UNKNOWN_METHOD: Final = -32601
BAD_INPUT: Final = -32602
INTERNAL: Final = -32603

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are no JSON, or JSON that does not fit."""

Id = int | str | None
T = TypeVar("T")

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class Fault(Struct, frozen=True):
    """The error of an answer: one of the codes above and a line for a person."""

    code: int
    message: str


class Message(Struct, frozen=True, kw_only=True):
    """A request (method and id), a notification (method alone), or an answer (id and result or error)."""

    jsonrpc: Literal["2.0"]
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: Fault | UnsetType = UNSET


class WireError(Exception):
    """A line that is no message. `answer` is the line to send back."""

    def __init__(self, code: int, message: str) -> None:
        """Say what is wrong with the line."""
        super().__init__(message)
        self.answer = fault(None, code, message)


_MESSAGE: Final = msgspec.json.Decoder(Message)
_json: Final = msgspec.json.Encoder().encode


def parse(line: bytes) -> Message:
    """Read one line; raises WireError."""
    try:
        return _decode(line)
    except msgspec.ValidationError as error:
        raise WireError(INVALID, f"this is no JSON-RPC 2.0 message: {error}") from error
    except UNREADABLE as error:
        raise WireError(MALFORMED, "this line is no JSON") from error


def read(params: Raw, kind: type[T]) -> T:
    """Read a method's parameters; raises BadInputError, which the peer is told as -32602."""
    try:
        return msgspec.json.decode(params, type=kind)
    except UNREADABLE as error:
        raise BadInputError(f"the parameters do not fit: {error}") from error


def result(ident: Id, value: Raw | bytes) -> bytes:
    """Word the answer to a request; `value` is JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (_json(ident), bytes(value).replace(b"\n", b" "))


def fault(ident: Id, code: int, message: str) -> bytes:
    """Word the answer to a request that failed."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (_json(ident), _json(Fault(code, message)))


def call(method: str, params: Struct | None, ident: Id | UnsetType = UNSET) -> bytes:
    """Word a request, or a notification where there is no `ident`."""
    told = b"" if ident is UNSET else b'"id":%b,' % _json(ident)
    given = b"" if params is None else b',"params":%b' % _json(params)
    return b'{"jsonrpc":"2.0",%b"method":%b%b}\n' % (told, _json(method), given)


def _decode(line: bytes) -> Message:
    try:
        return _MESSAGE.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        mended = _ESCAPE.sub(_mend, line)
        if mended == line:
            raise
        return _MESSAGE.decode(mended)


def _mend(escape: re.Match[bytes]) -> bytes:
    """Replace half of a surrogate pair: JavaScript may cut a text in the middle of a character."""
    return b"\\ufffd" if escape["lone"] else escape[0]
