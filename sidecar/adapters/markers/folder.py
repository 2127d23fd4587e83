"""The folder of markers: what lies in it, and what is put beside it.

NAME.stop.json      a stop, put there whole by a rename
NAME.decision.json  what became of it; written whole, and the last of all
NAME.continue.txt   the words for the agent alone, where it is to go on
NAME.refused.txt    why what lay there was not read; it is NAME.refused.json now, so nothing is lost

The laws of this file:

- Nothing is opened that is not a plain file of the user's own with one name: a link, a pipe or a device is
  refused by what the system says of it. What is read is bounded, and so is what one look goes through.
- A decided stop is removed: it holds prompts, and the record keeps what was decided.
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

from sidecar.adapters.files import UnfitError, ensure_folder, sweep, write_whole

if TYPE_CHECKING:
    from sidecar.adapters.markers.form import Decision

STOP: Final = ".stop.json"
DECISION: Final = ".decision.json"
CONTINUE: Final = ".continue.txt"
REFUSED: Final = ".refused.txt"
ASIDE: Final = ".refused.json"
OUTCOMES: Final = (DECISION, CONTINUE, REFUSED)
NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
MARKER_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one marker."""
ENTRIES: Final = 10_000
"""Files of the folder that one look goes through, in the order of the file system."""
KEPT_S: Final = 7 * 24 * 3600.0
"""Seconds after which a decision that nobody took away goes."""

log = logging.getLogger(__name__)


class Found(Struct, frozen=True):
    """What a marker says; `id` changes with its file; `at`: when it was written, seconds since the epoch."""

    raw: bytes
    id: str
    at: float


class MarkerFolder:
    """One user's inbox. Everything raises OSError where the file system fails."""

    def __init__(self, path: Path) -> None:
        """Nothing is made before `prepare`."""
        self.path = path

    @property
    def is_there(self) -> bool:
        """Whether somebody made it, or put something in its place."""
        return os.path.lexists(self.path)

    def prepare(self) -> None:
        """Make the folder for its owner alone. Raises UnfitError where something else is in its place."""
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            pass
        else:
            if not stat.S_ISDIR(found.st_mode):
                raise UnfitError(
                    "it is a symbolic link" if stat.S_ISLNK(found.st_mode) else "it is no folder"
                )
            if found.st_uid != os.geteuid():
                raise UnfitError("it belongs to another user")
        ensure_folder(self.path)

    def tidy(self, now: float) -> None:
        """Remove what is left of dead writers, and decisions from before a week. `now` as in `Found.at`."""
        sweep(self.path)
        for name in self._names():
            path = self.path / name
            if name.endswith((DECISION, CONTINUE)) and path.lstat().st_mtime < now - KEPT_S:
                path.unlink(missing_ok=True)

    def stops(self) -> tuple[str, ...]:
        """The names of what asks to be read, as far as one look goes."""
        return tuple(sorted(name for name in self._names() if name.endswith(STOP)))

    def holds(self, name: str) -> bool:
        """Whether something of that name lies there."""
        return os.path.lexists(self.path / name)

    def read(self, name: str) -> Found:
        """Read what lies there under that name. Raises UnfitError."""
        if not NAME.fullmatch(_stem(name)):
            raise UnfitError("its name may have 1 to 100 letters, digits, '.', '_' and '-' before .stop.json")
        path = self.path / name
        _fit(path.lstat())
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError as error:
            raise UnfitError("it may not be read") from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise UnfitError("it is a symbolic link") from error
            raise
        try:
            found = os.fstat(descriptor)
            _fit(found)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                raw = file.read(MARKER_LIMIT + 1)
        finally:
            os.close(descriptor)
        if len(raw) > MARKER_LIMIT:
            raise UnfitError(f"it is bigger than {MARKER_LIMIT} bytes")
        return Found(raw, _ident(name, found), found.st_mtime)

    def clear(self, name: str) -> None:
        """Remove what was decided under that name before."""
        for suffix in OUTCOMES:
            self._beside(name, suffix).unlink(missing_ok=True)

    def decide(self, name: str, ident: str, decision: Decision) -> None:
        """Put the decision beside the stop, which goes where it still is the one of this Found.id."""
        if decision.say:
            write_whole(self._beside(name, CONTINUE), decision.say.encode())
        write_whole(self._beside(name, DECISION), msgspec.json.encode(decision) + b"\n")
        if _ident(name, (self.path / name).lstat()) == ident:
            (self.path / name).unlink()

    def refuse(self, name: str, why: str) -> None:
        """Put the reason beside what is refused, which keeps its content under another name."""
        write_whole(self._beside(name, REFUSED), f"{' '.join(why.split())}\n".encode("utf-8", "replace"))
        (self.path / name).rename(self._beside(name, ASIDE))

    def _names(self) -> tuple[str, ...]:
        with os.scandir(self.path) as entries:
            names = tuple(entry.name for entry in itertools.islice(entries, ENTRIES))
        if len(names) == ENTRIES:
            log.warning(
                "%s has %d files or more: remove decisions, or stops may not be seen", self.path, ENTRIES
            )
        return names

    def _beside(self, name: str, suffix: str) -> Path:
        stem = _stem(name)
        if not NAME.fullmatch(stem):
            stem = f"bad-name-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"
        return self.path / f"{stem}{suffix}"


def _stem(name: str) -> str:
    return name.removesuffix(STOP)


def _ident(name: str, found: os.stat_result) -> str:
    return f"{name}:{found.st_ino}:{found.st_mtime_ns}:{found.st_size}"


def _fit(found: os.stat_result) -> None:
    """Raise UnfitError for what is not the user's own plain file."""
    if not stat.S_ISREG(found.st_mode):
        raise UnfitError(f"it is {_kind(found.st_mode)}")
    if found.st_uid != os.geteuid():
        raise UnfitError(
            f"it belongs to another user (id {found.st_uid}); it must be yours (id {os.geteuid()})"
        )
    if found.st_nlink != 1:
        raise UnfitError(f"it has {found.st_nlink} names (hard links)")


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a named pipe"))
    return next((word for holds, word in kinds if holds(mode)), "no plain file")
