"""Journals that end with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecar.adapters.session_documents import file_stem

if TYPE_CHECKING:
    from sidecar.model.journal import Journal
    from sidecar.model.session import SessionKey


class MemoryJournals:
    """A JournalStore that nobody can edit by hand. It refuses the same names as the one in files."""

    def __init__(self) -> None:
        self._journals: dict[str, Journal] = {}

    def load(self, key: SessionKey) -> Journal | None:
        return self._journals.get(file_stem(key))

    def save(self, key: SessionKey, journal: Journal) -> None:
        self._journals[file_stem(key)] = journal

    def forget(self, key: SessionKey) -> None:
        self._journals.pop(file_stem(key), None)
