"""The environment in which a project's own commands run, and the Python that is the project's own.

A package root below the project uses what is nearest to it: its own virtual environment and node_modules,
then those of the folders above it, up to the project and no further. What lies above is not the project's.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.adapters import processes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MARKS: Final = ("SUPERVISOR_", "CLAUDE", "AI_AGENT")
"""Beginnings of variables by which programs notice an agent or us; some behave otherwise then."""
PROBE_LIMIT_S: Final = 20.0
"""Seconds in which an interpreter says whether it has a module."""
PROBE: Final = (
    "import sys; name = sys.argv[1]; sys.path[:] = [path for path in sys.path if path];"
    " import importlib.util as util; sys.exit(util.find_spec(name) is None)"
)
"""Ends well where the module can be imported. Not from the current folder: a folder may have its name."""
MODULE: Final = re.compile(r"python3? -m (?P<module>[A-Za-z_]\w*)(?=\s|$)")
"""The beginning of a line that leaves open which Python is meant."""
VIRTUAL: Final = (".venv", "venv")


class PythonMissingError(Exception):
    """There is no Python for the project's command. The message says what was looked at."""


def at_home(folder: str, session: Mapping[str, str], project: str = "") -> dict[str, str]:
    """The environment for commands in a folder of the project (the project itself where none is given).

    It is the session's, with a virtual environment active and the project's node_modules/.bin on PATH, the
    nearest first.
    """
    found = _virtual_environments(folder, session, project)
    return _active(session, found[0] if found else None, _node(folder, project))


async def interpreter(
    folder: str, session: Mapping[str, str], project: str = "", module: str = "pytest"
) -> tuple[str, dict[str, str]]:
    """The Python that has a module for this folder of the project, and the environment that goes with it.

    A virtual environment of the project without it ends the search: another Python would lack what the
    project needs, and its failures would not be the project's. Raises PythonMissingError.
    """
    own, node = _virtual_environments(folder, session, project), _node(folder, project)
    for place in own:
        if await _has(module, _python(place), folder, session):
            return str(_python(place)), _active(session, place, node)
    for place in own:
        if place.parent in _places(folder, project):
            raise PythonMissingError(f"{module} is not installed in {place}")
    for name in ("python3", "python"):
        found = processes.find(name, session, "")
        if found and await _has(module, Path(found), folder, session):
            return found, _active(session, None, node)
    raise PythonMissingError(
        f"no Python with {module}: neither VIRTUAL_ENV, .venv or venv in the project,"
        " nor python3 on PATH has it"
    )


async def with_python(
    line: str, folder: str, session: Mapping[str, str], project: str = ""
) -> tuple[str, dict[str, str]]:
    """A line ready to run, with its environment.

    One that begins with `python -m MODULE` gets the Python that has the module; any other stays as it is.
    Raises PythonMissingError.
    """
    found = MODULE.match(line)
    if not found:
        return line, at_home(folder, session, project)
    python, environment = await interpreter(folder, session, project, found["module"])
    return f"{shlex.quote(python)} -m {line[found.start('module') :]}", environment


def _places(folder: str, project: str) -> list[Path]:
    """The folder and those above it up to the project; the folder alone where it is not below it."""
    for plain in (os.path.normpath, os.path.realpath):
        start, top = Path(plain(folder)), Path(plain(project or folder))
        if start.is_relative_to(top):
            above = [start, *start.parents]
            return above[: above.index(top) + 1]
    return [Path(folder)]


def _virtual_environments(folder: str, session: Mapping[str, str], project: str) -> list[Path]:
    """Those that work: the session's, then the project's, the nearest to the folder first.

    Where the session's is one of the project's, it comes in its turn: before the others of its own folder,
    after those that are nearer.
    """
    active = Path(session["VIRTUAL_ENV"]) if session.get("VIRTUAL_ENV") else None
    own = [
        found
        for place in _places(folder, project)
        for found in sorted((place / name for name in VIRTUAL), key=lambda found: found != active)
    ]
    elsewhere = [active] if active and active not in own else []
    return [found for found in (*elsewhere, *own) if _works(found)]


def _works(folder: Path) -> bool:
    return folder.is_absolute() and _python(folder).is_file()


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _node(folder: str, project: str) -> Iterator[Path]:
    """The folders in which the project's node packages put their commands, the nearest first."""
    found = (place / "node_modules" / ".bin" for place in _places(folder, project))
    return (place for place in found if place.is_absolute() and place.is_dir())


async def _has(module: str, python: Path, folder: str, session: Mapping[str, str]) -> bool:
    done = await processes.run(
        (str(python), "-c", PROBE, module),
        cwd=folder,
        environment=_active(session, None),
        seconds=PROBE_LIMIT_S,
    )
    return done.exit_code == 0


def _active(session: Mapping[str, str], virtual: Path | None, node: Iterable[Path] = ()) -> dict[str, str]:
    kept = {name: value for name, value in session.items() if not name.startswith(MARKS)}
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    ahead = [str(place) for place in node]
    if virtual is not None:
        kept["VIRTUAL_ENV"] = str(virtual)
        ahead.insert(0, str(virtual / "bin"))
    if ahead:
        kept["PATH"] = os.pathsep.join((*ahead, session.get("PATH", os.defpath)))
    return kept
