"""Watches the inbox and has every stop in it judged.

The laws of this file:

- Each stop is handled by a task of its own, which asks the sidecar as a hook does: over its socket. So a stop
  keeps an idle sidecar alive, one that makes room gives it time, and its end leaves the stop where it lies.
- What lies there is judged when it is found: at the start, after a change, and when another stop is done. A
  stop that is taken away while it is judged is given up.
- A marker that is not whole is given time while it grows. Whatever cannot be used is refused beside it.
- A failure of the file system or the socket is logged, and the stop is tried again after a while.
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

from sidecar.adapters.files import UnfitError
from sidecar.adapters.markers.codec import StopFound
from sidecar.adapters.markers.form import Decision, Marker, UnfinishedError, parse
from sidecar.adapters.text import middle_out_utf16, plain
from sidecar.ports import BadInputError

if TYPE_CHECKING:
    from sidecar.adapters.markers.folder import MarkerFolder
    from sidecar.ports import Clock

STALE_S: Final = 3600.0
"""Age in seconds, since it was written, from which a marker is not judged: nobody waits for it any more."""
GROWS_S: Final = 2.0
"""Seconds in which a marker that is not whole must have changed."""
GROWN_S: Final = 60.0
"""Seconds within which it must be whole, from when it was first found."""
RETRY_S: Final = 60.0
"""Seconds until a stop is tried again after a failure: to judge it anew may cost something."""
CLOSING_S: Final = 0.5
"""Seconds at the end in which decisions that were just made are written down."""
WHY_LIMIT: Final = 500
"""UTF-16 code units of why a marker is refused: it may quote what stands in it."""
AT_ONCE: Final = 20
"""Stops handled at once; the others wait where they lie."""

Ask = Callable[[StopFound], Awaitable[bytes]]
"""Has a stop judged: a Decision in JSON. Raises BadInputError, OSError where the sidecar does not answer."""

log = logging.getLogger(__name__)


class Decided(Struct, frozen=True, kw_only=True):
    """One line about a stop: `name` of its file as UTF-8 can hold it, and what became of it."""

    name: str
    session: str = ""
    decision: str
    reason: str = ""


class Inbox:
    """One sidecar's inbox."""

    def __init__(self, folder: MarkerFolder, ask: Ask, clock: Clock, told: Callable[[Decided], None]) -> None:
        """`told` hears of every decision."""
        self._folder, self._ask, self._clock, self._told = folder, ask, clock, told
        self._stirred = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asking: set[str] = set()

    def open(self) -> Path:
        """Make the folder and look into it from now on; where it is. Raises BadInputError."""
        try:
            self._folder.prepare()
        except (OSError, UnfitError) as error:
            raise BadInputError(f"the inbox {self._folder.path} cannot be used: {error}") from error
        self._stirred.set()
        return self._folder.path

    async def run(self) -> None:
        """Watch until cancelled. Before anybody made the folder, nothing is watched."""
        from sidecar.adapters.watching import FolderWatch  # noqa: PLC0415 - most users have no inbox

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
        """Begin with what lies there and give up what was taken away. Never raises."""
        try:
            names = await asyncio.to_thread(self._stops)
        except (OSError, UnfitError) as error:
            log.warning("the inbox %s is not looked at: %s", self._folder.path, error)
            return
        for name in [name for name in self._asking if not self._folder.holds(name)]:
            self._tasks[name].cancel()
        for name in names:
            if name not in self._tasks and len(self._tasks) < AT_ONCE:
                self._tasks[name] = asyncio.create_task(self._handle(name))
                self._tasks[name].add_done_callback(partial(self._done, name))

    async def settled(self) -> None:
        """Wait until nothing that was begun is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def close(self) -> None:
        """End: what was just decided is written, and what is not decided stays where it lies."""
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
        except (OSError, UnfitError) as error:
            log.warning("the inbox %s could not be tidied: %s", self._folder.path, error)

    async def _handle(self, name: str) -> None:
        try:
            await self._judge(name)
        except FileNotFoundError:
            log.info("a stop was taken away")
        except (BadInputError, UnfitError) as error:
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
            decision = msgspec.json.decode(await self._ask(StopFound(ident, marker)), type=Decision)
        finally:
            self._asking.remove(name)
        await asyncio.to_thread(self._folder.decide, name, ident, decision)
        reason = decision.note or decision.reason
        self._told(Decided(name=name, session=marker.session, decision=decision.decision, reason=reason))

    async def _whole(self, name: str) -> tuple[str, Marker]:
        """The marker and what names it, when it is whole."""
        found = await asyncio.to_thread(self._folder.read, name)
        if found.at < (began := self._clock.now()) - STALE_S:
            raise UnfitError(f"it was written more than {STALE_S / 60:.0f} minutes before it was found")
        while True:
            try:
                return found.id, await asyncio.to_thread(parse, found.raw)
            except UnfinishedError as error:
                seen, unfinished = found.id, error
            await self._clock.pause(GROWS_S)
            found = await asyncio.to_thread(self._folder.read, name)
            if found.id == seen or self._clock.now() > began + GROWN_S:
                raise unfinished

    async def _refuse(self, name: str, error: Exception) -> None:
        why = middle_out_utf16(plain(str(error)), WHY_LIMIT)
        try:
            await asyncio.to_thread(self._folder.refuse, name, why)
        except OSError as failure:
            log.warning("what lies in the inbox could not be refused: %s", failure)
            await self._clock.pause(RETRY_S)
            return
        shown = name.encode("utf-8", "replace").decode()
        self._told(Decided(name=shown, decision="refused", reason=why))


def _is_folder(project: str) -> bool:
    """Whether it is a folder that can be looked into; whatever the system says of another one."""
    try:
        return Path(project).is_dir()
    except OSError:
        return False
