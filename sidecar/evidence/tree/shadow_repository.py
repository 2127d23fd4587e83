"""Shadow repositories: git folders of our own, per work tree, with the user's files but not their settings.

Rules:

- Nothing in the user's repository decides how files are read: no settings, filters, attributes or index
  flags. The object of a file is its bytes.
- Objects that the user's repository already has are not stored twice. Trees always are, so that a comparison
  never relies on a tree stored in the project.
- Writes are atomic: a repository and an index are moved into place, and a snapshot is written last.
- Several processes may share a shadow repository: objects are only added, and each scan uses its own index.

Layout: <kept>/<work tree>/<shadow repository>/snapshots/<snapshot>; the other files there are git's.
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

from sidecar.evidence.tree.work_tree import WorkTree
from sidecar.platform import files
from sidecar.platform.git import Git, UnseenError, encode_path

DAY_S: Final = 86_400.0
SNAPSHOT_AGE_S: Final = 30 * DAY_S
"""Snapshots older than this are removed."""
SNAPSHOTS: Final = 20
"""Snapshots kept per work tree; beyond that, the oldest are removed."""
SHADOW_AGE_S: Final = 7 * DAY_S
"""A shadow repository takes new objects this long. Then a new one begins, so that old ones can be removed."""
ROOM_BYTES: Final = 512 << 20
"""A shadow repository bigger than this is replaced from its second day on."""
SCRATCH_AGE_S: Final = 3_600.0
"""Temporary files older than this were left by a process that died."""
SNAPSHOT_LIMIT: Final = 64 << 20
SNAPSHOT_NAME: Final = re.compile(r"([0-9a-f]{32})/([0-9a-f]{16})/([0-9a-f]{16})")
README_TEXT: Final = (
    "Supervisor keeps here what it needs to say what changed in a project. It may be deleted.\n"
)
BRANCH: Final = "refs/heads/none"
SHADOW_CONFIG: Final = """[core]
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
SHADOW_ATTRIBUTES: Final = "* -text -crlf -eol -ident -filter -working-tree-encoding\n"
"""Overrides all other attributes, so that files become objects byte for byte."""


class ShadowRepository(Struct, frozen=True):
    """One shadow repository."""

    folder: Path

    @property
    def index(self) -> Path:
        """The index of the last scan; it may not exist."""
        return self.folder / "index"

    @property
    def branch(self) -> Path:
        """The file of the only branch, which exists once something was committed."""
        return self.folder / BRANCH

    @contextmanager
    def entered(self, ground: WorkTree) -> Iterator[tuple[Git, Path]]:
        """Yield git on this repository and the work tree, with a private index, and the path of the index."""
        with tempfile.TemporaryDirectory(
            prefix="look-", dir=self.folder, ignore_cleanup_errors=True
        ) as scratch:
            index = Path(scratch) / "index"
            with suppress(FileNotFoundError):
                _link_index(self.index, index)
            yield self._git(ground, index), index

    def _git(self, ground: WorkTree, index: Path) -> Git:
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
        """Make git ignore what these rules match. Raises OSError."""
        place = self.folder / "info" / "exclude"
        if place.read_bytes() != encode_path(rules):
            files.write_whole(place, encode_path(rules))

    # --- Snapshots ------------------------------------------------------------------------------------------

    def keep(self, data: bytes) -> str:
        """Store a snapshot and return its name. Raises OSError."""
        name = secrets.token_hex(8)
        files.write_whole(self.folder / "snapshots" / name, data)
        return f"{self.folder.parent.name}/{self.folder.name}/{name}"


def _link_index(index: Path, place: Path) -> None:
    """Link to the index, safe since git replaces index files. The time stamp stays, on which git relies."""
    try:
        os.link(index, place)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        shutil.copy2(index, place)


