"""The story of each session as JSON lines, `<host>-<id>.record.jsonl`: bounded, and read from the end."""

from __future__ import annotations

import contextlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.adapters.files import (
    Fault,
    UnfitError,
    append_line,
    asides,
    ensure_folder,
    lines_backwards,
    set_aside,
)
from sidecar.adapters.session_documents import FOLDER, file_stem
from sidecar.ports import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.model.session import SessionKey

ROTATE_AT: Final = 4 * 1024 * 1024
"""Bytes of one record; then it becomes `.1`, and the `.1` before it goes."""
DETAIL_LIMIT: Final = 16_000
"""Characters of an entry's detail that are kept."""


class RecordFiles:
    """The Record in `folder`/sessions, beside the states of SessionFiles of the same folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def append(self, key: SessionKey, entry: Entry) -> None:
        path = self._path(key)
        line = _line(entry)
        ensure_folder(self._folder)
        _rotate(path, len(line))
        try:
            append_line(path, line)
        except UnfitError as unfit:
            set_aside(path, Fault.UNREADABLE, str(unfit))
            append_line(path, line)

    def read(self, key: SessionKey, last: int = 20) -> tuple[Entry, ...]:
        path = self._path(key)
        newest = islice(_entries(path, path.with_name(f"{path.name}.1")), max(last, 0))
        return tuple(newest)[::-1]

    def set_aside(self, key: SessionKey) -> tuple[str, ...]:
        return asides(self._folder, file_stem(key))

    def _path(self, key: SessionKey) -> Path:
        return self._folder / f"{file_stem(key)}.record.jsonl"


def _line(entry: Entry) -> bytes:
    if len(entry.detail) > DETAIL_LIMIT:
        entry = msgspec.structs.replace(entry, detail=f"{entry.detail[: DETAIL_LIMIT - 1]}…")
    return msgspec.json.encode(entry)


def _rotate(path: Path, coming: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if path.lstat().st_size + coming >= ROTATE_AT and path.is_file():
            path.replace(path.with_name(f"{path.name}.1"))


def _entries(*paths: Path) -> Iterator[Entry]:
    """Entries, the newest first. Lines that are none are left out: a process died while it wrote them."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError, UnfitError):
            for line in lines_backwards(path, 2 * ROTATE_AT):
                with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    yield msgspec.json.decode(line, type=Entry)
