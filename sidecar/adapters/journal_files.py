"""Journals as files, beside the states of their sessions."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sidecar.adapters.files import ensure_folder, read_whole, write_whole
from sidecar.adapters.session_files import FOLDER, file_stem
from sidecar.model.journal import Journal
from sidecar.model.session import SessionKey

LIMIT = 8 * 1024 * 1024


class JournalFiles:
    """The JournalStore of `folder`/sessions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def load(self, key: SessionKey) -> Journal | None:
        path = self._path(key)
        return msgspec.json.decode(read_whole(path, LIMIT), type=Journal) if path.exists() else None

    def save(self, key: SessionKey, journal: Journal) -> None:
        ensure_folder(self._folder)
        write_whole(self._path(key), msgspec.json.encode(journal))

    def forget(self, key: SessionKey) -> None:
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: SessionKey) -> Path:
        return self._folder / f"{file_stem(key)}.journal.json"
