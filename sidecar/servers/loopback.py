"""What every HTTP door shares: a socket that only this machine reaches, and an end without haste.

Nothing heavy is imported here, because doors are built at the sidecar's start.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from typing import Any, Final

LOOPBACK: Final = "127.0.0.1"
HTTP_BACKLOG: Final = 256
"""Connections that the kernel queues, and that are accepted at once."""
DRAIN_S: Final = 2.0
"""Seconds that running requests get to finish when the sidecar ends."""
CLOSING_S: Final = 1.0
"""Maximum number of seconds for the cleanup afterwards."""


def bind_port(port: int) -> socket.socket:
    """Return a socket that listens at the port, 0 for any free one. Raises OSError."""
    # With the protocol given explicitly, asyncio sends small answers without delay.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((LOOPBACK, port))
        found.listen(HTTP_BACKLOG)
        found.settimeout(0)
    except BaseException:
        found.close()
        raise
    return found


def listener_port(listener: socket.socket) -> int:
    """Return the port at which a socket listens."""
    port: int = listener.getsockname()[1]
    return port


async def serve_until_cancelled(work: Coroutine[Any, Any, None]) -> None:
    """Await what ends with the sidecar by itself; a cancellation first gives it the time for that."""
    serving = asyncio.create_task(work)
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        await asyncio.wait({serving}, timeout=DRAIN_S + CLOSING_S)
        serving.cancel()
        raise
