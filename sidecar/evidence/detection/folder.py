"""Package roots, whose files are read on demand, and the gates that an ecosystem detects in one.

Reading is limited, executes nothing and never raises. A file reads as empty if it is missing, unreadable, too
big or not a regular file, or if the detection has used up its read budget.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import deque
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from sidecar.evidence.detection.started import StartedCommand
from sidecar.kernel.gate import Kind
from sidecar.kernel.text import clean_line
from sidecar.platform import formats
from sidecar.platform.environments import environments_in, known_environments
from sidecar.platform.files import UnusableFileError, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sidecar.platform.formats import IniSections, Table


T = TypeVar("T")

FILE_LIMIT: Final = 1 << 20
"""Maximum size in bytes of one file; a bigger one reads as empty."""
READ_BUDGET: Final = 16 << 20
"""Bytes that one detection reads in total."""
ENTRY_LIMIT: Final = 5_000
"""Maximum number of entries that are read of one folder."""
SEARCH_LIMIT: Final = 2_000
"""Maximum number of files and folders that are searched for test files below a test folder."""


class FileBudget:
    """The read budget of one detection."""

    def __init__(self) -> None:
        self._left = READ_BUDGET

    def read(self, path: Path) -> bytes:
        """Return the bytes of a regular file; empty if it is missing or exceeds a limit."""
        try:
            data = read_whole(path, min(FILE_LIMIT, self._left), follow=True)
        except (OSError, UnusableFileError, ValueError):
            return b""
        self._left -= len(data)
        return data


class PackageRoot:
    """A folder with its own manifest, or the project itself.

    `name` is its path relative to the project, "" for the project itself. `above` are the package roots that
    contain it, nearest first, and `members` the paths of those below it, with a slash at the end. `search` is
    the PATH. `dependencies` is a cache that `python_tools` fills.
    """

    def __init__(
        self, path: Path, name: str, above: tuple[PackageRoot, ...], files: FileBudget, search: str
    ) -> None:
        self.path = path
        self.name = name
        self.above = above
        self.members: set[str] = set()
        self._files = files
        self._search = search
        self._texts: dict[str, str] = {}
        self._tables: dict[str, Any] = {}
        self.dependencies: dict[str, str] | None = None

    def has(self, *names: str) -> str:
        """Return the first of these names that is a file here, "" if none is."""
        found = (name for name in names if os.path.isfile(f"{self.path}/{name}"))  # noqa: PTH113 - never raises
        return next(found, "")

    def has_program(self, name: str) -> bool:
        """Return whether a program is on PATH, or in a Python environment here or above."""
        places = (place for folder in (self, *self.above) for place in environments_in(folder.path))
        folders = (self._search, *(str(place / "bin") for place in places))
        return shutil.which(name, path=os.pathsep.join(filter(None, folders))) is not None

    def text(self, *names: str) -> str:
        """Return the text of the first of these files that exists."""
        name = self.has(*names)
        if name and name not in self._texts:
            self._texts[name] = self._files.read(self.path / name).decode("utf-8-sig", "replace")
        return self._texts.get(name, "")

    def digest(self, name: str) -> str:
        """Return the SHA-256 of this file, "" if it is missing or too big."""
        data = self._files.read(self.path / name)
        return hashlib.sha256(data).hexdigest() if data else ""

    def matching(self, *patterns: str) -> list[str]:
        """Return the names of the regular files directly in this folder that match a pattern, sorted."""
        return [name for name in self._names if any(fnmatchcase(name, pattern) for pattern in patterns)]

    def search(self, place: str, *patterns: str) -> Iterator[str]:
        """Yield the files below `place` that match a pattern, as paths relative to this folder."""
        for path in islice(_walk_entries(self.path / place), SEARCH_LIMIT):
            if any(fnmatchcase(path.name, pattern) for pattern in patterns):
                yield path.relative_to(self.path).as_posix()

    def toml(self, name: str) -> Table:
        return self._parsed(name, formats.parse_toml_table)

    def json(self, name: str) -> Table:
        return self._parsed(name, formats.parse_json_table)

    def jsonc(self, name: str) -> Table:
        return self._parsed(name, formats.parse_jsonc_table)

    def ini(self, name: str) -> IniSections:
        return self._parsed(name, formats.parse_ini_sections)

    def below(self, root: PackageRoot) -> str:
        """Return the path of this package root relative to `root`."""
        return self.name.removeprefix(f"{root.name}/" if root.name else "")

    def _parsed(self, name: str, read: Callable[[str], T]) -> T:
        if name not in self._tables:
            self._tables[name] = read(self.text(name))
        table: T = self._tables[name]
        return table

    @cached_property
    def _names(self) -> list[str]:
        return list_folder_entries(self.path)[0]


def list_folder_entries(path: Path) -> tuple[list[str], list[str]]:
    """Return the names of the regular files and of the folders, both sorted, without links to folders."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in islice(entries, ENTRY_LIMIT):
                with suppress(OSError):  # a loop of links
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif entry.is_file():
                        files.append(entry.name)
    except (OSError, ValueError):
        return [], []
    return sorted(files), sorted(folders)


