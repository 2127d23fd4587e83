"""The rubric in force: which file it comes from, what in its Markdown is a criterion, and whose edit counts.

A file serves as a whole or not at all. One that cannot is never silent: its path and the reason stand in
`Rubric.rejected`, and the next one by precedence serves. What the agent itself may have written is held until
the user accepts it (law 9, see sidecar/policy/rubrics.py); without a state folder every edit counts at once.
"""

from __future__ import annotations

import errno
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from sidecar.adapters.files import UnfitError, read_whole, stamp
from sidecar.adapters.rubrics.holding import Found, Holding
from sidecar.adapters.rubrics.markdown import sections
from sidecar.adapters.rubrics.outlines import outline
from sidecar.adapters.rubrics.places import Place, RejectedError, places, resolved
from sidecar.adapters.rubrics.starting import begin
from sidecar.model.outline import REQUIRED, Outline, Role, Section, Span
from sidecar.model.rubric import Criterion, Rubric
from sidecar.policy.rubric_words import started
from sidecar.policy.rubrics import OF_PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.policy.rubrics import Text
    from sidecar.ports import Environment, Writes

RUBRIC_LIMIT: Final = 8 * 1024
"""Bytes of a rubric: it goes to the judge at every stop."""
CACHED: Final = 64
"""Files whose content is remembered."""
READS: Final = 3
"""How often a file is read that is being written meanwhile."""
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
"""Where even the packaged file is broken: names that speak for themselves, and no more than that."""

__all__ = ["LAST_RESORT", "RUBRIC_LIMIT", "RubricFiles", "lacks", "parsed", "read", "sections"]


class RubricFiles:
    """The Rubrics of project, user and package. `default` is the packaged rubric.md.

    `own` tells where the user's is when a caller speaks for no session, and so has no environment. `state` is
    the folder in which is kept what is in force; without one every edit counts at once.
    """

    def __init__(self, default: Path, own: Environment | None = None, state: Path | None = None) -> None:
        self._default = default
        self._own = own or {}
        self._holding = Holding(state, _again) if state is not None else None
        self._read: dict[Path, tuple[tuple[int, ...], str | RejectedError]] = {}

    def load(self, project: str, environment: Environment, writes: Writes | None = None) -> Rubric:
        serving = self._serving(project, environment)
        if self._holding is None or not Path(project).is_absolute():
            return next(serving).rubric
        return self._holding.look(project, self._order(project, environment), serving, writes)

    def accept(self, project: str, environment: Environment, digest: str = "") -> str:
        """See ports.Rubrics. Raises BadInputError where `digest` is given and what is held has another."""
        if self._holding is None:
            return "nothing is held"
        return self._holding.accept(project, self._order(project, environment), digest)

    def begin(self, project: str) -> tuple[str, bool]:
        for place in places(project, {}, self._default):
            if place.within is not None and os.path.lexists(place.path):
                return str(place.path), False
        if not Path(project).is_absolute():
            raise NotADirectoryError(errno.ENOTDIR, "no folder of a project", project)
        own = Path(project, *OF_PROJECT[0].split("/"))
        begin(own, started(self._default.read_text(encoding="utf-8"), own.parents[1].name))
        return str(own), True

    def texts(self, project: str) -> tuple[str, str] | None:
        """The text in force and the one that is held, None where nothing is held."""
        return self._holding.texts(project) if self._holding is not None else None

    def _order(self, project: str, environment: Environment) -> tuple[str, ...]:
        return tuple(str(place.path) for place in places(project, environment or self._own, self._default))

    def _serving(self, project: str, environment: Environment) -> Iterator[Found]:
        """What can serve, the first by precedence first; the last resort after all."""
        rejected: list[str] = []
        for place in places(project, environment or self._own, self._default):
            try:
                text = self._text(place)
                rubric = parsed(text)
            except FileNotFoundError:
                if place.path == self._default:
                    rejected.append(f"{place.path}: the packaged rubric is missing; install Supervisor again")
            except (RejectedError, OSError) as error:
                rejected.append(f"{place.path}: {error}")
            else:
                yield Found(replace(rubric, origin=str(place.path), rejected=tuple(rejected)), text)
        yield Found(replace(LAST_RESORT, rejected=tuple(rejected)), "")

    def _text(self, place: Place) -> str:
        """Raises FileNotFoundError where there is nothing, else RejectedError and OSError."""
        path = resolved(place)
        now = stamp(path)
        known, found = self._read.pop(path, ((), ""))
        for _ in range(READS):
            if known == now:
                break
            known, found = now, read(path)
            now = stamp(path)
        self._read[path] = (known, found)
        if len(self._read) > CACHED:
            del self._read[next(iter(self._read))]
        if isinstance(found, RejectedError):
            raise RejectedError(str(found))
        return found


# --- texts --------------------------------------------------------------------------------------------------


def read(path: Path) -> str | RejectedError:
    """The text of a rubric file, or why it cannot be one. Raises OSError."""
    try:
        return read_whole(path, RUBRIC_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return RejectedError(f"not UTF-8 at byte {error.start}", error.object[: error.start].decode())
    except UnfitError as unfit:
        return RejectedError(str(unfit))


def _again(text: Text) -> Rubric | None:
    """The rubric of a text that was kept, None where it cannot serve any more."""
    try:
        rubric = parsed(text.text) if text.text else LAST_RESORT
    except RejectedError:
        return None
    return replace(rubric, origin=text.origin)


class Lack(NamedTuple):
    """A required section that is not there, or holds no criterion; `place` is where its heading is."""

    section: str
    place: Span | None = None

    @property
    def why(self) -> str:
        if self.place is None:
            return f"the section `## {self.section}` is missing"
        return f"the section `## {self.section}` has no criterion: no `###` heading and no list item"


def lacks(text: str) -> tuple[Lack, ...]:
    """All that a Markdown text lacks to be a rubric; for the first of it `parsed` rejects the text."""
    found = outline(text).sections
    return tuple(
        Lack(role.value, next((_heading(each) for each in found if each.role is role), None))
        for role in REQUIRED
        if not any(each.criteria for each in found if each.role is role)
    )


def _heading(section: Section) -> Span:
    return Span(section.whole.begin, section.title.end)


@lru_cache(maxsize=CACHED)
def parsed(text: str) -> Rubric:
    """The rubric that a Markdown text is, without an origin; raises RejectedError."""
    if missing := lacks(text):
        raise RejectedError(missing[0].why)
    found = outline(text)
    patterns, antipatterns, legitimate = (tuple(_of(found, role)) for role in Role)
    return Rubric(patterns=patterns, antipatterns=antipatterns, legitimate=legitimate, origin="")


def _of(found: Outline, role: Role) -> Iterator[Criterion]:
    for section in found.sections:
        if section.role is role:
            yield from (one.criterion for one in section.criteria)
