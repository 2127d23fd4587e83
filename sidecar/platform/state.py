"""Small versioned JSON state files, and digest chains that make manual edits of documents detectable.

Errors of a file are kept apart from errors of the machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
from collections import OrderedDict
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec

from sidecar.kernel.session import SessionKey
from sidecar.platform.data import decode_json
from sidecar.platform.files import (
    FileFault,
    UnusableFileError,
    read_whole,
    set_aside,
    write_whole,
)
from sidecar.platform.ports import remember_newest

log = logging.getLogger(__name__)


class VersionedState(Protocol):
    """A Struct whose default `version` is the one that this Supervisor writes."""

    @property
    def version(self) -> int:
        """The version of the file."""


S = TypeVar("S", bound=VersionedState)


class BrokenStateError(Exception):
    """The file cannot be used; `fault` says why."""

    def __init__(self, fault: FileFault, why: str) -> None:
        super().__init__(why)
        self.fault = fault


def read_state(path: Path, kind: type[S], limit: int) -> S:
    """The state in a file of at most `limit` bytes, or the defaults if there is no file.

    Raises BrokenStateError if the file is at fault, OSError if the machine is.
    """
    try:
        state = decode_json(read_whole(path, limit), kind)
    except FileNotFoundError:
        return kind()
    except UnusableFileError as error:
        raise BrokenStateError(FileFault.UNREADABLE, str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenStateError(FileFault.CORRUPT, str(error)) from error
    if state.version != (known := kind().version):
        raise BrokenStateError(FileFault.FUTURE, f"version {state.version}; this Supervisor knows {known}")
    return state


def read_usable_state(path: Path, kind: type[S], limit: int, *, in_force: Path | None = None) -> S:
    """The state in a file, or in its copy that is in force. A file that cannot be used is set aside.

    Raises OSError.
    """
    try:
        return read_state(in_force or path, kind, limit)
    except BrokenStateError as broken:
        log.warning("%s is set aside: %s", path, broken)
        set_aside(path, broken.fault, str(broken))
        return kind()


# --- Digest chain of one document's writes: it reveals edits by hand (law 11) -------------------------------
# Each link holds the digest of a write and of the write before it. A write is first entered here, as the line
# "serial previous digest" in a file, then made, and then confirmed in memory. So a document whose digest is
# not the last one entered was not written by us, even if its digest was recomputed. Edits are detected, not
# prevented: whoever may write here could rewrite both files while no sidecar runs.


NO_DIGEST: Final = "-"
"""The digest that stands for no document."""
CHAIN_LIMIT: Final = 64 * 1024
"""Maximum size of the file in bytes. Files of an older Supervisor have several lines; the last one counts."""

_LINE = re.compile(rb"(\d{1,18}) ([0-9a-f]{64}|-) ([0-9a-f]{64}|-)")


class ChainLink(NamedTuple):
    """Write number `serial`: the digest of the document before it, and its own."""

    serial: int
    previous: str
    digest: str


def document_digest(version: int, serial: int, previous: str, body: bytes) -> str:
    """SHA-256 over everything in a document, in hexadecimal."""
    return hashlib.sha256(f"{version} {serial} {previous}\n".encode() + body).hexdigest()


class DigestChain:
    """The digest chain in the file at `path`. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._remembered: ChainLink | None = None

    @property
    def last(self) -> ChainLink:
        """The last write, as far as is known."""
        return self._remembered or self._read() or ChainLink(0, NO_DIGEST, NO_DIGEST)

    def expects(self, digest: str) -> bool:
        """Whether a document with this digest (NO_DIGEST: no document) is what should be there.

        If an earlier process entered the last write, it is unknown whether the write was made, so the digest
        before it is accepted too.
        """
        last = self.last
        return digest == last.digest or (self._remembered is None and digest == last.previous)

    def enter(self, link: ChainLink) -> None:
        """Announce the write of `link`. The document before it stays expected until `made` confirms it."""
        write_whole(self._path, f"{link.serial} {link.previous} {link.digest}\n".encode())

    def made(self, link: ChainLink) -> None:
        """Confirm that `link` was written: expect it from now on."""
        self._remembered = link

    def end(self) -> None:
        """Expect no document from now on. If the disk is full, only this process knows."""
        last = self.last
        if last.digest == NO_DIGEST:
            return
        ended = ChainLink(last.serial + 1, last.digest, NO_DIGEST)
        with contextlib.suppress(OSError):
            self.enter(ended)
        self.made(ended)

    def remove(self) -> None:
        """Remove the chain's file and what is remembered of it."""
        self._path.unlink(missing_ok=True)
        self._remembered = None

    def _read(self) -> ChainLink | None:
        try:
            lines = read_whole(self._path, CHAIN_LIMIT).splitlines()
        except FileNotFoundError:
            return None
        except UnusableFileError as unfit:
            set_aside(self._path, FileFault.UNREADABLE, str(unfit))
            return None
        found = next(filter(None, map(_LINE.fullmatch, reversed(lines))), None)
        return ChainLink(int(found[1]), found[2].decode(), found[3].decode()) if found else None


# --- what happened to our own files that no order explains, until a person was told of it -------------------


LOOK: Final = "Type in a shell: supervisor events"
"""What a line says at its end, where only a look can tell more."""
MAX_INCIDENTS: Final = 100
"""Incidents that wait to be told; older ones are in the log alone."""


class Incidents:
    """Lines for people, each told once: to the session that it is about, or to the next one that asks."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self._waiting: OrderedDict[tuple[str, SessionKey | None], None] = OrderedDict()

    def report(self, line: str, key: SessionKey | None = None) -> None:
        """Keep one line to be told; `key` is the only session that it is about."""
        log.warning("%s", line)
        remember_newest(self._waiting, (line, key), None, MAX_INCIDENTS)

    def take(self, key: SessionKey) -> tuple[str, ...]:
        """Return what this session's user is to be told, and forget it."""
        mine = [entry for entry in self._waiting if entry[1] in (None, key)]
        for entry in mine:
            del self._waiting[entry]
        return tuple(line for line, _ in mine)
