"""Calls back after something in a folder may have changed, and tells which files were opened meanwhile.

The only module that uses watchdog. Rules for changes:

- System events make it fast, polling makes it reliable: events are lost silently (a full queue, a network
  folder, a limit), so folders are compared every `look_s` seconds whatever events came.
- A callback says "may have changed", never what changed: the callee checks for itself.
- A missing folder is awaited at its nearest existing ancestor. One that disappears and comes back is found
  again.
- It never raises and never keeps a process from ending. A folder that the system cannot watch is logged once,
  and then only polled.
- Opening a file is not an event, so the callee may read without triggering itself.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver, ObservedWatch


SETTLE_S: Final = 0.05
"""Seconds without events that end a burst; an editor's save takes about one millisecond."""
BURST_LENGTHS: Final = 20
"""Longest burst in multiples of the settle time; then the callback comes in the middle of the burst."""
LOOK_S: Final = 2.0
"""Seconds between two polls when no event comes."""
ENTRIES: Final = 1000
"""Maximum files of a folder that a poll compares."""
CLOSING_S: Final = 5.0
"""Seconds to wait on closing for a poll of a folder that hangs."""
FolderScan = frozenset[tuple[str | int, ...]]
"""A snapshot of a folder's entries, empty if there is no folder."""

log = logging.getLogger(__name__)


class FoldersWatch:
    """Watches folders, not their subfolders, in its own thread, from which it calls `wake`."""

    def __init__(self, wake: Callable[[], object], *, look_s: float = LOOK_S) -> None:
        """Watch nothing until `look_at` is called."""
        self._wake = wake
        self._look_s = look_s
        self._ear = ChangeListener()
        self._over = False
        self._looks: dict[Path, FolderScan] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)

    def look_at(self, folders: Collection[Path]) -> None:
        """Watch exactly these folders. Every change after this call triggers `wake`."""
        with self._lock:
            known = self._looks
            self._looks = {path: known[path] if path in known else scan_folder(path) for path in folders}
            if self._thread.ident is None and not self._over:
                self._thread.start()
        self._ear.stirred.set()

    def close(self) -> None:
        """Stop watching for good; `wake` is not called any more."""
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
        """Wait until no more events come, at most BURST_LENGTHS times the settle time."""
        end = monotonic() + BURST_LENGTHS * SETTLE_S
        while not self._over and monotonic() < end:
            self._ear.stirred.clear()
            if not self._ear.stirred.wait(SETTLE_S):
                break

    def _changed(self) -> bool:
        """Update the event watches and poll; whether something may have changed since the last call."""
        with self._lock:
            before = self._looks
        heard = self._ear.listen(before)
        now = {folder: scan_folder(folder) for folder in before}
        with self._lock:
            self._looks = {folder: now.get(folder, seen) for folder, seen in self._looks.items()}
        return any(seen != before[folder] or (seen and folder in heard) for folder, seen in now.items())


# --- polling ------------------------------------------------------------------------------------------------


def scan_folder(folder: Path) -> FolderScan:
    """A snapshot that differs when the folder or a file in it changes; only part of a big folder counts."""
    try:
        own = folder.stat()
        with os.scandir(folder) as entries:
            files = [_entry_stamp(entry) for entry in itertools.islice(entries, ENTRIES)]
    except (OSError, ValueError):
        return frozenset()
    return frozenset([("", own.st_mtime_ns, own.st_ino, own.st_dev), *files])


