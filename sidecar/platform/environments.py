"""Finds the Python environments of a project: data/environments.toml says where they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.platform import processes
from sidecar.platform.data import load_data

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
            with_python = _first_line(folder / manager.file)
            place = Path(with_python).parent.parent
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


def _first_line(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").partition("\n")[0].strip()
    except OSError:
        return ""
