"""Finds the Python environments of a project: data/environments.toml says where they are."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.platform import processes
from sidecar.platform.data import load_data
from sidecar.platform.git import find_checkout, first_line

MARKS: Final = ("pyvenv.cfg", "conda-meta")
"""What an environment has in its folder: of venv, virtualenv and uv, and of conda."""
ASK_LIMIT_S: Final = 20.0
"""Seconds that a package manager has to say where its environment is."""
VERSION: Final = re.compile(r"^version(?:_info)?\s*=\s*(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)


class PackageManager(Struct, frozen=True, forbid_unknown_fields=True):
    """A program that makes environments; the data file explains each field."""

    sign: str
    install: str
    language: str = "python"
    ask: tuple[str, ...] = ()
    file: str = ""
    variable: str = ""


class MissingPackages(Struct, frozen=True, forbid_unknown_fields=True):
    """How packages of a language are missed, and what installs one; the data file explains each field."""

    language: str
    add: str
    says: tuple[str, ...]
    silent: str = ""


class Environments(Struct, frozen=True, forbid_unknown_fields=True):
    """Folders of environments and of tools; the data file explains each list."""

    python: tuple[str, ...]
    nested: tuple[str, ...]
    linked: tuple[str, ...]
    linked_by_entry: tuple[str, ...]
    packages: tuple[str, ...]
    unsearched: frozenset[str]
    shared: tuple[str, ...]
    of_hosts: tuple[str, ...]
    written: tuple[str, ...]
    results: tuple[str, ...]
    remade: tuple[str, ...]
    managers: tuple[PackageManager, ...]
    absent: tuple[str, ...]
    missing: tuple[MissingPackages, ...]


def known_environments() -> Environments:
    """Return the content of the data file."""
    return load_data("environments", Environments)


def written_patterns() -> tuple[str, ...]:
    """Return the patterns, as in a .gitignore, of what checks write into a project."""
    known = known_environments()
    return (*(f"{name}/" for name in known.written), *known.results)


@cache
def installed_folders() -> frozenset[str]:
    """Return the names of folders that hold what was installed, not what the project's people write."""
    known = known_environments()
    return frozenset((*known.python, *known.nested, *known.linked_by_entry, *known.packages, ".git"))


@cache
def tool_folders() -> frozenset[str]:
    """Return the names of folders whose files are made by tools, whatever the project."""
    known = known_environments()
    return installed_folders() | {*known.written, *(name for name in known.remade if name.startswith("."))}


def without_host_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what hosts and shells set by themselves."""
    own = re.compile("|".join(known_environments().of_hosts))
    return {name: value for name, value in environment.items() if not own.fullmatch(name)}


def environments_in(folder: Path) -> Iterator[Path]:
    """Yield the usable Python environments directly in a folder: those with a usual name first."""
    named = [folder / name for name in known_environments().python]
    try:
        others = sorted(place for place in folder.iterdir() if is_marked(place))
    except (OSError, ValueError):
        others = []
    yield from (place for place in dict.fromkeys((*named, *others)) if is_usable(place))


def environments_of_tools(folder: Path) -> Iterator[Path]:
    """Yield the usable Python environments that tox, nox and their like made in a folder."""
    for name in known_environments().nested:
        yield from (place for place in sorted((folder / name).glob("*")) if is_usable(place))


async def managed_environment(folder: Path, session: Mapping[str, str]) -> Path | None:
    """Ask the package manager of a folder for the environment that it keeps elsewhere."""
    for manager in _managers_of(folder):
        if manager.file:
            place = Path(first_line(folder / manager.file).strip()).parent.parent
        elif manager.ask and (program := processes.find_program(manager.ask[0], session, str(folder))):
            asked = (program, *manager.ask[1:])
            done = await processes.run_process(
                asked, cwd=str(folder), environment=session, seconds=ASK_LIMIT_S
            )
            place = Path(done.output.decode(errors="replace").strip().rpartition("\n")[2])
        else:
            continue
        if is_usable(place):
            return place
    return None


def install_command(folders: Iterable[Path], language: str = "python") -> str:
    """Return what installs the packages of the nearest folder with a lock file; "" if nothing is known."""
    managers = (manager for folder in folders for manager in _managers_of(folder))
    return next((manager.install for manager in managers if manager.language == language), "")


def _managers_of(folder: Path) -> Iterator[PackageManager]:
    return (manager for manager in known_environments().managers if (folder / manager.sign).is_file())


def is_marked(folder: Path) -> bool:
    """Whether a folder says itself that it is an environment."""
    return any((folder / mark).exists() for mark in MARKS)


def is_usable(folder: Path) -> bool:
    """Whether a folder is an environment with a Python."""
    return folder.is_absolute() and python_of(folder).is_file()


def python_of(environment: Path) -> Path:
    """Return the path of an environment's Python."""
    return environment / "bin" / "python"


