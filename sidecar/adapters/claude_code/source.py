"""A file that another process appends lines to. Reads at offsets, and never what is not a file."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNK: Final = 1024 * 1024
"""Bytes of one read."""
LINE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of the longest line that is decoded; a longer one is passed over."""
FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Source(msgspec.Struct, frozen=True):
    """An open file with the size and identity it had when it was opened."""

    fd: int
    size: int
    identity: tuple[int, int]

    def read(self, start: int, end: int) -> bytes:
        """Read the bytes from `start` up to `end`; fewer where the file has become shorter."""
        parts: list[bytes] = []
        while start < end and (part := os.pread(self.fd, min(end - start, CHUNK), start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def chunks(self, start: int, end: int) -> Iterator[bytes]:
        """Read the same piece by piece."""
        while start < end and (part := os.pread(self.fd, min(end - start, CHUNK), start)):
            yield part
            start += len(part)


class Raw(msgspec.Struct, frozen=True):
    """A complete line: where it begins, where the next one begins, and its bytes without the line feed."""

    start: int
    end: int
    data: bytes


@contextmanager
def opened(path: str) -> Iterator[Source | None]:
    """Open `path`; None where it is not absolute, not there, not readable or not a regular file."""
    try:
        fd = os.open(path, FLAGS) if path.startswith("/") else -1
    except (OSError, ValueError):
        fd = -1
    try:
        yield _source(fd)
    finally:
        if fd >= 0:
            os.close(fd)


def size(path: str) -> int:
    """Bytes of a regular file now, 0 for anything else."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def split(chunks: Iterable[bytes], start: int) -> Iterator[Raw]:
    """Cut into complete lines; what follows the last line feed is left. `start` is where a line begins."""
    parts: list[bytes] = []
    end = start
    for chunk in chunks:
        begin = 0
        while (feed := chunk.find(b"\n", begin)) >= 0:
            end += feed + 1 - begin
            parts.append(chunk[begin:feed])
            yield Raw(start, end, b"".join(parts) if end - start <= LINE_LIMIT else b"")
            parts, start, begin = [], end, feed + 1
        end += len(chunk) - begin
        if end - start <= LINE_LIMIT:
            parts.append(chunk[begin:])
        else:
            parts.clear()


def _source(fd: int) -> Source | None:
    if fd < 0:
        return None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        return None
    return Source(fd, status.st_size, (status.st_dev, status.st_ino))
