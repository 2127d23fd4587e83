"""Access to session journals: one change at a time, saved as a whole before anybody sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sidecar.kernel.journal import Journal
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import JournalStore

T = TypeVar("T")


class SessionJournals:
    """Reads and changes journals. Nothing here awaits, so no change can come between load and save."""

    def __init__(self, store: JournalStore) -> None:
        """Use this store."""
        self._store = store

    def of(self, key: SessionKey) -> Journal:
        """Return a session's journal, an empty one where none is saved. Raises OSError, BadInputError."""
        return self._store.load(key) or Journal()

    def change(self, key: SessionKey, change: Callable[[Journal], tuple[Journal, T]]) -> T:
        """Apply `change` to a journal and return its result. Raises what `change` and `of` raise."""
        before = self.of(key)
        after, made = change(before)
        if after != before:
            self._store.save(key, after)
        return made
