"""Journals as files, beside the states of their sessions; see session_documents."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.adapters.session_documents import FOLDER, Form, SessionDocuments
from sidecar.model.journal import Journal
from sidecar.model.session import SessionKey

JOURNAL_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of one document. The longest journal that policy allows has 4 MB of text."""


class Kept(Struct, frozen=True):
    """A journal, and whose it is."""

    key: SessionKey
    journal: Journal


FORM: Final = Form(holds=Kept, name="journal", infix=".journal", limit=JOURNAL_LIMIT)


class JournalFiles:
    """The JournalStore of `folder`/sessions."""

    def __init__(self, folder: Path) -> None:
        self._documents = SessionDocuments(folder / FOLDER, FORM)

    def load(self, key: SessionKey) -> Journal | None:
        kept = self._documents.load(key)
        return kept.journal if kept else None

    def save(self, key: SessionKey, journal: Journal) -> None:
        self._documents.save(Kept(key, journal))

    def forget(self, key: SessionKey) -> None:
        """Remove its journal and chain; set-aside files stay. Raises BadInputError, OSError."""
        self._documents.forget(key)
