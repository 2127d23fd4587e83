"""Which processes of workers there are in a home, as the system sees them."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from pathlib import Path
from typing import Final

LIMIT_S: Final = 120.0
"""Bound of every wait here, in seconds."""


def worker_processes(home: Path) -> list[int]:
    """The processes of workers of this home, oldest first."""
    wanted = {f"HOME={home}".encode(), b"SUPERVISOR_WORKER=1"}
    pids = sorted(map(int, filter(str.isdecimal, os.listdir("/proc"))))  # noqa: PTH208 - names only
    return [pid for pid in pids if wanted <= variables(pid)]


def variables(pid: int) -> set[bytes]:
    """The environment of a process, nothing where it has ended."""
    with suppress(OSError):
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    return set()


def nobody_is_left(home: Path) -> bool:
    """Whether all workers of this home have ended, or do now without anybody's doing."""
    for pid in worker_processes(home):
        with suppress(ProcessLookupError):
            watched = os.pidfd_open(pid)
            select.select([watched], [], [], LIMIT_S)
            os.close(watched)
    return not worker_processes(home)
