"""Loads the rubric in force: which file it comes from, what its criteria are, and whose edits count.

A file serves as a whole or not at all. A file that cannot serve is never ignored silently: its path and the
reason are listed in `Rubric.rejected`, and the next one by precedence serves. What the agent itself may have
written is held until the user accepts it (law 9, see sidecar/rubric/policy.py); without a state folder every
edit counts at once.
"""

from __future__ import annotations

import errno
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from sidecar.kernel.rubric import (
    REQUIRED_SECTIONS,
    ConfigurationContents,
    Criterion,
    Rubric,
    RubricOutline,
    RubricSection,
    SectionRole,
    TextSpan,
)
from sidecar.platform.configuration import (
    ConfigurationFile,
    GateFileSettings,
    read_project_gates,
    user_config_folder,
)
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.state import Incidents
from sidecar.platform.steering import PROJECT_CONFIGURATION
from sidecar.rubric.files import (
    RejectedRubricError,
    create_rubric_file,
    is_being_written,
    resolve_place,
    rubric_places,
)
from sidecar.rubric.held_edits import RubricEditGuard, ServingRubric
from sidecar.rubric.policy import NOTHING_HELD, PROJECT_RUBRIC_PATHS, new_rubric_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sidecar.kernel.rubric import AgentWrites, EditedText
    from sidecar.kernel.session import Environment


RUBRIC_LIMIT: Final = 8 * 1024
"""Bytes of a rubric, which is sent to the judge at every stop."""
CACHED: Final = 64
"""Texts whose rubric is cached."""
LAST_RESORT: Final = Rubric(
    patterns=tuple(
        Criterion(name, "", name.lower()) for name in ("DONE-AS-ASKED", "CHECKED-AFTER-LAST-EDIT", "WIRED-IN")
    ),
    antipatterns=tuple(
        Criterion(name, "", name.lower())
        for name in ("PERMISSION-SEEKING", "STOPPED-WITH-TODOS", "FALSE-COMPLETE")
    ),
    origin="built in: names only",
)
"""Serves if even the packaged file is broken: names that speak for themselves, and nothing more."""


class RubricFiles:
    """Implements ports.RubricStore for the rubrics of project, user and package.

    `default` is the packaged rubric.md. `own` locates the user's rubric for a caller without a session, and
    so without an environment. `state` is the folder that stores what is in force; without one, every edit
    counts at once.
    """

    def __init__(
        self,
        default: Path,
        own: Environment | None = None,
        state: Path | None = None,
        incidents: Incidents | None = None,
    ) -> None:
        self._default = default
        self._own = own or {}
        self._holding = RubricEditGuard(state, _parse_kept_text, incidents) if state is not None else None

    def load(self, project: str, environment: Environment, writes: AgentWrites | None = None) -> Rubric:
        serving = self._serving(project, environment)
        if self._holding is None or not Path(project).is_absolute():
            return next(serving).rubric
        return self._holding.look(project, self._order(project, environment), serving, writes)

    def accept(self, project: str, environment: Environment) -> str:
        if self._holding is None:
            return NOTHING_HELD
        return self._holding.accept(project, self._order(project, environment))

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
        return str(own), True

    def _order(self, project: str, environment: Environment) -> tuple[str, ...]:
        return tuple(
            str(place.path) for place in rubric_places(project, environment or self._own, self._default)
        )

    def _serving(self, project: str, environment: Environment) -> Iterator[ServingRubric]:
        """Yield the rubrics that can serve, by precedence; the last resort comes last."""
        rejected: dict[str, str] = {}
        for place in rubric_places(project, environment or self._own, self._default):
            try:
                text = read_rubric_text(resolve_place(place))
                rubric = parse_rubric(text)
            except FileNotFoundError:
                if place.path == self._default:
                    rejected[str(place.path)] = "the packaged rubric is missing; install Supervisor again"
            except (RejectedRubricError, OSError) as error:
                rejected[str(place.path)] = str(error)
            else:
                yield _serving_rubric(replace(rubric, origin=str(place.path)), text, rejected)
        yield _serving_rubric(LAST_RESORT, "", rejected)


