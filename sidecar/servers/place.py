"""The one place of a sidecar: a lock that says whose it is, and the socket at which it can be found.

The lock is held for life and let go by the kernel, however that life ended; its file is never removed. Who
holds it may remove a socket that is lying about. Names are relative to the working folder, for the path of a
socket may have 108 bytes.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

WAITING = 128
"""Callers that the kernel lets wait before they are accepted."""


class Lock:
    """The lock on the place. Every instance belongs to one thread but for its own waiting."""

    def __init__(self, name: str) -> None:
        """Open the lock's file; raises OSError."""
        self._file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._ours = threading.Event()
        self._waiting: threading.Thread | None = None

    def take(self) -> bool:
        """Whether the place was free, and is ours now."""
        with suppress(BlockingIOError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._ours.set()
        return self._ours.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it became ours in that time. Waiting goes on behind the caller's back until it does."""
        if self._waiting is None:
            self._waiting = threading.Thread(target=self._block, name="waiting for the lock", daemon=True)
            self._waiting.start()
        return self._ours.wait(seconds)

    def sign(self) -> None:
        """Leave our process id in the file, for whoever wonders."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, b"%d\n" % os.getpid(), 0)

    def _block(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._ours.set()


def open_socket(name: str) -> socket.socket:
    """Listen at `name`, for our own user alone; raises OSError. Only for the holder of the lock."""
    Path(name).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(name)
    finally:
        os.umask(before)
    listener.listen(WAITING)
    return listener
