"""The environment in which a project's own commands run, and the Python that belongs to the project.

A package root below the project uses what is nearest to it: its own virtual environment and node_modules,
then those of its parent folders, up to the project. Folders above the project do not belong to it.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.platform import processes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


AGENT_VARIABLE_PREFIXES: Final = ("SUPERVISOR_", "CLAUDE", "AI_AGENT")
"""Prefixes of variables by which programs detect an agent or Supervisor; some then behave differently."""
PROBE_LIMIT_S: Final = 20.0
"""Seconds that an interpreter has to say whether it has a module."""
MODULE_PROBE: Final = (
    "import sys; name = sys.argv[1]; sys.path[:] = [path for path in sys.path if path];"
    " import importlib.util as util; sys.exit(util.find_spec(name) is None)"
)
"""Exits with 0 if the module can be imported, but not from the current folder: a folder may have its name."""
PYTHON_MODULE_LINE: Final = re.compile(r"python3? -m (?P<module>[A-Za-z_]\w*)(?=\s|$)")
"""The beginning of a line that does not say which Python is meant."""
VENV_NAMES: Final = (".venv", "venv")


class PythonMissingError(Exception):
    """There is no Python for the project's command. The message says where it was searched."""


def project_environment(folder: str, session: Mapping[str, str], project: str = "") -> dict[str, str]:
    """The environment for commands in a folder of the project (if `project` is empty, the folder is it).

    It is the session's, with a virtual environment active and the project's node_modules/.bin on PATH, the
    nearest first.
    """
    found = _virtual_environments(folder, session, project)
    return _activated_environment(session, found[0] if found else None, _node_bin_folders(folder, project))


async def find_interpreter(
    folder: str, session: Mapping[str, str], project: str = "", module: str = "pytest"
) -> tuple[str, dict[str, str]]:
    """The Python that has a module for this folder of the project, and the environment that goes with it.

    If the project has virtual environments and none has the module, the search ends: another Python would
    lack the project's dependencies, and its failures would not be the project's. Raises PythonMissingError.
    """
    own, node = _virtual_environments(folder, session, project), _node_bin_folders(folder, project)
    for place in own:
        if await _has_module(module, _venv_python(place), folder, session):
            return str(_venv_python(place)), _activated_environment(session, place, node)
    for place in own:
        if place.parent in _folders_up_to_project(folder, project):
            raise PythonMissingError(f"{module} is not installed in {place}")
    for name in ("python3", "python"):
        found = processes.find_program(name, session, "")
        if found and await _has_module(module, Path(found), folder, session):
            return found, _activated_environment(session, None, node)
    raise PythonMissingError(
        f"no Python with {module}: neither VIRTUAL_ENV, .venv or venv in the project,"
        " nor python3 on PATH has it"
    )


async def with_project_python(
    line: str, folder: str, session: Mapping[str, str], project: str = ""
) -> tuple[str, dict[str, str]]:
    """The line to run and its environment.

    A line that begins with `python -m MODULE` gets the Python that has the module; any other is unchanged.
    Raises PythonMissingError.
    """
    found = PYTHON_MODULE_LINE.match(line)
    if not found:
        return line, project_environment(folder, session, project)
    python, environment = await find_interpreter(folder, session, project, found["module"])
    return f"{shlex.quote(python)} -m {line[found.start('module') :]}", environment


def _folders_up_to_project(folder: str, project: str) -> list[Path]:
    """The folder and its parents up to the project; only the folder if it is not inside the project."""
    for plain in (os.path.normpath, os.path.realpath):
        start, top = Path(plain(folder)), Path(plain(project or folder))
        if start.is_relative_to(top):
            above = [start, *start.parents]
            return above[: above.index(top) + 1]
    return [Path(folder)]


def _virtual_environments(folder: str, session: Mapping[str, str], project: str) -> list[Path]:
    """Usable virtual environments: the session's, then the project's, the nearest to the folder first.

    If the session's is one of the project's, it is ordered among those: before the others of its own folder,
    after those that are nearer.
    """
    active = Path(session["VIRTUAL_ENV"]) if session.get("VIRTUAL_ENV") else None
    own = [
        found
        for place in _folders_up_to_project(folder, project)
        for found in sorted((place / name for name in VENV_NAMES), key=lambda found: found != active)
    ]
    elsewhere = [active] if active and active not in own else []
    return [found for found in (*elsewhere, *own) if _is_usable_venv(found)]


def _is_usable_venv(folder: Path) -> bool:
    return folder.is_absolute() and _venv_python(folder).is_file()


def _venv_python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _node_bin_folders(folder: str, project: str) -> Iterator[Path]:
    """The project's node_modules/.bin folders, the nearest first."""
    found = (place / "node_modules" / ".bin" for place in _folders_up_to_project(folder, project))
    return (place for place in found if place.is_absolute() and place.is_dir())


async def _has_module(module: str, python: Path, folder: str, session: Mapping[str, str]) -> bool:
    done = await processes.run_process(
        (str(python), "-c", MODULE_PROBE, module),
        cwd=folder,
        environment=_activated_environment(session, None),
        seconds=PROBE_LIMIT_S,
    )
    return done.exit_code == 0


def _activated_environment(
    session: Mapping[str, str], virtual: Path | None, node: Iterable[Path] = ()
) -> dict[str, str]:
    kept = {name: value for name, value in session.items() if not name.startswith(AGENT_VARIABLE_PREFIXES)}
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    ahead = [str(place) for place in node]
    if virtual is not None:
        kept["VIRTUAL_ENV"] = str(virtual)
        ahead.insert(0, str(virtual / "bin"))
    if ahead:
        kept["PATH"] = os.pathsep.join((*ahead, session.get("PATH", os.defpath)))
    return kept
