"""The life of the sidecar's process: take the place or leave it to another, listen, serve, end.

Whoever started us may wait for the end of our standard output: then the socket is open, or another sidecar is
at it, or there will be none.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from sidecar.servers.place import Lock, open_socket

if TYPE_CHECKING:
    import socket

    from sidecar.servers.sidecar import Build, Pace

LOCK: Final = "sidecar.lock"
SOCKET: Final = "sidecar.sock"
SUCCESSION_S: Final = 45.0
"""Longest wait for an older sidecar to make room: more than it may drain."""
RETRY_S: Final = 0.1
"""Between two tries to greet the holder of the lock: it may be about to listen."""
FAILED: Final = 1


class Holder(Protocol):
    """What the sidecar at the place says of itself."""

    @property
    def leaving(self) -> bool:
        """Whether it makes room for us."""


Greet = Callable[[], Holder | None]
"""Says hello, with our version, to the sidecar at the place; None where none answers."""


class Life(NamedTuple):
    """Whose sidecar this is: the folder of socket and lock, the log's file, and what it serves."""

    run: Path
    log: Path
    version: str
    build: Build


def serve(life: Life, greet: Greet, pace: Pace | None = None) -> int:
    """Be the sidecar, to the end of its life; the exit code.

    0: it ended as it should, or another one is there that is not older. 1: the place is held by a process
    that does not answer. 70: an internal error, see the log. Raises OSError where a folder cannot be used.
    """
    os.umask(0o077)
    os.chdir(life.run)
    lock = Lock(LOCK)
    if not lock.take() and (ending := _succeed(lock, greet)) is not None:
        return ending
    lock.sign()
    with open_socket(SOCKET) as listener:
        _tell_starter()
        try:
            return _live(listener, life, pace)
        finally:
            Path(SOCKET).unlink(missing_ok=True)


def _succeed(lock: Lock, greet: Greet) -> int | None:
    """Wait for a place that is held; None when it became ours, else the exit code."""
    end = time.monotonic() + SUCCESSION_S
    while (left := end - time.monotonic()) > 0:
        holder = greet()
        if holder is not None and not holder.leaving:
            return 0
        if lock.wait(RETRY_S if holder is None else left):
            return None
    return FAILED


def _tell_starter() -> None:
    """Close standard output, but keep its number taken; a terminal is left alone."""
    if not os.isatty(1):
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, 1, inheritable=False)
        os.close(null)


def _live(listener: socket.socket, life: Life, pace: Pace | None) -> int:
    """Serve. What is imported here comes after the socket, where the first caller already waits."""
    import asyncio  # noqa: PLC0415
    import logging  # noqa: PLC0415

    from sidecar.servers.control import Control  # noqa: PLC0415
    from sidecar.servers.log import write_to  # noqa: PLC0415
    from sidecar.servers.sidecar import INTERNAL_ERROR, Sidecar  # noqa: PLC0415

    async def live() -> int:
        control = Control(life.version, life.log)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, control.stop)
        return await Sidecar(control, life.build, pace=pace).run(listener)

    write_to(life.log)
    journal = logging.getLogger(__name__)
    journal.info("listening, version %s", life.version)
    try:
        code = asyncio.run(live())
    except Exception:  # noqa: BLE001 - the last place that can log it
        journal.exception("ended by an internal error")
        return INTERNAL_ERROR
    journal.info("ended")
    return code
