"""Which model services answer nothing for now: events of the log, known to every run, and waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec.structs import replace

from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.log import EventFilter, LoggedEvent, event_kind
from sidecar.kernel.masking import SecretMask
from sidecar.platform.log_readings import WORKERS
from sidecar.platform.ports import Clock, EventLog

FIRST_S: Final = 60.0
LONGEST_S: Final = 1800.0
"""Seconds of the first and of the longest wait that no service asked for; each is twice the one before."""
FORGOTTEN_S: Final = 3600.0
"""Seconds after a limit from which on the next one is a new one."""
BELIEVED_S: Final = 8 * 86_400.0
"""Seconds; a limit that is said to last longer is not believed."""
SLOT_LOOK_S: Final = 2.0
"""Seconds between two looks whether a slot is free."""
SLOT_RENEWED_S: Final = 30.0
"""Seconds after which a slot is renewed; it lasts several."""
EVENTS_READ: Final = 100
"""Newest limits that are read."""
WORKED_TRIES: Final = 3
"""Starts of one agent that cost tokens and met a limit. Then it counts as it ended: words of its own work may
look like a limit, and its session may have no other bound."""


def known_limits(log: EventLog) -> dict[str, ServiceLimit]:
    """Return the newest limit of each account, also one that has passed. Raises OSError."""
    events = log.newest(EventFilter(kinds=(event_kind(ServiceLimit),)), EVENTS_READ)
    return {one.data.account: one.data for one in events if isinstance(one.data, ServiceLimit)}


def current_limits(log: EventLog, now: float) -> tuple[str, ...]:
    """Return a line for each account that is limited. Raises OSError."""
    return tuple(describe_limit(one, now) for one in known_limits(log).values() if one.until > now)


class CallSlots(Protocol):
    """How many calls of a program's model a team makes at once. Two methods block, and raise OSError."""

    def limits(self, program: str) -> bool:
        """Whether calls of this program are limited. Never raises."""

    def take(self, program: str, token: str) -> bool:
        """Take a slot, or renew the one of this token; False where all are taken."""

    def free(self, program: str, token: str) -> None:
        """Give a slot back."""


@asynccontextmanager
async def call_slot(slots: CallSlots | None, program: str, clock: Clock) -> AsyncIterator[None]:
    """Wait for a slot, and hold it while the block lasts; where calls are not limited nobody waits.

    Nobody waits for its release: whoever is cancelled meanwhile would lose what was done in the block.
    """
    if slots is None or not slots.limits(program):
        yield
        return
    import secrets  # noqa: PLC0415 - a sidecar that waits does without

    token = secrets.token_hex(16)
    try:
        while not await asyncio.to_thread(slots.take, program, token):
            await clock.pause(SLOT_LOOK_S)
        renewing = asyncio.create_task(_renew_slot(slots, program, token, clock))
        try:
            yield
        finally:
            renewing.cancel()
    finally:
        asyncio.get_running_loop().run_in_executor(None, slots.free, program, token)


async def _renew_slot(slots: CallSlots, program: str, token: str, clock: Clock) -> None:
    while True:
        await clock.pause(SLOT_RENEWED_S)
        await asyncio.to_thread(slots.take, program, token)


@dataclass
class ServiceLimits:
    """Waits for limited services. `tell` hears each wait once, `told` is the last. Methods raise OSError.

    `slots`: those of the team, None where calls at once are not limited.
    """

    log: EventLog
    clock: Clock
    tell: Callable[[ServiceLimit], object]
    mask: SecretMask = str
    told: ServiceLimit | None = None
    slots: CallSlots | None = None

    @asynccontextmanager
    async def turn(self, account: str) -> AsyncIterator[float]:
        """Wait until an agent of this account may be started, and hold its slot while it works.

        An account that is limited holds no slot, which agents of another one could use. The block is given
        for how many seconds the machine was awake meanwhile.
        """
        began = self.clock.awake()
        await self._wait(account)
        async with call_slot(self.slots, account.partition(" ")[0], self.clock):
            yield self.clock.awake() - began

    async def _wait(self, account: str) -> None:
        """Wait while this account is limited. Others may find out meanwhile that it lasts longer."""
        while (limit := known_limits(self.log).get(account)) and limit.until > self.clock.now():
            if limit != self.told:
                self.told = limit
                self.tell(limit)
            await self.clock.pause(min(limit.until - self.clock.now(), FIRST_S))

    def meet(self, account: str, limit: ServiceLimit) -> None:
        """Note that an agent of this account met a limit.

        Where the service said no time, or said one in vain, each wait is longer than the one before. A limit
        that several agents meet at once counts once.
        """
        now = self.clock.now()
        before = known_limits(self.log).get(account)
        if before is None or before.until < now - FORGOTTEN_S:
            before = replace(limit, until=now, met=0)
        met = before.met + (before.until <= now)
        told = limit.until if now - FIRST_S <= limit.until <= now + BELIEVED_S else 0.0
        pause = now + min(FIRST_S * 2 ** min(met - 1, 10), LONGEST_S)
        until = told if told and met == 1 else max(told, pause, before.until)
        data = ServiceLimit(account=account, until=until, said=self.mask(limit.said), met=met)
        self.log.append(LoggedEvent(at=now, system=WORKERS, data=data))


def describe_limit(limit: ServiceLimit, now: float) -> str:
    """Say until when who is limited, and why: "limited until 03:00 (claude: usage limit reached)"."""
    at = time.localtime(limit.until)
    form = "%H:%M" if at.tm_yday == time.localtime(now).tm_yday else "%a %H:%M"
    said = ": ".join(filter(None, (limit.account.partition(" ")[0], limit.said)))
    return f"limited until {time.strftime(form, at)} ({said})"
