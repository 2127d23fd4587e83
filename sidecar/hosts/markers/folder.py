"""The folder of markers: reads the stops in it and writes the decisions beside them.

NAME.stop.json      a stop, put there complete by a rename
NAME.decision.json  the decision about it; written whole, and after all other files
NAME.continue.txt   the text for the agent alone, if it is to go on
NAME.refused.txt    why a stop was refused; its file is renamed to NAME.refused.json, so nothing is lost

Rules of this file:

- Only a plain file that belongs to the user and has one name is opened: a link, a pipe or a device is refused
  by its file status. The bytes of a read and the number of files of a scan are limited.
- A decided stop is removed, because it holds prompts; the record keeps what was decided.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import logging
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.platform.files import UnusableFileError, ensure_folder, remove_stale_temporaries, write_whole

if TYPE_CHECKING:
    from sidecar.hosts.markers.codec import MarkerDecision


STOP_SUFFIX: Final = ".stop.json"
DECISION_SUFFIX: Final = ".decision.json"
CONTINUE_SUFFIX: Final = ".continue.txt"
REFUSED_SUFFIX: Final = ".refused.txt"
ASIDE_SUFFIX: Final = ".refused.json"
OUTCOME_SUFFIXES: Final = (DECISION_SUFFIX, CONTINUE_SUFFIX, REFUSED_SUFFIX)
MARKER_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
MARKER_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one marker."""
ENTRIES: Final = 10_000
"""Files that one scan of the folder goes through, in the order of the file system."""
KEPT_S: Final = 7 * 24 * 3600.0
"""Seconds after which a decision that nobody took away is removed."""

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

    @property
    def is_there(self) -> bool:
        """Whether the folder exists, or something else in its place."""
        return os.path.lexists(self.path)

    def prepare(self) -> None:
        """Create the folder for its owner alone.

        Raises UnusableFileError if something else, or another user's folder, is in its place.
        """
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            pass
        else:
            if not stat.S_ISDIR(found.st_mode):
                raise UnusableFileError(
                    "it is a symbolic link" if stat.S_ISLNK(found.st_mode) else "it is no folder"
                )
            if found.st_uid != os.geteuid():
                raise UnusableFileError("it belongs to another user")
        ensure_folder(self.path)

    def tidy(self, now: float) -> None:
        """Remove leftovers of dead writers, and decisions older than a week.

        `now` is in seconds since the epoch, as `FoundMarker.at` is.
        """
        remove_stale_temporaries(self.path)
        for name in self._names():
            path = self.path / name
            if name.endswith((DECISION_SUFFIX, CONTINUE_SUFFIX)) and path.lstat().st_mtime < now - KEPT_S:
                path.unlink(missing_ok=True)

    def stops(self) -> tuple[str, ...]:
        """Return the file names of the stops to read, as far as one scan finds them."""
        return tuple(sorted(name for name in self._names() if name.endswith(STOP_SUFFIX)))

    def holds(self, name: str) -> bool:
        """Return whether a file of that name is in the folder."""
        return os.path.lexists(self.path / name)

    def read(self, name: str) -> FoundMarker:
        """Read the marker of that name. Raises UnusableFileError."""
        if not MARKER_NAME.fullmatch(_marker_stem(name)):
            raise UnusableFileError(
                "its name may have 1 to 100 letters, digits, '.', '_' and '-' before .stop.json"
            )
        path = self.path / name
        _check_plain_file(path.lstat())
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError as error:
            raise UnusableFileError("it may not be read") from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise UnusableFileError("it is a symbolic link") from error
            raise
        try:
            found = os.fstat(descriptor)
            _check_plain_file(found)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                raw = file.read(MARKER_LIMIT + 1)
        finally:
            os.close(descriptor)
        if len(raw) > MARKER_LIMIT:
            raise UnusableFileError(f"it is bigger than {MARKER_LIMIT} bytes")
        return FoundMarker(raw, _marker_ident(name, found), found.st_mtime)

    def clear(self, name: str) -> None:
        """Remove what was decided under that name before."""
        for suffix in OUTCOME_SUFFIXES:
            self._beside(name, suffix).unlink(missing_ok=True)

    def decide(self, name: str, ident: str, decision: MarkerDecision) -> None:
        """Write the decision, and remove the stop if its file still has this FoundMarker.id."""
        if decision.say:
            write_whole(self._beside(name, CONTINUE_SUFFIX), decision.say.encode())
        write_whole(self._beside(name, DECISION_SUFFIX), msgspec.json.encode(decision) + b"\n")
        if _marker_ident(name, (self.path / name).lstat()) == ident:
            (self.path / name).unlink()

    def refuse(self, name: str, why: str) -> None:
        """Write the reason beside the refused file, which keeps its content under another name."""
        write_whole(
            self._beside(name, REFUSED_SUFFIX), f"{' '.join(why.split())}\n".encode("utf-8", "replace")
        )
        (self.path / name).rename(self._beside(name, ASIDE_SUFFIX))

    def _names(self) -> tuple[str, ...]:
        with os.scandir(self.path) as entries:
            names = tuple(entry.name for entry in itertools.islice(entries, ENTRIES))
        if len(names) == ENTRIES:
            log.warning(
                "%s has %d files or more: remove decisions, or stops may not be seen", self.path, ENTRIES
            )
        return names

    def _beside(self, name: str, suffix: str) -> Path:
        stem = _marker_stem(name)
        if not MARKER_NAME.fullmatch(stem):
            stem = f"bad-name-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"
        return self.path / f"{stem}{suffix}"


def _marker_stem(name: str) -> str:
    return name.removesuffix(STOP_SUFFIX)


def _marker_ident(name: str, found: os.stat_result) -> str:
    return f"{name}:{found.st_ino}:{found.st_mtime_ns}:{found.st_size}"


def _check_plain_file(found: os.stat_result) -> None:
    """Raise UnusableFileError for anything but the user's own plain file."""
    if not stat.S_ISREG(found.st_mode):
        raise UnusableFileError(f"it is {_file_kind(found.st_mode)}")
    if found.st_uid != os.geteuid():
        raise UnusableFileError(
            f"it belongs to another user (id {found.st_uid}); it must be yours (id {os.geteuid()})"
        )
    if found.st_nlink != 1:
        raise UnusableFileError(f"it has {found.st_nlink} names (hard links)")


def _file_kind(mode: int) -> str:
    kinds = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a named pipe"))
    return next((word for holds, word in kinds if holds(mode)), "no plain file")
