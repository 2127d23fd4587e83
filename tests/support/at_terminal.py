"""A program at a terminal of its own: what it writes there, and keys that are pressed."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

LIMIT_S: Final = 120.0
"""Bound of every wait here, in seconds."""
ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class AtTerminal:
    """The program runs until the block ends."""

    def __init__(
        self, command: Sequence[str], cwd: Path, environment: Mapping[str, str], term: str = "xterm"
    ) -> None:
        """`term`: what the terminal says that it is."""
        self.written = b""
        self._ours, self._theirs = pty.openpty()
        termios.tcsetwinsize(self._theirs, (24, 80))
        # the leader of a session gets the first terminal that it opens as its own
        begin = ("/bin/sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(self._theirs))
        self._process = subprocess.Popen(
            (*begin, *command), cwd=cwd, env={**environment, "TERM": term}, start_new_session=True
        )
        self._seen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    @property
    def modes(self) -> list[Any]:
        """How the terminal is set."""
        return termios.tcgetattr(self._theirs)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, pattern: str) -> None:
        """Wait until the program wrote this since the last time."""
        while not (found := re.search(pattern, self._seen)):
            assert select.select([self._ours], [], [], LIMIT_S)[0], self._seen
            self.written += (data := os.read(self._ours, 65_536))
            self._seen += ESCAPES.sub("", data.decode("utf-8", "replace"))
        self._seen = self._seen[found.end() :]

    def code(self) -> int:
        """Wait for the end, and return the exit code."""
        with suppress(OSError):
            while self._process.poll() is None:
                if select.select([self._ours], [], [], 0.1)[0]:
                    os.read(self._ours, 65_536)
        return self._process.wait(LIMIT_S)
