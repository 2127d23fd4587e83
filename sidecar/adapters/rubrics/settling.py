"""Whether a rubric file is just being written.

An editor empties it before it writes, or renames it to a backup beside it before it writes a new one. For
that moment, about a millisecond, the file says nothing that anybody meant.
"""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path
from typing import Final

YOUNG_S: Final = 0.3
"""Seconds after which what is empty or gone was meant so."""
BESIDE: Final = 200
"""Files of its folder among which a backup is looked for."""


def unsettled(path: Path) -> bool:
    """Whether it was emptied, or made a backup, so lately that its new content is still to come."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return _backed_up(path.parent)
    except (OSError, ValueError):
        return False
    return found.st_size == 0 and _young(found.st_mtime)


def _backed_up(folder: Path) -> bool:
    try:
        if not _young(folder.stat().st_mtime):
            return False
        with os.scandir(folder) as entries:
            return any(
                entry.is_file(follow_symlinks=False) and _young(entry.stat(follow_symlinks=False).st_ctime)
                for entry in itertools.islice(entries, BESIDE)
            )
    except OSError:
        return False


def _young(then: float) -> bool:
    """Whether it was just now; what is of the future has another clock, of which nothing is known."""
    return 0 <= time.time() - then < YOUNG_S
