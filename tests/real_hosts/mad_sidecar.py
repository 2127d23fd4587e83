"""Something that listens where the sidecar should, and answers as the test says: rubbish, or nothing."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

Answer = Callable[[Any], bytes]
"""From the id of a request to what is sent back; nothing hangs up."""
ACCEPT_LIMIT_S: Final = 5.0
"""Longest time, in seconds, that closing waits for the thread."""


class MadSidecar:
    """Answers every request with `answer`, which may be exchanged at any time."""

    def __init__(self, listener: socket.socket) -> None:
        self.answer: Answer = lambda _: b""
        self.heard = 0
        """Requests so far."""
        self._listener = listener
        self._peers: list[socket.socket] = []

    def serve(self) -> None:
        """Take peers until the listener is closed."""
        with suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                self._peers.append(peer)
                threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def close(self) -> None:
        """Hang up on everybody."""
        for open_ in (self._listener, *self._peers):
            with suppress(OSError):
                open_.shutdown(socket.SHUT_RDWR)
            open_.close()

    def _talk(self, peer: socket.socket) -> None:
        with suppress(OSError), peer, peer.makefile("rb") as lines:
            for line in lines:
                said = msgspec.json.decode(line)
                if "method" not in said:
                    continue
                self.heard += 1
                if not (answer := self.answer(said["id"])):
                    return
                peer.sendall(answer)


@contextmanager
def mad_sidecar(state: Path) -> Iterator[MadSidecar]:
    """Listen in the state folder `state` until the block ends; then nothing is left there."""
    path = state / "run" / "sidecar.sock"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        with _short(path) as name:
            listener.bind(name)
        listener.listen()
        mad = MadSidecar(listener)
        thread = threading.Thread(target=mad.serve, daemon=True)
        thread.start()
        try:
            yield mad
        finally:
            mad.close()
            path.unlink()
            thread.join(ACCEPT_LIMIT_S)


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Another name for `path`: that of a socket has 107 bytes at most."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
