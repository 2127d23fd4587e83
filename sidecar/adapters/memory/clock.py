"""A clock that stands still."""

from __future__ import annotations

import asyncio
from typing import Final

START: Final = 1_750_000_000.0
"""Seconds since the epoch where a manual clock begins: a day in June 2025."""


class ManualClock:
    """A Clock that moves only when told."""

    def __init__(self, at: float = START) -> None:
        self._at = at
        self._waiting: list[tuple[float, asyncio.Event]] = []

    def now(self) -> float:
        return self._at

    def advance(self, seconds: float) -> None:
        """Let time pass; less than nothing is a clock set back."""
        self._at += seconds
        for until, reached in self._waiting:
            if until <= self._at:
                reached.set()

    async def pause(self, seconds: float) -> None:
        """Wait until the clock was moved so far."""
        if seconds <= 0:
            return
        waiter = (self._at + seconds, asyncio.Event())
        self._waiting.append(waiter)
        try:
            await waiter[1].wait()
        finally:
            self._waiting.remove(waiter)