def is_skipped_folder(name: str) -> bool:
    """Return whether a folder of this name contains no source code of the project."""
    return name.startswith(".") or name in known_environments().unsearched


def _walk_entries(start: Path) -> Iterator[Path]:
    """Yield the files and folders below a folder, breadth first."""
    waiting = deque([start])
    while waiting:
        path = waiting.popleft()
        files, folders = list_folder_entries(path)
        yield from (path / name for name in files)
        for name in folders:
            if not is_skipped_folder(name):
                waiting.append(path / name)
                yield path / name


# --- detected gates, before they get an ID ------------------------------------------------------------------


BEHIND_LIMIT: Final = 4_000
"""Characters of the text behind a command that are shown; the digest reveals changes in the rest."""
BLOCK_LIMIT: Final = 50
"""Maximum number of scripts or recipes that are included because one of them calls them."""
NAME_WORD: Final = re.compile(r"[\w:.@/-]+")


class DetectedGate(Struct, frozen=True):
    """A detected check. `tool` distinguishes it from others of its kind ("lint:eslint").

    `weak`: the sign is so general that any other check of the same kind replaces this one. `starts`: the
    commands that a script or recipe runs.
    """

    kind: Kind
    tool: str
    command: str
    why: str
    behind: str = ""
    least: float | None = None
    weak: bool = False
    starts: tuple[StartedCommand, ...] = ()


def one_line_excerpt(text: str, limit: int = 100) -> str:
    """Return an excerpt of a project's file as one line of printable text, for use within a sentence."""
    return clean_line(text, limit)


def approval_text(text: str) -> str:
    """Return a text for approval; a long one is cut and ends with the digest of the whole text."""
    text = text.strip().replace("\0", " ")
    if len(text) <= BEHIND_LIMIT:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{text[:BEHIND_LIMIT]}\n[... {len(text) - BEHIND_LIMIT} more characters; sha256 of all: {digest}]"


def expand_script_calls(blocks: Mapping[str, str], name: str) -> str:
    """Return the script or recipe of this name and, recursively, all those that it mentions."""
    return approval_text("\n".join(blocks[known] for known in called_scripts(blocks, name)))


def called_scripts(blocks: Mapping[str, str], name: str) -> list[str]:
    """Return the name of this script or recipe and, recursively, the names of those that it mentions.

    A word that only looks like a name adds too much text; the cost is at most an unneeded approval.
    """
    order = [name]
    for known in order:
        words = (f"pre{known}", f"post{known}", *NAME_WORD.findall(blocks.get(known, "")))
        for word in dict.fromkeys(words):
            if word in blocks and word not in order and len(order) < BLOCK_LIMIT:
                order.append(word)
    return [known for known in order if known in blocks]


def list_file_digests(root: PackageRoot, *names: str) -> str:
    """Return one line per existing file with its digest, to record the current state of a wrapper."""
    digests = ((name, root.digest(name)) for name in names)
    return "\n".join(f"{name} (sha256 {digest})" for name, digest in digests if digest)
