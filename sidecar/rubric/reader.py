"""Locates and creates rubric files, and loads the one in force: what its criteria are, whose edits count.

A file serves as a whole or not at all. A file that cannot serve is never ignored silently: its path and the
reason are listed in `Rubric.rejected`, and the next one by precedence serves. Of each file the text in force
is read (law 9, see sidecar/platform/held_edits.py).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from sidecar.kernel.rubric import (
    REQUIRED_SECTIONS,
    Criterion,
    Rubric,
    SectionRole,
    TextSpan,
)
from sidecar.platform.configuration import user_config_folder
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.paths import organisation_file
from sidecar.platform.steering import UNHELD, FilesInForce, SteeringKind
from sidecar.rubric.policy import PROJECT_RUBRIC_PATHS, new_rubric_text, summarize_rubric_changes

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment

RUBRIC_LIMIT: Final = 8 * 1024
"""Bytes of a rubric, which is sent to the judge at every stop."""
CACHED: Final = 64
"""Texts whose rubric is cached."""


def _bare_criteria(*names: str) -> tuple[Criterion, ...]:
    return tuple(Criterion(name, "", name.lower()) for name in names)


LAST_RESORT: Final = Rubric(
    patterns=_bare_criteria("DONE-AS-ASKED", "CHECKED-AFTER-LAST-EDIT", "WIRED-IN"),
    antipatterns=_bare_criteria("PERMISSION-SEEKING", "STOPPED-WITH-TODOS", "FALSE-COMPLETE"),
    origin="built in: names only",
)
"""Serves if even the packaged file is broken: names that speak for themselves, and nothing more."""
NO_CRITERIA: Final = Rubric(patterns=(), antipatterns=(), origin="")


# --- Where rubrics are --------------------------------------------------------------------------------------


class RejectedRubricError(ValueError):
    """A file that cannot serve, and why."""


class RubricPlace(NamedTuple):
    """A path at which a rubric may be.

    `within`: a project's file must not be a link that leads out of this folder.
    """

    path: Path
    within: Path | None = None


def rubric_places(project: str, environment: Environment, default: Path) -> Iterator[RubricPlace]:
    """Yield the places by precedence.

    They are the project's own, the one of our predecessor in the project, that of a team's organisation, the
    user's, OpenCode's, and the packaged rubric.
    """
    root = Path(project)
    if root.is_absolute():
        yield from (RubricPlace(root / name, root) for name in PROJECT_RUBRIC_PATHS)
    yield RubricPlace(organisation_file("rubric.md"))
    if folder := user_config_folder(environment):
        yield RubricPlace(folder / "rubric.md")
    home = Path(environment.get("HOME", ""))
    if home.is_absolute():
        yield RubricPlace(home / ".config" / "opencode" / "supervisor" / "rubric.md")
    yield RubricPlace(default)


def resolve_place(place: RubricPlace) -> Path:
    """Return the resolved path.

    Raises FileNotFoundError if there is nothing, else RejectedRubricError and OSError.
    """
    try:
        path = place.path.resolve(strict=True)
        within = place.within.resolve() if place.within else None
    except FileNotFoundError:
        if place.path.is_symlink():
            raise RejectedRubricError("a link that leads nowhere") from None
        raise
    except NotADirectoryError as error:
        raise FileNotFoundError(str(error)) from error
    except RuntimeError as error:  # an OSError since Python 3.13, which says the same
        raise RejectedRubricError("too many levels of symbolic links") from error
    except ValueError as error:
        raise RejectedRubricError(f"no possible path: {error}") from error
    if within and not path.is_relative_to(within):
        raise RejectedRubricError("a link that leads out of the project")
    return path


# --- Creating a rubric file: whole or not at all, and never over an existing one ----------------------------


def create_rubric_file(place: Path, text: str, *, force: bool = False) -> Path | None:
    """Create the file; return the path of the backup, if any.

    Raises FileExistsError if anything is there already, else OSError. `force`: what is there is first moved
    to the backup's path, replacing what is there.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f"{place.name}.bak") if force and os.path.lexists(place) else None
    if beside is not None:
        place.replace(beside)
    with place.open("x", encoding="utf-8", newline="") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            place.unlink()
            if beside is not None:
                beside.replace(place)
            raise
    return beside


# --- The rubric in force ------------------------------------------------------------------------------------


