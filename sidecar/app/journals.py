"""The journals of sessions: one change at a time, saved whole before anybody hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sidecar.model.journal import Journal
from sidecar.model.session import SessionKey
from sidecar.ports import JournalStore

T = TypeVar("T")


class Journals:
    """Reads and changes journals. Nothing here waits, so no change comes between another's look and save."""

    def __init__(self, store: JournalStore) -> None:
        """Keep them in `store`."""
        self._store = store

    def of(self, key: SessionKey) -> Journal:
        """The journal of a session, an empty one where nothing was written. Raises OSError, BadInputError."""
        return self._store.load(key) or Journal()

    def change(self, key: SessionKey, change: Callable[[Journal], tuple[Journal, T]]) -> T:
        """Let policy change a journal, and give what it made. Raises what `change` raises, and as `of`."""
        before = self.of(key)
        after, made = change(before)
        if after != before:
            self._store.save(key, after)
        return made
