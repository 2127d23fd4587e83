"""Writes the files that a model without tools answered: all or none, and inside the work folder only."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct

from sidecar.platform.files import read_whole, write_whole

FORBIDDEN: Final = frozenset((".git", ".supervisor"))
"""Folders in which a model writes nothing, at any depth: they decide what runs, and what counts as done."""
SHOWN_LIMIT: Final = 262_144
"""Bytes of one file that is shown to a model, and of one that a write may replace."""


class WrittenFile(Struct, frozen=True):
    """One file of an answer: a path relative to the project's folder, and the whole new content."""

    path: str
    content: str


class OutsideError(Exception):
    """A path must not be written. The text says which one and why."""


class _Change(Struct, frozen=True):
    """A checked write. `before` is None for a new file; `made` are the folders it needs, outermost first."""

    target: Path
    data: bytes
    before: bytes | None
    mode: int
    made: tuple[Path, ...]


def write_files(project: str, files: tuple[WrittenFile, ...]) -> None:
    """Check all paths, then write all files.

    Raises OutsideError before anything is written, and OSError or UnusableFileError after what was written is
    put back.
    """
    root = Path(os.path.realpath(project))
    changes = [_check_change(root, file) for file in files]
    if len({change.target for change in changes}) < len(changes):
        raise OutsideError("a path is named twice")
    done: list[_Change] = []
    try:
        for change in changes:
            done.append(change)
            _write_change(change, change.data)
    except BaseException:
        for change in reversed(done):
            with suppress(OSError):
                _undo_change(change)
        raise


def read_shown_file(project: str, path: str) -> str:
    """Return the text of a file in the folder. Raises OutsideError, OSError, UnusableFileError."""
    return read_whole(resolve_inside(Path(os.path.realpath(project)), path), SHOWN_LIMIT).decode(
        "utf-8", "replace"
    )


def resolve_inside(root: Path, path: str) -> Path:
    """Return the real place of a relative path below `root`. Raises OutsideError."""
    pure = PurePosixPath(path)
    if not path.strip() or not path.isprintable() or pure.is_absolute():
        raise OutsideError(f"{path[:200]!r} is no relative path")
    try:
        target = Path(os.path.realpath(root / pure))
    except (OSError, ValueError) as error:
        raise OutsideError(f"{path[:200]!r} cannot be used: {error}") from error
    if not target.is_relative_to(root) or target == root:
        raise OutsideError(f"{path[:200]!r} leads out of the folder")
    if FORBIDDEN & {part.casefold() for part in (*target.relative_to(root).parts, *pure.parts)}:
        raise OutsideError(f"{path[:200]!r} is not a model's to write")
    return target


def _check_change(root: Path, file: WrittenFile) -> _Change:
    target = resolve_inside(root, file.path)
    made = tuple(folder for folder in reversed(target.parents) if not folder.exists())
    try:
        before, mode = read_whole(target, SHOWN_LIMIT), target.stat().st_mode & 0o777
    except FileNotFoundError:
        before, mode = None, 0o666 & ~_umask()
    return _Change(target, file.content.encode(), before, mode, made)


def _write_change(change: _Change, data: bytes) -> None:
    change.target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(change.target, data)
    change.target.chmod(change.mode)


def _undo_change(change: _Change) -> None:
    if change.before is not None:
        _write_change(change, change.before)
        return
    change.target.unlink(missing_ok=True)
    for folder in reversed(change.made):
        with suppress(OSError):  # another file of the answer is still in it
            folder.rmdir()


def _umask() -> int:
    """Return the mask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
