"""Detects Python type checkers, linters and security checks that a package configures or lists."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.evidence.detection.folder import DetectedGate
from sidecar.kernel.gate import Kind
from sidecar.platform import formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sidecar.evidence.detection.folder import PackageRoot


# --- dependencies that a Python package lists ---------------------------------------------------------------


REQUIREMENT_NAME: Final = re.compile(r"\s{0,9}([A-Za-z0-9][A-Za-z0-9._-]{0,80})")
NAME_SEPARATORS: Final = re.compile(r"[-_.]+")
QUOTED_REQUIREMENT: Final = re.compile(r"""["']([A-Za-z0-9][\w.-]{0,80})[^"'\n]{0,80}["']""")
REQUIREMENT_PATTERNS: Final = ("requirements*.txt", "requirements*.in", "*requirements.txt")
REQUIREMENT_FILE_LIMIT: Final = 10
"""Maximum number of requirements files that are read."""


def listed_dependencies(root: PackageRoot) -> dict[str, str]:
    """Return the normalized names of the dependencies, each with the file that lists it first."""
    if root.dependencies is None:
        root.dependencies = {}
        for where, names in _dependency_lists(root):
            for name in names:
                root.dependencies.setdefault(name, where)
    return root.dependencies


def _dependency_lists(root: PackageRoot) -> Iterator[tuple[str, Iterable[str]]]:
    yield "pyproject.toml", _pyproject_dependencies(root.toml("pyproject.toml"))
    files = [*root.matching(*REQUIREMENT_PATTERNS), *root.search("requirements", "*.txt", "*.in")]
    for name in files[:REQUIREMENT_FILE_LIMIT]:
        yield name, _requirement_names(root.text(name).splitlines())
    setup = root.ini("setup.cfg")
    options = [setup.get("options", {}).get("install_requires", "")]
    extras = setup.get("options.extras_require", {}).values()
    yield "setup.cfg", _requirement_names("\n".join((*options, *extras)).splitlines())
    yield "setup.py", map(_normalize_name, QUOTED_REQUIREMENT.findall(root.text("setup.py")))
    pipfile = root.toml("Pipfile")
    yield (
        "Pipfile",
        _requirement_names(
            (*formats.table_at(pipfile, "packages"), *formats.table_at(pipfile, "dev-packages"))
        ),
    )


def _pyproject_dependencies(pyproject: formats.Table) -> Iterator[str]:
    project, tool = formats.table_at(pyproject, "project"), formats.table_at(pyproject, "tool")
    poetry = formats.table_at(tool, "poetry")
    lists = [
        project.get("dependencies"),
        *formats.table_at(project, "optional-dependencies").values(),
        *formats.table_at(pyproject, "dependency-groups").values(),
        *formats.table_at(tool, "pdm", "dev-dependencies").values(),
        *(
            formats.table_at(env).get("dependencies")
            for env in formats.table_at(tool, "hatch", "envs").values()
        ),
        formats.table_at(tool, "uv").get("dev-dependencies"),
    ]
    tables = [
        formats.table_at(poetry, "dependencies"),
        formats.table_at(poetry, "dev-dependencies"),
        *(formats.table_at(group, "dependencies") for group in formats.table_at(poetry, "group").values()),
    ]
    return _requirement_names(
        chain(chain.from_iterable(map(formats.string_items, lists)), chain.from_iterable(tables))
    )


def _requirement_names(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in requirements:
        if found := REQUIREMENT_NAME.match(requirement):
            yield _normalize_name(found[1])


def _normalize_name(name: str) -> str:
    return NAME_SEPARATORS.sub("-", name).lower()


# --- tools --------------------------------------------------------------------------------------------------


class _Tool(Struct, frozen=True, kw_only=True):
    """A tool and its signs: configuration files, its table in [tool], sections of setup.cfg and tox.ini.

    `by_list`: being listed as a dependency is also a sign.
    """

    kind: Kind
    name: str
    command: str
    files: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    by_list: bool = True


PYTHON_TOOLS: Final = (
    _Tool(
        kind=Kind.TYPES,
        name="mypy",
        command="mypy .",
        files=("mypy.ini", ".mypy.ini"),
        sections=(("setup.cfg", "mypy"),),
    ),
    _Tool(kind=Kind.TYPES, name="basedpyright", command="basedpyright"),
    _Tool(kind=Kind.TYPES, name="pyright", command="pyright", files=("pyrightconfig.json",)),
    _Tool(kind=Kind.TYPES, name="ty", command="ty check", files=("ty.toml",)),
    _Tool(kind=Kind.TYPES, name="pyrefly", command="pyrefly check", files=("pyrefly.toml",)),
    _Tool(kind=Kind.LINT, name="ruff", command="ruff check --no-fix .", files=("ruff.toml", ".ruff.toml")),
    _Tool(
        kind=Kind.LINT,
        name="flake8",
        command="flake8",
        files=(".flake8",),
        sections=(("setup.cfg", "flake8"), ("tox.ini", "flake8")),
        by_list=False,
    ),
    _Tool(
        kind=Kind.LINT,
        name="pylint",
        command="pylint --recursive=y .",
        files=(".pylintrc", "pylintrc", ".pylintrc.toml", "pylintrc.toml"),
        sections=(("setup.cfg", "pylint"), ("setup.cfg", "pylint.master"), ("setup.cfg", "pylint.main")),
        by_list=False,
    ),
    _Tool(
        kind=Kind.SECURITY,
        name="bandit",
        command="bandit -q -r . -x ./.git,./.nox,./.tox,./.venv,./venv,./node_modules",
        files=(".bandit",),
    ),
    _Tool(kind=Kind.SECURITY, name="pip-audit", command="pip-audit"),
)
MYPY_TARGETS: Final = ("files", "packages", "modules")
"""Settings of mypy that say what to check; the command must then name no target."""


def find_python_tool_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield a gate for every tool that has a sign."""
    based = bool(_tool_sign(root, PYTHON_TOOLS[1]))
    for tool in PYTHON_TOOLS:
        # basedpyright reads pyright's settings and replaces it.
        if (sign := _tool_sign(root, tool)) and not (tool.name == "pyright" and based):
            yield DetectedGate(kind=tool.kind, tool=tool.name, command=_tool_command(root, tool), why=sign)