def describe_environment(environment: Path, project: str) -> str:
    """Name an environment for people: its folder, below the project if it is there, and its version."""
    place = os.path.relpath(environment, project) if environment.is_relative_to(project) else str(environment)
    try:
        found = VERSION.search((environment / MARKS[0]).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = None
    return f"{place} (Python {found[1]})" if found else place


# --- the environment in which a project's own commands run, and the Python that belongs to it ---------------
# A package root below the project uses what is nearest to it: its own virtual environment and node_modules,
# then those of its parent folders, up to the project. Folders above the project do not belong to it.


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
        if found.parent in (*places, *folders_in_main_checkout(places)):
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
    if found and not python:
        interpreter, environment = await find_interpreter(folder, session, project, found["module"])
    else:
        own = await find_environment(folder, session, project, python)
        if python and own is None:
            raise PythonMissingError(f"there is no Python at {python}, which gate.ID.python names")
        interpreter = str(python_of(own)) if own else ""
        environment = _activated_environment(session, own, _node_bin_folders(folder, project))
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


def folders_in_main_checkout(folders: Iterable[Path]) -> list[Path]:
    """The same folders in the main checkout, where these are in a linked worktree."""
    found = [(folder, find_checkout(folder)) for folder in folders]
    return [
        checkout.tops[0] / folder.resolve().relative_to(checkout.top)
        for folder, checkout in found
        if checkout and checkout.tops and checkout.tops[0] != checkout.top
    ]


def _virtual_environments(folder: str, session: Mapping[str, str], project: str) -> list[Path]:
    """Usable virtual environments: the session's, then the project's, the nearest to the folder first.

    If the session's is one of the project's, it is ordered among those: before the others of its own folder,
    after those that are nearer.
    """
    active = Path(session["VIRTUAL_ENV"]) if session.get("VIRTUAL_ENV") else None
    places = folders_up_to_project(folder, project)
    own = _environments_in(places, session) or _environments_in(folders_in_main_checkout(places), session)
    elsewhere = [active] if active and active not in own and is_usable(active) else []
    return [*elsewhere, *own]


def named_environments(place: Path, session: Mapping[str, str]) -> dict[str, str]:
    """Return the usable environments that variables of the session name to the managers of a folder."""
    said = {manager.variable: session.get(manager.variable) for manager in _managers_of(place)}
    named = {name: os.path.normpath(place / value) for name, value in said.items() if name and value}
    return {name: path for name, path in named.items() if is_usable(Path(path))}


def _environments_in(places: Iterable[Path], session: Mapping[str, str]) -> list[Path]:
    active = Path(session.get("VIRTUAL_ENV") or "/")
    found = list[Path]()
    for place in places:
        found += map(Path, named_environments(place, session).values())
        found += sorted(environments_in(place), key=lambda one: one != active)
    return found


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
    places = folders_up_to_project(folder, project)
    found = (place / "node_modules" / ".bin" for place in (*places, *folders_in_main_checkout(places)))
    return (place for place in found if place.is_absolute() and place.is_dir())


async def _has_module(module: str, python: Path, folder: str, session: Mapping[str, str]) -> bool:
    probe, own = (str(python), "-c", MODULE_PROBE, module), _activated_environment(session, None)
    done = await processes.run_process(probe, cwd=folder, environment=own, seconds=PROBE_LIMIT_S)
    return done.exit_code == 0


def _activated_environment(
    session: Mapping[str, str], virtual: Path | None, node: Iterable[Path] = ()
) -> dict[str, str]:
    kept = without_host_variables(session)
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    ahead = [str(place) for place in node]
    if virtual is not None:
        kept["VIRTUAL_ENV"] = str(virtual)
        ahead.insert(0, str(virtual / "bin"))
    if ahead:
        kept["PATH"] = os.pathsep.join((*ahead, session.get("PATH", os.defpath)))
    return kept
