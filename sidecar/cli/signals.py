"""Ends a command's work when its user interrupts it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED_CODE: Final = 130
"""The exit code of an interrupted command, as shells report it for a program ended by Ctrl-C."""

T = TypeVar("T")


async def work_until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Return what the work gives, None where a signal cancelled it; the next one cuts its ending short."""
    task = asyncio.create_task(work)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # else nohup, or a script's background job
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return None