def has_tool_settings(root: PackageRoot, kind: Kind) -> bool:
    """Return whether the package has its own settings for a tool of this kind."""
    return any(_tool_settings_sign(root, tool) for tool in PYTHON_TOOLS if tool.kind is kind)


def _tool_sign(root: PackageRoot, tool: _Tool) -> str:
    where = listed_dependencies(root).get(tool.name) if tool.by_list else None
    return _tool_settings_sign(root, tool) or (f"{where} lists {tool.name}" if where else "")


def _tool_settings_sign(root: PackageRoot, tool: _Tool) -> str:
    if name := root.has(*tool.files):
        return f"the project has a {name}"
    tools = formats.table_at(root.toml("pyproject.toml"), "tool")
    # A table with only [tool.ruff.format] configures only the formatter.
    if tool.name in tools and set(formats.table_at(tools, tool.name)) != {"format"}:
        return f"pyproject.toml has [tool.{tool.name}]"
    found = ((name, section) for name, section in tool.sections if section in root.ini(name))
    return next((f"{name} has [{section}]" for name, section in found), "")


def _tool_command(root: PackageRoot, tool: _Tool) -> str:
    if tool.name == "mypy" and _mypy_names_targets(root):
        return "mypy"
    if tool.name == "bandit" and formats.table_at(root.toml("pyproject.toml"), "tool", "bandit"):
        return f"{tool.command} -c pyproject.toml"
    return tool.command


def _mypy_names_targets(root: PackageRoot) -> bool:
    sections = [
        root.ini("mypy.ini").get("mypy", {}),
        root.ini(".mypy.ini").get("mypy", {}),
        formats.table_at(root.toml("pyproject.toml"), "tool", "mypy"),
        root.ini("setup.cfg").get("mypy", {}),
    ]
    return any(name in section for section in sections for name in MYPY_TARGETS)
