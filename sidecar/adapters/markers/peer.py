"""One request to the sidecar that may take long, and what it says meanwhile.

For a process that stands in the folder of the socket: a socket's path may have 108 bytes. Leaving the request
ends what was asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct

from sidecar.adapters.client import BAD_INPUT, SOCKET, Call, Line
from sidecar.ports import BadInputError

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of one message, as at the sidecar."""


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
        writer.write(msgspec.json.encode(Call(method=method, params=params)) + b"\n")
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


async def _next(reader: asyncio.StreamReader) -> Line:
    try:
        return msgspec.json.decode(await reader.readuntil(b"\n"), type=Line)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionResetError("the sidecar hung up") from error
