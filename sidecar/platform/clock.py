"""The system clock."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Implements `Clock` with the system's time."""

    def now(self) -> float:
        return time.time()

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
