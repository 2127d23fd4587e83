"""Applies the changes of a copy to the project: all files, or none of them.

Rules:

- A file that is not what it was when the copy was made is a conflict, and then nothing is written.
- Nothing is written outside the project, neither by a path nor through a link.
- What is to be written is in a file of the state folder first. After a crash in between, `roll_back` gives
  each file its text from before, but for those that somebody changed meanwhile.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.evidence.tree.contents import decode_file_content
from sidecar.kernel.changes import FileChange
from sidecar.platform.files import UnusableFileError, ensure_folder, is_process_alive, read_whole, write_whole

UNFINISHED_FOLDER: Final = "applying"
"""In the state folder: one file for each application that is not finished."""
FILE_LIMIT: Final = 8 << 20
"""Maximum bytes of one file."""
UNFINISHED_LIMIT: Final = 1 << 30
"""Maximum bytes of a file in UNFINISHED_FOLDER."""
NAMED_FILES: Final = 5


class ApplyError(Exception):
    """The changes cannot be applied, and nothing was written. The message says which file, and why."""


class _FileVersions(Struct, frozen=True):
    """One file, relative to the project: its bytes before and after, None where there is none."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int


class _Unfinished(Struct, frozen=True):
    project: str
    files: tuple[_FileVersions, ...]


class ChangeApplier:
    """Applies changes to projects. `state`: the user's state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / UNFINISHED_FOLDER

    def apply(self, project: Path, copy: Path, changes: Sequence[FileChange]) -> None:
        """Give these files of the project the content that they have in the copy.

        Raises ApplyError, and OSError after everything was put back.
        """
        files = tuple(_file_versions(project, copy, change) for change in _single_files(changes))
        ensure_folder(self._folder)
        note = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}.json"
        write_whole(note, msgspec.json.encode(_Unfinished(str(project), files)), durable=True)
        try:
            for file in files:
                _write_version(project, file, file.after)
        except OSError:
            _put_back(project, files)
            raise
        finally:
            note.unlink(missing_ok=True)

    def roll_back(self) -> tuple[str, ...]:
        """Undo what processes left unfinished that are dead now; return a line for each project."""
        return tuple(line for note in self._left_behind() for line in _undo(note))

    def _left_behind(self) -> Iterator[Path]:
        with suppress(OSError):
            for note in sorted(self._folder.glob("*.json")):
                process = note.name.partition("-")[0]
                if process.isdecimal() and not is_process_alive(int(process)):
                    yield note


def _single_files(changes: Sequence[FileChange]) -> Iterator[FileChange]:
    """Yield each change; a move is a removed file and a new one."""
    for change in changes:
        if change.old_path and change.old_path != change.path:
            yield FileChange(path=change.old_path, before=change.before)
            yield FileChange(path=change.path, after=change.after, unread=change.unread, link=change.link)
        else:
            yield change


def _file_versions(project: Path, copy: Path, change: FileChange) -> _FileVersions:
    """Read both versions of a file. Raises ApplyError."""
    place = project / change.path
    if change.unread or change.link:
        raise ApplyError(f"{change.path}: {change.unread or 'it is a link now'}, so it is not applied")
    try:
        if not place.parent.resolve().is_relative_to(project.resolve()):
            raise ApplyError(f"{change.path} leads out of the project, so it is not applied")
        before = read_whole(place, FILE_LIMIT) if os.path.lexists(place) else None
        after = read_whole(copy / change.path, FILE_LIMIT) if change.after is not None else None
        mode = (copy / change.path if before is None else place).stat().st_mode & 0o777
    except (UnusableFileError, OSError, ValueError) as error:
        raise ApplyError(f"{change.path} cannot be applied: {error}") from error
    if (None if before is None else decode_file_content(before).text) != change.before:
        raise ApplyError(f"{change.path} was changed meanwhile, so nothing was applied. Try again")
    if (None if after is None else decode_file_content(after).text) != change.after:
        raise ApplyError(f"{change.path} was changed while the tests ran, so nothing was applied")
    return _FileVersions(change.path, before, after, mode)


def _write_version(project: Path, file: _FileVersions, content: bytes | None) -> None:
    place = project / file.path
    if content is None:
        place.unlink(missing_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, content)
    place.chmod(file.mode)


def _put_back(project: Path, files: Sequence[_FileVersions]) -> tuple[str, ...]:
    """Write the versions from before; return the paths of files that are neither, which are left alone."""
    foreign = []
    for file in files:
        place = project / file.path
        try:
            now = read_whole(place, FILE_LIMIT) if os.path.lexists(place) else None
            if now not in (file.before, file.after):
                foreign.append(file.path)
            elif now != file.before:
                _write_version(project, file, file.before)
        except (OSError, UnusableFileError):
            foreign.append(file.path)
    return tuple(foreign)


def _undo(note: Path) -> Iterator[str]:
    try:
        left = msgspec.json.decode(read_whole(note, UNFINISHED_LIMIT), type=_Unfinished)
    except (OSError, UnusableFileError, msgspec.DecodeError, UnicodeDecodeError):
        note.unlink(missing_ok=True)  # the process died before it was written whole, so before any file
        return
    foreign = _put_back(Path(left.project), left.files)
    note.unlink(missing_ok=True)
    kept = f"; not {', '.join(foreign[:NAMED_FILES])}, changed since" if foreign else ""
    yield f"{left.project}: a change was applied in part when Supervisor was killed; it is undone{kept}"
