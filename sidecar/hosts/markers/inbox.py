"""Watches the inbox and has every stop in it judged.

Rules of this file:

- Each stop is handled by its own task, which asks the sidecar over its socket, as a hook does. So a stop
  keeps an idle sidecar alive, a sidecar that makes room for another gives it time to finish, and a sidecar
  that ends leaves the stop in the folder.
- The folder is scanned at the start, after a change, and when another stop is done. A stop that is removed
  while it is judged is abandoned.
- A marker that is not complete is given time while it grows. Whatever cannot be used is refused, with the
  reason in a file beside it.
- A failure of the file system or the socket is logged, and the stop is tried again later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.hosts.markers.codec import (
    MarkerDecision,
    StopFound,
    StopMarker,
    UnfinishedMarkerError,
    parse_marker,
)
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import clean_text, truncate_middle_utf16
from sidecar.platform.files import UnusableFileError

if TYPE_CHECKING:
    from sidecar.hosts.markers.folder import MarkerFolder
    from sidecar.platform.ports import Clock


STALE_S: Final = 3600.0
"""Age in seconds, since it was written, from which a marker is not judged: nobody waits for it any more."""
GROWS_S: Final = 2.0
"""Seconds within which an incomplete marker must have changed."""
GROWN_S: Final = 60.0
"""Seconds within which a marker must be complete, from when it was first found."""
RETRY_S: Final = 60.0
"""Seconds until a stop is tried again after a failure; judging it again may cost something."""
CLOSING_S: Final = 0.5
"""Seconds at shutdown in which decisions that were just made are written."""
WHY_LIMIT: Final = 500
"""UTF-16 code units of the reason for a refusal, which may quote the marker."""
AT_ONCE: Final = 20
"""Stops handled at the same time; the others wait in the folder."""

JudgeStopMarker = Callable[[StopFound], Awaitable[bytes]]
"""Has a stop judged: returns a MarkerDecision in JSON.

Raises BadInputError, and OSError if the sidecar does not answer.
"""

log = logging.getLogger(__name__)


class InboxDecision(Struct, frozen=True, kw_only=True):
    """What became of one stop. `name` is that of its file, made encodable in UTF-8."""

    name: str
    session: str = ""
    decision: str
    reason: str = ""


class MarkerInbox:
    """The inbox of one sidecar."""

    def __init__(
        self, folder: MarkerFolder, ask: JudgeStopMarker, clock: Clock, told: Callable[[InboxDecision], None]
    ) -> None:
        """`told` is called with every decision."""
        self._folder, self._ask, self._clock, self._told = folder, ask, clock, told
        self._stirred = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asking: set[str] = set()

    def open(self) -> Path:
        """Create the folder, start watching it, and return its path. Raises BadInputError."""
        try:
            self._folder.prepare()
        except (OSError, UnusableFileError) as error:
            raise BadInputError(f"the inbox {self._folder.path} cannot be used: {error}") from error
        self._stirred.set()
        return self._folder.path

    async def run(self) -> None:
        """Watch until cancelled. Nothing is watched before somebody has created the folder."""
        from sidecar.platform.watching import FolderWatch  # noqa: PLC0415 - most users have no inbox

        if not self._folder.is_there:
            await self._stirred.wait()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._stirred.set)

        watch = FolderWatch(self._folder.path, wake)
        try:
            await asyncio.to_thread(self._tidy)
            while True:
                self._stirred.clear()
                await self.look()
                await self._stirred.wait()
        finally:
            watch.close()
            await self.close()

    async def look(self) -> None:
        """Start on the stops that are there, and abandon those that were removed. Never raises."""
        try:
            names = await asyncio.to_thread(self._stops)
        except (OSError, UnusableFileError) as error:
            log.warning("the inbox %s is not looked at: %s", self._folder.path, error)
            return
        for name in [name for name in self._asking if not self._folder.holds(name)]:
            self._tasks[name].cancel()
        for name in names:
            if name not in self._tasks and len(self._tasks) < AT_ONCE:
                self._tasks[name] = asyncio.create_task(self._handle(name))
                self._tasks[name].add_done_callback(partial(self._done, name))

    async def settled(self) -> None:
        """Wait until no stop is being handled."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def close(self) -> None:
        """Shut down: decisions just made are written, and undecided stops stay in the folder."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=CLOSING_S)
        for task in self._tasks.values():
            task.cancel()
        await self.settled()

    def _done(self, name: str, _task: asyncio.Task[None]) -> None:
        del self._tasks[name]
        self._stirred.set()

    def _stops(self) -> tuple[str, ...]:
        self._folder.prepare()
        return self._folder.stops()

    def _tidy(self) -> None:
        try:
            self._folder.prepare()
            self._folder.tidy(self._clock.now())
        except (OSError, UnusableFileError) as error:
            log.warning("the inbox %s could not be tidied: %s", self._folder.path, error)

    async def _handle(self, name: str) -> None:
        try:
            await self._judge(name)
        except FileNotFoundError:
            log.info("a stop was taken away")
        except (BadInputError, UnusableFileError) as error:
            await self._refuse(name, error)
        except OSError as error:
            log.warning("a stop of the inbox is tried again: %s", error)
            await self._clock.pause(RETRY_S)
        except Exception:
            log.exception("a stop of the inbox could not be handled")
            await self._clock.pause(RETRY_S)

    async def _judge(self, name: str) -> None:
        ident, marker = await self._whole(name)
        if not await asyncio.to_thread(_is_folder, marker.project):
            raise BadInputError("the project is no folder of this machine")
        await asyncio.to_thread(self._folder.clear, name)
        self._asking.add(name)
        try:
            decision = msgspec.json.decode(await self._ask(StopFound(ident, marker)), type=MarkerDecision)
        finally:
            self._asking.remove(name)
        await asyncio.to_thread(self._folder.decide, name, ident, decision)
        reason = decision.note or decision.reason
        self._told(
            InboxDecision(name=name, session=marker.session, decision=decision.decision, reason=reason)
        )

    async def _whole(self, name: str) -> tuple[str, StopMarker]:
        """Return the marker and its id when it is complete."""
        found = await asyncio.to_thread(self._folder.read, name)
        if found.at < (began := self._clock.now()) - STALE_S:
            raise UnusableFileError(
                f"it was written more than {STALE_S / 60:.0f} minutes before it was found"
            )
        while True:
            try:
                return found.id, await asyncio.to_thread(parse_marker, found.raw)
            except UnfinishedMarkerError as error:
                seen, unfinished = found.id, error
            await self._clock.pause(GROWS_S)
            found = await asyncio.to_thread(self._folder.read, name)
            if found.id == seen or self._clock.now() > began + GROWN_S:
                raise unfinished

    async def _refuse(self, name: str, error: Exception) -> None:
        why = truncate_middle_utf16(clean_text(str(error)), WHY_LIMIT)
        try:
            await asyncio.to_thread(self._folder.refuse, name, why)
        except OSError as failure:
            log.warning("what lies in the inbox could not be refused: %s", failure)
            await self._clock.pause(RETRY_S)
            return
        shown = name.encode("utf-8", "replace").decode()
        self._told(InboxDecision(name=shown, decision="refused", reason=why))


def _is_folder(project: str) -> bool:
    """Return whether it is an accessible folder; any error of the system means no."""
    try:
        return Path(project).is_dir()
    except OSError:
        return False
