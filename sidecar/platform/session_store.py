"""Session states, journals and records as files; see session_documents for the format of the first two."""

from __future__ import annotations

import contextlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Journal
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.files import (
    FileFault,
    UnusableFileError,
    append_line,
    ensure_folder,
    lines_backwards,
    list_set_aside,
    read_whole,
    set_aside,
)
from sidecar.platform.incidents import Incidents
from sidecar.platform.ports import RecordEntry
from sidecar.platform.session_documents import (
    SESSIONS_FOLDER,
    UNDECODABLE_ERRORS,
    DocumentForm,
    SessionDocuments,
    file_stem,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


STATE_LIMIT: Final = 1024 * 1024
"""Maximum size of one document in bytes; a usual one has less than 10,000."""
STATE_FORM: Final = DocumentForm(holds=Session, name="state", infix="", limit=STATE_LIMIT)


class _Seen(Struct, frozen=True):
    key: SessionKey
    seen_at: float = 0.0


class _Glance(Struct, frozen=True):
    session: _Seen


class SessionFiles:
    """Implements `SessionStore` in `folder`/sessions."""

    def __init__(self, folder: Path, incidents: Incidents | None = None) -> None:
        self._folder = folder / SESSIONS_FOLDER
        self._documents = SessionDocuments(self._folder, STATE_FORM, incidents)

    def load(self, key: SessionKey) -> Session | None:
        return self._documents.load(key)

    def save(self, session: Session) -> None:
        self._documents.save(session)

    def forget(self, key: SessionKey) -> None:
        """Remove the state and its chain; record and set-aside files stay. Raises BadInputError, OSError."""
        self._documents.forget(key)

    def known(self) -> tuple[SessionKey, ...]:
        """Raises OSError if the folder exists but cannot be read."""
        try:
            glances = [
                _read_key_and_time(path) for path in self._folder.iterdir() if path.suffixes == [".json"]
            ]
        except FileNotFoundError:
            return ()
        seen = sorted((found for found in glances if found), key=lambda found: (-found.seen_at, found.key.id))
        return tuple(found.key for found in seen)


def _read_key_and_time(path: Path) -> _Seen | None:
    """Key and time of a document, None if it is unusable. Only `load` checks digests."""
    try:
        seen = msgspec.json.decode(read_whole(path, STATE_LIMIT), type=_Glance).session
        return seen if f"{file_stem(seen.key)}.json" == path.name else None
    except (OSError, UnusableFileError, BadInputError, *UNDECODABLE_ERRORS):
        return None


# --- Journals as files, next to the states of their sessions; see session_documents -------------------------


JOURNAL_LIMIT: Final = 8 * 1024 * 1024
"""Maximum size of one document in bytes. The longest journal that policy allows has 1.6 MB of text."""


class JournalDocument(Struct, frozen=True):
    """A journal and the session it belongs to."""

    key: SessionKey
    journal: Journal


JOURNAL_FORM: Final = DocumentForm(
    holds=JournalDocument, name="journal", infix=".journal", limit=JOURNAL_LIMIT
)


class JournalFiles:
    """Implements `JournalStore` in `folder`/sessions."""

    def __init__(self, folder: Path, incidents: Incidents | None = None) -> None:
        self._documents = SessionDocuments(folder / SESSIONS_FOLDER, JOURNAL_FORM, incidents)

    def load(self, key: SessionKey) -> Journal | None:
        kept = self._documents.load(key)
        return kept.journal if kept else None

    def save(self, key: SessionKey, journal: Journal) -> None:
        self._documents.save(JournalDocument(key, journal))

    def forget(self, key: SessionKey) -> None:
        """Remove the journal and its chain; set-aside files stay. Raises BadInputError, OSError."""
        self._documents.forget(key)


# --- Session records as JSON lines, `<host>-<id>.record.jsonl`: bounded, read from the end ------------------


ROTATE_AT: Final = 4 * 1024 * 1024
"""Size in bytes at which a record is renamed to `.1`, replacing the previous `.1`."""
DETAIL_LIMIT: Final = 16_000
"""Maximum characters of an entry's detail."""


class RecordFiles:
    """Implements `SessionRecord` in `folder`/sessions, next to the states of SessionFiles."""

    def __init__(self, folder: Path, incidents: Incidents | None = None) -> None:
        self._folder = folder / SESSIONS_FOLDER
        self._incidents = incidents
        self._sizes: dict[Path, int] = {}

    def append(self, key: SessionKey, entry: RecordEntry) -> None:
        path = self._path(key)
        line = _encode_entry(entry)
        ensure_folder(self._folder)
        self.report_loss(key)
        _rotate_record(path, len(line))
        try:
            self._sizes[path] = append_line(path, line)
        except UnusableFileError as unfit:
            set_aside(path, FileFault.UNREADABLE, str(unfit))
            self._sizes[path] = append_line(path, line)

    def report_loss(self, key: SessionKey) -> None:
        path = self._path(key)
        if self._incidents is None or path not in self._sizes:
            return
        size = path.lstat().st_size if path.exists() else 0
        if size < self._sizes[path]:
            what = "was removed" if not size else "was cut"
            self._incidents.report(
                f"Supervisor: the record of this session {what}, and not by Supervisor.", key
            )

    def read(self, key: SessionKey, last: int = 20) -> tuple[RecordEntry, ...]:
        path = self._path(key)
        newest = islice(_read_entries(path, path.with_name(f"{path.name}.1")), max(last, 0))
        return tuple(newest)[::-1]

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        return list_set_aside(self._folder, file_stem(key))

    def _path(self, key: SessionKey) -> Path:
        return self._folder / f"{file_stem(key)}.record.jsonl"


def _encode_entry(entry: RecordEntry) -> bytes:
    if len(entry.detail) > DETAIL_LIMIT:
        entry = msgspec.structs.replace(entry, detail=f"{entry.detail[: DETAIL_LIMIT - 1]}…")
    return msgspec.json.encode(entry)


def _rotate_record(path: Path, coming: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if path.lstat().st_size + coming >= ROTATE_AT and path.is_file():
            path.replace(path.with_name(f"{path.name}.1"))


def _read_entries(*paths: Path) -> Iterator[RecordEntry]:
    """Entries, newest first. Invalid lines, left by a process that died while writing, are skipped."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError, UnusableFileError):
            for line in lines_backwards(path, 2 * ROTATE_AT):
                with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    yield msgspec.json.decode(line, type=RecordEntry)