def with_user_objects(git: Git, ground: WorkTree) -> Git:
    """Let git read the objects of the user's repository; it refreshes the time stamps of those it meets."""
    if ground.objects is None:
        return git
    path = str(ground.objects).replace("\\", "\\\\").replace('"', '\\"')
    return replace(git, environment={**git.environment, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'})


# --- All shadow repositories --------------------------------------------------------------------------------


class ShadowRepositories(Struct, frozen=True):
    """All shadow repositories below a folder. `lasting`: snapshots stay until they are forgotten."""

    kept: Path
    lasting: bool = False

    def newest(self, top: Path) -> ShadowRepository:
        """Return the newest repository of this work tree; create one if there is none. Raises OSError."""
        home = self.home(top)
        rooms = _paths_by_age(home, "*/HEAD")
        if rooms:
            return ShadowRepository(rooms[-1].parent)
        files.ensure_folder(self.kept)
        files.write_readme(self.kept, README_TEXT)
        files.ensure_folder(home)
        return create_shadow_repository(home)

    def snapshot(self, name: str) -> tuple[ShadowRepository, bytes]:
        """Read the snapshot of this name, and its repository. Raises UnseenError."""
        place = self._place(name)
        try:
            return ShadowRepository(place.parent.parent), files.read_whole(place, SNAPSHOT_LIMIT)
        except (OSError, files.UnusableFileError) as error:
            raise UnseenError("what was kept is not there any more") from error

    def kept_at(self, name: str) -> float:
        """Return when a snapshot was stored, in seconds since the epoch; 0 where it is not there."""
        return _written_at(self._place(name)) if SNAPSHOT_NAME.fullmatch(name) else 0.0

    def forget(self, name: str) -> None:
        """Delete a snapshot. Its objects are removed later, with the whole repository."""
        with suppress(OSError, UnseenError):
            self._place(name).unlink(missing_ok=True)

    def tidy(self, top: Path) -> None:
        """Start a new repository if due, and remove old or surplus data. Raises OSError."""
        home, now = self.home(top), time.time()
        snapshots = [] if self.lasting else _paths_by_age(home, "*/snapshots/*")
        for place in snapshots[:-SNAPSHOTS]:
            place.unlink(missing_ok=True)
        for place in snapshots[-SNAPSHOTS:]:
            if now - _written_at(place) > SNAPSHOT_AGE_S:
                place.unlink(missing_ok=True)
        *older, last = [head.parent for head in _paths_by_age(home, "*/HEAD")]
        age = now - _written_at(last / "HEAD")
        if age > SHADOW_AGE_S or (age > DAY_S and _folder_bytes(last / "objects") > ROOM_BYTES):
            create_shadow_repository(home)
        for room in older:
            files.remove_stale_temporaries(room / "snapshots")
            used = room / "index" if (room / "index").exists() else room / "HEAD"
            if now - _written_at(used) > SCRATCH_AGE_S and not any((room / "snapshots").iterdir()):
                _remove_repository(room)
        for left in (*home.glob(".new-*"), *home.glob(".gone-*"), *home.glob("*/look-*")):
            if now - _written_at(left) > SCRATCH_AGE_S:
                shutil.rmtree(left, ignore_errors=True)

    def remove_empty(self, top: Path) -> None:
        """Remove repositories without a snapshot. Nobody else may be at work on them."""
        for head in self.home(top).glob("*/HEAD"):
            if not any((head.parent / "snapshots").iterdir()):
                _remove_repository(head.parent)

    def names(self, top: Path) -> tuple[str, ...]:
        """Return the names of the snapshots of this work tree, oldest first."""
        places = _paths_by_age(self.home(top), "*/snapshots/*")
        named = (f"{place.parents[2].name}/{place.parents[1].name}/{place.name}" for place in places)
        return tuple(name for name in named if SNAPSHOT_NAME.fullmatch(name))

    def size(self, top: Path) -> int:
        """Return the bytes of all repositories of this work tree."""
        return _folder_bytes(self.home(top))

    def holds(self, name: str, top: Path) -> bool:
        """Whether this snapshot belongs to this work tree."""
        return name.startswith(self.home(top).name)

    def home(self, top: Path) -> Path:
        return self.kept / blake2b(os.fsencode(top), digest_size=16).hexdigest()

    def _place(self, name: str) -> Path:
        named = SNAPSHOT_NAME.fullmatch(name)
        if named is None:
            raise UnseenError("nothing was kept")
        return self.kept / named[1] / named[2] / "snapshots" / named[3]


def create_shadow_repository(home: Path) -> ShadowRepository:
    """Create an empty shadow repository. Raises OSError."""
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=home))
    for folder in ("info", "objects", "refs", "snapshots"):
        (new / folder).mkdir(mode=files.OWNER_FOLDER)
    (new / "config").write_text(SHADOW_CONFIG)
    (new / "info" / "attributes").write_text(SHADOW_ATTRIBUTES)
    (new / "info" / "exclude").touch()
    (new / "HEAD").write_text(f"ref: {BRANCH}\n")
    return ShadowRepository(new.rename(home / secrets.token_hex(8)))


def _paths_by_age(home: Path, pattern: str) -> list[Path]:
    """List matching paths, oldest first. A path that another process removes meanwhile counts as oldest."""
    return sorted(
        (place for place in home.glob(pattern) if "/." not in str(place.relative_to(home.parent))),
        key=lambda place: (_written_at(place), place.name),
    )


def _written_at(place: Path) -> float:
    """Return when a file was written, in seconds since the epoch; 0 where it does not exist."""
    with suppress(OSError):
        return place.stat().st_mtime
    return 0.0


def _folder_bytes(folder: Path) -> int:
    """Sum up the bytes below a folder."""
    total = 0
    for place in folder.rglob("*"):
        with suppress(OSError):
            total += place.stat().st_size
    return total


def _remove_repository(room: Path) -> None:
    """Rename a repository, which takes it out of use in one step, then delete it."""
    gone = room.with_name(f".gone-{room.name}")
    with suppress(OSError):
        shutil.rmtree(room.rename(gone), ignore_errors=True)
