"""Journals in memory."""

from __future__ import annotations

from sidecar.model.journal import Journal
from sidecar.model.session import SessionKey


class MemoryJournals:
    """Implements ports.JournalStore."""

    def __init__(self) -> None:
        self._kept: dict[SessionKey, Journal] = {}

    def load(self, key: SessionKey) -> Journal | None:
        return self._kept.get(key)

    def save(self, key: SessionKey, journal: Journal) -> None:
        self._kept[key] = journal

    def forget(self, key: SessionKey) -> None:
        self._kept.pop(key, None)
