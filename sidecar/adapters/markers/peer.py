"""One request to the sidecar that may take long, and what it says meanwhile.

For a process that stands in the folder of the socket: a socket's path may have 108 bytes. Leaving the request
ends what was asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sidecar.adapters.client import BAD_INPUT, SOCKET
from sidecar.ports import BadInputError

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of one message, as at the sidecar."""


class _Call(Struct, frozen=True, kw_only=True):
    method: str
    params: Struct
    id: int = 1
    jsonrpc: Literal["2.0"] = "2.0"


class _Fault(Struct, frozen=True):
    code: int
    message: str


class _Line(Struct, frozen=True):
    """What the sidecar says: a notification, or the answer to our one call."""

    id: int | UnsetType = UNSET
    method: str = ""
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: _Fault | UnsetType = UNSET


def _ignore(method: str, params: Raw) -> None:
    """Hear nothing but the answer."""


async def ask(method: str, params: Struct, hear: Callable[[str, Raw], None] = _ignore) -> bytes:
    """The result's JSON. `hear` gets every notification until then.

    Raises BadInputError where the sidecar refuses, ConnectionError where it does not answer.
    """
    try:
        reader, writer = await asyncio.open_unix_connection(SOCKET, limit=LINE_LIMIT)
    except OSError as error:
        raise ConnectionRefusedError(f"no sidecar listens: {error}") from error
    try:
        writer.write(msgspec.json.encode(_Call(method=method, params=params)) + b"\n")
        while True:
            line = await _next(reader)
            if line.error:
                kind = BadInputError if line.error.code == BAD_INPUT else ConnectionError
                raise kind(line.error.message)
            if line.result is not UNSET:
                return bytes(line.result)
            hear(line.method, line.params)
    finally:
        writer.close()


async def _next(reader: asyncio.StreamReader) -> _Line:
    try:
        return msgspec.json.decode(await reader.readuntil(b"\n"), type=_Line)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionResetError("the sidecar hung up") from error
