"""What a session's environment names is believed only where it lies outside the project.

A project's own settings may set variables of the session, and a repository is not its owner's word (law 12).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def project_of(environment: Mapping[str, str]) -> str:
    """The folder of the session's project, "" where the environment does not name it."""
    return environment.get("CLAUDE_PROJECT_DIR") or environment.get("PWD", "")


def outside(path: str, environment: Mapping[str, str]) -> bool:
    """Whether `path` is absolute and neither it nor what it leads to lies in the project.

    A project that holds the user's home is none in this sense, as for `processes.find`.
    """
    place, home = _resolved(path), _resolved(environment.get("HOME", ""))
    project = _resolved(project_of(environment))
    if place is None or not Path(path).is_absolute():
        return False
    if project is None or (home is not None and home.is_relative_to(project)):
        return True
    return not any(one.is_relative_to(project) for one in (place, Path(path), Path(path).parent.resolve()))


def _resolved(path: str) -> Path | None:
    """The real path; None for none, and for what cannot be one."""
    with suppress(OSError, RuntimeError, ValueError):
        return Path(path).resolve() if path else None
    return None
