"""Sessions as files: one document each, and a chain of its digests.

A document that is not the one written last is set aside, never overwritten, and the session goes on as a new
one: it may be half a file, an edit by hand, a link, or from a newer Supervisor.

One process writes; any may read. Not for several threads at once.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters.digest_chain import NONE, DigestChain, Link, digest
from sidecar.adapters.files import (
    Fault,
    UnfitError,
    ensure_folder,
    explain,
    read_whole,
    set_aside,
    sweep,
    write_whole,
)
from sidecar.model.session import Session, SessionKey
from sidecar.ports import BadInputError

VERSION: Final = 1
"""Of the document. A greater one was written by a newer Supervisor."""
FOLDER: Final = "sessions"
STATE_LIMIT: Final = 1024 * 1024
"""Bytes of one document; a usual one has less than 10,000."""
STEM_LIMIT: Final = 200
"""Characters of host and id together: a file name has at most 255, and suffixes need room."""
SHOWN: Final = 40
"""Characters of a refused name that its message repeats."""
README: Final = """\
This folder belongs to Supervisor (`supervisor status` says more): one state and one record per session.
Files named *.corrupt-N, *.edited-N, *.future-version-N or *.unreadable-N could not be used and were set
aside; the file of the same name with .why says why. They are never read again and may be removed.
"""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Version(Struct, frozen=True):
    version: int


class _Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`session` stays as the bytes that were written: a later model may have more fields."""

    version: int
    serial: int
    previous: str
    digest: str
    session: Raw


class _Seen(Struct, frozen=True):
    key: SessionKey
    seen_at: float = 0.0


class _Glance(Struct, frozen=True):
    session: _Seen


class _Found(NamedTuple):
    """What lies in a document's place: its bytes, or nothing, or why they cannot be read."""

    raw: bytes | None
    unfit: str = ""


class _AsideError(Exception):
    """This document is to be set aside."""

    def __init__(self, fault: Fault, why: str) -> None:
        super().__init__(why)
        self.fault = fault


def file_stem(key: SessionKey) -> str:
    """`<host>-<id>`, the beginning of all file names of a session. Raises BadInputError for no plain name."""
    for what, name in (("host", key.host), ("session id", key.id)):
        if not _NAME.fullmatch(name):
            rule = "it must be 1 to 128 letters, digits, _ and -"
            raise BadInputError(f"{what} {repr(name[:SHOWN])[:SHOWN]} names no session: {rule}")
    stem = f"{key.host}-{key.id}"
    if len(stem) > STEM_LIMIT:
        raise BadInputError(
            f"host and session id have {len(stem)} characters together, at most {STEM_LIMIT} will do"
        )
    return stem


