"""Puts Supervisor into OpenCode: one file in a folder that the host loads by itself; no file is edited."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct

from sidecar import __version__
from sidecar.hosts import installing
from sidecar.hosts.installing import DoctorFinding, HostFindings, HostInstaller, InstallOrder, Steps
from sidecar.hosts.opencode import plugin_file
from sidecar.hosts.opencode.plugin_file import (
    FILE_LIMIT,
    InstallationInfo,
    bake_plugin_file,
    bake_status_file,
    identify_plugin_file,
)
from sidecar.hosts.shared import OPENCODE
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.installation import HostError, plugin_root
from sidecar.platform.paths import user_paths
from sidecar.platform.processes import find_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


STAND_IN_REASON: Final = (
    "OpenCode would fetch 60 MB before it loads a plugin, and offline wait more than a minute at each start"
)


def plugin_file_offers(scope: str, runtime: Path) -> InstallationInfo:
    """The values that are written into the plugin file.

    A project's file is shared by all its users, so it has the name of the command, not one user's path to it.
    """
    return InstallationInfo("supervisor" if scope == "project" else str(runtime), __version__)


class OpenCodeFile(Struct, frozen=True):
    """Our plugin file in OpenCode's configuration folder of one scope, "user" or "project"."""

    environment: Mapping[str, str]
    project: Path
    scope: str

    @property
    def folder(self) -> Path:
        """The configuration folder that holds the file."""
        if self.scope == "project":
            return plugin_file.opencode_project_folder(self.project)
        return plugin_file.opencode_user_folder(self.environment)

    def text(self, runtime: Path) -> str:
        """The content of the file. Raises HostError."""
        return bake_plugin_file(plugin_root(), plugin_file_offers(self.scope, runtime))

    def put(self, text: str, steps: Steps) -> None:
        """Write the file, and the stand-in that keeps the host from waiting for npm. Raises HostError."""
        place = plugin_file.plugin_file_path(self.folder)
        due = [folder for folder in self._waited_for() if plugin_file.needs_stand_in(folder)]
        with installing.report_write_errors(self.folder):
            steps.do(f"write {place}", plugin_file.write_plugin_file, place, text)
        for folder in due:
            told = f"put a stand-in for npm's packages into {folder}: {STAND_IN_REASON}"
            steps.do(told, _put_stand_in, folder)
        for folder in self._waited_for():
            others = plugin_file.foreign_plugins(folder)
            if others and plugin_file.has_stand_in(folder):
                _remove_stand_in(folder, f"{others[0]} may need them", steps)
        for hint in self._hints(place):
            steps.say(f"note: {hint}")

    def put_status_line(self, runtime: Path, steps: Steps, *, wanted: bool) -> None:
        """Show where the goal stands beside the prompt, where that is wanted or done already."""
        place = self.folder / plugin_file.STATUS_FILE_NAME
        if not wanted and identify_plugin_file(place) is None:
            return
        text = bake_status_file(plugin_root(), plugin_file_offers(self.scope, runtime))
        with installing.report_write_errors(self.folder):
            steps.do(f"write {place}", plugin_file.write_plugin_file, place, text)
            named = f"have {self.folder / plugin_file.TUI_FILE_NAME} name it"
            steps.do(named, plugin_file.name_status_file, self.folder)

    def take(self, steps: Steps) -> None:
        """Remove all our files from the folder. Raises HostError."""
        status = self.folder / plugin_file.STATUS_FILE_NAME
        ours = plugin_file.own_plugin_files(self.folder)
        if not ours:
            steps.say(f"no file of ours is in {self.folder}")
        with installing.report_write_errors(self.folder):
            if identify_plugin_file(status) is not None:
                steps.do(f"remove {status}", plugin_file.remove_plugin_file, status)
                named = f"take it out of {self.folder / plugin_file.TUI_FILE_NAME}"
                steps.do(named, plugin_file.forget_status_file, self.folder)
            for path in ours:
                steps.do(f"remove {path}", plugin_file.remove_plugin_file, path)
            if not steps.print_only:
                plugin_file.remove_empty_folders(self.folder)
        for folder in self._waited_for():
            unused = folder == self.folder or not plugin_file.own_plugin_files(folder)
            if unused and plugin_file.has_stand_in(folder):
                _remove_stand_in(folder, "nothing of ours needs it", steps)

    def _waited_for(self) -> tuple[Path, ...]:
        """Folders into which the host fetches packages before it loads our file; the user's is always one."""
        return tuple(dict.fromkeys((self.folder, plugin_file.opencode_user_folder(self.environment))))

    def elsewhere(self) -> tuple[Path, ...]:
        """Our plugin files in other folders that an OpenCode started here loads."""
        return tuple(
            path
            for path in loaded_plugin_files(self.environment, self.project)
            if self.folder not in path.parents
        )

    def _hints(self, place: Path) -> Iterator[str]:
        for other in (*plugin_file.own_plugin_files(self.folder), *self.elsewhere()):
            if other != place:
                yield f"{other} is there too; only one of them works, and one is enough"
        for config in plugin_file.configs_naming_plugin(self.folder, self.project):
            yield f"{config} names a supervisor.js among its plugins, which is not needed"
        if plugin_file.is_switched_on(self.environment, "OPENCODE_PURE"):
            yield "OPENCODE_PURE is set here: OpenCode loads no plugin while it is"
        if not find_program("opencode", self.environment, str(self.project)):
            yield "opencode is not on PATH here"