class RubricFiles:
    """Implements ports.RubricStore for the rubrics of project, user and package.

    `default` is the packaged rubric.md. `own` locates the user's rubric for a caller without a session, and
    so without an environment. `files` tells what is in force.
    """

    def __init__(self, default: Path, own: Environment | None = None, files: FilesInForce = UNHELD) -> None:
        self._default = default
        self._own = own or {}
        self._files = files

    def load(self, project: str, environment: Environment) -> Rubric:
        rejected: dict[str, str] = {}
        places = tuple(rubric_places(project, environment or self._own, self._default))
        names = {str(place.path) for place in places}
        held = next((edit for edit in self._files.held(project) if edit.path in names), None)
        for place in places:
            path = self._files.path_in_force(place.path)
            present, why = _parse_place(place)
            if why:
                rejected[str(place.path)] = why
            rubric = present if path == place.path else _parse_place(RubricPlace(path))[0]
            if rubric is not None:
                origin, broken = str(place.path), bool(why)
                break
        else:
            rejected.setdefault(
                str(self._default), "the packaged rubric is missing; install Supervisor again"
            )
            rubric, origin, broken = LAST_RESORT, LAST_RESORT.origin, False
        lines = tuple(f"{path}: {why}" for path, why in rejected.items())
        return replace(rubric, origin=origin, rejected=lines, held=held, broken=broken)

    def begin(self, project: str) -> tuple[str, bool]:
        for place in rubric_places(project, {}, self._default):
            if place.within is not None and os.path.lexists(place.path):
                return str(place.path), False
        if not Path(project).is_absolute():
            raise NotADirectoryError(errno.ENOTDIR, "no folder of a project", project)
        own = Path(project, *PROJECT_RUBRIC_PATHS[0].split("/"))
        create_rubric_file(
            own, new_rubric_text(self._default.read_text(encoding="utf-8"), own.parents[1].name)
        )
        self._files.vouch(own)
        return str(own), True


# --- What the guard of edits knows of rubrics ---------------------------------------------------------------


def rubric_kind() -> SteeringKind:
    """Return how a rubric's file steers: it must serve, and an edit of it is told by its criteria."""
    return SteeringKind(
        read=lambda path: _read_place(_place_of(path)),
        describe=_describe_edit,
        faults=lambda path: tuple(filter(None, [_parse_place(_place_of(path))[1]])),
        must_serve=True,
    )


def _place_of(path: Path) -> RubricPlace:
    """Return the place that a path is: one in a project's folder must not lead out of the project."""
    own = any(path.parts[-2:] == tuple(name.split("/")) for name in PROJECT_RUBRIC_PATHS)
    return RubricPlace(path, path.parents[1] if own else None)


def _describe_edit(before: str, now: str) -> str:
    was, would = _parse_or_none(before), _parse_or_none(now)
    return summarize_rubric_changes(was, would) if was and would else "it cannot be compared"


def _parse_or_none(text: str) -> Rubric | None:
    try:
        return parse_rubric(text) if text else NO_CRITERIA
    except RejectedRubricError:
        return None


def _parse_place(place: RubricPlace) -> tuple[Rubric | None, str]:
    """Return the rubric of the present file, or why it cannot serve; neither where there is no file."""
    try:
        return parse_rubric(_read_place(place)), ""
    except FileNotFoundError:
        return None, ""
    except (RejectedRubricError, OSError) as error:
        return None, str(error)


# --- Texts --------------------------------------------------------------------------------------------------


def read_rubric_text(path: Path) -> str:
    """Return the text of a rubric file. Raises RejectedRubricError, OSError."""
    try:
        return read_whole(path, RUBRIC_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RejectedRubricError(f"not UTF-8 at byte {error.start}") from error
    except UnusableFileError as unfit:
        raise RejectedRubricError(str(unfit)) from unfit


def _read_place(place: RubricPlace) -> str:
    return read_rubric_text(resolve_place(place))


class MissingSection(NamedTuple):
    """A required section that is missing or has no criterion.

    `place` is where its heading is, None if it is missing.
    """

    section: SectionRole
    place: TextSpan | None = None

    @property
    def why(self) -> str:
        if self.place is None:
            return f"the section `## {self.section}` is missing"
        return f"the section `## {self.section}` has no criterion: no `###` heading and no list item"


def missing_sections(text: str) -> tuple[MissingSection, ...]:
    """Return all that a Markdown text lacks to be a rubric.

    `parse_rubric` rejects the text for the first of these.
    """
    from sidecar.rubric.outline import parse_outline  # noqa: PLC0415 - not at start

    found = parse_outline(text).sections
    return tuple(
        MissingSection(role, next((TextSpan(one.whole.begin, one.title.end) for one in mine), None))
        for role in REQUIRED_SECTIONS
        for mine in ([each for each in found if each.role is role],)
        if not any(one.criteria for one in mine)
    )


@lru_cache(maxsize=CACHED)
def parse_rubric(text: str) -> Rubric:
    """Parse a Markdown text into a rubric without an origin. Raises RejectedRubricError."""
    if missing := missing_sections(text):
        raise RejectedRubricError(missing[0].why)
    from sidecar.rubric.outline import parse_outline  # noqa: PLC0415 - not at start

    found = parse_outline(text).sections
    patterns, antipatterns, legitimate = (
        tuple(one.criterion for section in found if section.role is role for one in section.criteria)
        for role in SectionRole
    )
    return Rubric(patterns=patterns, antipatterns=antipatterns, legitimate=legitimate, origin="")
