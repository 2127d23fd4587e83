"""What is kept of sessions, as files: one document of each form per session, and a chain of its digests.

A document that is not the one written last is set aside, never overwritten, and the session goes on without
it: it may be half a file, an edit by hand, a link, or from a newer Supervisor.

One process writes; any may read. Not for several threads at once.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

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
from sidecar.model.session import SessionKey
from sidecar.ports import BadInputError

VERSION: Final = 1
"""Of the document. A greater one was written by a newer Supervisor."""
FOLDER: Final = "sessions"
STEM_LIMIT: Final = 200
"""Characters of host and id together: a file name has at most 255, and suffixes need room."""
SHOWN: Final = 40
"""Characters of a refused name that its message repeats."""
README: Final = """\
This folder belongs to Supervisor (`supervisor status` says more): one state, one journal and one record per
session. Files named *.corrupt-N, *.edited-N, *.future-version-N or *.unreadable-N could not be used and were
set aside; the file of the same name with .why says why. They are never read again and may be removed.
"""
UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no document."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Keyed(Protocol):
    """What a document says; whose it is stands in it."""

    @property
    def key(self) -> SessionKey:
        """The session it belongs to."""


K = TypeVar("K", bound=Keyed)


class Form(Struct, Generic[K], frozen=True, kw_only=True):
    """A form of documents: `<host>-<id><infix>.json`, at most `limit` bytes, of a session's `name`."""

    holds: type[K]
    name: str
    infix: str
    limit: int


class _Version(Struct, frozen=True):
    version: int


class _Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`body` stays as the bytes that were written: a later model may have more fields."""

    version: int
    serial: int
    previous: str
    digest: str
    body: Raw = msgspec.field(name="session")


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


class SessionDocuments(Generic[K]):
    """The documents of one form in `folder`. Raises BadInputError for a hostile key, and OSError."""

    def __init__(self, folder: Path, form: Form[K]) -> None:
        self._folder = folder
        self._form = form
        self._chains: dict[str, DigestChain] = {}
        self._prepared = False

    def load(self, key: SessionKey) -> K | None:
        return self._load(key)[0]

    def _load(self, key: SessionKey) -> tuple[K | None, str]:
        """What was kept, and the digest of its document."""
        stem = file_stem(key)
        found = self._find(stem)
        while True:
            try:
                return self._examine(key, stem, found)
            except _AsideError as aside:
                now = self._find(stem)
                if now == found:
                    set_aside(self._path(stem), aside.fault, str(aside))
                    self._chain(stem).end()
                    return None, NONE
                found = now  # the writing process wrote between our reading of document and chain

    def save(self, kept: K) -> None:
        _, previous = self._load(kept.key)  # what came between is set aside, not overwritten
        stem = file_stem(kept.key)
        chain = self._chain(stem)
        link, data = self._document(kept, chain.last.serial + 1, previous)
        if len(data) > self._form.limit:
            what = f"a session {self._form.name} of {len(data)} bytes"
            raise OSError(errno.EFBIG, what, str(self._path(stem)))
        self._prepare()
        chain.enter(link)
        write_whole(self._path(stem), data)
        chain.made(link)

    def forget(self, key: SessionKey) -> None:
        """Remove document and chain; what was set aside stays."""
        stem = file_stem(key)
        self._path(stem).unlink(missing_ok=True)
        self._chain(stem).remove()
        del self._chains[stem]

    def _find(self, stem: str) -> _Found:
        try:
            return _Found(read_whole(self._path(stem), self._form.limit))
        except FileNotFoundError:
            return _Found(None)
        except UnfitError as unfit:
            return _Found(None, str(unfit))

    def _examine(self, key: SessionKey, stem: str, found: _Found) -> tuple[K | None, str]:
        """What a document of ours says, and its digest. Raises _AsideError."""
        if found.unfit:
            raise _AsideError(Fault.UNREADABLE, found.unfit)
        if found.raw is None:
            if not self._chain(stem).expects(NONE):
                raise _AsideError(Fault.EDITED, f"the {self._form.name} was removed, and not by Supervisor")
            return None, NONE
        document = _parse(found.raw)
        if not self._chain(stem).expects(document.digest):
            why = "it is not what Supervisor wrote last: put there by hand, or the machine lost power"
            raise _AsideError(Fault.EDITED, why)
        return self._body(key, document), document.digest

    def _body(self, key: SessionKey, document: _Document) -> K:
        """What a document of ours says. Raises _AsideError."""
        try:
            kept = msgspec.json.decode(document.body, type=self._form.holds)
        except UNDECODABLE as error:
            raise _AsideError(Fault.CORRUPT, _first_line(error)) from error
        if kept.key != key:
            raise _AsideError(Fault.EDITED, "it belongs to another session")
        return kept

    def _document(self, kept: K, serial: int, previous: str) -> tuple[Link, bytes]:
        """The next document and its link. Raises BadInputError for text that no file can hold."""
        try:
            body = msgspec.json.encode(kept)
        except UnicodeEncodeError as error:
            why = f"the session {self._form.name} holds text that is no Unicode: {error.reason}"
            raise BadInputError(why) from error
        link = Link(serial, previous, digest(VERSION, serial, previous, body))
        document = _Document(
            version=VERSION, serial=serial, previous=previous, digest=link.digest, body=Raw(body)
        )
        return link, msgspec.json.encode(document) + b"\n"

    def _chain(self, stem: str) -> DigestChain:
        path = self._folder / f"{stem}{self._form.infix}.chain"
        return self._chains.setdefault(stem, DigestChain(path))

    def _path(self, stem: str) -> Path:
        return self._folder / f"{stem}{self._form.infix}.json"

    def _prepare(self) -> None:
        ensure_folder(self._folder)
        if not self._prepared:
            explain(self._folder, README)
            sweep(self._folder)
            self._prepared = True


def _parse(raw: bytes) -> _Document:
    """A document that is whole. Raises _AsideError."""
    try:
        version = msgspec.json.decode(raw, type=_Version).version
        if version > VERSION:
            raise _AsideError(Fault.FUTURE, f"version {version}; this Supervisor knows {VERSION}")
        if version != VERSION:
            raise _AsideError(Fault.CORRUPT, f"there is no version {version}")
        document = msgspec.json.decode(raw, type=_Document)
    except UNDECODABLE as error:
        raise _AsideError(Fault.CORRUPT, _first_line(error)) from error
    body = bytes(document.body)
    if document.digest != digest(document.version, document.serial, document.previous, body):
        raise _AsideError(Fault.EDITED, "its digest does not belong to what it says")
    return document


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200]