def loaded_plugin_files(environment: Mapping[str, str], project: Path) -> tuple[Path, ...]:
    """Our plugin files that an OpenCode started in `project` loads, each once."""
    folders = dict.fromkeys(plugin_file.opencode_config_folders(environment, project))
    return tuple(path for folder in folders for path in plugin_file.own_plugin_files(folder))


def plugin_file_scope(path: Path, environment: Mapping[str, str]) -> str:
    """The scope of a plugin file of ours."""
    return "user" if plugin_file.opencode_user_folder(environment) in path.parents else "project"


def _put_stand_in(folder: Path) -> str:
    """Write the stand-in; return why it was not written.

    Without it a start may be slow, and nothing else fails. Where we cannot write, the host cannot either.
    """
    try:
        plugin_file.write_stand_in(folder)
    except OSError as error:
        return f"not done: {error.strerror or error}"
    return ""


def _remove_stand_in(folder: Path, why: str, steps: Steps) -> None:
    with installing.report_write_errors(folder):
        told = f"remove the stand-in for npm's packages from {folder}: {why}"
        steps.do(told, plugin_file.remove_stand_in, folder)


# --- The installer ------------------------------------------------------------------------------------------


class OpenCodeInstaller(HostInstaller):
    """Implements hosts.installing.HostInstaller."""

    name = OPENCODE
    title = "OpenCode"
    command = "opencode"
    get = "npm install -g opencode-ai"
    lends_model = True
    tested = "1.18.33"
    update = "opencode upgrade"
    probed = ("run", "--command", "supervisor:retry")  # the host refuses it where it loads no file of ours
    probe_variables: ClassVar[Mapping[str, str]] = {"OPENCODE_DB": ":memory:"}  # no session is left behind
    refused: ClassVar[Mapping[str, str]] = {installing.RUBRIC_EDITOR: "opencode has it in its one file"}

    def put(self, order: InstallOrder, steps: Steps) -> None:
        """Write our plugin file."""
        place = OpenCodeFile(self.environment, self.project, order.scope)
        text = place.text(order.runtime)
        if not steps.print_only:
            order.prepare()
        place.put(text, steps)
        place.put_status_line(order.runtime, steps, wanted=installing.STATUS_LINE in order.options)

    def take(self, scope: str, steps: Steps) -> bool:
        """Remove all our files from one folder."""
        place = OpenCodeFile(self.environment, self.project, scope)
        place.take(steps)
        elsewhere = place.elsewhere()
        if elsewhere:
            steps.say(f"{elsewhere[0]} stays")
        return not elsewhere

    def scopes(self) -> tuple[str, ...]:
        """Return the scopes in which it is installed for this project."""
        return tuple(dict.fromkeys(plugin_file_scope(path, self.environment) for path in self._files()))

    def present(self) -> bool:
        """Return whether an OpenCode that is started in the project loads a plugin file of ours."""
        return bool(self._files())

    def _files(self) -> tuple[Path, ...]:
        return loaded_plugin_files(self.environment, self.project)

    async def examine(self, *, needed: bool) -> HostFindings:
        """Check version, plugin file and what keeps it from working."""
        lines = [await self.version_finding()]
        ours = self._files()
        if not ours:
            lines.append(self.missing_finding(needed=needed))
        lines += [self._plugin_file_finding(path) for path in ours]
        if len(ours) > 1:
            many = f"there are {len(ours)} of them, and one is enough"
            lines.append(installing.warning_finding(many, self._uninstall_command(ours[-1])))
        pure = plugin_file.is_switched_on(self.environment, "OPENCODE_PURE")
        if pure:
            lines.append(
                installing.warning_finding(
                    "OpenCode loads no plugin while OPENCODE_PURE is set", "unset OPENCODE_PURE"
                )
            )
        lines += self._package_findings() if ours else []
        if not ours or not self.program.path or pure:
            return HostFindings(tuple(lines))
        runtime = user_paths().recorded_runtime()
        return HostFindings(tuple(lines), self.probe, (str(runtime), "mcp") if runtime else (), self.title)

    def _plugin_file_finding(self, path: Path) -> DoctorFinding:
        """Whether a plugin file of ours is what this installation would write."""
        scope, is_ours = plugin_file_scope(path, self.environment), identify_plugin_file(path)
        runtime = user_paths().recorded_runtime()
        remedy = f"{self.install_command} --scope project" if scope == "project" else self.install_command
        try:
            wanted = OpenCodeFile(self.environment, self.project, scope).text(runtime or Path("supervisor"))
            if read_whole(path, FILE_LIMIT) == wanted.encode():
                return installing.ok_finding(f"plugin {path} ({scope})")
        except HostError as trouble:
            return installing.error_finding(str(trouble), trouble.moves[0])
        except (OSError, UnusableFileError):
            return installing.warning_finding(f"{path} cannot be read", f"ls -l {path}")
        if is_ours is not None and is_ours.changed:
            return installing.warning_finding(f"{path} was changed by hand", remedy)
        return installing.warning_finding(f"{path} is not what this version of Supervisor installs", remedy)

    def _uninstall_command(self, path: Path) -> str:
        """What removes a superfluous plugin file: `rm` where it is not in this project's folder."""
        here = plugin_file.opencode_project_folder(self.project)
        return "supervisor uninstall opencode --scope project" if here in path.parents else f"rm {path}"

    def _package_findings(self) -> Iterator[DoctorFinding]:
        """How npm's packages, or our stand-in for them, affect a start of OpenCode."""
        for folder in dict.fromkeys(plugin_file.opencode_config_folders(self.environment, self.project)):
            others = plugin_file.foreign_plugins(folder)
            if others and plugin_file.has_stand_in(folder):
                yield installing.warning_finding(
                    f"our stand-in for npm's packages hides them from {others[0]}", self.install_command
                )
            elif folder.is_dir() and os.access(folder, os.W_OK) and not (folder / "node_modules").exists():
                yield installing.warning_finding(
                    f"OpenCode fetches packages into {folder} before it loads plugins; "
                    "offline it waits more than a minute at each start",
                    "start opencode once while online",
                )

    def is_everywhere(self) -> bool:
        """Return whether the user's folder has our file."""
        return "user" in self.scopes()
