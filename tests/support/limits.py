"""What is known of limited services, on a clock that waits for nobody."""

from __future__ import annotations

from sidecar.kernel.limits import ServiceLimit
from sidecar.platform.limits import ServiceLimits
from support.memory_stores import ManualClock, MemoryEventLog


class LimitRoom:
    """The log of one user, a clock on which time passes while somebody waits, and what was told of waits."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.log = MemoryEventLog()
        self.clock = clock or ManualClock()
        self.now, self.awake = self.clock.now, self.clock.awake
        self.told: list[ServiceLimit] = []

    async def pause(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def limits(self) -> ServiceLimits:
        """Those of one more run."""
        return ServiceLimits(self.log, self, self.told.append)