class SessionFiles:
    """The SessionStore of `folder`/sessions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._chains: dict[str, DigestChain] = {}
        self._prepared = False

    def load(self, key: SessionKey) -> Session | None:
        return self._load(key)[0]

    def _load(self, key: SessionKey) -> tuple[Session | None, str]:
        """The session and the digest of its document."""
        stem = file_stem(key)
        found = self._find(stem)
        while True:
            try:
                return self._examine(key, stem, found)
            except _AsideError as aside:
                now = self._find(stem)
                if now == found:
                    set_aside(self._state(stem), aside.fault, str(aside))
                    self._chain(stem).end()
                    return None, NONE
                found = now  # the writing process wrote between our reading of document and chain

    def save(self, session: Session) -> None:
        _, previous = self._load(session.key)  # what came between is set aside, not overwritten
        stem = file_stem(session.key)
        chain = self._chain(stem)
        link, data = _document(session, chain.last.serial + 1, previous)
        if len(data) > STATE_LIMIT:
            raise OSError(errno.EFBIG, f"a session state of {len(data)} bytes", str(self._state(stem)))
        self._prepare()
        chain.enter(link)
        write_whole(self._state(stem), data)
        chain.made(link)

    def forget(self, key: SessionKey) -> None:
        """Remove its state and chain; record and set-aside files stay. Raises BadInputError, OSError."""
        stem = file_stem(key)
        self._state(stem).unlink(missing_ok=True)
        self._chain(stem).remove()
        del self._chains[stem]

    def known(self) -> tuple[SessionKey, ...]:
        """Raises OSError where the folder is there and cannot be read."""
        try:
            glances = [_glance(path) for path in self._folder.iterdir() if path.name.endswith(".json")]
        except FileNotFoundError:
            return ()
        seen = sorted((found for found in glances if found), key=lambda found: (-found.seen_at, found.key.id))
        return tuple(found.key for found in seen)

    def _find(self, stem: str) -> _Found:
        try:
            return _Found(read_whole(self._state(stem), STATE_LIMIT))
        except FileNotFoundError:
            return _Found(None)
        except UnfitError as unfit:
            return _Found(None, str(unfit))

    def _examine(self, key: SessionKey, stem: str, found: _Found) -> tuple[Session | None, str]:
        """The session in a document that is ours, and its digest. Raises _AsideError."""
        if found.unfit:
            raise _AsideError(Fault.UNREADABLE, found.unfit)
        if found.raw is None:
            if not self._chain(stem).expects(NONE):
                raise _AsideError(Fault.EDITED, "the state was removed, and not by Supervisor")
            return None, NONE
        document = _parse(found.raw)
        if not self._chain(stem).expects(document.digest):
            why = "it is not what Supervisor wrote last: put there by hand, or the machine lost power"
            raise _AsideError(Fault.EDITED, why)
        return _session(key, document), document.digest

    def _chain(self, stem: str) -> DigestChain:
        return self._chains.setdefault(stem, DigestChain(self._folder / f"{stem}.chain"))

    def _state(self, stem: str) -> Path:
        return self._folder / f"{stem}.json"

    def _prepare(self) -> None:
        ensure_folder(self._folder)
        if not self._prepared:
            explain(self._folder, README)
            sweep(self._folder)
            self._prepared = True


def _document(session: Session, serial: int, previous: str) -> tuple[Link, bytes]:
    """The next document and its link. Raises BadInputError for text that no file can hold."""
    try:
        body = msgspec.json.encode(session)
    except UnicodeEncodeError as error:
        raise BadInputError(f"the session holds text that is no Unicode: {error.reason}") from error
    link = Link(serial, previous, digest(VERSION, serial, previous, body))
    document = _Document(
        version=VERSION, serial=serial, previous=previous, digest=link.digest, session=Raw(body)
    )
    return link, msgspec.json.encode(document) + b"\n"


def _parse(raw: bytes) -> _Document:
    """A document that is whole. Raises _AsideError."""
    try:
        version = msgspec.json.decode(raw, type=_Version).version
        if version > VERSION:
            raise _AsideError(Fault.FUTURE, f"version {version}; this Supervisor knows {VERSION}")
        if version != VERSION:
            raise _AsideError(Fault.CORRUPT, f"there is no version {version}")
        document = msgspec.json.decode(raw, type=_Document)
    except _UNDECODABLE as error:
        raise _AsideError(Fault.CORRUPT, _first_line(error)) from error
    body = bytes(document.session)
    if document.digest != digest(document.version, document.serial, document.previous, body):
        raise _AsideError(Fault.EDITED, "its digest does not belong to what it says")
    return document


def _session(key: SessionKey, document: _Document) -> Session:
    """What a document of ours says. Raises _AsideError."""
    try:
        session = msgspec.json.decode(document.session, type=Session)
    except _UNDECODABLE as error:
        raise _AsideError(Fault.CORRUPT, _first_line(error)) from error
    if session.key != key:
        raise _AsideError(Fault.EDITED, "it belongs to another session")
    return session


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200]


def _glance(path: Path) -> _Seen | None:
    """Key and time of a document, None where it is not usable. Digests are left to `load`."""
    try:
        seen = msgspec.json.decode(read_whole(path, STATE_LIMIT), type=_Glance).session
        return seen if f"{file_stem(seen.key)}.json" == path.name else None
    except (OSError, UnfitError, BadInputError, *_UNDECODABLE):
        return None