def _entry_stamp(entry: os.DirEntry[str]) -> tuple[str | int, ...]:
    try:
        found = entry.stat()
    except OSError:  # a dangling link
        return (entry.name,)
    return (entry.name, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


# --- system events ------------------------------------------------------------------------------------------


class WatchedFolder(NamedTuple):
    """An existing folder. Device and inode tell it from another folder of the same name."""

    path: str
    device: int
    number: int


class ChangeListener:
    """Receives the system's file events, as far as the system provides them."""

    def __init__(self) -> None:
        self.stirred = threading.Event()
        self._observer: BaseObserver | None = None
        self._watches: dict[WatchedFolder, ObservedWatch | None] = {}
        self._heard: set[str] = set()
        self._gone: set[str] = set()
        self._lock = threading.Lock()
        self._complained = False

    def listen(self, folders: Collection[Path]) -> set[Path]:
        """Listen at these folders or their nearest ancestors; return those with events since last time."""
        with self._lock:
            heard, gone = self._heard, self._gone
            self._heard, self._gone = set(), set()
        places = {folder: _nearest_existing_folder(folder) for folder in folders}
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

    def _enter(self, place: WatchedFolder) -> None:
        """Begin to listen; if that is impossible, remember not to try again."""
        try:
            self._watches[place] = self._scheduled(place)
        except (FileNotFoundError, NotADirectoryError):
            self.stirred.set()  # it has just disappeared: choose again
        except Exception as error:  # noqa: BLE001 - whatever the system or the library says, there are the looks
            self._watches[place] = None
            if not self._complained:
                log.warning("%s: changes are not heard of, so files are looked at: %s", place.path, error)
            self._complained = True

    def _leave(self, place: WatchedFolder) -> None:
        watch = self._watches.pop(place)
        if watch is not None and self._observer is not None:
            try:
                self._observer.unschedule(watch)
            except Exception as error:  # noqa: BLE001 - a watch that is gone already is as good
                log.debug("%s: could not be left: %s", place.path, error)

    def _scheduled(self, place: WatchedFolder) -> ObservedWatch:
        from watchdog import events  # noqa: PLC0415 - 80 ms

        if self._observer is None:
            self._observer = _start_observer()
        handler = events.FileSystemEventHandler()
        handler.on_any_event = lambda event: self.hear(place, event)  # type: ignore[method-assign]
        changes: list[type[FileSystemEvent]] = [
            *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent),
            *(events.FileMovedEvent, events.FileDeletedEvent),
            *(events.DirCreatedEvent, events.DirModifiedEvent, events.DirMovedEvent, events.DirDeletedEvent),
        ]
        return self._observer.schedule(handler, place.path, event_filter=changes)

    def hear(self, place: WatchedFolder, event: FileSystemEvent) -> None:
        with self._lock:
            self._heard.add(place.path)
            if event.event_type == "deleted" and os.fsdecode(event.src_path) == place.path:
                self._gone.add(place.path)
        self.stirred.set()


def _start_observer() -> BaseObserver:
    from watchdog.observers import Observer  # noqa: PLC0415 - 80 ms

    observer = Observer()
    observer.daemon = True
    observer.start()
    return observer


def _nearest_existing_folder(folder: Path) -> WatchedFolder | None:
    """The folder itself or its nearest existing ancestor, with links resolved."""
    for path in (folder, *folder.parents):
        try:
            real = path.resolve(strict=True)
            found = real.stat()
        except (OSError, RuntimeError, ValueError):
            continue
        if real.is_dir():
            return WatchedFolder(str(real), found.st_dev, found.st_ino)
    return None


# --- what is opened -----------------------------------------------------------------------------------------


OPENED_FOLDERS: Final = 64
"""Folders in which it is heard what is opened; each takes a thread."""
FLUSH_S: Final = 2.0
"""Seconds within which the system must have told everything that was opened."""
BELL: Final = Path(__file__).resolve()
"""A file that we open: the system tells that after all that was opened before."""
BYTECODE_FOLDER: Final = "__pycache__"


class OpenedFiles:
    """Hears which of some files any process opens, from `begin` to `end`. Linux only.

    Python may read a module from the bytecode beside it: that counts as the module. Nothing raises.
    """

    def __init__(self, files: Collection[Path]) -> None:
        """Hear of these files, whether they or links to them are opened."""
        self._files = {file.resolve(): file for file in files}
        self._heard: set[Path] = set()
        self._stirred, self._rung = threading.Event(), threading.Event()
        self._observer: BaseObserver | None = None

    def begin(self) -> None:
        """Begin to hear, where the system can tell."""
        folders = {file.parent for file in self._files}
        folders |= {bytes_ for folder in folders if (bytes_ := folder / BYTECODE_FOLDER).is_dir()}
        if not folders or len(folders) > OPENED_FOLDERS or sys.platform != "linux":
            return
        from watchdog import events  # noqa: PLC0415 - 80 ms

        handler = events.FileSystemEventHandler()
        handler.on_opened = self._hear  # type: ignore[method-assign]
        try:
            self._observer = _start_observer()
            for folder in (*folders, BELL.parent):
                self._observer.schedule(handler, str(folder), event_filter=[events.FileOpenedEvent])
        except Exception as error:  # noqa: BLE001 - whatever the system or the library says, nobody can tell then
            log.debug("what is opened is not heard of: %s", error)
            self.close()

    def end(self) -> frozenset[Path] | None:
        """Return which of the files were opened; None where nobody can tell."""
        if self._observer is None:
            return None
        until = monotonic() + FLUSH_S
        self._rung.clear()
        BELL.read_bytes()
        if not self._rung.wait(FLUSH_S):
            return None
        while monotonic() < until:  # each folder has a thread of its own
            self._stirred.clear()
            if not self._stirred.wait(SETTLE_S):
                break
        return frozenset(file for real, file in self._files.items() if real in self._heard)

    def close(self) -> None:
        """Stop hearing."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(CLOSING_S)
            self._observer = None

    def _hear(self, event: FileSystemEvent) -> None:
        path = Path(os.fsdecode(event.src_path))
        if path.parent.name == BYTECODE_FOLDER:
            path = path.parent.with_name(f"{path.name.partition('.')[0]}.py")
        self._heard.add(path)
        if path == BELL:
            self._rung.set()
        self._stirred.set()
