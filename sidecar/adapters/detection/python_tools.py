"""Type checkers, linters and security checks of Python that a package is set up for, or lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.adapters.detection import formats
from sidecar.adapters.detection.found import Found
from sidecar.adapters.detection.python_dependencies import listed
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder


class _Tool(Struct, frozen=True, kw_only=True):
    """A tool and its signs: files of settings, its table in [tool], sections of setup.cfg and tox.ini.

    `by_list`: to be listed as a dependency is a sign as well.
    """

    kind: Kind
    name: str
    command: str
    files: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    by_list: bool = True


TOOLS: Final = (
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
"""Settings of mypy that say what to check: then the command must not."""


def find(root: Folder) -> Iterator[Found]:
    """Every tool that has a sign."""
    based = bool(_sign(root, TOOLS[1]))
    for tool in TOOLS:
        # basedpyright reads the settings of pyright and takes its place.
        if (sign := _sign(root, tool)) and not (tool.name == "pyright" and based):
            yield Found(kind=tool.kind, tool=tool.name, command=_command(root, tool), why=sign)


def set_up(root: Folder, kind: Kind) -> bool:
    """Whether the package has settings of its own for a tool of this kind."""
    return any(_settings(root, tool) for tool in TOOLS if tool.kind is kind)


def _sign(root: Folder, tool: _Tool) -> str:
    where = listed(root).get(tool.name) if tool.by_list else None
    return _settings(root, tool) or (f"{where} lists {tool.name}" if where else "")


def _settings(root: Folder, tool: _Tool) -> str:
    if name := root.has(*tool.files):
        return f"the project has a {name}"
    tools = formats.table(root.toml("pyproject.toml"), "tool")
    # A table with nothing but [tool.ruff.format] sets up the formatter only.
    if tool.name in tools and set(formats.table(tools, tool.name)) != {"format"}:
        return f"pyproject.toml has [tool.{tool.name}]"
    found = ((name, section) for name, section in tool.sections if section in root.ini(name))
    return next((f"{name} has [{section}]" for name, section in found), "")


def _command(root: Folder, tool: _Tool) -> str:
    if tool.name == "mypy" and _says_what(root):
        return "mypy"
    if tool.name == "bandit" and formats.table(root.toml("pyproject.toml"), "tool", "bandit"):
        return f"{tool.command} -c pyproject.toml"
    return tool.command


def _says_what(root: Folder) -> bool:
    sections = [
        root.ini("mypy.ini").get("mypy", {}),
        root.ini(".mypy.ini").get("mypy", {}),
        formats.table(root.toml("pyproject.toml"), "tool", "mypy"),
        root.ini("setup.cfg").get("mypy", {}),
    ]
    return any(name in section for section in sections for name in MYPY_TARGETS)
