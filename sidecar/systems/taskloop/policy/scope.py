"""Which files a task and its agent may change. Globs are those of .gitignore."""

from __future__ import annotations

from collections.abc import Iterable

from sidecar.rubric.globs import glob_matches_path


def files_outside(
    files: Iterable[str],
    scope: tuple[str, ...],
    can_modify: tuple[str, ...] = (),
    cannot_modify: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Return the files that neither may change. A list without globs allows all files."""
    return tuple(
        file
        for file in files
        if (scope and not _matches(scope, file))
        or (can_modify and not _matches(can_modify, file))
        or _matches(cannot_modify, file)
    )


def _matches(globs: tuple[str, ...], file: str) -> bool:
    return any(glob_matches_path(glob, file) for glob in globs)
