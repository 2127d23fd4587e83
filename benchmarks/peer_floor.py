"""The least that a sidecar of this kind could be: Python with asyncio and msgspec, listening, doing nothing.

Started with the folder of its socket and lock; it closes its output when it listens, and waits for a signal.
"""

from __future__ import annotations

import asyncio  # noqa: F401 - what it costs is what is measured
import fcntl
import os
import signal
import socket
import sys

import msgspec  # noqa: F401 - the same


def main() -> None:
    """Listen until SIGTERM."""
    os.chdir(sys.argv[1])
    lock = os.open("sidecar.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(lock, b"%d\n" % os.getpid())
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind("sidecar.sock")
        listener.listen()
        os.close(1)
        while True:
            signal.pause()


if __name__ == "__main__":
    main()
