"""The time of the machine."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """The Clock that everybody else sees too."""

    def now(self) -> float:
        return time.time()

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
