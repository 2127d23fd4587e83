"""Installs and removes our plugins in Claude Code, using the host's own commands.

The host keeps track of its plugins: nothing here writes into its settings, and every step may be repeated.
What an install does write there is in permissions.py.
"""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import Struct

from sidecar.platform import processes
from sidecar.platform.installation import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping


MARKETPLACE: Final = "supervisor"
PLUGIN_ID: Final = "supervisor@supervisor"
RUBRIC_PLUGIN_ID: Final = "supervisor-rubric@supervisor"
"""The second plugin, which is optional: it claims the language server for Markdown files."""
HOST_LIMIT_S: Final = 120.0
"""Longest wait for one command of the host, in seconds; all it needs is on this machine."""
OUTPUT_LIMIT: Final = 1 << 20
"""Bytes of the host's list of plugins that are read."""

T = TypeVar("T")


class InstalledPlugin(Struct, frozen=True, rename="camel"):
    """One installation of a plugin, in the fields of `claude plugin list --json`."""

    id: str
    scope: str
    project_path: str = ""


class _Marketplace(Struct, frozen=True):
    name: str


class ClaudePlugins:
    """Runs the plugin commands of one `claude`."""

    def __init__(self, environment: Mapping[str, str], project: str, claude: str = "") -> None:
        """Look `claude` up on PATH, outside of `project`, if none is named. Raises HostError."""
        self._environment = environment
        self._project = project
        self._claude = claude or processes.find_program("claude", environment, project)
        if not self._claude:
            raise HostError(
                "Claude Code is not on PATH",
                "name it: add --claude /path/to/claude",
            )

    def installed(self) -> tuple[InstalledPlugin, ...]:
        """Return the installations of our plugins, those of the second one last. Raises HostError."""
        listed = self._listed(tuple[InstalledPlugin, ...], "list")
        return tuple(one for plugin in (PLUGIN_ID, RUBRIC_PLUGIN_ID) for one in listed if one.id == plugin)

    def known(self) -> bool:
        """Return whether the host knows our marketplace. Raises HostError."""
        known = self._listed(tuple[_Marketplace, ...], "marketplace", "list")
        return any(one.name == MARKETPLACE for one in known)

    def run(self, *arguments: str) -> str:
        """Run one command of the host; return the last line it printed. Raises HostError."""
        return self._run(arguments).strip().rpartition("\n")[2]

    def _listed(self, kind: type[T], *arguments: str) -> T:
        try:
            return msgspec.json.decode(self._run(("plugin", *arguments, "--json")), type=kind)
        except msgspec.DecodeError as error:
            raise HostError(f"claude plugin {' '.join(arguments)} said what is no list: {error}") from error

    def _run(self, arguments: tuple[str, ...]) -> str:
        ended = asyncio.run(
            processes.run_process(
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
