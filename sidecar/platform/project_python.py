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
from sidecar.platform.environments import (
    environments_in,
    environments_of_tools,
    is_usable,
    managed_environment,
    python_of,
)

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


class PythonMissingError(Exception):
    """There is no Python for the project's command. The message says where it was searched."""


def project_environment(
    folder: str, session: Mapping[str, str], project: str = "", python: str = ""
) -> dict[str, str]:
    """The environment for commands in a folder of the project (if `project` is empty, the folder is it).

    It is the session's, with a virtual environment active and the project's node_modules/.bin on PATH, the
    nearest first. `python` is as in Gate.
    """
    own = named_environment(python, project or folder) if python else None
    found = [own] if own else _virtual_environments(folder, session, project)
    return _activated_environment(session, found[0] if found else None, _node_bin_folders(folder, project))


def named_environment(python: str, project: str) -> Path | None:
    """The environment that a path names: its folder, or its Python. None where no Python is there."""
    place = Path(os.path.normpath(Path(project, python)))
    return next((one for one in (place, place.parent.parent) if is_usable(one)), None)


async def find_environment(
    folder: str, session: Mapping[str, str], project: str = "", python: str = ""
) -> Path | None:
    """The Python environment of a folder's commands: the named one, else the one that is active there."""
    if python:
        return named_environment(python, project or folder)
    if found := _virtual_environments(folder, session, project):
        return found[0]
    return await _managed_environment(folder, session, project)


async def find_interpreter(
    folder: str, session: Mapping[str, str], project: str = "", module: str = "pytest"
) -> tuple[str, dict[str, str]]:
    """The Python that has a module for this folder of the project, and the environment that goes with it.

    If the project has virtual environments and none has the module, the search ends: another Python would
    lack the project's dependencies, and its failures would not be the project's. Raises PythonMissingError.
    """
    node = list(_node_bin_folders(folder, project))
    managed = await _managed_environment(folder, session, project)
    own = _virtual_environments(folder, session, project)
    places = folders_up_to_project(folder, project)
    of_tools = (found for place in places for found in environments_of_tools(place))
    for place in (*own, *filter(None, [managed]), *of_tools):
        if await _has_module(module, python_of(place), folder, session):
            return str(python_of(place)), _activated_environment(session, place, node)
    for found in own:
        if found.parent in places:
            raise PythonMissingError(f"{module} is not installed in {found}")
    for name in ("python3", "python"):
        program = processes.find_program(name, session, "")
        if program and await _has_module(module, Path(program), folder, session):
            return program, _activated_environment(session, None, node)
    raise PythonMissingError(
        f"no Python with {module}: neither VIRTUAL_ENV, nor an environment of the project,"
        f" nor python3 on PATH has it"
    )


async def with_project_python(
    line: str, folder: str, session: Mapping[str, str], project: str = "", python: str = ""
) -> tuple[str, dict[str, str]]:
    """The line to run and its environment.

    A line that begins with `python -m MODULE` gets the Python that has the module; any other is unchanged.
    `python` is as in Gate. Raises PythonMissingError.
    """
    found = PYTHON_MODULE_LINE.match(line)
    if python:
        own = named_environment(python, project or folder)
        if own is None:
            raise PythonMissingError(f"there is no Python at {python}, which gate.ID.python names")
        interpreter, environment = str(python_of(own)), project_environment(folder, session, project, python)
    elif found:
        interpreter, environment = await find_interpreter(folder, session, project, found["module"])
    else:
        own = await find_environment(folder, session, project)
        return line, _activated_environment(session, own, _node_bin_folders(folder, project))
    if not found:
        return line, environment
    return f"{shlex.quote(interpreter)} -m {line[found.start('module') :]}", environment


def folders_up_to_project(folder: str, project: str) -> list[Path]:
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
        for place in folders_up_to_project(folder, project)
        for found in sorted(environments_in(place), key=lambda found: found != active)
    ]
    elsewhere = [active] if active and active not in own and is_usable(active) else []
    return [*elsewhere, *own]


async def _managed_environment(folder: str, session: Mapping[str, str], project: str) -> Path | None:
    """The environment that a package manager keeps elsewhere; not asked where the project has its own."""
    if _virtual_environments(folder, session, project):
        return None
    for place in folders_up_to_project(folder, project):
        if found := await managed_environment(place, session):
            return found
    return None


def _node_bin_folders(folder: str, project: str) -> Iterator[Path]:
    """The project's node_modules/.bin folders, the nearest first."""
    found = (place / "node_modules" / ".bin" for place in folders_up_to_project(folder, project))
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
