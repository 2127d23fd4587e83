"""Keeps this machine in step with its team while the sidecar runs, and tells when the database is away.

No stop waits for it: what blocks is in a thread, and not even the end of the sidecar waits for that one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from sidecar.kernel.errors import BadInputError, ServiceError
from sidecar.kernel.log import TeamLink
from sidecar.kernel.text import counted
from sidecar.platform.files import ensure_folder, write_whole
from sidecar.platform.paths import ORGANISATION_FILES, organisation_file
from sidecar.platform.services import PlatformServices, note_event
from sidecar.platform.steering import FilesInForce
from sidecar.platform.team.exchange import LOOK, Exchanged
from sidecar.platform.team.ports import ORGANISATION, Record, TeamOrder
from sidecar.platform.team.shipper import SHIPPED

T = TypeVar("T")
TEAM: Final = "team"
"""The system that appends what is told here."""
PAUSE_S: Final = 2.0
"""Seconds between two exchanges; events that come meanwhile are shipped together."""
LONGEST_PAUSE_S: Final = 60.0
"""Seconds of the longest pause while the database is away; each is twice the one before."""
AWAY_TOLD_S: Final = 20.0
"""Seconds for which the database is away before a person is told."""

log = logging.getLogger(__name__)


class TeamSync:
    """Exchanges again and again. `obey` carries out an order that a person gave on another machine."""

    def __init__(
        self,
        exchange: Callable[[], Exchanged | None],
        services: PlatformServices,
        obey: Callable[[TeamOrder], Awaitable[None]],
    ) -> None:
        self._exchange, self._services, self._obey = exchange, services, obey
        self._last: Exchanged | None = None
        self._away_since = 0.0
        self._why = ""
        self._told = False

    async def run(self) -> None:
        """Exchange until cancelled, less and less often while the database is away."""
        pause = PAUSE_S
        while True:
            pause = PAUSE_S if await self._reach() else min(2 * pause, LONGEST_PAUSE_S)
            await self._services.clock.pause(pause)

    def link(self) -> TeamLink | None:
        """Return whether the team answers; None where none is joined, or where it is not known yet."""
        if self._away_since:
            since = time.strftime("%H:%M", time.localtime(self._away_since))
            detail = f"away since {since}{self._waiting()}; agents go on ({self._why})"
            return TeamLink(state="away", detail=detail)
        if self._last is None:
            return None
        return TeamLink(state="reached", detail=f"joined as {self._last.name}{self._waiting()}")

    def _waiting(self) -> str:
        if self._last is None:
            return ""
        number = self._services.log.count(SHIPPED, after=self._last.reached)
        return f", {counted(number, 'event')} to send"

    async def _reach(self) -> bool:
        """Exchange once; return whether the database answered, or none is joined."""
        try:
            found = await _in_thread(self._exchange)
            self._note_reached(found)
            for order in found.orders if found else ():  # first: the team does not give them again
                await self._obey(order)
            if found is None or found.records is not None:
                keep_organisation_files(found.records or () if found else (), self._services.steering)
        except (OSError, ServiceError, BadInputError) as error:
            self._note_away(str(error))
        except Exception as error:
            log.exception("the exchange with the team failed")
            self._note_away(f"internal error, {error}")
        return not self._away_since

    def _note_reached(self, found: Exchanged | None) -> None:
        self._last, self._away_since = found, 0.0
        if self._told:
            self._told = False
            self._note()

    def _note_away(self, why: str) -> None:
        """Note that the database is away; tell it once."""
        log.info("team: %s", why)
        now = self._services.clock.now()
        self._away_since, self._why = self._away_since or now, why
        if not self._told and now - self._away_since >= AWAY_TOLD_S:
            self._told = True
            self._note()

    def _note(self) -> None:
        if (link := self.link()) is not None:
            note_event(self._services.log, self._services.clock, TEAM, link)
            if self._told:
                self._services.incidents.report(f"Supervisor: team: {link.detail}. {LOOK}")


async def _in_thread(work: Callable[[], T]) -> T:
    """Do what blocks in a thread for which, unlike one of asyncio.to_thread, the process does not wait."""
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()

    def carry_out() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            future.set_exception(error)

    threading.Thread(target=carry_out, name="team", daemon=True).start()
    return await asyncio.wrap_future(future)


def keep_organisation_files(records: Iterable[Record], files: FilesInForce) -> None:
    """Write the organisation's files as the team has them, and put them in force. Raises OSError.

    An edit of one here lasts until the next call, and counts or waits as that of any file that steers.
    """
    told = {record.key: record.value for record in records}
    for name in ORGANISATION_FILES:
        path, value = organisation_file(name), told.get(f"{ORGANISATION}{name}", b"")
        if value == (path.read_bytes() if path.is_file() else b""):
            continue
        ensure_folder(path.parent)
        if value:
            write_whole(path, value, durable=True)
        else:
            path.unlink()
        files.vouch(path)
