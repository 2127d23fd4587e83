"""Puts Supervisor into Claude Code, takes it out again, and finds what is wrong with it there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar import __version__
from sidecar.hosts import installing
from sidecar.hosts.claude_code.codec import HOST
from sidecar.hosts.claude_code.record import RECORD, newest_session
from sidecar.hosts.claude_code.settings import (
    cached_plugins,
    deny_rules,
    missing_deny_rules,
    put_status_line,
    repair_copies,
    replace_deny_rules,
    user_settings_file,
)
from sidecar.hosts.installing import DoctorFinding, HostFindings, HostInstaller, InstallOrder, Steps
from sidecar.hosts.record_files import RecordFiles
from sidecar.hosts.steering import PLUGIN_IDS, SETTINGS_LIMIT
from sidecar.kernel.decoding import read_json
from sidecar.kernel.errors import BadInputError
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.installation import HostError, plugin_root
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import SystemClock
from sidecar.platform.session_documents import file_stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MARKETPLACE: Final = "supervisor"
PLUGIN_ID, RUBRIC_PLUGIN_ID = PLUGIN_IDS


class InstalledPlugin(Struct, frozen=True, rename="camel"):
    """One installation of a plugin, in the fields of `claude plugin list --json`."""

    id: str
    scope: str
    project_path: str = ""


class _Marketplace(Struct, frozen=True):
    name: str


class ClaudeCodeInstaller(HostInstaller):
    """Implements hosts.installing.HostInstaller."""

    name = HOST
    title = "Claude Code"
    command = "claude"
    get = "npm install -g @anthropic-ai/claude-code"
    tested = "2.1.197"
    update = "claude update"
    probed = ("-p", "/supervisor:retry", "--no-session-persistence")

    @property
    def _settings(self) -> Path:
        return user_settings_file(self.environment)

    def installed(self) -> tuple[InstalledPlugin, ...]:
        """Return the installations of our plugins, those of the second one last. Raises HostError."""
        listed = self.program.listed(tuple[InstalledPlugin, ...], "plugin", "list", "--json")
        return tuple(one for plugin in (PLUGIN_ID, RUBRIC_PLUGIN_ID) for one in listed if one.id == plugin)

    def known(self) -> bool:
        """Return whether the host knows our marketplace. Raises HostError."""
        known = self.program.listed(tuple[_Marketplace, ...], "plugin", "marketplace", "list", "--json")
        return any(one.name == MARKETPLACE for one in known)

    def put(self, order: InstallOrder, steps: Steps) -> None:
        """Install or update the plugins, then the rules that keep the host's agent from our own files."""
        if order.renew:
            plugins = tuple(one.id for one in self.installed() if one.scope == order.scope)
        else:
            plugins = PLUGIN_IDS[: 1 + (installing.RUBRIC_EDITOR in order.options)]
        verb, folders = "update" if order.renew else "install", user_paths()
        orders: list[tuple[str, ...]] = [("plugin", "marketplace", "add", str(plugin_root()))]
        orders += [("plugin", verb, one, "--scope", order.scope) for one in plugins]
        old, new = (deny_rules(folders, one) for one in (folders.recorded_runtime(), order.runtime))
        self.run_each(orders, steps)
        if not steps.print_only:
            order.prepare()
            repair_copies(self.environment)
        denial = f"deny the agent, in {self._settings}: {', '.join(new)}"
        steps.do(denial, replace_deny_rules, self._settings, old, new)
        if installing.STATUS_LINE in order.options:
            shown = f"show the goal in the status line of {self._settings}"
            steps.do(shown, put_status_line, self._settings, order.runtime)

    def take(self, scope: str, steps: Steps) -> bool:
        """Uninstall our plugins from one scope, and with the last all that an install did."""
        folders, installed = user_paths(), self.installed()
        ours = [one for one in installed if one.scope == scope and self._is_here(one)]
        orders: list[tuple[str, ...]] = [("plugin", "uninstall", one.id, "--scope", scope) for one in ours]
        last = len(installed) == len(ours)
        if last and self.known():
            orders.append(("plugin", "marketplace", "remove", MARKETPLACE))
        if last:  # while the runtime is there, which may lie in the plugin's data
            denied = deny_rules(folders, folders.recorded_runtime())
            told = f"take what an install denied the agent out of {self._settings}"
            steps.do(told, replace_deny_rules, self._settings, denied, ())
        self.run_each(orders, steps)
        if not ours:
            steps.say(f"the plugin is not installed in the scope {scope}")
        if last:
            told = f"take our part of the status line out of {self._settings}"
            steps.do(told, put_status_line, self._settings, None)
        return last

    def scopes(self) -> tuple[str, ...]:
        """Return the scopes in which it is installed for this project. Raises HostError."""
        return tuple(dict.fromkeys(one.scope for one in self.installed() if self._is_here(one)))

    def present(self) -> bool:
        """Return False: only the host itself tells."""
        return False

    def holds(self) -> bool:
        """Return whether our plugin is in it; assumed where `claude` exists but does not list its plugins."""
        try:
            return bool(self.installed())
        except HostError:
            return bool(self.program.path)

    def leftovers(self) -> tuple[Path, ...]:
        """Return the folder of the host's copies of our plugins."""
        return (cached_plugins(self.environment),)

    def _is_here(self, one: InstalledPlugin) -> bool:
        return one.project_path in {"", str(self.project)}

    async def examine(self, *, needed: bool) -> HostFindings:
        """Check version, plugin and hooks."""
        known = await self.version_finding()
        listed = await self.program.result("plugin", "list", "--json", seconds=30)
        plugins = read_json(listed.output, list[_Plugin])
        if plugins is None:
            unlisted = installing.warning_finding(
                "Claude Code does not list its plugins", "claude plugin list"
            )
            return HostFindings((known, unlisted))
        ours = [one for one in plugins if one.id.startswith(OURS)]
        lines = [known, self._plugin_finding(ours, needed=needed)]
        lines += [
            installing.ok_finding(f"plugin {one.id} {one.version}: the language server for .md files")
            for one in plugins
            if one.id == RUBRIC_PLUGIN_ID and one.enabled
        ]
        enabled = [one for one in ours if one.enabled]
        if not enabled:
            return HostFindings(tuple(lines))
        lines += [
            installing.warning_finding(
                f"the plugin is of version {version}, this is {__version__}", installing.UPGRADE
            )
            for version in sorted({one.version for one in enabled} - {__version__})
        ]
        lines += [self._own_files_finding(), *(tuple(self._switched_off()) or tuple(self._unheard_session()))]
        for one in enabled:
            if server := one.mcp_servers.get(SERVER):
                command = [word.replace(ROOT, one.install_path) for word in (server.command, *server.args)]
                return HostFindings(tuple(lines), self.probe, command, self.title)
        lines.append(installing.warning_finding("the plugin brings no tools into Claude Code", UPDATE))
        return HostFindings(tuple(lines), self.probe)

    def _plugin_finding(self, ours: Sequence[_Plugin], *, needed: bool) -> DoctorFinding:
        if not ours:
            return self.missing_finding(needed=needed)
        if not any(plugin.enabled for plugin in ours):
            enable = f"claude plugin enable {ours[0].id}"
            return installing.problem_finding("the plugin is disabled in Claude Code", enable, needed=needed)
        return installing.ok_finding(f"plugin {ours[0].id} {ours[0].version}")

    def _own_files_finding(self) -> DoctorFinding:
        """Whether the host keeps its agent from our own files."""
        folders = user_paths()
        if missing_deny_rules(self._settings, deny_rules(folders, folders.recorded_runtime())):
            lacking = f"{self._settings} does not keep the agent from Supervisor's own files"
            return installing.warning_finding(lacking, self.install_command)
        return installing.ok_finding(f"{self._settings} keeps the agent from Supervisor's own files")

    def _switched_off(self) -> Iterator[DoctorFinding]:
        """Why hooks do not run in the project."""
        own = [self.project / one for one in PROJECT_SETTINGS]
        for path in (self._settings, *own, MANAGED_SETTINGS):
            with suppress(OSError, UnusableFileError, msgspec.DecodeError):
                switches = msgspec.json.decode(read_whole(path, SETTINGS_LIMIT, follow=True), type=_Switches)
                only_managed = switches.allow_managed_hooks_only and path == MANAGED_SETTINGS
                if switches.disable_all_hooks or only_managed:
                    name = "disableAllHooks" if switches.disable_all_hooks else "allowManagedHooksOnly"
                    said = f"{name} in {path} keeps our hooks from running"
                    yield installing.error_finding(said, f"set it to false: {path}")

    def _unheard_session(self) -> Iterator[DoctorFinding]:
        """The newest session here, if it ended a turn since the install and no hook of it was answered."""
        folders = user_paths()
        with suppress(OSError, BadInputError):
            newest = newest_session(str(self.project), self.environment)
            if newest is None or newest.changed < folders.runtime.stat().st_mtime:
                return
            known = (folders.state / "sessions" / f"{file_stem(newest.key)}.json").exists()
            if not known and RecordFiles(RECORD, SystemClock().pause).ended(newest.key, newest.transcript):
                yield installing.error_finding(
                    f"Claude Code worked here (session {newest.key.id}) and no hook of ours ran",
                    "start claude anew here: hooks are read at its start, and --safe-mode runs none",
                )


# --- What doctor knows of the host --------------------------------------------------------------------------


UPDATE: Final = "claude plugin update supervisor@supervisor"
OURS: Final = "supervisor@"
"""Prefix of the plugin's id, whatever marketplace it came from."""
SERVER: Final = "supervisor"
"""Name of the MCP server in the plugin that offers the tools."""
ROOT: Final = "${CLAUDE_PLUGIN_ROOT}"


class _Server(Struct, frozen=True):
    command: str = ""
    args: tuple[str, ...] = ()


class _Plugin(Struct, frozen=True, rename="camel"):
    id: str = ""
    enabled: bool = False
    version: str = ""
    install_path: str = ""
    mcp_servers: dict[str, _Server] = {}


MANAGED_SETTINGS: Final = Path("/etc/claude-code/managed-settings.json")
PROJECT_SETTINGS: Final = (".claude/settings.json", ".claude/settings.local.json")


class _Switches(Struct, frozen=True, rename="camel"):
    disable_all_hooks: bool = False
    allow_managed_hooks_only: bool = False
