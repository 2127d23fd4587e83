"""Judged stops as files: `stops/<digest of project>/<time>-<session>-<random>.stop` in the state folder.

Each file is one stop: JSON compressed with zlib, written whole and never changed afterwards. Names sort by
time. An unreadable file is skipped and reported; it is removed when newer ones displace it. The sidecar, the
command line and the language server may read and write at the same time.
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

from sidecar.kernel.events import (
    Fact,
    GatesRan,
    JudgeAnswered,
    JudgeFailed,
    OldChecksRan,
    ProjectState,
    TurnRead,
)
from sidecar.kernel.inquiry import Inquiry
from sidecar.kernel.session import SessionKey
from sidecar.kernel.stop_history import LoadedStops, RecordedStop, TimedFact
from sidecar.platform.files import (
    UnusableFileError,
    ensure_folder,
    read_whole,
    remove_stale_temporaries,
    write_whole,
)
from sidecar.platform.paths import project_digest

VERSION: Final = 1
STOPS_FOLDER: Final = "stops"
FILE_LIMIT: Final = 512 * 1024
"""Maximum size of one file in bytes."""
TEXT_LIMIT: Final = 16 * 1024 * 1024
"""Maximum decompressed bytes of one file: a turn has at most 400 calls with outputs of 2,000 characters."""
STOPS_PER_PROJECT: Final = 20
"""Number of stops kept per project."""
PROJECTS: Final = 200
"""Number of projects whose stops are kept; beyond it, those with the oldest last stop are removed."""
FACT_KINDS: Final[dict[str, type[Fact]]] = {
    "turn": TurnRead,
    "survey": ProjectState,
    "gates": GatesRan,
    "old-checks": OldChecksRan,
    "judged": JudgeAnswered,
    "judge-failed": JudgeFailed,
}
_NAMES: Final = {kind: name for name, kind in FACT_KINDS.items()}

log = logging.getLogger(__name__)


class UnreadableStopError(Exception):
    """The file is not a readable stop; the message says why."""


class _Fact(Struct, frozen=True):
    at: float
    kind: str
    fact: Raw


class _Document(Struct, frozen=True, kw_only=True):
    """The content of one file. `project` is there for people who inspect it."""

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


class StopHistoryFiles:
    """Implements `StopHistory` in a state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / STOPS_FOLDER
        self._writing = threading.Lock()

    def keep(self, stop: RecordedStop) -> None:
        folder = self.folder(stop.project)
        if folder is None:
            return
        data = _encode_stop(stop)
        if data is None:
            log.info("%s: the stop is too big to be kept", stop.inquiry.stop.key.id)
            return
        mine = _session_digest(stop.inquiry.stop.key)
        name = f"{max(0, int(stop.at * 1000)):015d}-{mine}-{secrets.token_hex(4)}.stop"
        with self._writing:  # else one thread could remove the temporary file of another
            if not folder.exists():
                _drop_oldest_projects(self._folder)
                ensure_folder(folder)
            remove_stale_temporaries(folder)
            write_whole(folder / name, data)
            _remove_files(_list_stop_files(folder)[:-STOPS_PER_PROJECT])

    def last(self, project: str, number: int) -> LoadedStops:
        found = self.paths(project)
        stops, problems = [], []
        for path in found[-number:] if number > 0 else ():
            try:
                stops.append(read_stop_file(path))
            except FileNotFoundError:
                continue  # removed meanwhile, when a newer stop was stored
            except (UnreadableStopError, OSError) as error:
                problems.append(f"{path}: {error}")
        return LoadedStops(tuple(stops), tuple(problems))

    def forget(self, project: str, key: SessionKey) -> None:
        mark = _session_digest(key)
        _remove_files(path for path in self.paths(project) if path.name.split("-")[1:2] == [mark])

    def paths(self, project: str) -> tuple[Path, ...]:
        """The files of a project, newest last. Never raises."""
        folder = self.folder(project)
        return tuple(_list_stop_files(folder)[-STOPS_PER_PROJECT:]) if folder is not None else ()

    def folder(self, project: str) -> Path | None:
        """The folder of a project's stops, None if its path is not absolute or cannot be encoded in UTF-8."""
        mark = project_digest(project)
        return self._folder / mark if mark else None


def read_stop_file(path: Path) -> RecordedStop:
    """Read the stop in one file. Raises UnreadableStopError and OSError."""
    try:
        document = _parse_document(_decompress_stop(read_whole(path, FILE_LIMIT)))
        heard = tuple(TimedFact(one.at, _decode_fact(one)) for one in document.heard)
    except UnusableFileError as error:
        raise UnreadableStopError(str(error)) from error
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableStopError(f"it is damaged: {str(error)[:200]}") from error
    return RecordedStop(
        at=document.at,
        project=document.project,
        inquiry=document.inquiry,
        heard=heard,
        ended=document.ended,
        detail=document.detail,
        stage=document.stage,
        rule=document.rule,
    )


# --- encoding of one file -----------------------------------------------------------------------------------


def _session_digest(key: SessionKey) -> str:
    """Identifies a session in file names; its id may contain characters that file names cannot have."""
    return hashlib.sha256(f"{key.host}/{key.id}".encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _encode_stop(stop: RecordedStop) -> bytes | None:
    """The file's content, None if it is too big. Raises ValueError for text that cannot be encoded."""
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


def _decompress_stop(data: bytes) -> bytes:
    """Decompress all of it. Raises UnreadableStopError if it is cut off or exceeds TEXT_LIMIT."""
    stream = zlib.decompressobj()
    text = stream.decompress(data, TEXT_LIMIT)
    if not stream.eof:
        raise UnreadableStopError(f"it is cut off, or more than {TEXT_LIMIT} bytes")
    return text


def _parse_document(text: bytes) -> _Document:
    version = msgspec.json.decode(text, type=_Version).version
    if version != VERSION:
        raise UnreadableStopError(f"version {version}; this Supervisor knows {VERSION}")
    return msgspec.json.decode(text, type=_Document)


def _decode_fact(one: _Fact) -> Fact:
    kind: Any = FACT_KINDS.get(one.kind)
    if kind is None:
        raise UnreadableStopError(f"there is no fact {one.kind[:40]!r}")
    fact: Fact = msgspec.json.decode(one.fact, type=kind)
    return fact


# --- folders ------------------------------------------------------------------------------------------------


def _list_stop_files(folder: Path) -> list[Path]:
    """The stop files of a folder, oldest first."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".stop")
    except OSError:
        return []


def _drop_oldest_projects(every: Path) -> None:
    """Remove the oldest projects until there is room for one more."""
    with contextlib.suppress(OSError):
        folders = sorted((path for path in every.iterdir() if path.is_dir()), key=_modified_at)
        for folder in folders[: max(0, len(folders) - PROJECTS + 1)]:
            _remove_files(folder.iterdir())
            folder.rmdir()


def _modified_at(folder: Path) -> float:
    return folder.stat().st_mtime


def _remove_files(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
