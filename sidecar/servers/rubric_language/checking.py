"""Finds the flaws of a rubric while it is written, with their positions in the text.

The text is read by the judge's own reader (sidecar/rubric/outline.py); sidecar/rubric/advice adds advice. The
location makes a file a rubric, never its name alone: elsewhere a `rubric.md` may grade essays, and reporting
flaws in it would send an agent to fix what is not broken.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.approvals import TrustFile
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.tree.work_tree import find_work_tree
from sidecar.judging.rules.every import STOP_RULES
from sidecar.kernel.rubric import Flaw, RubricContext, RubricOutline
from sidecar.platform.data import load_data
from sidecar.platform.environments import tool_folders
from sidecar.platform.git import UnseenError
from sidecar.rubric import reader
from sidecar.rubric.advice.advise import advise_on, mending_fixes
from sidecar.rubric.advice.lines import AdviceWording
from sidecar.rubric.outline import parse_outline
from sidecar.rubric.reader import RejectedRubricError, RubricPlace, resolve_place, rubric_places

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


RUBRIC_FILE_NAME: Final = "rubric.md"
FIRST_LINE: Final = re.compile(r"[^\r\n]*")


class RubricCheck:
    """Checks files that can take effect as rubrics.

    `default` is the packaged rubric.md, `own` the environment, `state` Supervisor's state folder, without
    which nothing is known about projects.
    """

    def __init__(self, default: Path, own: Environment, state: Path | None = None) -> None:
        self._default = default
        self._own = own
        self._state = state
        self._around: dict[str, RubricContext] = {}
        self._places: dict[str, RubricPlace | None] = {}
        self._wording = load_data("rubric_advice", AdviceWording)

    def flaws(self, path: str, text: str) -> tuple[Flaw, ...] | None:
        """Return all flaws, those that make the reader fail first; None if the file is not a rubric.

        `text` is the editor's content, saved or not. The file is checked as well for what a text cannot show:
        that it is not UTF-8 or cannot be read. Never raises.
        """
        place = self._place(path)
        if place is None:
            return None
        of_file = () if _too_big_flaw(text) else _file_flaws(place, text)
        return (*of_file, *self.text_flaws(text, self.around(path)))

    def text_flaws(self, text: str, around: RubricContext) -> tuple[Flaw, ...]:
        """Return all flaws of a text, independent of where it will be saved."""
        if flaw := _too_big_flaw(text):
            return (flaw,)
        outline = parse_outline(_replace_unencodable(text))
        return (*self._section_flaws(outline), *advise_on(outline, self._wording, around))

    def outline(self, path: str, text: str) -> RubricOutline | None:
        """Return the parsed rubric; None for a text that is too big, and if the file is not a rubric."""
        if self._place(path) is None or _too_big_flaw(text):
            return None
        return parse_outline(_replace_unencodable(text))

    def is_rubric(self, path: str) -> bool:
        """Return whether this file can take effect."""
        return self._place(path) is not None

    def around(self, path: str) -> RubricContext:
        """Return what the rubric at `path` can refer to, as far as it is known; see `refresh`."""
        return self._around.get(self._project(path), ANY_PROJECT)

    def refresh(self, path: str) -> bool:
        """Read the rubric's project; return whether something changed. Takes some tenths of a second."""
        project = self._project(path)
        if not project or self._state is None:
            return False
        seen = asyncio.run(find_surroundings(project, self._own, self._state))
        before, self._around[project] = self._around.get(project), seen
        return seen != before

    def _project(self, path: str) -> str:
        """Return the project whose own rubric is at `path`; "" for other files and for the user's rubric."""
        place = self._place(path)
        return str(place.within) if place is not None and place.within is not None else ""

    def _section_flaws(self, outline: RubricOutline) -> Iterator[Flaw]:
        """Yield the flaws of required sections. A missing section is reported on the first line."""
        for missing in reader.missing_sections(outline.text):
            fixes = tuple(mending_fixes(outline, missing.section, self._wording))
            if missing.place is None:
                yield replace(_first_line_flaw("missing-section", missing.why, outline.text), fixes=fixes)
            else:
                place = missing.place
                yield Flaw("empty-section", missing.why, place.begin, place.end, fixes=fixes)

    def _place(self, path: str) -> RubricPlace | None:
        """Return where this file can take effect; cached, as it is needed at every keystroke."""
        if path not in self._places:
            file = Path(path)
            named = file.name == RUBRIC_FILE_NAME
            known = rubric_places(str(file.parent.parent), self._own, self._default) if named else ()
            same = (each for each in known if _resolve_or_same(each.path) == _resolve_or_same(file))
            self._places[path] = next(same, None)
        return self._places[path]


def _resolve_or_same(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def _too_big_flaw(text: str) -> Flaw | None:
    limit = reader.RUBRIC_LIMIT
    size = len(text.encode("utf-8", "replace"))
    if size <= limit:
        return None
    fits = text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return Flaw("too-big", f"{size} bytes, more than {limit}", len(fits), len(text))


def _replace_unencodable(text: str) -> str:
    """Return the text as a UTF-8 file could contain it."""
    return text.encode("utf-8", "replace").decode()


def _file_flaws(place: RubricPlace, text: str) -> tuple[Flaw, ...]:
    """Return the flaws of the file itself, except its size, which is checked on the text."""
    try:
        path = resolve_place(place)
        if path.is_file() and path.stat().st_size > reader.RUBRIC_LIMIT:
            return ()
        reader.read_rubric_text(path)
    except FileNotFoundError:
        return ()  # not saved yet, or gone
    except (RejectedRubricError, OSError) as error:
        return (_first_line_flaw("unusable", str(error), text),)
    return ()


def _first_line_flaw(code: str, why: str, text: str) -> Flaw:
    found = FIRST_LINE.match(text)
    return Flaw(code, why, 0, found.end() if found else 0)


# --- what a project's rubric can refer to: the project's gates, the rules, and its files --------------------


PATHS_LIMIT: Final = 20_000
"""Maximum number of files of a project that are listed."""
ANY_PROJECT: Final = RubricContext(rules=tuple(rule.id for rule in STOP_RULES))
"""What is the same in every project."""


async def find_surroundings(project: str, environment: Environment, state: Path) -> RubricContext:
    """Return what a project contains. `state` is the folder with the user's approvals. Never raises."""
    try:
        catalog = await ProjectCatalog(environment, TrustFile(state), detect_gates).list(project, environment)
        paths = await _list_project_paths(project, environment)
    except (OSError, ValueError, UnseenError):
        return ANY_PROJECT
    return replace(
        ANY_PROJECT,
        gates=tuple(gate.id for gate in catalog.gates),
        paths=paths[:PATHS_LIMIT],
        more=len(paths) > PATHS_LIMIT,
    )


async def _list_project_paths(project: str, environment: Environment) -> tuple[str, ...]:
    """Return up to PATHS_LIMIT + 1 files that are not ignored; without git all except in tool folders."""
    found = await find_work_tree(project, environment)
    if found is None or found.index is None:
        return tuple(_walk_files(Path(project)))
    listed = await found.git.names("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    inside = "" if found.inside == "." else f"{found.inside}/"
    return tuple(path.removeprefix(inside) for path in listed if path.startswith(inside))[: PATHS_LIMIT + 1]


def _walk_files(project: Path) -> Iterator[str]:
    room = PATHS_LIMIT + 1
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(name for name in folders if name not in tool_folders())
        for name in sorted(files[:room]):
            yield str((Path(folder) / name).relative_to(project))
        room -= len(files[:room])
        if not room:
            return
