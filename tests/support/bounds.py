"""A bound on every test: one that hangs fails, and its message shows what waited where."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import pytest

AGAIN_S: Final = 5.0
"""Seconds until the alarm rings once more: the first one may have met code that catches every exception."""


@contextmanager
def bounded(limit_s: float) -> Iterator[None]:
    """Fail what takes longer than `limit_s` seconds in the main thread.

    A call of C that never returns is left to `faulthandler_timeout`.
    """

    def ring(_: int, frame: FrameType | None) -> None:
        del frame
        pytest.fail(f"it took longer than {limit_s:g} s\n\n{stacks()}")

    before = signal.signal(signal.SIGALRM, ring)
    outer = signal.setitimer(signal.ITIMER_REAL, limit_s, AGAIN_S)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *outer)


def stacks() -> str:
    """Where each other thread and each task of asyncio is. The caller's own stack is the failure's."""
    told = io.StringIO()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for number, frame in sys._current_frames().items():  # noqa: SLF001 - the documented way
        if number != threading.get_ident():
            told.write(f"thread {names.get(number, number)}:\n{''.join(traceback.format_stack(frame))}\n")
    with suppress(RuntimeError):  # no loop runs
        for task in asyncio.all_tasks():
            task.print_stack(file=told)
    return told.getvalue()
