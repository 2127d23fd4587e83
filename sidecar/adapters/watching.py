"""Wakes somebody after something in a folder may have changed. The only module that knows watchdog.

The laws of this file:

- The system's events make it quick, a slow look makes it sure: events are lost without a word (a full queue,
  a network, a limit), so what stands in a folder is compared every `look_s` seconds whatever was heard.
- It says "may have changed", never what: whoever is woken looks for himself.
- A folder that is not there is waited for at its nearest ancestor that is. One that goes and comes back is
  found again.
- It never raises and never keeps a process from ending. What the system will not watch is logged once, and
  then only looked at.
- Opening a file is no event: who is woken may read without waking himself.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver, ObservedWatch

SETTLE_S: Final = 0.05
"""Seconds of silence after which a burst of events is over; an editor's save takes about one millisecond."""
BURST: Final = 20
"""Silences' lengths after which somebody is woken in the middle of a burst."""
LOOK_S: Final = 2.0
"""Seconds between two looks when nothing is heard."""
ENTRIES: Final = 1000
"""Files of a folder that a look compares."""
CLOSING_S: Final = 5.0
"""Seconds that a look at a folder that hangs gets to end."""
MOUNTS: Final = Path("/proc/self/mountinfo")
MOUNTS_LIMIT: Final = 1024 * 1024
"""Characters of the table of mounts that are read."""
FOREIGN: Final = re.compile(
    "9p|afs|beegfs|ceph|cifs|drvfs|glusterfs|lustre|ncpfs|nfs4?|prl_fs|smb3|smbfs|vboxsf|virtiofs|vmhgfs"
    r"|fuse\.(gcsfuse|glusterfs|grpcfuse|osxfs|portal|rclone|s3fs|sshfs|vmhgfs-fuse)"
)
"""File systems in which another machine changes files, of which this one's kernel hears nothing."""

Look = frozenset[tuple[str | int, ...]]
"""What stands in a folder, empty where there is none."""

log = logging.getLogger(__name__)


class FoldersWatch:
    """Watches folders, not what is below them, with a thread of its own from which it calls `wake`."""

    def __init__(
        self, wake: Callable[[], None], *, settle_s: float = SETTLE_S, look_s: float = LOOK_S
    ) -> None:
        """Watch nothing yet; `look_at` says what."""
        self._wake = wake
        self._settle_s, self._look_s = settle_s, look_s
        self._ear = Ear()
        self._over = False
        self._looks: dict[Path, Look] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)

    def look_at(self, folders: Collection[Path]) -> None:
        """Watch these and no others. Every change from this call on wakes."""
        with self._lock:
            known = self._looks
            self._looks = {path: known[path] if path in known else look(path) for path in folders}
            if self._thread.ident is None and not self._over:
                self._thread.start()
        self._ear.stirred.set()

    def close(self) -> None:
        """Wake nobody any more. Nothing is watched after this."""
        self._over = True
        self._ear.stirred.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(CLOSING_S)

    def _run(self) -> None:
        while not self._over:
            if self._changed() and not self._over:
                try:
                    self._wake()
                except Exception:
                    log.exception("who was woken failed")
            if self._ear.stirred.wait(self._look_s):
                self._settle()
        self._ear.close()

    def _settle(self) -> None:
        """Wait until nothing is heard any more."""
        end = monotonic() + BURST * self._settle_s
        while not self._over and monotonic() < end:
            self._ear.stirred.clear()
            if not self._ear.stirred.wait(self._settle_s):
                break

    def _changed(self) -> bool:
        """Listen at the right places and look; whether something may have changed since the last time."""
        with self._lock:
            before = self._looks
        heard = self._ear.listen(before)
        now = {folder: look(folder) for folder in before}
        with self._lock:
            self._looks = {folder: now.get(folder, seen) for folder, seen in self._looks.items()}
        return any(seen != before[folder] or (seen and folder in heard) for folder, seen in now.items())


class FolderWatch(FoldersWatch):
    """Watches one folder."""

    def __init__(
        self, folder: Path, wake: Callable[[], None], *, settle_s: float = SETTLE_S, look_s: float = LOOK_S
    ) -> None:
        """Call `wake` when something in `folder` may have changed and was still for `settle_s`."""
        super().__init__(wake, settle_s=settle_s, look_s=look_s)
        self.look_at([folder])


# --- looking ------------------------------------------------------------------------------------------------


def look(folder: Path) -> Look:
    """What changes when a file in it does, or itself; of a big one only a part is seen."""
    try:
        own = folder.stat()
        with os.scandir(folder) as entries:
            files = [_stamp(entry) for entry in itertools.islice(entries, ENTRIES)]
    except (OSError, ValueError):
        return frozenset()
    return frozenset([("", own.st_mtime_ns, own.st_ino, own.st_dev), *files])


