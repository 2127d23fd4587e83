"""Disks that fail."""

from __future__ import annotations

import contextlib
import errno
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The kernel takes bytes up to `size` of any file and then refuses, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def refuse(*_: object, **__: object) -> None:
    """Stands in for a function of `os`."""
    raise OSError(errno.EROFS, "read-only file system")


def exhausted(*_: object, **__: object) -> int:
    """The same, of a process that has too many files open."""
    raise OSError(errno.EMFILE, "too many open files")
