"""A room of our own for each work tree: a git folder that knows the user's files and none of their settings.

The laws of this file:

- Nothing of the user's repository decides how its files are read: no settings, no filters, no attributes,
  no flags of its index. A file's object is its bytes.
- Objects that the user's repository has already are not stored twice. Trees always are, so that a
  comparison never rests on a tree that lies in the project.
- What is here is there whole: a room and an index are moved into place, a snapshot is written last.
- Several processes may use one room: objects are only ever added, and each works on an index of its own.

Layout: <kept>/<work tree>/<room>/snapshots/<snapshot>; the rest of a room is git's.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters import files
from sidecar.adapters.tree.git import Git, UnseenError, raw
from sidecar.adapters.tree.ground import Ground

DAY_S: Final = 86_400.0
AGE_S: Final = 30 * DAY_S
"""A snapshot is kept so long."""
SNAPSHOTS: Final = 20
"""Snapshots kept of one work tree; of more, the oldest go."""
ROOM_AGE_S: Final = 7 * DAY_S
"""So long a room takes in what is new. Then the next begins, and what only the old one had can go with it."""
ROOM_BYTES: Final = 512 << 20
"""A room that holds more takes in nothing new from its second day on."""
SCRATCH_AGE_S: Final = 3_600.0
"""What a look left behind so long ago is of a process that died."""
SNAPSHOT_LIMIT: Final = 64 << 20
NAME: Final = re.compile(r"([0-9a-f]{32})/([0-9a-f]{16})/([0-9a-f]{16})")
README: Final = "Supervisor keeps here what it needs to say what changed in a project. It may be deleted.\n"
CONFIG: Final = """[core]
\trepositoryFormatVersion = 0
\tattributesFile = /dev/null
\tbare = false
\texcludesFile = /dev/null
\tfsync = none
\tlogAllRefUpdates = false
\tlooseCompression = 0
\tprotectHFS = false
\tprotectNTFS = false
\tsafecrlf = false
[gc]
\tauto = 0
[index]
\tversion = 2
[maintenance]
\tauto = false
"""
ATTRIBUTES: Final = "* -text -crlf -eol -ident -filter -working-tree-encoding\n"
"""The last word on how files become objects: as they are."""


class Room(Struct, frozen=True):
    """One room."""

    folder: Path

    @property
    def index(self) -> Path:
        """What was seen last; it may not exist."""
        return self.folder / "index"

    @contextmanager
    def entered(self, ground: Ground) -> Iterator[tuple[Git, Path]]:
        """Git in this room, at the ground's files, with an index for this look alone, and where that is."""
        with tempfile.TemporaryDirectory(
            prefix="look-", dir=self.folder, ignore_cleanup_errors=True
        ) as scratch:
            index = Path(scratch) / "index"
            with suppress(FileNotFoundError):
                _lend(self.index, index)
            yield self._git(ground, index), index

    def _git(self, ground: Ground, index: Path) -> Git:
        places = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(self.folder),
            "GIT_INDEX_FILE": str(index),
            "GIT_WORK_TREE": str(ground.top),
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder),
        }
        return Git(ground.git.argv[:1], ground.top, {**ground.git.environment, **places})

    def obey(self, rules: str) -> None:
        """Let git ignore what these rules say. Raises OSError."""
        place = self.folder / "info" / "exclude"
        if place.read_bytes() != raw(rules):
            files.write_whole(place, raw(rules))

    # --- snapshots --------------------------------------------------------------------------------------

    @property
    def snapshots(self) -> Path:
        return self.folder / "snapshots"

    def keep(self, data: bytes) -> str:
        """Keep a snapshot; its name. Raises OSError."""
        name = secrets.token_hex(8)
        files.write_whole(self.snapshots / name, data)
        return f"{self.folder.parent.name}/{self.folder.name}/{name}"


def _lend(index: Path, place: Path) -> None:
    """Git puts a new file in the place of an index, so that this one stays. It judges by its time stamp."""
    try:
        os.link(index, place)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        shutil.copy2(index, place)


