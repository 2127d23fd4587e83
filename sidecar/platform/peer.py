"""Asynchronous client for one request to the sidecar that may take long, with its notifications.

The process must have changed into the socket's folder, because a socket's path may have at most 108 bytes.
Closing the connection cancels the request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import UNSET, Raw, Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform.client import REQUEST_ID, SILENCE_S, connect_to_sidecar
from sidecar.platform.rpc import BAD_INPUT, LINE_LIMIT, RpcMessage, encode_call


def _ignore_notification(method: str, params: Raw) -> None:
    """Ignore a notification."""


async def request_sidecar(
    method: str, params: Struct, hear: Callable[[str, Raw], None] = _ignore_notification
) -> bytes:
    """Send a request and return the result's JSON; `hear` receives every notification until then.

    Raises BadInputError if the sidecar refuses, ConnectionError if it does not answer.
    """
    try:
        reader, writer = await open_connection()
    except OSError as error:
        raise ConnectionRefusedError(f"no sidecar listens: {error}") from error
    try:
        writer.write(encode_call(method, params, REQUEST_ID))
        while True:
            line = await _read_line(reader)
            if line.error:
                kind = BadInputError if line.error.code == BAD_INPUT else ConnectionError
                raise kind(line.error.message)
            if line.result is not UNSET:
                return bytes(line.result)
            if line.method is not UNSET:
                hear(line.method, line.params)
    finally:
        writer.close()


async def open_connection() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the sidecar. Raises OSError."""
    # asyncio would take a full queue for a connection that is being made.
    link = await asyncio.to_thread(connect_to_sidecar, SILENCE_S)
    return await asyncio.open_unix_connection(sock=link, limit=LINE_LIMIT)


async def _read_line(reader: asyncio.StreamReader) -> RpcMessage:
    try:
        return msgspec.json.decode(await reader.readuntil(b"\n"), type=RpcMessage)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionResetError("the sidecar hung up") from error
