"""Our plugins in Claude Code: where the files are; putting them in and out by the host's own command.

The host keeps the books: nothing here writes into its settings, and all of it may be done twice.
"""

from __future__ import annotations

import asyncio
import compileall
import importlib.util
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import Struct

import sidecar
from sidecar.adapters import processes

if TYPE_CHECKING:
    from collections.abc import Mapping

MARKETPLACE: Final = "supervisor"
PLUGIN: Final = "supervisor@supervisor"
RUBRIC_PLUGIN: Final = "supervisor-rubric@supervisor"
"""The second one, for whoever wants it: it takes the language server for Markdown files."""
HOST_LIMIT_S: Final = 120.0
"""Longest wait for one command of the host, in seconds; all it needs is on this machine."""
OUTPUT_LIMIT: Final = 1 << 20
"""Bytes of the host's list of plugins that are read."""
COMPILED: Final = (
    *("sidecar", "click", "markdown_it", "msgspec", "platformdirs", "rich"),
    *("anyio", "attr", "cattrs", "lsprotocol", "mcp", "mcp_types", "pydantic", "pygls", "starlette"),
)
"""Packages that a start imports: the sidecar's, and those of the servers that hosts start."""

T = TypeVar("T")


class HostError(Exception):
    """The host is not there, or refused. `moves` are what a person can do next, one line each."""

    def __init__(self, message: str, *moves: str) -> None:
        """Say what is wrong, and what can be done."""
        super().__init__(message)
        self.moves = moves


class Installed(Struct, frozen=True, rename="camel"):
    """One installation of a plugin, in the words of `claude plugin list --json`."""

    id: str
    scope: str
    project_path: str = ""


class _Marketplace(Struct, frozen=True):
    name: str


def plugin_root() -> Path:
    """The plugin's folder: the checkout that we run from, else a part of our package. Raises HostError."""
    package = Path(sidecar.__file__).parent
    for root in (package.parent, package / "_plugin"):
        if (root / ".claude-plugin" / "plugin.json").is_file() and (root / "hooks" / "hooks.json").is_file():
            return root
    raise HostError(
        f"the plugin's files are neither beside {package} nor in it",
        "install the package whole: uv tool install supervisor-sidecar",
    )


def corpus_folder() -> Path:
    """The labelled stops that judges are measured with; in a checkout they are part of the benchmarks.

    Raises HostError where there is no plugin; the folder itself may not be there.
    """
    root = plugin_root()
    packaged = root / "corpus"
    return packaged if packaged.is_dir() else root / "benchmarks" / "judge" / "corpus"


def compile_packages() -> tuple[str, ...]:
    """Compile what a start imports, for some installers do not; names of packages that stay uncompiled."""
    return tuple(name for name in COMPILED if not _compiled(name))


def _compiled(name: str) -> bool:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return False
    return bool(compileall.compile_dir(Path(found.origin).parent, quiet=2))


class ClaudePlugins:
    """The plugin commands of one `claude`."""

    def __init__(self, environment: Mapping[str, str], project: str, claude: str = "") -> None:
        """Look `claude` up on PATH, outside of `project`, where none is named. Raises HostError."""
        self._environment = environment
        self._project = project
        self._claude = claude or processes.find("claude", environment, project)
        if not self._claude:
            raise HostError(
                "Claude Code is not on PATH",
                "name it: supervisor install claude-code --claude /path/to/claude",
                "or see only what would be done: supervisor install claude-code --print-only",
            )

    def installed(self) -> tuple[Installed, ...]:
        """Where our plugins are installed, the second one after the first. Raises HostError."""
        listed = self._listed(tuple[Installed, ...], "list")
        return tuple(one for plugin in (PLUGIN, RUBRIC_PLUGIN) for one in listed if one.id == plugin)

    def known(self) -> bool:
        """Whether the host knows our marketplace. Raises HostError."""
        known = self._listed(tuple[_Marketplace, ...], "marketplace", "list")
        return any(one.name == MARKETPLACE for one in known)

    def run(self, *arguments: str) -> str:
        """Run one command of the host; its last line. Raises HostError."""
        return self._run(arguments).strip().rpartition("\n")[2]

    def _listed(self, kind: type[T], *arguments: str) -> T:
        try:
            return msgspec.json.decode(self._run(("plugin", *arguments, "--json")), type=kind)
        except msgspec.DecodeError as error:
            raise HostError(f"claude plugin {' '.join(arguments)} said what is no list: {error}") from error

    def _run(self, arguments: tuple[str, ...]) -> str:
        ended = asyncio.run(
            processes.run(
                (self._claude, *arguments),
                cwd=self._project,
                environment=self._environment,
                seconds=HOST_LIMIT_S,
                keep=OUTPUT_LIMIT,
                separate=True,
            )
        )
        if ended.exit_code == 0:
            return ended.output.decode("utf-8", "replace")
        said = (ended.errors or ended.output).decode("utf-8", "replace").strip()
        raise HostError(
            f"claude {' '.join(arguments)} failed: {ended.reason or said or ended.exit_code}",
            f"try it yourself: {shlex.join((self._claude, *arguments))}",
        )
