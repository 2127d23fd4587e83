"""Globs that mean no file. Whether one fits is asked of what asks it at a stop (sidecar/judging/case.py).

To try a glob on each of 10,000 paths costs milliseconds, so what came out is remembered, and for one text no
more is tried than WORK: what is left over is not spoken of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from sidecar.kernel.rubric import (
    CriterionKey,
    CriterionLine,
    Flaw,
    FlawSeverity,
    QuickFix,
    RubricContext,
    TextEdit,
)
from sidecar.rubric.advice.decidable import unseen
from sidecar.rubric.advice.edits import Code
from sidecar.rubric.advice.passage import Place
from sidecar.rubric.globs import BRACES_LIMIT, PARTS_LIMIT, glob_matches_path

WORK: Final = 40_000
"""Paths that are compared with globs for one text at the most, beside those that are remembered."""
REMEMBERED: Final = 1_000
"""Globs of a project whose answer is remembered."""
FOLDERS: Final = 2_000
"""Folders of a project of which one can be offered for a name that is none."""
NEAR: Final = 0.75
"""How alike two names are that one is offered for the other, as difflib measures."""


class Paths:
    """The files of a project, and which globs mean one of them. `work`: paths compared since it was 0."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths
        self._text = "\n".join(paths)
        self._known: dict[str, bool] = {}
        self.work = 0
        named = {part for path in paths for part in path.split("/")[:-1]}
        self.folders = tuple(sorted(named))[:FOLDERS]

    def meets(self, glob: str) -> bool | None:
        """Whether a glob means one of the files, None where that is not known."""
        if glob not in self._known:
            absent = any(chunk not in self._text for chunk in _plain(glob))
            if not absent:
                self.work += len(self._paths)
                if self.work > WORK:
                    return None
            if len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[glob] = not absent and any(glob_matches_path(glob, path) for path in self._paths)
        return self._known[glob]


def _plain(glob: str) -> list[str]:
    """What of a glob stands in every path that it means, as it is."""
    if set(glob) & set("[]{}"):
        return []
    return [chunk for chunk in re.split(r"[*?/]+", glob.strip().removeprefix("./")) if chunk]


@lru_cache(maxsize=4)
def _paths(paths: tuple[str, ...]) -> Paths:
    return Paths(paths)


def strange(places: Iterable[Place], around: RubricContext) -> Iterator[Flaw]:
    """Each glob that can mean nothing, and each that means none of the project's files."""
    paths = _paths(around.paths) if around.paths is not None and not around.more else None
    if paths is not None:
        paths.work = 0
    for place in places:
        for line in place.located.lines:
            if line.key is CriterionKey.APPLIES_TO:
                globs = place.located.criterion.applies_to
                yield from _invalid(line, globs, paths)
                if paths is not None:
                    yield from _nowhere(line, globs, paths)


# --- globs that mean nothing --------------------------------------------------------------------------------


def _invalid(line: CriterionLine, globs: tuple[str, ...], paths: Paths | None) -> Iterator[Flaw]:
    for part, glob in zip(line.parts, globs, strict=False):
        if fault := _fault(glob):
            why, better = fault
            if paths is not None and paths.meets(better.removeprefix("!")) is False:
                better = ""
            fixes = (QuickFix(f"Write `{better}`", (TextEdit(part, better),)),) if better else ()
            yield Flaw(Code.GLOB_INVALID, why, part.begin, part.end, FlawSeverity.WARNING, "", fixes)


@lru_cache(maxsize=REMEMBERED)
def _fault(glob: str) -> tuple[str, str] | None:
    """Why a glob can mean nothing, and what may be meant; "" where that is not clear."""
    bare = glob.removeprefix("!")
    fault = _outside(bare) or _unclosed(bare)
    if fault is None and (bare.count("/") > PARTS_LIMIT or _choices(bare) > BRACES_LIMIT):
        return "it has too many parts to be understood, and is taken as any file", ""
    if fault is None or bare == glob or not fault[1]:
        return fault
    return fault[0], f"!{fault[1]}"


def _outside(glob: str) -> tuple[str, str] | None:
    if not glob.strip("/."):
        return "this names no file", ""
    if "\\" in glob:
        return "folders are parted with `/`", glob.replace("\\", "/")
    if glob.startswith("~") or re.match(r"[A-Za-z]:/|[a-z]+://", glob):
        return "globs are of the project: nothing outside it is ever meant", ""
    if ".." in glob.split("/"):
        kept = "/".join(part for part in glob.split("/") if part != "..")
        return "globs are of the project: nothing above it is ever meant", kept
    return None


def _unclosed(glob: str) -> tuple[str, str] | None:
    if glob.count("{") != glob.count("}"):
        closed = f"{glob}}}" if glob.count("{") == glob.count("}") + 1 and "," in glob else ""
        return "a brace has no other half, so it is a letter like others", closed
    if glob.count("[") > glob.count("]"):
        return "a bracket has no other half, so it is a letter like others", ""
    return None


def _choices(glob: str) -> int:
    """How many globs one with braces stands for."""
    found = 1
    for group in re.findall(r"\{([^{}]*)\}", glob):
        found *= group.count(",") + 1
    return found


# --- globs that mean no file here ---------------------------------------------------------------------------


def _nowhere(line: CriterionLine, globs: tuple[str, ...], paths: Paths) -> Iterator[Flaw]:
    missed = {
        glob
        for glob in globs
        if not _fault(glob) and not unseen(glob) and paths.meets(glob.removeprefix("!")) is False
    }
    never = all(glob in missed for glob in globs if not glob.startswith("!"))
    never = never and not all(glob.startswith("!") for glob in globs)
    kept = ", ".join(f"`{glob}`" for glob in globs if glob not in missed)
    for part, glob in zip(line.parts, globs, strict=False):
        if glob not in missed:
            continue
        fixes = [QuickFix(f"Write `{near}`", (TextEdit(part, near),)) for near in _near(glob, paths)]
        slip = never and bool(fixes)
        if kept and not never:
            fixes.append(QuickFix(f"Leave {kept}", (TextEdit(line.value, kept),)))
        yield Flaw(
            Code.GLOB_MATCHES_NOTHING,
            "it means no file of the project"
            + (", so the criterion applies to nothing yet" if never else ""),
            part.begin,
            part.end,
            FlawSeverity.WARNING if slip else FlawSeverity.HINT,  # else the files may be yet to come
            "",
            tuple(fixes),
        )


def _near(glob: str, paths: Paths) -> Iterator[str]:
    """The same glob with a folder that there is, if it means a file then."""
    parts = glob.split("/")
    for number, part in enumerate(parts[:-1][:PARTS_LIMIT]):
        if part in paths.folders or set(part) & set("*?[{!"):
            continue
        for folder in get_close_matches(part[:100], paths.folders, 2, NEAR):
            better = "/".join([*parts[:number], folder, *parts[number + 1 :]])
            if paths.meets(better):
                yield better
        return
