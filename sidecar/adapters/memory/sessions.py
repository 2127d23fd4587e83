"""Sessions that end with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecar.adapters.session_documents import file_stem

if TYPE_CHECKING:
    from sidecar.model.session import Session, SessionKey


class MemoryStore:
    """A SessionStore that nobody can edit by hand. It refuses the same names as the one in files."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def load(self, key: SessionKey) -> Session | None:
        return self._sessions.get(file_stem(key))

    def save(self, session: Session) -> None:
        self._sessions[file_stem(session.key)] = session

    def forget(self, key: SessionKey) -> None:
        self._sessions.pop(file_stem(key), None)

    def known(self) -> tuple[SessionKey, ...]:
        seen = sorted(self._sessions.values(), key=lambda session: (-session.seen_at, session.key.id))
        return tuple(session.key for session in seen)
