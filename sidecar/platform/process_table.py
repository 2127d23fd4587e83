"""Other processes: which run above one (Linux only; elsewhere nothing is known), and the terminal of one."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from sidecar.kernel.orders import Ancestry, Process
from sidecar.kernel.session import Environment

MAX_ANCESTORS: Final = 64
"""Processes above each other that are read; real chains have fewer than 20."""
TABLE: Final = Path("/proc")
GONE: Final = frozenset("ZXx")
"""States of a process that has ended and was not yet waited for: its children already have another parent."""


class ProcessTable:
    """Implements ports.Processes with the table of the system."""

    def __init__(self, table: Path = TABLE) -> None:
        """Read below this folder."""
        self._table = table

    def ancestry(self, pid: int) -> Ancestry:
        found: list[Process] = []
        while pid > 0 and len(found) < MAX_ANCESTORS and (process := self.find(pid)) is not None:
            found.append(process)
            pid = process.parent
        return tuple(found)

    def find(self, pid: int) -> Process | None:
        try:
            with open(f"{self._table}/{pid}/stat", "rb", buffering=0) as stat:  # noqa: PTH123 - read often
                line = stat.read().decode("utf-8", "replace")
            name = line[line.index("(") + 1 : line.rindex(")")]
            state, parent, _, leader, terminal, *rest = line[line.rindex(")") + 2 :].split()
            if state in GONE:
                return None
            booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
            return Process(
                pid=pid,
                parent=int(parent),
                name=name,
                started=booted + int(rest[14]) / os.sysconf("SC_CLK_TCK"),
                leader=int(leader),
                terminal=int(terminal) != 0,
            )
        except (OSError, ValueError, IndexError):
            return None

    def environment(self, pid: int) -> Environment:
        with suppress(OSError):
            said = (self._table / str(pid) / "environ").read_text(encoding="utf-8", errors="replace")
            pairs = (one.partition("=") for one in said.split("\0"))
            return {name: value for name, _, value in pairs if name}
        return {}


def write_to_terminal(pid: int, text: str) -> None:
    """Write lines to the terminal that is a process's standard error, as far as it takes them at once.

    Nothing is written where that is a pipe or a file. The process may end at any time.
    """
    with suppress(OSError):
        terminal = os.open(f"/proc/{pid}/fd/2", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            if os.isatty(terminal):
                os.write(terminal, text.encode("utf-8", "replace"))
        finally:
            os.close(terminal)