def _serving_rubric(rubric: Rubric, text: str, rejected: Mapping[str, str]) -> ServingRubric:
    """`rejected` says, per path, why a file was passed over."""
    lines = tuple(f"{path}: {why}" for path, why in rejected.items())
    return ServingRubric(replace(rubric, rejected=lines), text, tuple(rejected))


# --- Texts --------------------------------------------------------------------------------------------------


def read_rubric_text(path: Path) -> str:
    """Return the text of a rubric file. Raises RejectedRubricError, OSError."""
    try:
        return read_whole(path, RUBRIC_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RejectedRubricError(f"not UTF-8 at byte {error.start}") from error
    except UnusableFileError as unfit:
        raise RejectedRubricError(str(unfit)) from unfit


def _parse_kept_text(text: EditedText) -> Rubric | None:
    """Return the rubric of a stored text, None if it can no longer serve."""
    try:
        rubric = parse_rubric(text.text) if text.text else LAST_RESORT
    except RejectedRubricError:
        return None
    return replace(rubric, origin=text.origin)


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
        MissingSection(role, next((_heading_span(each) for each in found if each.role is role), None))
        for role in REQUIRED_SECTIONS
        if not any(each.criteria for each in found if each.role is role)
    )


def _heading_span(section: RubricSection) -> TextSpan:
    return TextSpan(section.whole.begin, section.title.end)


@lru_cache(maxsize=CACHED)
def parse_rubric(text: str) -> Rubric:
    """Parse a Markdown text into a rubric without an origin. Raises RejectedRubricError."""
    if missing := missing_sections(text):
        raise RejectedRubricError(missing[0].why)
    from sidecar.rubric.outline import parse_outline  # noqa: PLC0415 - not at start

    found = parse_outline(text)
    patterns, antipatterns, legitimate = (tuple(_criteria_of_role(found, role)) for role in SectionRole)
    return Rubric(patterns=patterns, antipatterns=antipatterns, legitimate=legitimate, origin="")


def _criteria_of_role(found: RubricOutline, role: SectionRole) -> Iterator[Criterion]:
    for section in found.sections:
        if section.role is role:
            yield from (one.criterion for one in section.criteria)


# --- The files by which people guide us: rubrics and configuration ------------------------------------------


VALUES: Final = 1000
"""Settings of one file that are compared."""


class GuideFiles:
    """Reads the present content of the files.

    `default` is the packaged rubric; `own` is the environment that locates the user's own folders.
    """

    def __init__(self, default: Path, own: Environment) -> None:
        self._default, self._own = default, own
        self._rubrics = RubricFiles(default, own)
        self._configuration = ConfigurationFile(own)

    def paths(self, project: str, environment: Environment) -> tuple[str, ...]:
        rubrics = [place.path for place in rubric_places(project, environment or self._own, self._default)]
        return tuple(
            map(str, (*rubrics, *filter(None, (self._users(), Path(project, PROJECT_CONFIGURATION)))))
        )

    def rubric(self, project: str, environment: Environment) -> Rubric | None:
        if any(
            is_being_written(place.path)
            for place in rubric_places(project, environment or self._own, self._default)
        ):
            return None
        return self._rubrics.load(project, environment)

    def settings(self, project: str) -> tuple[ConfigurationContents, ...]:
        own = _flatten_configuration(read_project_gates(project))
        if self._users() is None:
            return (own,)
        return (_flatten_configuration(self._configuration.read()[1]), own)

    def _users(self) -> Path | None:
        folder = user_config_folder(self._own)
        return folder / "config.toml" if folder else None


def _flatten_configuration(words: GateFileSettings) -> ConfigurationContents:
    values: dict[str, str] = {}
    tables: list[tuple[str, Any]] = [("", words.file.table)]
    while tables and len(values) < VALUES:
        name, value = tables.pop()
        if isinstance(value, dict):
            tables += [(f"{name}.{key}".lstrip("."), below) for key, below in value.items()]
        else:
            values[name] = repr(value)
    return ConfigurationContents(path=words.file.name, values=values, problems=words.problems)