def with_objects(git: Git, ground: Ground) -> Git:
    """Git that also knows the objects of the user's repository, and renews the times of those it meets."""
    if ground.objects is None:
        return git
    path = str(ground.objects).replace("\\", "\\\\").replace('"', '\\"')
    return replace(git, environment={**git.environment, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'})


# --- all rooms ----------------------------------------------------------------------------------------------


class Rooms(Struct, frozen=True):
    """All rooms below a folder."""

    kept: Path

    def newest(self, top: Path) -> Room:
        """The room of this work tree that was made last, made now if there is none. Raises OSError."""
        home = self._home(top)
        rooms = _by_age(home, "*/HEAD")
        if rooms:
            return Room(rooms[-1].parent)
        files.ensure_folder(self.kept)
        files.explain(self.kept, README)
        files.ensure_folder(home)
        return furnished(home)

    def snapshot(self, name: str) -> tuple[Room, bytes]:
        """What was kept under this name. Raises UnseenError."""
        place = self._place(name)
        try:
            return Room(place.parent.parent), files.read_whole(place, SNAPSHOT_LIMIT)
        except (OSError, files.UnfitError) as error:
            raise UnseenError("what was kept is not there any more") from error

    def forget(self, name: str) -> None:
        """Remove a snapshot. What only it needed goes with its room."""
        with suppress(OSError, UnseenError):
            self._place(name).unlink(missing_ok=True)

    def tidy(self, top: Path) -> None:
        """Begin a new room where it is time, and remove what is too old or too much. Raises OSError."""
        home, now = self._home(top), time.time()
        snapshots = _by_age(home, "*/snapshots/*")
        for place in snapshots[:-SNAPSHOTS]:
            place.unlink(missing_ok=True)
        for place in snapshots[-SNAPSHOTS:]:
            if _age(place, now) > AGE_S:
                place.unlink(missing_ok=True)
        *older, last = [head.parent for head in _by_age(home, "*/HEAD")]
        age = _age(last / "HEAD", now)
        if age > ROOM_AGE_S or (age > DAY_S and _size(last / "objects") > ROOM_BYTES):
            furnished(home)
        for room in older:
            files.sweep(room / "snapshots")
            if _unused_for(room, now) > SCRATCH_AGE_S and not any((room / "snapshots").iterdir()):
                _remove(room)
        for left in (*home.glob(".new-*"), *home.glob(".gone-*"), *home.glob("*/look-*")):
            if _age(left, now) > SCRATCH_AGE_S:
                shutil.rmtree(left, ignore_errors=True)

    def holds(self, name: str, top: Path) -> bool:
        """Whether this snapshot is of this work tree."""
        return name.startswith(self._home(top).name)

    def _home(self, top: Path) -> Path:
        return self.kept / blake2b(os.fsencode(top), digest_size=16).hexdigest()

    def _place(self, name: str) -> Path:
        named = NAME.fullmatch(name)
        if named is None:
            raise UnseenError("nothing was kept")
        return self.kept / named[1] / named[2] / "snapshots" / named[3]


def furnished(home: Path) -> Room:
    """Make an empty room. Raises OSError."""
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=home))
    for folder in ("info", "objects", "refs", "snapshots"):
        (new / folder).mkdir(mode=files.OWNER_FOLDER)
    (new / "config").write_text(CONFIG)
    (new / "info" / "attributes").write_text(ATTRIBUTES)
    (new / "info" / "exclude").touch()
    (new / "HEAD").write_text("ref: refs/heads/none\n")
    return Room(new.rename(home / secrets.token_hex(8)))


def _by_age(home: Path, pattern: str) -> list[Path]:
    """The oldest first. What another process removes meanwhile counts as old."""
    return sorted(
        (place for place in home.glob(pattern) if "/." not in str(place.relative_to(home.parent))), key=_made
    )


def _made(place: Path) -> tuple[int, str]:
    with suppress(OSError):
        return place.stat().st_mtime_ns, place.name
    return 0, place.name


def _age(place: Path, now: float) -> float:
    """Seconds since it was written; none where it is not there."""
    with suppress(OSError):
        return now - place.stat().st_mtime
    return 0.0


def _unused_for(room: Path, now: float) -> float:
    return _age(room / "index" if (room / "index").exists() else room / "HEAD", now)


def _size(folder: Path) -> int:
    """Bytes below a folder."""
    total = 0
    for place in folder.rglob("*"):
        with suppress(OSError):
            total += place.stat().st_size
    return total


def _remove(room: Path) -> None:
    """Take a room out of use in one step, then remove it."""
    gone = room.with_name(f".gone-{room.name}")
    with suppress(OSError):
        shutil.rmtree(room.rename(gone), ignore_errors=True)
