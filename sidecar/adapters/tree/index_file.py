"""Git's index of ours: its time stamps are made to tell the truth.

Git compares times by the second, and takes a file for unchanged whose size, times and inode are those it
noted. Within the second in which git looked, a file can be changed and its time set back without trace; its
time of change (ctime), which nobody can set, then is in that second. So an entry that young is made to look
outdated, and git will read the file again.
"""

from __future__ import annotations

import os
from hashlib import sha1
from pathlib import Path
from typing import Final

from sidecar.adapters.tree.git import UnseenError

HEADER: Final = 12
"""Bytes before the first entry: signature, version, number of entries."""
FIXED: Final = 62
"""Bytes of an entry before its name: ctime, mtime (8 each), dev, ino, mode, uid, gid, size, SHA-1, flags."""
TIMES: Final = 16
VERSION: Final = b"DIRC\0\0\0\2"
HASH: Final = 20


def distrust(index: Path, since: int) -> None:
    """Outdate every entry whose file changed in or after the second `since`. Raises UnseenError, OSError."""
    read = index.read_bytes()
    young = _young(read, since.to_bytes(4))
    if not young:
        return
    data = bytearray(read)
    for at in young:
        data[at : at + TIMES] = bytes(TIMES)
    data[-HASH:] = sha1(memoryview(data)[:-HASH], usedforsecurity=False).digest()
    about, new = index.stat(), index.with_suffix(".new")
    new.write_bytes(data)
    os.utime(new, ns=(about.st_atime_ns, about.st_mtime_ns))  # git judges the other entries by it
    new.replace(index)


def _young(data: bytes, since: bytes) -> list[int]:
    """Where entries with so late a time of change begin. Big-endian numbers compare as bytes do."""
    if not data.startswith(VERSION):
        raise UnseenError("an index of another version")
    young, at, find = [], HEADER, data.find
    for _ in range(int.from_bytes(data[8:HEADER])):
        if data[at : at + 4] >= since:
            young.append(at)
        end = find(0, at + FIXED)
        at = end + 8 - (end - at) % 8
    if at > len(data) - HASH:
        raise UnseenError("a damaged index")
    return young
