"""One run of a session at a time."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sidecar.adapters.files import OWNER_FILE
from sidecar.ports import BadInputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def alone(folder: Path, session: str) -> Iterator[None]:
    """Hold the lock of a session; raises BadInputError where another process does, OSError.

    The kernel lets it go with the process, however that ends. Session ids are safe as names of files.
    """
    path = folder / f"run-{session}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_FILE)
    try:
        if not _locked(descriptor, path):
            raise BadInputError(
                f"session {session} is being run already. End that run, or take another --session"
            )
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, path: Path) -> bool:
    """Whether the lock is ours, and of the file that the next one will open."""
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False
