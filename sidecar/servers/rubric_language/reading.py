"""Messages as they come, read ahead.

All that has come is taken at once, so the main loop sees every message that is there before it does anything
that can wait (see serving.py). Stdin is read when there is something to read, and stays a file that blocks:
made non-blocking, it would be so for whoever shares it.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final

CHUNK: Final = 1 << 20
"""Bytes of one read at most; a pipe gives 64 KiB at a time."""


def ahead(fd: int) -> asyncio.StreamReader:
    """What comes in, for the loop that runs."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()

    def take() -> bool:
        if chunk := _chunk(fd):
            reader.feed_data(chunk)
            return True
        loop.remove_reader(fd)
        reader.feed_eof()
        return False

    try:
        loop.add_reader(fd, take)
    except PermissionError:  # a file on disk, of which there is always something to read
        while take():
            pass
    return reader


def _chunk(fd: int) -> bytes:
    """The next bytes, none at the end or where nothing can be read any more."""
    try:
        return os.read(fd, CHUNK)
    except OSError:
        return b""
