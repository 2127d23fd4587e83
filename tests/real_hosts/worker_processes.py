"""Which processes of workers there are in a home, as the system sees them, and how one ends."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

LIMIT_S: Final = 240.0
"""Bound of every wait here, in seconds."""
HANGUP_S: Final = 30.0
"""Longest time, in seconds, that a host may take to notice that its terminal is gone."""


def worker_processes(home: Path) -> list[int]:
    """The processes of workers of this home, oldest first."""
    return _with_variables(f"HOME={home}".encode(), b"SUPERVISOR_WORKER=1")


def command_lines(home: Path) -> list[str]:
    """The command lines of all processes of this home."""
    found = []
    for pid in _with_variables(f"HOME={home}".encode()):
        with suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace"))
    return [*filter(None, found)]


def _with_variables(*wanted: bytes) -> list[int]:
    pids = sorted(map(int, filter(str.isdecimal, os.listdir("/proc"))))  # noqa: PTH208 - names only
    return [pid for pid in pids if variables(pid).issuperset(wanted)]


def variables(pid: int) -> set[bytes]:
    """The environment of a process, nothing where it has ended."""
    with suppress(OSError):
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    return set()


def has_ended(pid: int, limit_s: float = LIMIT_S) -> bool:
    """Whether a process has ended, or does so in time without anybody's doing."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], limit_s)[0])
    finally:
        os.close(watched)


def end_process(pid: int) -> None:
    """Wait until a process has ended whose terminal is gone; kill it where it does not mind. 0 is none."""
    if pid and not has_ended(pid, HANGUP_S):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        has_ended(pid)


def nobody_is_left(home: Path) -> bool:
    """Whether all workers of this home have ended, or do now without anybody's doing."""
    return all(map(has_ended, worker_processes(home))) and not worker_processes(home)
