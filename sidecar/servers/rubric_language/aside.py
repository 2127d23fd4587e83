"""Slow work in a thread, of which the loop hears when it is done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def aside(work: Callable[[], T]) -> asyncio.Future[T]:
    """What `work` returns or raises. The thread does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        ran: Future[T] = Future()
        try:
            ran.set_result(work())
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            ran.set_exception(error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_hand_over, ran, done)

    threading.Thread(target=run, name="aside", daemon=True).start()
    return done


def _hand_over(ran: Future[T], done: asyncio.Future[T]) -> None:
    if done.cancelled():
        return
    if (error := ran.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(ran.result())
