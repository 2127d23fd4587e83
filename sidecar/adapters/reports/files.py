"""Files that a run wrote, looked for below a folder within bounds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDERS: Final = 20_000
"""Folders that are looked into."""
FOUND: Final = 2_000
"""Files that are taken."""
PASSED_OVER: Final = frozenset(("node_modules", "site-packages", "__pycache__", "venv"))
"""Folders in which no report of the project's is, besides hidden ones."""


def below(folder: Path, *, suffix: str, within: tuple[str, ...] = ("",), since: int = 0) -> Iterator[Path]:
    """Files with this suffix whose folder ends with one of `within`, modified at `since` (ns) or later.

    Links are not followed. Those in folders beyond the bounds are not found.
    """
    left = FOUND
    for number, (place, folders, files) in enumerate(os.walk(folder)):
        if number >= FOLDERS:
            return
        folders[:] = sorted(name for name in folders if name not in PASSED_OVER and not name.startswith("."))
        if not f"/{place}".endswith(within):
            continue
        for path in (Path(place, name) for name in sorted(files) if name.endswith(suffix)):
            if fresh(path, since):
                yield path
                left -= 1
                if not left:
                    return


def fresh(path: Path, since: int) -> bool:
    """Whether this run wrote it. A link is nobody's report."""
    try:
        return not path.is_symlink() and path.is_file() and path.stat().st_mtime_ns >= since
    except OSError:
        return False
