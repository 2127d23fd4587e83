"""A package root, read on demand. Every answer is bounded, none raises, nothing is executed.

What is not there, cannot be read, is no plain file, is too big or comes after the budget of one detection is
spent reads as empty.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection import formats
from sidecar.adapters.files import UnfitError, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sidecar.adapters.detection.formats import Sections, Table

FILE_LIMIT: Final = 1 << 20
"""Bytes of one file; a bigger one reads as empty."""
BUDGET: Final = 16 << 20
"""Bytes of all files that one detection reads."""
ENTRIES: Final = 5_000
"""Entries of one folder that are looked at."""
SEARCHED: Final = 2_000
"""Files and folders below a test folder among which a test file is looked for."""
SKIPPED: Final = frozenset(
    (
        *("__fixtures__", "fixtures", "testdata", "example", "examples", "samples", "templates"),
        *("__pycache__", "_build", "build", "coverage", "dist", "out", "target"),
        *("Pods", "bower_components", "deps", "node_modules", "site-packages", "third_party", "vendor"),
        *("env", "venv", "virtualenv"),
    )
)
"""Folders that hold what was fetched, made, or is only material; so do those whose names begin with a dot."""


class Files:
    """What one detection may still read."""

    def __init__(self) -> None:
        self._left = BUDGET

    def read(self, path: Path) -> bytes:
        """The bytes of a plain file, none where there is none or it is too much."""
        try:
            data = read_whole(path, min(FILE_LIMIT, self._left), follow=True)
        except (OSError, UnfitError, ValueError):
            return b""
        self._left -= len(data)
        return data


class Folder:
    """A package root.

    `name` is its path below the project, "" for the project; `above` are the package roots that hold it, the
    nearest first. `dependencies` is where `python_dependencies` keeps what it has read.
    """

    def __init__(self, path: Path, name: str, above: tuple[Folder, ...], files: Files) -> None:
        self.path = path
        self.name = name
        self.above = above
        self._files = files
        self._texts: dict[str, str] = {}
        self._tables: dict[str, Table] = {}
        self._inis: dict[str, Sections] = {}
        self.dependencies: dict[str, str] | None = None

    def has(self, *names: str) -> str:
        """The first of these files that is there, "" for none."""
        return next((name for name in names if _is(self.path / name)), "")

    def text(self, *names: str) -> str:
        """The text of the first of these files that is there."""
        name = self.has(*names)
        if name and name not in self._texts:
            self._texts[name] = self._files.read(self.path / name).decode("utf-8-sig", "replace")
        return self._texts.get(name, "")

    def digest(self, name: str) -> str:
        """The SHA-256 of this file, "" where it is not there or too big."""
        data = self._files.read(self.path / name)
        return hashlib.sha256(data).hexdigest() if data else ""

    def matching(self, *patterns: str) -> list[str]:
        """Names of the plain files right in it that match one of these patterns, sorted."""
        return [name for name in self._names if any(fnmatchcase(name, pattern) for pattern in patterns)]

    def search(self, place: str, *patterns: str) -> Iterator[str]:
        """Paths, below this folder, of the files below `place` that match one of these patterns."""
        for path in islice(_walk(self.path / place), SEARCHED):
            if any(fnmatchcase(path.name, pattern) for pattern in patterns):
                yield path.relative_to(self.path).as_posix()

    def toml(self, name: str) -> Table:
        return self._parsed(name, formats.toml)

    def json(self, name: str) -> Table:
        return self._parsed(name, formats.json)

    def jsonc(self, name: str) -> Table:
        return self._parsed(name, formats.jsonc)

    def ini(self, name: str) -> Sections:
        if name not in self._inis:
            self._inis[name] = formats.ini(self.text(name))
        return self._inis[name]

    def below(self, root: Folder) -> str:
        """Its path below another package root."""
        return self.name.removeprefix(f"{root.name}/" if root.name else "")

    def _parsed(self, name: str, read: Callable[[str], Table]) -> Table:
        if name not in self._tables:
            self._tables[name] = read(self.text(name))
        return self._tables[name]

    @cached_property
    def _names(self) -> list[str]:
        return listing(self.path)[0]


def listing(path: Path) -> tuple[list[str], list[str]]:
    """Names of the plain files and of the folders in a folder, sorted. A link to a folder is neither."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in islice(entries, ENTRIES):
                if _folder(entry):
                    folders.append(entry.name)
                elif _file(entry):
                    files.append(entry.name)
    except (OSError, ValueError):
        return [], []
    return sorted(files), sorted(folders)


def passed_over(name: str) -> bool:
    """Whether a folder of this name holds nothing of the project's own."""
    return name.startswith(".") or name in SKIPPED


def _walk(start: Path) -> Iterator[Path]:
    """The files below a folder, those of a folder before those of the folders in it."""
    waiting = deque([start])
    while waiting:
        path = waiting.popleft()
        files, folders = listing(path)
        yield from (path / name for name in files)
        for name in folders:
            if not passed_over(name):
                waiting.append(path / name)
                yield path / name


def _is(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False
