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
from sidecar.hosts.opencode import install as plugin_file
from sidecar.hosts.opencode.install import (
    InstallationInfo,
    bake_plugin_file,
    bake_status_file,
    identify_plugin_file,
)
from sidecar.platform.installation import HostError, plugin_root
from sidecar.platform.processes import find_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


STAND_IN_REASON: Final = (
    "OpenCode would fetch 60 MB before it loads a plugin, and offline wait more than a minute at each start"
)


def plugin_file_offers(scope: str, runtime: Path) -> InstallationInfo:
    """The values that are written into the plugin file.

    A project's file is shared by all its users, so it has the name of the command, not one user's path to it.
    """
    return InstallationInfo("supervisor" if scope == "project" else str(runtime), __version__)


class Steps(Struct, frozen=True):
    """Prints each step and does it; with `print_only` none is done."""

    print_only: bool

    def do(self, step: str, work: Callable[..., object], *given: object) -> None:
        """Print a step, and do it; what `work` returns is printed below it."""
        echo(step)
        if not self.print_only and (said := work(*given)):
            echo(f"  {said}")


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
        with _report_write_errors(self.folder):
            steps.do(f"write {place}", plugin_file.write_plugin_file, place, text)
        for folder in due:
            told = f"put a stand-in for npm's packages into {folder}: {STAND_IN_REASON}"
            steps.do(told, _put_stand_in, folder)
        for folder in self._waited_for():
            others = plugin_file.foreign_plugins(folder)
            if others and plugin_file.has_stand_in(folder):
                _remove_stand_in(folder, f"{others[0]} may need them", steps)
        for hint in self._hints(place):
            echo(f"note: {hint}")

    def put_status_line(self, runtime: Path, steps: Steps, *, wanted: bool) -> None:
        """Show where the goal stands beside the prompt, where that is wanted or done already."""
        place = self.folder / plugin_file.STATUS_FILE_NAME
        if not wanted and identify_plugin_file(place) is None:
            return
        text = bake_status_file(plugin_root(), plugin_file_offers(self.scope, runtime))
        with _report_write_errors(self.folder):
            steps.do(f"write {place}", plugin_file.write_plugin_file, place, text)
            named = f"have {self.folder / plugin_file.TUI_FILE_NAME} name it"
            steps.do(named, plugin_file.name_status_file, self.folder)

    def take(self, steps: Steps) -> None:
        """Remove all our files from the folder. Raises HostError."""
        status = self.folder / plugin_file.STATUS_FILE_NAME
        ours = plugin_file.own_plugin_files(self.folder)
        if not ours:
            echo(f"no file of ours is in {self.folder}")
        with _report_write_errors(self.folder):
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
    with _report_write_errors(folder):
        told = f"remove the stand-in for npm's packages from {folder}: {why}"
        steps.do(told, plugin_file.remove_stand_in, folder)
