"""Judged stops as files: `stops/<digest of project>/<time>-<session>-<random>.stop` in the state folder.

A file is one stop, JSON behind zlib, written whole and never changed after; names order them by time. One
that cannot be read is left out and named; it goes when newer ones have pushed it out. Sidecar, command line
and language server may read and write beside each other.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters.files import UnfitError, ensure_folder, read_whole, sweep, write_whole
from sidecar.adapters.paths import mark_of
from sidecar.model.events import Fact, GatesRan, Judged, JudgeFailed, Surveyed, TurnRead
from sidecar.model.inquiry import Inquiry
from sidecar.model.kept import Heard, KeptStop, Recalled
from sidecar.model.session import SessionKey

VERSION: Final = 1
FOLDER: Final = "stops"
FILE_LIMIT: Final = 512 * 1024
"""Bytes of one file."""
TEXT_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of what is in one file: a turn has at most 400 calls with outputs of 2,000 characters."""
STOPS: Final = 20
"""Stops that are kept of a project."""
PROJECTS: Final = 200
"""Projects of which stops are kept; beyond, those go whose last stop is the oldest."""
KINDS: Final[dict[str, type[Fact]]] = {
    "turn": TurnRead,
    "survey": Surveyed,
    "gates": GatesRan,
    "judged": Judged,
    "judge-failed": JudgeFailed,
}
_NAMES: Final = {kind: name for name, kind in KINDS.items()}

log = logging.getLogger(__name__)


class UnreadableError(Exception):
    """This file is no kept stop; the message says why."""


class _Fact(Struct, frozen=True):
    at: float
    kind: str
    fact: Raw


class _Document(Struct, frozen=True, kw_only=True):
    """One file. `project` is for people who look into it."""

    version: int
    at: float
    project: str
    inquiry: Inquiry
    heard: tuple[_Fact, ...]
    ended: str
    detail: str
    stage: str
    rule: str


class _Version(Struct, frozen=True):
    version: int


class KeptStopFiles:
    """The KeptStops of a state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER
        self._writing = threading.Lock()

    def keep(self, stop: KeptStop) -> None:
        folder = self.folder(stop.project)
        if folder is None:
            return
        data = _encoded(stop)
        if data is None:
            log.info("%s: the stop is too big to be kept", stop.inquiry.stop.key.id)
            return
        mine = _mark(stop.inquiry.stop.key)
        name = f"{max(0, int(stop.at * 1000)):015d}-{mine}-{secrets.token_hex(4)}.stop"
        with self._writing:  # one thread would sweep away what another one is writing
            if not folder.exists():
                _make_room(self._folder)
                ensure_folder(folder)
            sweep(folder)
            write_whole(folder / name, data)
            _remove(_stops(folder)[:-STOPS])

    def last(self, project: str, number: int) -> Recalled:
        found = self.paths(project)
        stops, problems = [], []
        for path in found[-number:] if number > 0 else ():
            try:
                stops.append(read(path))
            except FileNotFoundError:
                continue  # a newer stop pushed it out meanwhile
            except (UnreadableError, OSError) as error:
                problems.append(f"{path}: {error}")
        return Recalled(tuple(stops), tuple(problems))

    def forget(self, project: str, key: SessionKey) -> None:
        mark = _mark(key)
        _remove(path for path in self.paths(project) if path.name.split("-")[1:2] == [mark])

    def paths(self, project: str) -> tuple[Path, ...]:
        """The files of a project, the newest last. Never raises."""
        folder = self.folder(project)
        return tuple(_stops(folder)[-STOPS:]) if folder is not None else ()

    def folder(self, project: str) -> Path | None:
        """Where its stops are, None for what is no folder or has no name in UTF-8."""
        mark = mark_of(project)
        return self._folder / mark if mark else None


def read(path: Path) -> KeptStop:
    """The stop of one file. Raises UnreadableError and OSError."""
    try:
        document = _document(_text(read_whole(path, FILE_LIMIT)))
        heard = tuple(Heard(one.at, _fact(one)) for one in document.heard)
    except UnfitError as error:
        raise UnreadableError(str(error)) from error
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(f"it is damaged: {str(error)[:200]}") from error
    return KeptStop(
        at=document.at,
        project=document.project,
        inquiry=document.inquiry,
        heard=heard,
        ended=document.ended,
        detail=document.detail,
        stage=document.stage,
        rule=document.rule,
    )


# --- one file -----------------------------------------------------------------------------------------------


def _mark(key: SessionKey) -> str:
    """What tells a session's files from others; its id may hold what no name of a file may."""
    return hashlib.sha256(f"{key.host}/{key.id}".encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _encoded(stop: KeptStop) -> bytes | None:
    """The file, None where it would be too big. Raises ValueError for a text that cannot be written."""
    facts = tuple(
        _Fact(one.at, _NAMES[type(one.fact)], Raw(msgspec.json.encode(one.fact))) for one in stop.heard
    )
    document = _Document(
        version=VERSION,
        at=stop.at,
        project=stop.project,
        inquiry=stop.inquiry,
        heard=facts,
        ended=stop.ended,
        detail=stop.detail,
        stage=stop.stage,
        rule=stop.rule,
    )
    text = msgspec.json.encode(document)
    data = zlib.compress(text) if len(text) <= TEXT_LIMIT else b""
    return data if 0 < len(data) <= FILE_LIMIT else None


def _text(data: bytes) -> bytes:
    """What is behind zlib: all of it, and not more than there may be."""
    stream = zlib.decompressobj()
    text = stream.decompress(data, TEXT_LIMIT)
    if not stream.eof:
        raise UnreadableError(f"it is cut off, or more than {TEXT_LIMIT} bytes")
    return text


def _document(text: bytes) -> _Document:
    version = msgspec.json.decode(text, type=_Version).version
    if version != VERSION:
        raise UnreadableError(f"version {version}; this Supervisor knows {VERSION}")
    return msgspec.json.decode(text, type=_Document)


def _fact(one: _Fact) -> Fact:
    kind: Any = KINDS.get(one.kind)
    if kind is None:
        raise UnreadableError(f"there is no fact {one.kind[:40]!r}")
    fact: Fact = msgspec.json.decode(one.fact, type=kind)
    return fact


# --- folders ------------------------------------------------------------------------------------------------


def _stops(folder: Path) -> list[Path]:
    """Its files, the oldest first."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".stop")
    except OSError:
        return []


def _make_room(every: Path) -> None:
    """Let projects go until one more may come."""
    with contextlib.suppress(OSError):
        folders = sorted((path for path in every.iterdir() if path.is_dir()), key=_touched)
        for folder in folders[: max(0, len(folders) - PROJECTS + 1)]:
            _remove(folder.iterdir())
            folder.rmdir()


def _touched(folder: Path) -> float:
    return folder.stat().st_mtime


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
