"""Watches the files that steer, and tells their users of changes at once where a host can show them.

What a host cannot show is part of the next note.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import FileWatcher, remember_newest
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.steering import MAX_REMEMBERED, SteeringWatch

CALM_S: Final = 1.0
"""Seconds before watching begins, in which whoever started the sidecar is answered."""
GLANCE_S: Final = 20.0
"""Seconds in which a host may still show or queue a line; it drops another one meanwhile."""

ShowText = Callable[[SessionKey, str], Awaitable[bool]]
"""Shows a text to a person now; returns whether it could."""
WatchFactory = Callable[[Callable[[], object]], FileWatcher]
"""Creates a watcher that calls back from a thread of its own."""

log = logging.getLogger(__name__)


class SavedFileWatch:
    """Has edits settled when the system says that a file was saved."""

    def __init__(self, services: Services, steering: SteeringWatch) -> None:
        """Use these services."""
        self._services = services
        self._steering = steering
        self._glanced: OrderedDict[SessionKey, float] = OrderedDict()
        self._stirred = asyncio.Event()

    def met(self) -> None:
        """Watch also where the sessions work that were met since."""
        self._stirred.set()

    def glance(self, key: SessionKey) -> str:
        """Return one line for a host that shows it for some seconds, "" for none. The others stay queued.

        While the agent works none is shown: it could make its host ask, and so take what its user must see.
        """
        now = self._services.clock.now()
        recently = now - self._glanced.get(key, -GLANCE_S) < GLANCE_S
        lines = () if recently or key in self._steering.working() else self._steering.take_lines(key)
        if not lines:
            return ""
        self._steering.owe(key, lines[1:])
        remember_newest(self._glanced, key, now, MAX_REMEMBERED)
        return lines[0]

    async def run(self, watching: WatchFactory, show: ShowText, host: str) -> None:
        """Watch the files, until cancelled. `host`: whose sessions can be shown a text at once."""
        loop = asyncio.get_running_loop()
        watch = watching(lambda: loop.call_soon_threadsafe(self._stirred.set))
        await self._services.clock.pause(CALM_S)
        self._steering.recall_once()  # not in a thread: a state that is saved meanwhile would look torn
        log.info("saved files are watched")
        try:
            while True:
                self._stirred.clear()
                folders = self._steering.folders()
                await asyncio.to_thread(watch.look_at, folders)  # a network folder may hang
                try:
                    await self._noticed(show, host)
                except Exception:
                    log.exception("what was saved could not be told")
                await self._stirred.wait()
        finally:
            watch.close()

    async def _noticed(self, show: ShowText, host: str) -> None:
        self._steering.saved()
        for key in self._steering.sessions():
            if key.host == host and (lines := self._steering.take_lines(key)):
                shown = False
                try:
                    shown = await show(key, "\n".join(lines))
                finally:
                    if not shown:
                        self._steering.owe(key, lines)
