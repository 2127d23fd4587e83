"""Ignored files that steer checks all the same: a test runner reads them wherever it finds them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.adapters.tree.programs import own_programs

NAMES: Final = re.compile(
    r"conftest\.py|(site|user)customize\.py|\.?pytest\.(ini|toml)|tox\.ini|noxfile\.py|setup\.(cfg|py)|pyproject\.toml"
    r"|package\.json|(GNUm|m|M)akefile|(jest|vitest|vite|karma)\.config\..*|\.mocharc.*|\.coveragerc|.*\.pth"
    r"|\.npmrc|\.yarnrc(\.yml)?|\.env(\.(test|ci|local))?|\.envrc"
)
PRIVATE: Final = re.compile(r"\.npmrc|\.yarnrc(\.yml)?|\.env(\..*)?|\.envrc")
"""Ignored files that often hold secrets."""
OPEN_KEY: Final = re.compile(
    rb"(?i)(?:export\s+)?[\"']?(?:script-shell|shell|ignore-scripts|node-options|prefix|scripts-prepend-node-path"
    rb"|path|ci|py\w*|node_options|node_env|make\w*|coverage\w*|tox\w*|cargo_\w*flags|rustflags|goflags)[\"']?\s*[=:]"
)
"""Keys that steer checks; their values are read."""
SKIPPED: Final = frozenset(
    (
        *(".git", "node_modules", "bower_components", "site-packages", "dist-packages"),
        *(".venv", "venv", ".tox", ".nox", ".eggs", "__pycache__"),
        *(".pytest_cache", ".mypy_cache", ".ruff_cache"),
    )
)
"""Folders that hold what tools made; they are not looked into."""
VISITS: Final = 5_000
"""Files and folders that are looked at inside ignored folders; what comes after them is not."""
DEPTH: Final = 3
"""Levels of folders inside an ignored folder."""
TEXT: Final = 512 << 10
"""Bytes of a file that is read."""
TEXTS: Final = 8 << 20
"""Bytes of all of them."""


class Steering(Struct, frozen=True):
    """Contents by path, and what stat says of those that were not read."""

    contents: dict[str, bytes]
    standing: dict[str, str]


def glimpse(about: os.stat_result) -> str:
    """What stands for a content that is not read. The time of change cannot be set by anyone."""
    times = f"{about.st_mtime_ns} {about.st_ctime_ns}"
    return f"{about.st_mode} {about.st_size} {times} {about.st_dev} {about.st_ino}"


def found(top: Path, ignored: Iterable[str]) -> Steering:
    """Look for them among what git ignores; folders have a slash at their end. Raises OSError."""
    contents: dict[str, bytes] = {}
    standing: dict[str, str] = {}
    room = TEXTS
    listed = [*ignored]
    for path in sorted({*_named_so(top, listed), *own_programs(top, listed)}):
        try:
            content = _content(top / path, min(room, TEXT))
        except FileNotFoundError:
            continue
        if isinstance(content, str):
            standing[path] = content
        else:
            hidden = PRIVATE.fullmatch(path.rpartition("/")[2])
            contents[path] = _without_secrets(content) if hidden else content
            room -= len(content)
    return Steering(contents, standing)


def _content(place: Path, limit: int) -> bytes | str:
    """What is in a file, or a link's target, or what stat says where it is too big or no such thing."""
    about = place.lstat()
    if stat.S_ISLNK(about.st_mode):
        return b"link to " + os.fsencode(place.readlink())
    if not stat.S_ISREG(about.st_mode) or about.st_size > limit or not os.access(place, os.R_OK):
        return glimpse(about)
    with place.open("rb") as file:
        content = file.read(limit + 1)
    return content if len(content) <= limit else glimpse(about)


def _without_secrets(content: bytes) -> bytes:
    """Every line as it is, or with a digest for what follows its key, so that a change is still seen."""
    return b"\n".join(
        line if OPEN_KEY.match(line.strip()) or not line.strip() else _hidden(line)
        for line in content.split(b"\n")
    )


def _hidden(line: bytes) -> bytes:
    key = re.match(rb"\s*(?:export\s+)?[\w.-]{1,80}\s*=", line)
    digest = blake2b(line, digest_size=8).hexdigest().encode()
    return (key[0] if key else b"") + b"(not shown, digest " + digest + b")"


def _named_so(top: Path, ignored: Iterable[str]) -> Iterator[str]:
    folders: list[str] = []
    for path in ignored:
        if path.endswith("/"):
            folders.append(path)
        elif NAMES.fullmatch(path.rpartition("/")[2]):
            yield path
    yield from _below(top, sorted(folders, reverse=True))


def _below(top: Path, folders: list[str]) -> Iterator[str]:
    """Paths of such files in folders, from the last of these on; what cannot be listed is passed over."""
    visits = VISITS
    waiting = [(folder, DEPTH) for folder in folders]
    while waiting:
        folder, depth = waiting.pop()
        if folder.rstrip("/").rpartition("/")[2] in SKIPPED:
            continue
        for entry in _entries(top / folder):
            visits -= 1
            if visits < 0:
                return
            if entry.is_dir(follow_symlinks=False):
                if depth > 1:
                    waiting.append((f"{folder}{entry.name}/", depth - 1))
            elif NAMES.fullmatch(entry.name):
                yield folder + entry.name


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
