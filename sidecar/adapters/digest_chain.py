"""The digests of one document's writes, each naming the one before: an edit by hand shows (law 11).

Every write is entered here first, in memory and in a file of lines "serial previous digest", and only then
made. So a document whose digest is not the last one entered was not written by us, even if its digest was
reckoned anew. It shows; it is not prevented: whoever may write here could rewrite both files while no sidecar
runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.adapters.files import Fault, UnfitError, append_line, lines_backwards, set_aside, write_whole

if TYPE_CHECKING:
    from pathlib import Path

NONE: Final = "-"
"""The digest of no document at all."""
KEPT: Final = 64
"""Lines that a compaction keeps."""
LIMIT: Final = 32 * 1024
"""Bytes that call for compaction; a line has about 140."""

_LINE = re.compile(rb"(\d{1,18}) ([0-9a-f]{64}|-) ([0-9a-f]{64}|-)")


class Link(NamedTuple):
    """The write number `serial`: the digest before it and its own."""

    serial: int
    previous: str
    digest: str


def digest(version: int, serial: int, previous: str, body: bytes) -> str:
    """SHA-256 over all that a document says, in hexadecimal."""
    return hashlib.sha256(f"{version} {serial} {previous}\n".encode() + body).hexdigest()


class DigestChain:
    """The chain in the file at `path`. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._remembered: Link | None = None

    @property
    def last(self) -> Link:
        """The write made last, as far as is known."""
        return self._remembered or self._read() or Link(0, NONE, NONE)

    def expects(self, digest: str) -> bool:
        """Whether a document of this digest, or none, is what should be there.

        Of a write that an earlier process entered it is not known whether it was made: what was there before
        will do as well.
        """
        last = self.last
        return digest == last.digest or (self._remembered is None and digest == last.previous)

    def enter(self, link: Link) -> None:
        """Announce the write of `link`. Until `made` confirms it, the document before it is expected."""
        self._append(link)

    def made(self, link: Link) -> None:
        """Expect `link` from now on."""
        self._remembered = link

    def end(self) -> None:
        """Expect no document from now on. A full disk does not hinder it: then only this process knows."""
        last = self.last
        if last.digest == NONE:
            return
        ended = Link(last.serial + 1, last.digest, NONE)
        with contextlib.suppress(OSError):
            self._append(ended)
        self.made(ended)

    def remove(self) -> None:
        """Forget it, file and memory."""
        self._path.unlink(missing_ok=True)
        self._remembered = None

    def _read(self) -> Link | None:
        try:
            for line in lines_backwards(self._path, LIMIT):
                if found := _LINE.fullmatch(line):
                    return Link(int(found[1]), found[2].decode(), found[3].decode())
        except FileNotFoundError:
            pass
        except UnfitError as unfit:
            set_aside(self._path, Fault.UNREADABLE, str(unfit))
        return None

    def _append(self, link: Link) -> None:
        line = f"{link.serial} {link.previous} {link.digest}".encode()
        try:
            size = append_line(self._path, line)
        except UnfitError as unfit:
            set_aside(self._path, Fault.UNREADABLE, str(unfit))
            size = append_line(self._path, line)
        if size > LIMIT:
            self._compact()

    def _compact(self) -> None:
        lines = [line for line in lines_backwards(self._path, LIMIT) if _LINE.fullmatch(line)]
        write_whole(self._path, b"".join(line + b"\n" for line in reversed(lines[:KEPT])))