def _stamp(entry: os.DirEntry[str]) -> tuple[str | int, ...]:
    try:
        found = entry.stat()
    except OSError:  # a link that leads nowhere
        return (entry.name,)
    return (entry.name, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


# --- listening ----------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A folder that is there. Another one of the same name is another place."""

    path: str
    device: int
    number: int


class Ear:
    """Hears the system's events, as far as the system lets it."""

    def __init__(self) -> None:
        self.stirred = threading.Event()
        self._observer: BaseObserver | None = None
        self._watches: dict[Place, ObservedWatch | None] = {}
        self._heard: set[str] = set()
        self._gone: set[str] = set()
        self._lock = threading.Lock()
        self._complained = False

    def listen(self, folders: Collection[Path]) -> set[Path]:
        """Listen at the places of these; those folders of which something was heard since the last call."""
        with self._lock:
            heard, gone = self._heard, self._gone
            self._heard, self._gone = set(), set()
        places = {folder: _place(folder) for folder in folders}
        wanted = {place for place in places.values() if place is not None}
        for place in [one for one in self._watches if one not in wanted or one.path in gone]:
            self._leave(place)
        for place in wanted - self._watches.keys():
            self._enter(place)
        return {folder for folder, place in places.items() if place is not None and place.path in heard}

    def close(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(CLOSING_S)

    def _enter(self, place: Place) -> None:
        """Begin to listen; where it cannot be, remember not to try again."""
        try:
            self._watches[place] = None if foreign(place.path) else self._scheduled(place)
        except (FileNotFoundError, NotADirectoryError):
            self.stirred.set()  # it has just gone: choose again
        except Exception as error:  # noqa: BLE001 - whatever the system or the library says, there are the looks
            self._watches[place] = None
            if not self._complained:
                log.warning("%s: changes are not heard of, so files are looked at: %s", place.path, error)
            self._complained = True

    def _leave(self, place: Place) -> None:
        watch = self._watches.pop(place)
        if watch is not None and self._observer is not None:
            try:
                self._observer.unschedule(watch)
            except Exception as error:  # noqa: BLE001 - a watch that is gone already is as good
                log.debug("%s: could not be left: %s", place.path, error)

    def _scheduled(self, place: Place) -> ObservedWatch:
        from watchdog import events  # noqa: PLC0415 - 80 ms
        from watchdog.observers import Observer  # noqa: PLC0415 - as above

        if self._observer is None:
            observer = Observer()
            observer.daemon = True
            observer.start()
            self._observer = observer
        handler = events.FileSystemEventHandler()
        handler.on_any_event = lambda event: self.hear(place, event)  # type: ignore[method-assign]
        changes: list[type[FileSystemEvent]] = [
            *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent),
            *(events.FileMovedEvent, events.FileDeletedEvent),
            *(events.DirCreatedEvent, events.DirModifiedEvent, events.DirMovedEvent, events.DirDeletedEvent),
        ]
        return self._observer.schedule(handler, place.path, event_filter=changes)

    def hear(self, place: Place, event: FileSystemEvent) -> None:
        with self._lock:
            self._heard.add(place.path)
            if event.event_type == "deleted" and os.fsdecode(event.src_path) == place.path:
                self._gone.add(place.path)
        self.stirred.set()


def _place(folder: Path) -> Place | None:
    """The folder itself or the nearest ancestor that is there, links followed."""
    for path in (folder, *folder.parents):
        try:
            real = path.resolve(strict=True)
            found = real.stat()
        except (OSError, RuntimeError, ValueError):
            continue
        if real.is_dir():
            return Place(str(real), found.st_dev, found.st_ino)
    return None


# --- file systems -------------------------------------------------------------------------------------------


def foreign(path: str) -> bool:
    """Whether the kernel does not hear of all that changes there; False where it cannot be told."""
    try:
        with MOUNTS.open(encoding="utf-8", errors="surrogateescape") as table:
            lines = table.read(MOUNTS_LIMIT).splitlines()
    except OSError:
        return False
    around = [mount for mount in _mounts(lines) if Path(path).is_relative_to(mount[0])]
    kinds = [kind for _, kind in sorted(around, key=lambda mount: len(mount[0]))]
    return bool(kinds) and FOREIGN.fullmatch(kinds[-1]) is not None


def _mounts(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Of every mount its point and its kind; of two at one point the later one covers the earlier."""
    for line in lines:
        left, dash, right = line.partition(" - ")
        fields, kind = left.split(" "), right.split(" ")[0]
        if dash and len(fields) > 4:  # noqa: PLR2004 - proc(5): the fifth is the mount point
            yield re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]), kind
