"""Stores session data as files: one document of each form per session, and a chain of its digests.

A document that is not the one written last is set aside, never overwritten: it may be truncated, edited by
hand, a link, or from a newer Supervisor. The process that wrote last restores what it wrote; a later one
continues without it. Both are reported.

One process writes; any may read. Not thread-safe.
"""

from __future__ import annotations

import errno
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.platform.data import decode_json
from sidecar.platform.files import (
    FileFault,
    UnusableFileError,
    ensure_folder,
    read_whole,
    remove_stale_temporaries,
    set_aside,
    stamp_or_empty,
    write_readme,
    write_whole,
)
from sidecar.platform.ports import remember_newest
from sidecar.platform.state import (
    LOOK,
    NO_DIGEST,
    BrokenStateError,
    ChainLink,
    DigestChain,
    Incidents,
    document_digest,
)

VERSION: Final = 1
"""Version of the document. A greater one was written by a newer Supervisor."""
SESSIONS_FOLDER: Final = "sessions"
STEM_LIMIT: Final = 200
"""Maximum characters of host and id together: a file name has at most 255, and suffixes need room."""
REFUSED_KEY_SHOWN: Final = 40
"""Maximum characters of a refused name that its message repeats."""
MAX_WRITTEN: Final = 100
"""Documents, those written last, that can be restored."""
README: Final = """\
This folder belongs to Supervisor (`supervisor status` says more): one state and one journal per session.
Files named *.corrupt-N, *.edited-N, *.future-version-N or *.unreadable-N could not be used and were
set aside; the file of the same name with .why says why. They are never read again and may be removed.
"""
UNDECODABLE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not a document."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


class KeyedDocument(Protocol):
    """The content of a document, which includes the session's key."""

    @property
    def key(self) -> SessionKey:
        """The session it belongs to."""


K = TypeVar("K", bound=KeyedDocument)


class DocumentForm(Struct, Generic[K], frozen=True, kw_only=True):
    """A kind of document: `<host>-<id><infix>.json`, at most `limit` bytes, called `name` in messages.

    `again`: what a person types where one is lost.
    """

    holds: type[K]
    name: str
    infix: str
    limit: int
    again: str = LOOK


class _Version(Struct, frozen=True):
    version: int


class _Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`body` stays as the bytes that were written, because a later model may have more fields."""

    version: int
    serial: int
    previous: str
    digest: str
    body: Raw = msgspec.field(name="session")


class _Written(NamedTuple, Generic[K]):
    """The document that this process wrote last, and the stamp of its file."""

    stamp: tuple[int, ...]
    data: bytes
    kept: K
    digest: str


class _Found(NamedTuple):
    """What is at a document's path: its bytes, nothing, or why they cannot be read."""

    raw: bytes | None
    unfit: str = ""


def file_stem(key: SessionKey) -> str:
    """The beginning of a session's file names: `<host>-<id>`. Raises BadInputError for an invalid name."""
    for what, name in (("host", key.host), ("session id", key.id)):
        if not _NAME.fullmatch(name):
            rule = "it must be 1 to 128 letters, digits, _ and -"
            said = repr(name[:REFUSED_KEY_SHOWN])[:REFUSED_KEY_SHOWN]
            raise BadInputError(f"{what} {said} names no session: {rule}")
    stem = f"{key.host}-{key.id}"
    if len(stem) > STEM_LIMIT:
        raise BadInputError(
            f"host and session id have {len(stem)} characters together, at most {STEM_LIMIT} will do"
        )
    return stem


