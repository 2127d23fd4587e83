"""The terminal of another process: what a host without a screen of its own leaves to us to say there."""

from __future__ import annotations

import os
from contextlib import suppress


class HostTerminal:
    """The terminal that is a process's standard error; nothing is written where that is a pipe or a file."""

    def __init__(self, pid: int) -> None:
        """`pid`: the process. It may end at any time, and so may its terminal."""
        self._path = f"/proc/{pid}/fd/2"

    def write(self, text: str) -> None:
        """Write lines, as far as the terminal takes them at once."""
        with suppress(OSError):
            terminal = os.open(self._path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
            try:
                if os.isatty(terminal):
                    os.write(terminal, text.encode("utf-8", "replace"))
            finally:
                os.close(terminal)
