"""What every HTTP door shares: a socket that only this machine reaches, and an end without haste.

Nothing heavy is imported here, because doors are built at the sidecar's start.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final

log = logging.getLogger(__name__)

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


class LoopbackPort:
    """A port that is opened when somebody asks, and closed when its service fails or the sidecar ends."""

    def __init__(self, what: str, serve: Callable[[socket.socket], Coroutine[Any, Any, None]]) -> None:
        """`serve` serves at a socket until the sidecar ends; it imports what it needs when it is called."""
        self._what, self._serve = what, serve
        self._listener: socket.socket | None = None
        self._opened = asyncio.Event()

    def open(self, bind: Callable[[], socket.socket]) -> int:
        """Listen unless already listening, and return the port. Raises what `bind` raises."""
        if self._listener is None:
            self._listener = bind()
            self._opened.set()
            log.info("%s is served at port %d", self._what, listener_port(self._listener))
        return listener_port(self._listener)

    async def run(self) -> None:
        """Serve from the first request until the sidecar ends, in parallel to its Unix socket."""
        while True:
            await self._opened.wait()
            try:
                if self._listener is not None:
                    await self._serve(self._listener)
            except Exception:
                log.exception("%s is closed until somebody asks for its address", self._what)
            finally:
                if self._listener is not None:
                    self._listener.close()
                self._listener = None
                self._opened.clear()


async def serve_until_cancelled(work: Coroutine[Any, Any, None]) -> None:
    """Await what ends with the sidecar by itself; a cancellation first gives it the time for that."""
    serving = asyncio.create_task(work)
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        await asyncio.wait({serving}, timeout=DRAIN_S + CLOSING_S)
        serving.cancel()
        raise
