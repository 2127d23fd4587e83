"""Installs Supervisor in OpenCode: one file in a folder that the host loads by itself; no file is edited.

Each step is printed before it is done, so that `--print-only` prints the same.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar import __version__
from sidecar.cli.printing import echo
from sidecar.hosts.opencode import plugin_file
from sidecar.hosts.opencode.plugin_file import (
    InstallationInfo,
    bake_plugin_from_root,
    bake_status_file,
    identify_plugin_file,
)
from sidecar.platform.installation import HostError, plugin_root
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
        return bake_plugin_from_root(plugin_root(), plugin_file_offers(self.scope, runtime))

    def put(self, text: str, *, print_only: bool) -> None:
        """Write the file, and the stand-in that keeps the host from waiting for npm. Raises HostError."""
        place = plugin_file.plugin_file_path(self.folder)
        due = [folder for folder in self._waited_for() if plugin_file.needs_stand_in(folder)]
        with _report_write_errors(self.folder):
            echo(f"write {place}")
            if not print_only:
                echo(f"  {plugin_file.write_plugin_file(place, text)}")
        for folder in due:
            echo(f"put a stand-in for npm's packages into {folder}: {STAND_IN_REASON}")
            if not print_only:
                _put_stand_in(folder)
        for folder in self._waited_for():
            others = plugin_file.foreign_plugins(folder)
            if others and plugin_file.has_stand_in(folder):
                _remove_stand_in(folder, f"{others[0]} may need them", print_only=print_only)
        for hint in self._hints(place):
            echo(f"note: {hint}")

    def put_status_line(self, runtime: Path, *, wanted: bool, print_only: bool) -> None:
        """Show where the goal stands beside the prompt, where that is wanted or done already."""
        place = self.folder / plugin_file.STATUS_FILE_NAME
        if not wanted and identify_plugin_file(place) is None:
            return
        text = bake_status_file(plugin_root(), plugin_file_offers(self.scope, runtime))
        with _report_write_errors(self.folder):
            echo(f"write {place}, and have {self.folder / plugin_file.TUI_FILE_NAME} name it")
            if not print_only:
                echo(f"  {plugin_file.write_plugin_file(place, text)}")
                if by_hand := plugin_file.name_status_file(self.folder):
                    echo(f"note: {by_hand}")

    def _take_status_line(self, *, print_only: bool) -> None:
        place = self.folder / plugin_file.STATUS_FILE_NAME
        if identify_plugin_file(place) is None:
            return
        with _report_write_errors(self.folder):
            echo(f"remove {place}")
            if not print_only:
                echo(f"  {plugin_file.remove_plugin_file(place)}")
                if by_hand := plugin_file.forget_status_file(self.folder):
                    echo(f"note: {by_hand}")

    def take(self, *, print_only: bool) -> None:
        """Remove all our files from the folder. Raises HostError."""
        self._take_status_line(print_only=print_only)
        ours = plugin_file.own_plugin_files(self.folder)
        if not ours:
            echo(f"no file of ours is in {self.folder}")
        with _report_write_errors(self.folder):
            for path in ours:
                echo(f"remove {path}")
                if not print_only:
                    echo(f"  {plugin_file.remove_plugin_file(path)}")
            if ours and not print_only:
                plugin_file.remove_empty_folders(self.folder)
        for folder in self._waited_for():
            unused = folder == self.folder or not plugin_file.own_plugin_files(folder)
            if unused and plugin_file.has_stand_in(folder):
                _remove_stand_in(folder, "nothing of ours needs it", print_only=print_only)

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


def plugin_file_scope(path: Path) -> str:
    """The scope of a plugin file of ours."""
    return "user" if plugin_file.opencode_user_folder(os.environ) in path.parents else "project"


@contextmanager
def _report_write_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HostError(
            f"{folder} cannot be written: {error.strerror or error}",
            f"look at it: ls -ld {folder}",
            "or see only what would be done: add --print-only",
        ) from None


def _put_stand_in(folder: Path) -> None:
    """Write the stand-in; an error is only printed.

    Without it a start may be slow, and nothing else fails. Where we cannot write, the host cannot either.
    """
    try:
        plugin_file.write_stand_in(folder)
    except OSError as error:
        echo(f"  not done: {error.strerror or error}")


def _remove_stand_in(folder: Path, why: str, *, print_only: bool) -> None:
    echo(f"remove the stand-in for npm's packages from {folder}: {why}")
    with _report_write_errors(folder):
        if not print_only:
            plugin_file.remove_stand_in(folder)
            plugin_file.remove_empty_folders(folder)
