"""The files by which people guide us, as they are now: rubrics and configuration. Implements ports.Guides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sidecar.adapters.files import stamp
from sidecar.adapters.rubric import RubricFiles
from sidecar.adapters.rubrics.places import places
from sidecar.adapters.rubrics.settling import unsettled
from sidecar.adapters.settings.gate_words import PROJECT_FILE, GateWords, of_project
from sidecar.adapters.settings.user_file import ConfigurationFile, user_folder
from sidecar.model.saved import Configured

if TYPE_CHECKING:
    from sidecar.model.rubric import Rubric
    from sidecar.ports import Environment

VALUES: Final = 1000
"""Settings of one file that are compared."""
CACHED: Final = 64
"""Configuration files whose content is remembered."""


class GuideFiles:
    """`default` is the packaged rubric; `own` is the environment that names the user's own folders."""

    def __init__(self, default: Path, own: Environment) -> None:
        self._default, self._own = default, own
        self._rubrics = RubricFiles(default, own)
        self._configuration = ConfigurationFile(own)
        self._read: dict[Path, tuple[tuple[int, ...], Configured]] = {}

    def paths(self, project: str, environment: Environment) -> tuple[str, ...]:
        rubrics = [place.path for place in places(project, environment or self._own, self._default)]
        return tuple(map(str, (*rubrics, *filter(None, (self._users(), Path(project, PROJECT_FILE))))))

    def rubric(self, project: str, environment: Environment) -> Rubric | None:
        if any(unsettled(place.path) for place in places(project, environment or self._own, self._default)):
            return None
        return self._rubrics.load(project, environment)

    def settings(self, project: str) -> tuple[Configured, ...]:
        own = self._configured(Path(project, PROJECT_FILE), lambda: of_project(project))
        users = self._users()
        if users is None:
            return (own,)
        return (self._configured(users, lambda: self._configuration.read()[1]), own)

    def _users(self) -> Path | None:
        folder = user_folder(self._own)
        return folder / "config.toml" if folder else None

    def _configured(self, path: Path, read: Callable[[], GateWords]) -> Configured:
        """What a file says, read anew only where it changed: to check its values takes milliseconds."""
        try:
            now = stamp(path)
        except (OSError, ValueError):
            now = ()
        known, said = self._read.pop(path, (None, None))
        if said is None or known != now:
            said = _configured(read())
        self._read[path] = (now, said)
        if len(self._read) > CACHED:
            del self._read[next(iter(self._read))]
        return said


def _configured(words: GateWords) -> Configured:
    values: dict[str, str] = {}
    tables: list[tuple[str, Any]] = [("", words.file.table)]
    while tables and len(values) < VALUES:
        name, value = tables.pop()
        if isinstance(value, dict):
            tables += [(f"{name}.{key}".lstrip("."), below) for key, below in value.items()]
        else:
            values[name] = repr(value)
    return Configured(path=words.file.name, values=values, problems=words.problems)
