"""Writes the files that a model without tools answered: all or none, and inside the work folder only."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct

from sidecar.platform.apply import ChangeApplier, NewVersion, file_version
from sidecar.platform.files import read_whole

FORBIDDEN: Final = frozenset((".git", ".supervisor"))
"""Folders in which a model writes nothing, at any depth: they decide what runs, and what counts as done."""
SHOWN_LIMIT: Final = 262_144
"""Bytes of one file that is shown to a model."""


class WrittenFile(Struct, frozen=True):
    """One file of an answer: a path relative to the project's folder, and the whole new content."""

    path: str
    content: str


class OutsideError(Exception):
    """A path must not be written. The text says which one and why."""


def write_files(applier: ChangeApplier, project: str, files: Iterable[tuple[str, str | None]]) -> None:
    """Check all paths, then write all files, each a path and its content; None removes it.

    Raises OutsideError before anything is written, and ApplyError or OSError after what was written is put
    back.
    """
    root = Path(os.path.realpath(project))
    versions = [_new_version(root, path, content) for path, content in files]
    if len({version.path for version in versions}) < len(versions):
        raise OutsideError("a path is named twice")
    applier.replace(root, versions)


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


def _new_version(root: Path, path: str, content: str | None) -> NewVersion:
    target = resolve_inside(root, path)
    before = file_version(target)
    if not target.is_file() and (before or content is None):
        raise OutsideError(f"{path[:200]!r} is {before or 'not there'}")
    mode = target.stat().st_mode & 0o777 if before else 0o666 & ~_umask()
    new = None if content is None else content.encode()
    return NewVersion(target.relative_to(root).as_posix(), before, mode, new)


def _umask() -> int:
    """Return the mask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
