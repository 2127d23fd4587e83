"""What a Python package lists as a dependency of any kind, and where."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection import formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sidecar.adapters.detection.folder import Folder

NAME: Final = re.compile(r"\s{0,9}([A-Za-z0-9][A-Za-z0-9._-]{0,80})")
SEPARATOR: Final = re.compile(r"[-_.]+")
QUOTED: Final = re.compile(r"""["']([A-Za-z0-9][\w.-]{0,80})[^"'\n]{0,80}["']""")
REQUIREMENTS: Final = ("requirements*.txt", "requirements*.in", "*requirements.txt")
REQUIREMENT_FILES: Final = 10
"""Files of requirements that are read."""


def listed(root: Folder) -> dict[str, str]:
    """Names in their normal form, each with the file that lists it first."""
    if root.dependencies is None:
        root.dependencies = {}
        for where, names in _lists(root):
            for name in names:
                root.dependencies.setdefault(name, where)
    return root.dependencies


def _lists(root: Folder) -> Iterator[tuple[str, Iterable[str]]]:
    yield "pyproject.toml", _pyproject(root.toml("pyproject.toml"))
    files = [*root.matching(*REQUIREMENTS), *root.search("requirements", "*.txt", "*.in")]
    for name in files[:REQUIREMENT_FILES]:
        yield name, _names(root.text(name).splitlines())
    setup = root.ini("setup.cfg")
    options = [setup.get("options", {}).get("install_requires", "")]
    extras = setup.get("options.extras_require", {}).values()
    yield "setup.cfg", _names("\n".join((*options, *extras)).splitlines())
    yield "setup.py", map(_normal, QUOTED.findall(root.text("setup.py")))
    pipfile = root.toml("Pipfile")
    yield "Pipfile", _names((*formats.table(pipfile, "packages"), *formats.table(pipfile, "dev-packages")))


def _pyproject(pyproject: formats.Table) -> Iterator[str]:
    project, tool = formats.table(pyproject, "project"), formats.table(pyproject, "tool")
    poetry = formats.table(tool, "poetry")
    lists = [
        project.get("dependencies"),
        *formats.table(project, "optional-dependencies").values(),
        *formats.table(pyproject, "dependency-groups").values(),
        *formats.table(tool, "pdm", "dev-dependencies").values(),
        *(formats.table(env).get("dependencies") for env in formats.table(tool, "hatch", "envs").values()),
        formats.table(tool, "uv").get("dev-dependencies"),
    ]
    tables = [
        formats.table(poetry, "dependencies"),
        formats.table(poetry, "dev-dependencies"),
        *(formats.table(group, "dependencies") for group in formats.table(poetry, "group").values()),
    ]
    return _names(chain(chain.from_iterable(map(formats.strings, lists)), chain.from_iterable(tables)))


def _names(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in requirements:
        if found := NAME.match(requirement):
            yield _normal(found[1])


def _normal(name: str) -> str:
    return SEPARATOR.sub("-", name).lower()
