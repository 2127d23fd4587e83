"""Reads the files by which people guide us: rubrics and configuration. Implements ports.GuidanceFiles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sidecar.kernel.rubric import ConfigurationContents
from sidecar.platform.configuration import (
    ConfigurationFile,
    GateFileSettings,
    read_project_gates,
    user_config_folder,
)
from sidecar.platform.files import file_stamp
from sidecar.platform.steering import PROJECT_CONFIGURATION
from sidecar.rubric.files import is_being_written, rubric_places
from sidecar.rubric.reader import RubricFiles

if TYPE_CHECKING:
    from sidecar.kernel.rubric import Rubric
    from sidecar.kernel.session import Environment


VALUES: Final = 1000
"""Settings of one file that are compared."""
CACHED: Final = 64
"""Configuration files whose content is cached."""


class GuideFiles:
    """Reads the present content of the files.

    `default` is the packaged rubric; `own` is the environment that locates the user's own folders.
    """

    def __init__(self, default: Path, own: Environment) -> None:
        self._default, self._own = default, own
        self._rubrics = RubricFiles(default, own)
        self._configuration = ConfigurationFile(own)
        self._read: dict[Path, tuple[tuple[int, ...], ConfigurationContents]] = {}

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
        own = self._configured(Path(project, PROJECT_CONFIGURATION), lambda: read_project_gates(project))
        users = self._users()
        if users is None:
            return (own,)
        return (self._configured(users, lambda: self._configuration.read()[1]), own)

    def _users(self) -> Path | None:
        folder = user_config_folder(self._own)
        return folder / "config.toml" if folder else None

    def _configured(self, path: Path, read: Callable[[], GateFileSettings]) -> ConfigurationContents:
        """Return a file's content, read again only if it changed: checking its values takes milliseconds."""
        try:
            now = file_stamp(path)
        except (OSError, ValueError):
            now = ()
        known, said = self._read.pop(path, (None, None))
        if said is None or known != now:
            said = _flatten_configuration(read())
        self._read[path] = (now, said)
        if len(self._read) > CACHED:
            del self._read[next(iter(self._read))]
        return said


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
