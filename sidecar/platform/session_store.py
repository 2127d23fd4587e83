"""Session states, journals and task loops as files; see session_documents for the format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Generic

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Journal
from sidecar.kernel.loop import Loop
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.files import UnusableFileError, list_set_aside, read_whole
from sidecar.platform.ports import D, StaleSessionError
from sidecar.platform.session_documents import (
    SESSIONS_FOLDER,
    UNDECODABLE_ERRORS,
    DocumentForm,
    SessionDocuments,
    file_stem,
)
from sidecar.platform.state import Incidents

STATE_LIMIT: Final = 1024 * 1024
"""Maximum size of one document in bytes; a usual one has less than 10,000."""
SET_AGAIN: Final = "To set its goal again, type: /supervisor:goal and the condition"
STATE_FORM: Final = DocumentForm(holds=Session, name="state", infix="", limit=STATE_LIMIT, again=SET_AGAIN)


class _Seen(Struct, frozen=True):
    key: SessionKey
    seen_at: float = 0.0


class _Glance(Struct, frozen=True):
    session: _Seen


_GLANCE: Final = msgspec.json.Decoder(_Glance)


_Glanced = tuple[_Seen | None, tuple[int, ...]]
"""What a document says, None if it is unusable, and what changes with its file: number, time, size."""


class _RevisionedFiles(Generic[D]):
    """Documents in `folder`/sessions, each saved only over the revision that it was loaded with."""

    def __init__(self, folder: Path, form: DocumentForm[D], incidents: Incidents | None) -> None:
        self._folder = folder / SESSIONS_FOLDER
        self._documents: SessionDocuments[D] = SessionDocuments(self._folder, form, incidents)

    def load(self, key: SessionKey) -> D | None:
        return self._documents.load(key)

    def save(self, document: D) -> D:
        def check(stored: D | None) -> None:
            if document.revision != (stored.revision if stored is not None else 0):
                raise StaleSessionError(document, stored)

        saved = replace(document, revision=document.revision + 1)
        self._documents.save(saved, check)
        return saved

    def forget(self, key: SessionKey) -> None:
        """Remove the document and its chain; set-aside files stay. Raises BadInputError, OSError."""
        self._documents.forget(key)


class SessionFiles(_RevisionedFiles[Session]):
    """Implements `SessionStore`."""

    def __init__(self, folder: Path, incidents: Incidents | None = None) -> None:
        super().__init__(folder, STATE_FORM, incidents)
        self._glances: dict[str, _Glanced] = {}

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        """Raises BadInputError, OSError."""
        return list_set_aside(self._folder, file_stem(key))

    def known(self) -> tuple[SessionKey, ...]:
        """Raises OSError if the folder exists but cannot be read. Only documents that changed are read."""
        try:
            with os.scandir(self._folder) as entries:
                documents = (
                    one for one in entries if one.name.endswith(".json") and one.name.count(".") == 1
                )
                self._glances = {one.name: self._glance(one) for one in documents}
        except FileNotFoundError:
            return ()
        found = [seen for seen, _ in self._glances.values() if seen]
        return tuple(one.key for one in sorted(found, key=lambda one: (-one.seen_at, one.key.id)))

    def _glance(self, entry: os.DirEntry[str]) -> _Glanced:
        try:
            stat = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None, ()
        before, stamp = self._glances.get(entry.name), (stat.st_ino, stat.st_ctime_ns, stat.st_size)
        if before is not None and before[1] == stamp:
            return before
        return _read_key_and_time(Path(entry.path)), stamp


def _read_key_and_time(path: Path) -> _Seen | None:
    """Key and time of a document, None if it is unusable. Only `load` checks digests."""
    try:
        seen = _GLANCE.decode(read_whole(path, STATE_LIMIT)).session
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

    def save(self, key: SessionKey, journal: Journal) -> Journal:
        def check(stored: JournalDocument | None) -> None:
            if journal.revision != (stored.journal.revision if stored else 0):
                raise StaleSessionError(journal, stored.journal if stored else None)

        saved = replace(journal, revision=journal.revision + 1)
        self._documents.save(JournalDocument(key, saved), check)
        return saved

    def forget(self, key: SessionKey) -> None:
        """Remove the journal and its chain; set-aside files stay. Raises BadInputError, OSError."""
        self._documents.forget(key)


# --- Task loops ---------------------------------------------------------------------------------------------


LOOP_FORM: Final = DocumentForm(holds=Loop, name="task loop", infix=".loop", limit=JOURNAL_LIMIT)


class LoopFiles(_RevisionedFiles[Loop]):
    """Implements `LoopStore`."""

    def __init__(self, folder: Path, incidents: Incidents | None = None) -> None:
        super().__init__(folder, LOOP_FORM, incidents)
