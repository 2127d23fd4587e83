"""Detects Python type checkers, linters and security checks that a package configures or lists."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from sidecar.evidence.detection.folder import DetectedGate
from sidecar.kernel.gate import Kind
from sidecar.platform import formats
from sidecar.platform.tools import Tool, ToolGate, detected_tools

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


KINDS: Final = (Kind.TYPES, Kind.LINT, Kind.SECURITY)
MYPY_TARGETS: Final = ("files", "packages", "modules")
"""Settings of mypy that say what to check; the command must then name no target."""


def find_python_tool_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield a gate for every tool that has a sign."""
    signs = {tool.name: _tool_sign(root, tool, gate) for tool, gate in detected_tools("python", KINDS)}
    if signs["basedpyright"]:  # it reads pyright's settings and replaces it
        signs["pyright"] = ""
    for tool, gate in detected_tools("python", KINDS):
        if sign := signs[tool.name]:
            command = _tool_command(root, tool.name, gate)
            yield DetectedGate(kind=gate.kind, tool=tool.name, command=command, why=sign)


def has_tool_settings(root: PackageRoot, kind: Kind) -> bool:
    """Return whether the package has its own settings for a tool of this kind."""
    return any(_tool_settings_sign(root, tool.name, gate) for tool, gate in detected_tools("python", {kind}))


def _tool_sign(root: PackageRoot, tool: Tool, gate: ToolGate) -> str:
    where = listed_dependencies(root).get(tool.package) if gate.listed else None
    return _tool_settings_sign(root, tool.name, gate) or (f"{where} lists {tool.package}" if where else "")


def _tool_settings_sign(root: PackageRoot, name: str, gate: ToolGate) -> str:
    if file := root.has(*gate.files):
        return f"the project has a {file}"
    tools = formats.table_at(root.toml("pyproject.toml"), "tool")
    # A table with only [tool.ruff.format] configures only the formatter.
    if name in tools and set(formats.table_at(tools, name)) != {"format"}:
        return f"pyproject.toml has [tool.{name}]"
    found = ((file, section) for file, section in gate.sections if section in root.ini(file))
    return next((f"{file} has [{section}]" for file, section in found), "")


def _tool_command(root: PackageRoot, name: str, gate: ToolGate) -> str:
    if name == "mypy" and _mypy_names_targets(root):
        return "mypy"
    if name == "bandit" and formats.table_at(root.toml("pyproject.toml"), "tool", "bandit"):
        return f"{gate.command} -c pyproject.toml"
    return gate.command


def _mypy_names_targets(root: PackageRoot) -> bool:
    sections = [
        root.ini("mypy.ini").get("mypy", {}),
        root.ini(".mypy.ini").get("mypy", {}),
        formats.table_at(root.toml("pyproject.toml"), "tool", "mypy"),
        root.ini("setup.cfg").get("mypy", {}),
    ]
    return any(name in section for section in sections for name in MYPY_TARGETS)
