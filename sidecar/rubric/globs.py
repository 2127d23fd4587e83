"""Selects the criteria that apply: matches their globs (`Applies to: src/**/*.py`) with the changed paths."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.rubric import Criterion, Rubric

PATHS_LIMIT: Final = 2_000
"""Changed files above which every criterion applies, because so many files match most globs."""
GLOB_LIMIT: Final = 300
"""Characters of a glob.

A longer one, and one of more than 30 parts, is not evaluated: it matches every path.
"""
PARTS_LIMIT: Final = 30
BRACES_LIMIT: Final = 64
"""Globs to which one with braces may expand."""

GlobParts = tuple[str, ...]


def applicable_rubric(rubric: Rubric, changed: tuple[str, ...] | None) -> Rubric:
    """Return the rubric with only those criteria that apply to the changed files.

    `changed` is None if it is not known which files changed: then all apply.
    """
    if changed is None or len(changed) > PATHS_LIMIT:
        return rubric
    paths = tuple(tuple(path.split("/")) for path in changed)
    return replace(
        rubric,
        patterns=_applicable_criteria(rubric.patterns, paths),
        antipatterns=_applicable_criteria(rubric.antipatterns, paths),
        legitimate=_applicable_criteria(rubric.legitimate, paths),
    )


def glob_matches_path(glob: str, path: str) -> bool:
    """Return whether a glob matches this path of a project, by the rules of .gitignore.

    `*` and `?` stop at `/`, `**` does not. A glob without a `/` before its end matches a name at any depth;
    any other is anchored. A folder matches all that is in it. `{a,b}` works as in shells.
    """
    return any(_glob_parts_match(parts, tuple(path.split("/"))) for parts in _expand_glob(glob))


def _applicable_criteria(
    criteria: tuple[Criterion, ...], paths: tuple[GlobParts, ...]
) -> tuple[Criterion, ...]:
    return tuple(one for one in criteria if not one.applies_to or _globs_select_any(one.applies_to, paths))


def _globs_select_any(globs: tuple[str, ...], paths: tuple[GlobParts, ...]) -> bool:
    """Return whether a file is selected and not excluded again by a later glob with `!`."""
    return any(_globs_select_path(globs, path) for path in paths)


def _globs_select_path(globs: tuple[str, ...], path: GlobParts) -> bool:
    meant = all(glob.startswith("!") for glob in globs)
    for glob in globs:
        if any(_glob_parts_match(parts, path) for parts in _expand_glob(glob.removeprefix("!"))):
            meant = not glob.startswith("!")
    return meant


@lru_cache(maxsize=512)
def _expand_glob(glob: str) -> tuple[GlobParts, ...]:
    """Expand a glob and split the results into parts; `**` precedes one that matches at any depth."""
    if len(glob) > GLOB_LIMIT:
        return (("**",),)
    return tuple(_split_glob(one) for one in _expand_braces(glob.strip()))


def _split_glob(glob: str) -> GlobParts:
    anchored = "/" in glob.rstrip("/")
    parts = [part for part in glob.removeprefix("./").split("/") if part]
    if len(parts) > PARTS_LIMIT:
        return ("**",)
    return tuple(parts) if anchored else ("**", *parts)


def _expand_braces(glob: str) -> tuple[str, ...]:
    """Return every choice of `{a,b}`, in order; inner braces are expanded first."""
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) + len(waiting) <= BRACES_LIMIT:
        one = waiting.pop(0)
        end = one.find("}")
        start = one.rfind("{", 0, end) if end >= 0 else -1
        if start < 0 or "," not in one[start:end]:
            done.append(one)
            continue
        waiting += [one[:start] + choice + one[end + 1 :] for choice in one[start + 1 : end].split(",")]
    return (*done, *waiting)


def _glob_parts_match(glob: GlobParts, path: GlobParts) -> bool:
    """Return whether the parts of a glob match a path or a folder above it."""
    reached = {0}  # how many parts of the path may be matched so far
    for part in glob:
        if part == "**" and reached:
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(path) and fnmatchcase(path[at], part)}
    return any(reached)
