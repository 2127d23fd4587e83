"""The story of each session, as long as the process lives."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sidecar.adapters.session_documents import file_stem

if TYPE_CHECKING:
    from sidecar.model.session import SessionKey
    from sidecar.ports import Entry


class MemoryRecord:
    """A Record in memory."""

    def __init__(self) -> None:
        self._entries: defaultdict[str, list[Entry]] = defaultdict(list)
        self._asides: defaultdict[str, list[str]] = defaultdict(list)

    def append(self, key: SessionKey, entry: Entry) -> None:
        self._entries[file_stem(key)].append(entry)

    def read(self, key: SessionKey, last: int = 20) -> tuple[Entry, ...]:
        entries = self._entries[file_stem(key)]
        return tuple(entries[-last:]) if last > 0 else ()

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        return tuple(self._asides[file_stem(key)])

    def pretend_aside(self, key: SessionKey, reason: str) -> None:
        """Let it look as if a state file of this session had been set aside."""
        self._asides[file_stem(key)].append(reason)
