"""Tells which files bear on a check: by their names, or because a check file names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.kernel.changes import FileChange
from sidecar.platform.data import load_data
from sidecar.platform.environments import installed_folders
from sidecar.platform.tools import settings_patterns

SEARCHED_FILES: Final = 500
SEARCHED_BYTES: Final = 1 << 20
"""Check files that are searched for the names of other files, and the maximum size of each."""


class CheckFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of files that bear on a check: data/check_files.toml, which explains each list."""

    folders: tuple[str, ...]
    names: tuple[str, ...]
    shadows: str
    code: str
    inline: tuple[tuple[str, str], ...]
    manifests: str
    dependency: str
    ci: str


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    known = load_data("check_files", CheckFiles)
    settings = (f"(^|/){pattern}" for pattern in settings_patterns())
    return (
        re.compile("|".join((*known.folders, *known.names, known.shadows, *settings))),
        re.compile(known.code, re.IGNORECASE),
        re.compile(known.ci),
    )


@cache
def _inline_markers() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    known = load_data("check_files", CheckFiles)
    return tuple((re.compile(name), re.compile(line, re.MULTILINE)) for name, line in known.inline)


def bears_on_checks(path: str) -> bool:
    """Whether a file of this name belongs to a check."""
    return _patterns()[0].search(path) is not None


def is_installed(path: str) -> bool:
    """Whether a path is where an installer keeps programs and packages."""
    return not installed_folders().isdisjoint(path.split("/")[:-1])


def is_ci_setting(path: str) -> bool:
    """Whether a file tells a CI service what to run."""
    return _patterns()[2].search(path) is not None


def changes_dependencies(changed: Iterable[FileChange]) -> bool:
    """Whether a change names another version of something that the project depends on.

    The old code then fails with what is installed today, whatever it did when the work began.
    """
    known = load_data("check_files", CheckFiles)
    line = re.compile(known.dependency, re.MULTILINE)
    return any(
        {*_lines(line, file.before)} != {*_lines(line, file.after)}
        for file in changed
        if re.search(known.manifests, file.path)
    )


def _lines(pattern: re.Pattern[str], text: str | None) -> Iterator[str]:
    return (hit[0].strip() for hit in pattern.finditer(text or ""))


def may_bear_on_checks(changed: Iterable[FileChange]) -> bool:
    """Whether one of these changed files may bear on a check: cheap, and rather true too often."""
    return any(
        bears_on_checks(path)
        or not _patterns()[1].search(path)
        or with_old_inline_tests(path, file.before or "", file.after or "") is not None
        for file in changed
        for path in (file.path, file.old_path)
        if path
    )


def with_old_inline_tests(path: str, old: str, new: str) -> str | None:
    """Return the new code with the old tests of the same file; None where these tests did not change.

    Tests begin at the first line that marks them, and last to the end of the file.
    """
    for name, marker in _inline_markers():
        if name.search(path):
            starts = [found.start() if (found := marker.search(text)) else len(text) for text in (old, new)]
            merged = new[: starts[1]] + old[starts[0] :]
            return None if merged == new else merged
    return None


def choose_check_files(changed: Iterable[str], copy: Path) -> frozenset[str]:
    """Return the changed files that bear on a check, by their name or because a check file names them."""
    changed = tuple(changed)
    found = {path for path in changed if bears_on_checks(path)}
    others = [path for path in changed if path not in found and not _patterns()[1].search(path)]
    if others:
        named = re.compile("|".join({re.escape(path.rpartition("/")[2]): None for path in others}))
        mentioned = {name for text in _check_texts(copy) for name in named.findall(text)}
        found |= {path for path in others if path.rpartition("/")[2] in mentioned}
    return frozenset(found)


def _check_texts(copy: Path) -> Iterator[str]:
    files = (
        file
        for file in copy.rglob("*")
        if bears_on_checks(str(file.relative_to(copy))) and file.is_file() and not file.is_symlink()
    )
    for file in islice(files, SEARCHED_FILES):
        if file.stat().st_size <= SEARCHED_BYTES:
            yield file.read_text(encoding="utf-8", errors="replace")
