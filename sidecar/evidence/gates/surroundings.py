"""Finds what lies outside of a project, decides what its checks do, and changed since the work began.

For every runner: programs that the gate's line names, settings of runners in folders above the project and in
the home folder (data/surroundings.toml), files of packages that were installed before and are changed now,
and what links of the project lead to. What pytest loaded is known better (`origins`). A file's change time
counts, which nobody can set.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.platform.data import load_data
from sidecar.platform.environments import is_marked, tool_folders
from sidecar.platform.shell.line import parse_simple_commands

ENTRY_LIMIT: Final = 200_000
"""Files of installed packages that are looked at; a look at 50,000 takes about a quarter of a second."""


class Surroundings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is looked at; the data file explains each list."""

    above: tuple[str, ...]
    home: tuple[str, ...]
    packages: dict[str, str]


def find_changed_surroundings(
    line: str, folder: Path, environment: Mapping[str, str], project: Path, since: float
) -> Iterator[str]:
    """Yield files that a line in a folder depends on and that changed since, in seconds since the epoch."""
    known = load_data("surroundings", Surroundings)
    top = _repository_of(project)
    home = environment.get("HOME", "")
    settings = [place / name for place in top.parents for name in known.above]
    settings += [Path(home, name) for name in known.home if home]
    programs = [file for file in _programs(line, folder, environment) if not _is_below(file, top)]
    yield from sorted({str(file) for file in (*settings, *programs) if _changed_since(file, since)})
    budget = iter(range(ENTRY_LIMIT))
    for name, manifest in known.packages.items():
        for place in dict.fromkeys((folder / name, project / name, top / name)):
            yield from _changed_package_files(place, manifest, since, budget)
    yield from _changed_behind_links(top, since, budget)


def _repository_of(project: Path) -> Path:
    """Return the folder that holds the project's repository: changes in it are seen as the project's own."""
    real = project.resolve()
    return next((place for place in (real, *real.parents) if (place / ".git").exists()), real)


def _is_below(file: Path, top: Path) -> bool:
    """Whether a file, or what it links to, is the project's, or of an environment with records of its own."""
    return any(path.is_relative_to(top) or is_marked(path.parent.parent) for path in (file, file.resolve()))


def _programs(line: str, folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    path = environment.get("PATH", os.defpath)
    for word in dict.fromkeys(word for one in parse_simple_commands(line) for word in one.argv[:1]):
        found = str(folder / word) if "/" in word else shutil.which(word, path=path)
        if found:
            yield Path(found)


def _changed_since(file: Path, since: float) -> bool:
    """Whether a file, or the link at its place, changed."""
    try:
        return max(file.stat().st_ctime, file.lstat().st_ctime) >= since
    except OSError:
        return False


def _changed_package_files(folder: Path, manifest: str, since: float, budget: Iterable[int]) -> Iterator[str]:
    """Yield changed files of packages whose manifest is older: an installer replaces packages as a whole."""
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        entries = _entries(place, budget)
        inner = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        if place.name == folder.name or place.name.startswith("@"):
            waiting += [one for one in inner if not one.name.startswith(".")]  # caches are no packages
            continue
        own = next((entry for entry in entries if entry.name == manifest), None)
        if own is not None and _entry_changed(own, since):
            continue
        waiting += inner
        yield from (entry.path for entry in entries if entry.is_file() and _entry_changed(entry, since))


def _changed_behind_links(top: Path, since: float, budget: Iterable[int]) -> Iterator[str]:
    """Yield the changed files outside of a repository to which its links lead."""
    waiting = [top]
    while waiting:
        for entry in _entries(waiting.pop(), budget):
            if entry.is_dir(follow_symlinks=False):
                waiting += [Path(entry.path)] if entry.name not in tool_folders() else []
            elif entry.is_symlink() and not (target := Path(entry.path).resolve()).is_relative_to(top):
                files = target.rglob("*") if target.is_dir() else (target,)
                seen = (file for file, _ in zip(files, budget, strict=False) if file.is_file())
                yield from (str(file) for file in seen if _changed_since(file, since))


def _entries(place: Path, budget: Iterable[int]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as found:
            return [entry for entry, _ in zip(found, budget, strict=False)]
    except OSError:
        return []


def _entry_changed(entry: os.DirEntry[str], since: float) -> bool:
    """Whether it changed; the change time of a file with several names moves when it gets another name."""
    try:
        about = entry.stat()
    except OSError:
        return False
    return (about.st_mtime if about.st_nlink > 1 else about.st_ctime) >= since
