"""A look without git: paths, sizes, times, inodes and modes stand for the content."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

from sidecar.adapters.tree.git import UnseenError, raw
from sidecar.adapters.tree.steering import SKIPPED, glimpse

LIMIT: Final = 100_000
"""Files and folders; with more there is no digest."""


def walked(project: Path) -> str:
    """One digest of everything below a folder, ignored or not. Raises UnseenError, OSError."""
    whole = blake2b(digest_size=16)
    for part in _glimpses(project):
        whole.update(raw(part) + b"\0")
    return whole.hexdigest()


def _glimpses(project: Path) -> Iterator[str]:
    folders, room = [str(project)], LIMIT
    while folders:
        with os.scandir(folders.pop()) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            room -= 1
            if room < 0:
                raise UnseenError(f"more than {LIMIT:,} files and folders")
            if not entry.is_dir(follow_symlinks=False):
                yield f"{entry.path}\0{glimpse(entry.stat(follow_symlinks=False))}"
            elif entry.name not in SKIPPED:
                folders.append(entry.path)
                yield entry.path
