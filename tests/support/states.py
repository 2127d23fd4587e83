"""A saved session, what may happen to its file, and what Supervisor says of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from sidecar.kernel.goal import Goal
from sidecar.kernel.journal import Journal
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform import state as digest_chain
from sidecar.platform.session_store import JournalDocument, JournalFiles, SessionFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class UnversionedFiles(SessionFiles):
    """Session files for tests of what happens on disk: every save counts, whatever was saved before."""

    def save(self, session: Session) -> Session:
        self._documents.save(session)
        return session


class UnversionedJournals(JournalFiles):
    """Journal files of the same kind."""

    def save(self, key: SessionKey, journal: Journal) -> Journal:
        self._documents.save(JournalDocument(key, journal))
        return journal


KEY = SessionKey("claude-code", "s1")
SESSION = Session(key=KEY, goal=Goal(id="g1", condition="tests pass"), seen_at=5.0)


def saved(folder: Path, *sessions: Session) -> SessionFiles:
    store = UnversionedFiles(folder)
    for session in sessions:
        store.save(session)
    return store


def document(state: Path) -> dict[str, Any]:
    read: dict[str, Any] = msgspec.json.decode(state.read_bytes())
    return read


def reasons(folder: Path) -> tuple[str, ...]:
    return SessionFiles(folder).set_aside(KEY)


def half(state: Path) -> None:
    state.write_bytes(state.read_bytes()[: state.stat().st_size // 3])


def big(state: Path) -> None:
    state.write_bytes(b"[" * 10_000_000)


def link(state: Path) -> None:
    real = state.with_name("elsewhere")
    state.rename(real)
    state.symlink_to(real)


def folder_in_its_place(state: Path) -> None:
    state.unlink()
    state.mkdir()
    (state / "something").write_bytes(b"x")


def pipe(state: Path) -> None:
    state.unlink()
    os.mkfifo(state)


def to_version(version: object) -> Callable[[Path], None]:
    def damage(state: Path) -> None:
        state.write_bytes(msgspec.json.encode(document(state) | {"version": version}))

    return damage


def to_bytes(content: bytes) -> Callable[[Path], None]:
    def damage(state: Path) -> None:
        state.write_bytes(content)

    return damage


def by_hand(state: Path) -> None:
    state.write_bytes(state.read_bytes().replace(b"tests pass", b"tests exist"))


def by_a_clever_hand(state: Path) -> None:
    """Change the condition and reckon the digest anew, as `_document` does."""
    old = document(state)
    body = state.read_bytes().split(b'"session":', 1)[1].rstrip()[:-1].replace(b"tests pass", b"tests exist")
    said = digest_chain.document_digest(1, old["serial"], old["previous"], body)
    state.write_bytes(msgspec.json.encode(old | {"digest": said, "session": msgspec.Raw(body)}))
