"""The inbox: a folder of stops that are reported as files, and what has each of them judged.

NAME.stop.json      a stop, put there complete by a rename
NAME.decision.json  the decision about it; written whole, and after all other files
NAME.continue.txt   the text for the agent alone, if it is to go on
NAME.refused.txt    why a stop was refused; its file is renamed to NAME.refused.json, so nothing is lost

Rules of this file:

- A stop is read only from a plain file that belongs to the user and has one name. A decided stop is removed,
  because it holds prompts; the record keeps what was decided.
- Each stop is handled by its own task, which asks the sidecar over its socket, as a hook does. So a stop
  keeps an idle sidecar alive, a sidecar that makes room for another gives it time to finish, and a sidecar
  that ends leaves the stop in the folder.
- A stop that was written before another one of its session that is judged, or was, is superseded. One that is
  judged when a newer one is found is let go first: two requests may reach the sidecar in any order.
- The folder is scanned at the start, after a change, and when another stop is done. A stop that is removed
  while it is judged is abandoned.
- Whatever cannot be used is refused. A failure of the file system or the socket is logged, and the stop is
  tried again later.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import stat
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.hosts import unrecorded
from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import clean_text, truncate_middle_utf16
from sidecar.platform import files
from sidecar.platform.ports import Clock, remember_newest

STOP_SUFFIX: Final = ".stop.json"
DECISION_SUFFIX: Final = ".decision.json"
CONTINUE_SUFFIX: Final = ".continue.txt"
REFUSED_SUFFIX: Final = ".refused.txt"
ASIDE_SUFFIX: Final = ".refused.json"
MARKER_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
MARKER_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one marker."""
KEPT_S: Final = 7 * 24 * 3600.0
"""Seconds after which a decision that nobody took away is removed."""
STALE_S: Final = 3600.0
"""Age in seconds, since it was written, from which a marker is not judged: nobody waits for it any more."""
GROWS_S: Final = 2.0
"""Seconds that an incomplete marker is given to become complete."""
RETRY_S: Final = 60.0
"""Seconds until a stop is tried again after a failure; judging it again may cost something."""
WHY_LIMIT: Final = 500
"""UTF-16 code units of the reason for a refusal, which may quote the marker."""
ANSWER_S: Final = 1.0
"""Seconds that an inbox which closes gives the answers that the sidecar has sent already."""
AT_ONCE: Final = 20
"""Stops handled at the same time; the others wait in the folder."""
SESSIONS_KEPT: Final = 1_000
"""Sessions whose newest stop is remembered."""
SUPERSEDED: Final = unrecorded.MarkerDecision(decision="rest", reason=RestReason.SUPERSEDED)

JudgeStopMarker = Callable[[unrecorded.StopFound], Awaitable[bytes]]
"""Has a stop judged: returns a MarkerDecision in JSON.

Raises BadInputError, and OSError if the sidecar does not answer.
"""

log = logging.getLogger(__name__)


class FoundMarker(Struct, frozen=True):
    """The content of a marker's file.

    `id` changes with the file. `at` is when it was written, in seconds since the epoch.
    """

    raw: bytes
    id: str
    at: float


class MarkerFolder:
    """One user's inbox. Every method raises OSError if the file system fails."""

    def __init__(self, path: Path) -> None:
        """Nothing is created before `prepare`."""
        self.path = path

    def prepare(self) -> None:
        """Create the folder for its owner alone. Raises UnusableFileError if something else is there."""
        with suppress(FileNotFoundError):
            found = self.path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                raise files.UnusableFileError("it is a symbolic link, no folder, or another user's")
        files.ensure_folder(self.path)

    def tidy(self, now: float) -> None:
        """Remove leftovers of dead writers, and decisions older than a week at `now`."""
        files.remove_stale_temporaries(self.path)
        for path in self.path.iterdir():
            if (
                path.name.endswith((DECISION_SUFFIX, CONTINUE_SUFFIX))
                and path.lstat().st_mtime < now - KEPT_S
            ):
                path.unlink(missing_ok=True)

    def holds(self, name: str = "") -> bool:
        """Return whether a file of that name is there; without one, whether anything is in our place."""
        return os.path.lexists(self.path / name)

    def stops(self) -> list[str]:
        """Return the file names of the stops to read."""
        return sorted(path.name for path in self.path.iterdir() if path.name.endswith(STOP_SUFFIX))

    def read(self, name: str) -> FoundMarker:
        """Read the marker of that name. Raises UnusableFileError."""
        if not MARKER_NAME.fullmatch(name.removesuffix(STOP_SUFFIX)):
            raise files.UnusableFileError(
                "its name may have 1 to 100 letters, digits, '.', '_' and '-' before .stop.json"
            )
        raw, found = files.read_whole(self.path / name, MARKER_LIMIT), (self.path / name).lstat()
        if found.st_uid != os.geteuid() or found.st_nlink != 1:
            raise files.UnusableFileError(
                f"it must be yours (id {os.geteuid()}, not {found.st_uid}) and have one name, no further link"
            )
        return FoundMarker(raw, _marker_ident(name, found), found.st_mtime)

    def clear(self, name: str) -> None:
        """Remove what was decided under that name before."""
        for suffix in (DECISION_SUFFIX, CONTINUE_SUFFIX, REFUSED_SUFFIX):
            self._beside(name, suffix).unlink(missing_ok=True)

    def decide(self, name: str, ident: str, decision: unrecorded.MarkerDecision) -> None:
        """Write the decision, and remove the stop if its file still has this FoundMarker.id."""
        if decision.say:
            files.write_whole(self._beside(name, CONTINUE_SUFFIX), decision.say.encode())
        files.write_whole(self._beside(name, DECISION_SUFFIX), msgspec.json.encode(decision) + b"\n")
        if _marker_ident(name, (self.path / name).lstat()) == ident:
            (self.path / name).unlink()

    def refuse(self, name: str, why: str) -> None:
        """Write the reason beside the refused file, which keeps its content under another name."""
        said = f"{' '.join(why.split())}\n".encode("utf-8", "replace")
        files.write_whole(self._beside(name, REFUSED_SUFFIX), said)
        (self.path / name).rename(self._beside(name, ASIDE_SUFFIX))

    def _beside(self, name: str, suffix: str) -> Path:
        stem = name.removesuffix(STOP_SUFFIX)
        if not MARKER_NAME.fullmatch(stem):
            stem = f"bad-name-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"
        return self.path / f"{stem}{suffix}"