class SessionDocuments(Generic[K]):
    """The documents of one form in `folder`. Raises BadInputError for an invalid key, and OSError."""

    def __init__(self, folder: Path, form: DocumentForm[K], incidents: Incidents | None = None) -> None:
        """Without `incidents` nothing is restored: another process writes here."""
        self._folder = folder
        self._form = form
        self._incidents = incidents
        self._written: OrderedDict[str, _Written[K]] = OrderedDict()
        self._chains: dict[str, DigestChain] = {}
        self._prepared = False

    def load(self, key: SessionKey) -> K | None:
        return self._load(key)[0]

    def _load(self, key: SessionKey) -> tuple[K | None, str]:
        """The stored content and the digest of its document."""
        stem = file_stem(key)
        written = self._written.get(stem)
        if written is not None and written.stamp == stamp_or_empty(self._path(stem)):
            return written.kept, written.digest
        found = self._find(stem)
        while True:
            try:
                return self._examine(key, stem, found)
            except BrokenStateError as aside:
                now = self._find(stem)
                if now == found:
                    set_aside(self._path(stem), aside.fault, str(aside))
                    if written is not None:
                        return self._restore(key, stem, written, str(aside))
                    self._chain(stem).end()
                    lost = f"{aside}. It was set aside, and nothing of it is in force"
                    self._report(f"{lost}. {self._form.again}", key)
                    return None, NO_DIGEST
                found = now  # the writing process wrote between our reads of document and chain

    def _restore(self, key: SessionKey, stem: str, written: _Written[K], why: str) -> tuple[K, str]:
        """Write the last document again, after another one was found in its place."""
        ensure_folder(self._folder)
        write_whole(self._path(stem), written.data)
        chain = self._chain(stem)
        chain.enter(chain.last)
        self._report(f"{why}. It is restored as Supervisor wrote it.", key)
        return written.kept, written.digest

    def _report(self, what: str, key: SessionKey) -> None:
        if self._incidents is not None:
            self._incidents.report(f"Supervisor: the {self._form.name} of this session: {what}", key)

    def save(self, kept: K, check: Callable[[K | None], None] | None = None) -> None:
        """Write the document. `check` gets the stored content first, and may raise."""
        # sets aside what others wrote since, instead of overwriting it
        stored, previous = self._load(kept.key)
        if check is not None:
            check(stored)
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
        if self._incidents is not None:
            written = _Written(stamp_or_empty(self._path(stem)), data, kept, link.digest)
            remember_newest(self._written, stem, written, MAX_WRITTEN)

    def forget(self, key: SessionKey) -> None:
        """Remove the document and its chain; set-aside files stay."""
        stem = file_stem(key)
        self._written.pop(stem, None)
        self._path(stem).unlink(missing_ok=True)
        self._chain(stem).remove()
        del self._chains[stem]

    def _find(self, stem: str) -> _Found:
        try:
            return _Found(read_whole(self._path(stem), self._form.limit))
        except FileNotFoundError:
            return _Found(None)
        except UnusableFileError as unfit:
            return _Found(None, str(unfit))

    def _examine(self, key: SessionKey, stem: str, found: _Found) -> tuple[K | None, str]:
        """The content and the digest of a document that we wrote. Raises BrokenStateError."""
        if found.unfit:
            raise BrokenStateError(FileFault.UNREADABLE, found.unfit)
        if found.raw is None:
            if not self._chain(stem).expects(NO_DIGEST):
                why = f"the {self._form.name} was removed, and not by Supervisor"
                raise BrokenStateError(FileFault.EDITED, why)
            return None, NO_DIGEST
        document = _parse_document(found.raw)
        chain = self._chain(stem)
        if not chain.last.serial:
            chain.made(ChainLink(document.serial, document.previous, document.digest))
            lost = "what shows who wrote it was removed or damaged, and not by Supervisor. It holds as it is"
            self._report(f"{lost}. {LOOK}", key)
        elif not chain.expects(document.digest):
            why = "it is not what Supervisor wrote last: put there by hand, or the machine lost power"
            raise BrokenStateError(FileFault.EDITED, why)
        return self._body(key, document), document.digest

    def _body(self, key: SessionKey, document: _Document) -> K:
        """The decoded content of a document that we wrote. Raises BrokenStateError."""
        try:
            kept = decode_json(document.body, self._form.holds)
        except UNDECODABLE_ERRORS as error:
            raise BrokenStateError(FileFault.CORRUPT, _error_first_line(error)) from error
        if kept.key != key:
            raise BrokenStateError(FileFault.EDITED, "it belongs to another session")
        return kept

    def _document(self, kept: K, serial: int, previous: str) -> tuple[ChainLink, bytes]:
        """The next link and document. Raises BadInputError for text that cannot be encoded."""
        try:
            body = msgspec.json.encode(kept)
        except UnicodeEncodeError as error:
            why = f"the session {self._form.name} holds text that is no Unicode: {error.reason}"
            raise BadInputError(why) from error
        link = ChainLink(serial, previous, document_digest(VERSION, serial, previous, body))
        digest = link.digest
        document = _Document(version=VERSION, serial=serial, previous=previous, digest=digest, body=Raw(body))
        return link, msgspec.json.encode(document) + b"\n"

    def _chain(self, stem: str) -> DigestChain:
        path = self._folder / f"{stem}{self._form.infix}.chain"
        return self._chains.setdefault(stem, DigestChain(path))

    def _path(self, stem: str) -> Path:
        return self._folder / f"{stem}{self._form.infix}.json"

    def _prepare(self) -> None:
        ensure_folder(self._folder)
        if not self._prepared:
            write_readme(self._folder, README)
            remove_stale_temporaries(self._folder)
            self._prepared = True


def _parse_document(raw: bytes) -> _Document:
    """Decode and verify a document. Raises BrokenStateError."""
    try:
        version = decode_json(raw, _Version).version
        if version > VERSION:
            raise BrokenStateError(FileFault.FUTURE, f"version {version}; this Supervisor knows {VERSION}")
        if version != VERSION:
            raise BrokenStateError(FileFault.CORRUPT, f"there is no version {version}")
        document = decode_json(raw, _Document)
    except UNDECODABLE_ERRORS as error:
        raise BrokenStateError(FileFault.CORRUPT, _error_first_line(error)) from error
    body = bytes(document.body)
    if document.digest != document_digest(document.version, document.serial, document.previous, body):
        raise BrokenStateError(FileFault.EDITED, "its digest does not belong to what it says")
    return document


def _error_first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200]
