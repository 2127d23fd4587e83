"""The environment in which a project's own commands run, and the Python that is the project's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.adapters import processes

if TYPE_CHECKING:
    from collections.abc import Mapping

MARKS: Final = ("SUPERVISOR_", "CLAUDE", "AI_AGENT")
"""Beginnings of variables by which programs notice an agent or us; some behave otherwise then."""
PROBE_LIMIT_S: Final = 20.0
"""Seconds in which an interpreter says whether it has pytest."""
PROBE: Final = (
    "import sys; sys.path[:] = [path for path in sys.path if path];"
    " import importlib.util as util; sys.exit(util.find_spec('pytest') is None)"
)
"""Ends well where pytest can be imported. The current folder does not count: a folder may have that name."""


class PythonMissingError(Exception):
    """There is no Python for the project's tests. The message says what was looked at."""


def at_home(project: str, session: Mapping[str, str]) -> dict[str, str]:
    """The environment for the project's commands: the session's, with a virtual environment active."""
    found = _virtual_environments(project, session)
    return _active(session, found[0] if found else None)


async def interpreter(project: str, session: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The Python that has pytest for this project, and the environment that goes with it.

    A virtual environment of the project without pytest ends the search: another Python would lack what the
    project needs, and its failures would not be the project's. Raises PythonMissingError.
    """
    own = _virtual_environments(project, session)
    for folder in own:
        if await _has_pytest(_python(folder), project, session):
            return str(_python(folder)), _active(session, folder)
    for folder in own:
        if folder.parent == Path(project):
            raise PythonMissingError(f"pytest is not installed in {folder}")
    for name in ("python3", "python"):
        found = processes.find(name, session, "")
        if found and await _has_pytest(Path(found), project, session):
            return found, _active(session, None)
    raise PythonMissingError(
        "no Python with pytest: neither VIRTUAL_ENV, .venv or venv in the project, nor python3 on PATH has it"
    )


def _virtual_environments(project: str, session: Mapping[str, str]) -> list[Path]:
    """The session's own first, then the project's."""
    active = session.get("VIRTUAL_ENV", "")
    folders = [Path(active)] if active else []
    return [folder for folder in (*folders, Path(project, ".venv"), Path(project, "venv")) if _works(folder)]


def _works(folder: Path) -> bool:
    return folder.is_absolute() and _python(folder).is_file()


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


async def _has_pytest(python: Path, project: str, session: Mapping[str, str]) -> bool:
    done = await processes.run(
        (str(python), "-c", PROBE), cwd=project, environment=_active(session, None), seconds=PROBE_LIMIT_S
    )
    return done.exit_code == 0


def _active(session: Mapping[str, str], folder: Path | None) -> dict[str, str]:
    kept = {name: value for name, value in session.items() if not name.startswith(MARKS)}
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    if folder is not None:
        kept["VIRTUAL_ENV"] = str(folder)
        kept["PATH"] = os.pathsep.join((str(folder / "bin"), session.get("PATH", os.defpath)))
    return kept