def _marker_ident(name: str, found: os.stat_result) -> str:
    return f"{name}:{found.st_ino}:{found.st_mtime_ns}:{found.st_size}"


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
        self._asking: dict[str, str] = {}
        self._newest: OrderedDict[str, float] = OrderedDict()

    def open(self) -> Path:
        """Create the folder, start watching it, and return its path. Raises BadInputError."""
        try:
            self._folder.prepare()
        except (OSError, files.UnusableFileError) as error:
            raise BadInputError(f"the inbox {self._folder.path} cannot be used: {error}") from error
        self._stirred.set()
        return self._folder.path

    async def run(self) -> None:
        """Watch until cancelled. Nothing is watched before somebody has created the folder."""
        from sidecar.platform.watching import FoldersWatch  # noqa: PLC0415 - most users have no inbox

        if not self._folder.holds():
            await self._stirred.wait()
        loop = asyncio.get_running_loop()
        watch = FoldersWatch(lambda: loop.call_soon_threadsafe(self._stirred.set))
        watch.look_at([self._folder.path])
        try:
            with suppress(OSError, files.UnusableFileError):  # the next look says why
                await asyncio.to_thread(self._folder.tidy, self._clock.now())
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
            await asyncio.to_thread(self._folder.prepare)
            names = await asyncio.to_thread(self._folder.stops)
        except (OSError, files.UnusableFileError) as error:
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
        """Shut down. A stop whose answer is on its way is decided first; the others stay in the folder."""
        if asked := [self._tasks[name] for name in self._asking]:
            await asyncio.wait(asked, timeout=ANSWER_S)
        for task in self._tasks.values():
            task.cancel()
        await self.settled()

    def _done(self, name: str, _task: asyncio.Task[None]) -> None:
        del self._tasks[name]
        self._stirred.set()

    async def _handle(self, name: str) -> None:
        try:
            try:
                self._told(await self._judge(name))
            except (BadInputError, files.UnusableFileError) as error:
                self._told(await self._refuse(name, error))
        except FileNotFoundError:
            log.info("a stop was taken away")
        except Exception:
            log.exception("a stop of the inbox is tried again")
            await self._clock.pause(RETRY_S)

    async def _judge(self, name: str) -> InboxDecision:
        found, marker = await self._whole(name)
        if not await asyncio.to_thread(os.path.isdir, marker.project):
            raise BadInputError("the project is no folder of this machine")
        await asyncio.to_thread(self._folder.clear, name)
        decision, written = SUPERSEDED, min(found.at, self._clock.now())
        if written >= self._newest.get(marker.session, 0.0):
            remember_newest(self._newest, marker.session, written, SESSIONS_KEPT)
            decision = await self._decided(name, unrecorded.StopFound(found.id, marker))
        writing = asyncio.create_task(asyncio.to_thread(self._folder.decide, name, found.id, decision))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing
            raise
        reason = decision.note or decision.reason
        return InboxDecision(name=name, session=marker.session, decision=decision.decision, reason=reason)

    async def _decided(self, name: str, stop: unrecorded.StopFound) -> unrecorded.MarkerDecision:
        older = [self._tasks[one] for one, its in self._asking.items() if its == stop.marker.session]
        for task in older:
            task.cancel()
        self._asking[name] = stop.marker.session
        try:
            await asyncio.gather(*older, return_exceptions=True)
            return msgspec.json.decode(await self._ask(stop), type=unrecorded.MarkerDecision)
        finally:
            del self._asking[name]

    async def _whole(self, name: str) -> tuple[FoundMarker, unrecorded.StopMarker]:
        """Return the marker as found and as parsed; an incomplete one is read once more after a while."""
        found = await asyncio.to_thread(self._folder.read, name)
        if found.at < self._clock.now() - STALE_S:
            raise files.UnusableFileError(
                f"it was written more than {STALE_S / 60:.0f} minutes before it was found"
            )
        try:
            return found, await asyncio.to_thread(unrecorded.parse_marker, found.raw)
        except unrecorded.UnfinishedMarkerError:
            await self._clock.pause(GROWS_S)
        found = await asyncio.to_thread(self._folder.read, name)
        return found, await asyncio.to_thread(unrecorded.parse_marker, found.raw)

    async def _refuse(self, name: str, error: Exception) -> InboxDecision:
        why = truncate_middle_utf16(clean_text(str(error)), WHY_LIMIT)
        await asyncio.to_thread(self._folder.refuse, name, why)
        shown = name.encode("utf-8", "replace").decode()
        return InboxDecision(name=shown, decision="refused", reason=why)
