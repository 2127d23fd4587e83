"""Lines of JSON-RPC 2.0, for the sidecar's socket, MCP over lines, and agents.

- One message is one line of at most 16 MiB.
- What a peer sent is never repeated to it or logged: an error names the place, not the value.
- hooks/relay.py compares the first bytes of an answer, so the order of the keys is part of the
  protocol. hooks/pipe.py, which imports next to nothing, writes its few lines itself.
"""

from __future__ import annotations

from typing import Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sidecar.kernel.decoding import decode_repaired
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import clean_line
from sidecar.platform.data import decode_json

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Maximum bytes of one message, without its newline."""
PEER_ERROR_LIMIT: Final = 300
"""Characters of a peer's error."""

MALFORMED_JSON: Final = -32700
INVALID_REQUEST: Final = -32600
UNKNOWN_METHOD: Final = -32601
BAD_INPUT: Final = -32602
INTERNAL_FAULT: Final = -32603

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are not JSON, or JSON that does not fit."""

MessageId = int | str | None
T = TypeVar("T")


class RpcError(Struct, frozen=True):
    """The error of an answer: one of the codes above and a line for a person."""

    code: int
    message: str = ""
    data: Raw | UnsetType = UNSET


class RpcMessage(Struct, frozen=True, kw_only=True):
    """A request (method and id), a notification (method alone), or an answer (id and result or error)."""

    jsonrpc: Literal["2.0"]
    id: MessageId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: RpcError | UnsetType | None = UNSET


class HelloRequest(Struct, frozen=True):
    """Identifies the caller. With the digest of its `code` it asks a sidecar of other code to make room."""

    version: str = ""
    code: str = ""


class HelloAnswer(Struct, frozen=True):
    """Identifies the sidecar.

    `leaving`: it is shutting down to make room for us. `code` is the digest of what it runs, "" where it is
    from before there was one; `busy` names what is at work in it.
    """

    version: str
    pid: int
    leaving: bool = False
    code: str = ""
    busy: str = ""


class PeerError(Exception):
    """A peer refused a request, or left before it answered; the message says why, in one line."""

    def __init__(self, why: str) -> None:
        """Keep the beginning of the reason, without control characters."""
        super().__init__(clean_line(why, PEER_ERROR_LIMIT))


class WireError(Exception):
    """A line that is not a message. `answer` is the line to send back."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.answer = encode_fault(None, code, message)


_MESSAGE: Final = msgspec.json.Decoder(RpcMessage)
_json: Final = msgspec.json.Encoder().encode


def parse_message(line: bytes) -> RpcMessage:
    """Read one line; raises WireError."""
    try:
        return decode_repaired(line, _MESSAGE)
    except msgspec.ValidationError as error:
        raise WireError(INVALID_REQUEST, f"this is no JSON-RPC 2.0 message: {error}") from error
    except DECODE_ERRORS as error:
        raise WireError(MALFORMED_JSON, "this line is no JSON") from error


def read_params(params: Raw, kind: type[T]) -> T:
    """Decode a method's parameters; raises BadInputError, which the peer gets as error -32602."""
    try:
        return decode_json(params, kind)
    except DECODE_ERRORS as error:
        raise BadInputError(f"the parameters do not fit: {error}") from error


def encode_result(ident: MessageId | Raw, value: Raw | bytes) -> bytes:
    """Encode the answer to a request; `value` is JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (_json(ident), bytes(value).replace(b"\n", b" "))


def encode_fault(ident: MessageId, code: int, message: str) -> bytes:
    """Encode the answer to a request that failed."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (_json(ident), _json(RpcError(code, message)))


def encode_call(method: str, params: object, ident: MessageId | Raw | UnsetType = UNSET) -> bytes:
    """Encode a request, or a notification where there is no `ident`."""
    number = b"" if ident is UNSET else b'"id":%b,' % _json(ident)
    given = b"" if params is None else b',"params":%b' % _json(params)
    return b'{"jsonrpc":"2.0",%b"method":%b%b}\n' % (number, _json(method), given)
