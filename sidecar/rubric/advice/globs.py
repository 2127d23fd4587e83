"""Globs that mean no file. Whether one fits is asked of what asks it at a stop (sidecar/judging/case.py).

To try a glob on each of 10,000 paths costs milliseconds, so what came out is remembered, and for one text no
more is tried than WORK: what is left over is not spoken of.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from sidecar.kernel.rubric import (
    CriterionKey,
    CriterionLine,
    Flaw,
    QuickFix,
    RubricContext,
    TextSpan,
)
from sidecar.rubric.advice.edits import Code, fix, hint, warn
from sidecar.rubric.advice.passage import Place
from sidecar.rubric.globs import BRACES_LIMIT, PARTS_LIMIT, glob_matches_path

UNSEEN: Final = (".git", ".hg", ".svn")
"""Folders whose files are never among the changed ones."""
WORK: Final = 40_000
"""Paths that are compared with globs for one text at the most, beside those that are remembered."""
REMEMBERED: Final = 1_000
"""Globs of a project whose answer is remembered."""
FOLDERS: Final = 2_000
"""Folders of a project of which one can be offered for a name that is none."""
ALONE: Final = "has no other half, so it is a letter like others"
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
            plain = [] if set(glob) & set("[]{}") else re.split(r"[*?/]+", glob.strip().removeprefix("./"))
            absent = any(chunk not in self._text for chunk in plain)  # what each path has that it means
            self.work += 0 if absent else len(self._paths)
            if self.work > WORK:
                return None
            if len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[glob] = not absent and any(glob_matches_path(glob, path) for path in self._paths)
        return self._known[glob]


@lru_cache(maxsize=4)
def _paths(paths: tuple[str, ...]) -> Paths:
    return Paths(paths)


def strange(places: Iterable[Place], around: RubricContext) -> Iterator[Flaw]:
    """Each glob that can mean nothing, and each that means none of the project's files."""
    paths = _paths(around.paths) if around.paths is not None and not around.more else None
    if paths is not None:
        paths.work = 0
    for place in places:
        globs = place.located.criterion.applies_to
        for line in place.located.lines:
            if line.key is CriterionKey.APPLIES_TO:
                yield from _invalid(line, globs, paths)
                yield from _nowhere(line, globs, paths) if paths else ()


# --- globs that mean nothing --------------------------------------------------------------------------------


def _invalid(line: CriterionLine, globs: tuple[str, ...], paths: Paths | None) -> Iterator[Flaw]:
    for part, glob in zip(line.parts, globs, strict=False):
        bare = glob.removeprefix("!")
        if fault := _fault(bare):
            why, better = fault
            known = better and (paths is None or paths.meets(better) is not False)
            better = f"{glob.removesuffix(bare)}{better}"
            yield warn(Code.GLOB_INVALID, why, part, "", *([_write(part, better)] if known else []))


def _write(part: TextSpan, better: str) -> QuickFix:
    return fix(f"Write `{better}`", part, better)


def _fault(glob: str) -> tuple[str, str] | None:
    """Why a glob can mean nothing, and what may be meant; "" where that is not clear."""
    parts, opened = glob.removeprefix("./").lstrip("/").split("/"), glob.count("{") - glob.count("}")
    choices = math.prod(group.count(",") + 1 for group in re.findall(r"\{([^{}]*)\}", glob))
    faults = (
        (not glob.strip("/."), "this names no file", ""),
        (parts[0] in UNSEEN, "files of the version control itself are never among the changed ones", ""),
        ("\\" in glob, "folders are parted with `/`", glob.replace("\\", "/")),
        (re.match(r"~|[A-Za-z]:/|[a-z]+://", glob), "nothing outside the project is ever meant", ""),
        (".." in parts, "nothing above the project is ever meant", "/".join(p for p in parts if p != "..")),
        (opened, f"a brace {ALONE}", f"{glob}}}" if opened == 1 and "," in glob else ""),
        (glob.count("[") > glob.count("]"), f"a bracket {ALONE}", ""),
        (
            len(parts) > PARTS_LIMIT + 1 or choices > BRACES_LIMIT,
            "it has too many parts to be understood, and is taken as any file",
            "",
        ),
    )
    return next(((why, better) for holds, why, better in faults if holds), None)


# --- globs that mean no file here ---------------------------------------------------------------------------


def _nowhere(line: CriterionLine, globs: tuple[str, ...], paths: Paths) -> Iterator[Flaw]:
    missed = {
        glob for glob in globs if not _fault(bare := glob.removeprefix("!")) and paths.meets(bare) is False
    }
    wanted = [glob for glob in globs if not glob.startswith("!")]
    never = bool(wanted) and missed.issuperset(wanted)
    kept = ", ".join(f"`{glob}`" for glob in globs if glob not in missed)
    why = "it means no file of the project" + (", so the criterion applies to nothing yet" if never else "")
    for part, glob in zip(line.parts, globs, strict=False):
        if glob in missed:
            fixes = [_write(part, near) for near in _near(glob, paths)]
            slip = never and fixes  # else the files may be yet to come
            if kept and not never:
                fixes.append(fix(f"Leave {kept}", line.value, kept))
            tell = warn if slip else hint
            yield tell(Code.GLOB_MATCHES_NOTHING, why, part, "", *fixes)


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
