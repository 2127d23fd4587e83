"""The states of sessions as files; see session_documents."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.adapters.files import UnfitError, read_whole
from sidecar.adapters.session_documents import FOLDER, UNDECODABLE, Form, SessionDocuments, file_stem
from sidecar.model.session import Session, SessionKey
from sidecar.ports import BadInputError

STATE_LIMIT: Final = 1024 * 1024
"""Bytes of one document; a usual one has less than 10,000."""
FORM: Final = Form(holds=Session, name="state", infix="", limit=STATE_LIMIT)


class _Seen(Struct, frozen=True):
    key: SessionKey
    seen_at: float = 0.0


class _Glance(Struct, frozen=True):
    session: _Seen


class SessionFiles:
    """The SessionStore of `folder`/sessions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._documents = SessionDocuments(self._folder, FORM)

    def load(self, key: SessionKey) -> Session | None:
        return self._documents.load(key)

    def save(self, session: Session) -> None:
        self._documents.save(session)

    def forget(self, key: SessionKey) -> None:
        """Remove its state and chain; record and set-aside files stay. Raises BadInputError, OSError."""
        self._documents.forget(key)

    def known(self) -> tuple[SessionKey, ...]:
        """Raises OSError where the folder is there and cannot be read."""
        try:
            glances = [_glance(path) for path in self._folder.iterdir() if path.suffixes == [".json"]]
        except FileNotFoundError:
            return ()
        seen = sorted((found for found in glances if found), key=lambda found: (-found.seen_at, found.key.id))
        return tuple(found.key for found in seen)


def _glance(path: Path) -> _Seen | None:
    """Key and time of a document, None where it is not usable. Digests are left to `load`."""
    try:
        seen = msgspec.json.decode(read_whole(path, STATE_LIMIT), type=_Glance).session
        return seen if f"{file_stem(seen.key)}.json" == path.name else None
    except (OSError, UnfitError, BadInputError, *UNDECODABLE):
        return None
