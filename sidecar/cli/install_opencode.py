"""Supervisor in OpenCode: one file in a folder that the host loads by itself, and nothing edited.

What is said comes before what is done, so that `--print-only` says the same.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct

from sidecar import __version__
from sidecar.adapters.opencode import plugin_folder
from sidecar.adapters.opencode.plugin_file import Offers, baked
from sidecar.adapters.plugin import HostError, plugin_root
from sidecar.adapters.processes import find
from sidecar.cli import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WHY: Final = (
    "OpenCode would fetch 60 MB before it loads a plugin, and offline wait more than a minute at each start"
)


def offers(scope: str, runtime: Path) -> Offers:
    """What the file of this installation offers.

    A project's file is for everybody, so it names the command and not where one user has it.
    """
    return Offers("supervisor" if scope == "project" else str(runtime), __version__, VERBS.keys())


class OpenCodeFile(Struct, frozen=True):
    """Our file in OpenCode's folder of one scope."""

    environment: Mapping[str, str]
    project: Path
    scope: str

    @property
    def folder(self) -> Path:
        """The folder of configuration that holds it."""
        if self.scope == "project":
            return plugin_folder.project_folder(self.project)
        return plugin_folder.user_folder(self.environment)

    def text(self, runtime: Path) -> str:
        """What the file is to be. Raises HostError."""
        return baked(plugin_root(), offers(self.scope, runtime))

    def put(self, text: str, *, print_only: bool) -> None:
        """Write it, and what keeps the host from waiting for npm. Raises HostError."""
        place = plugin_folder.target(self.folder)
        due = [folder for folder in self._waited_for() if plugin_folder.stand_in_is_due(folder)]
        with _writing(self.folder):
            click.echo(f"write {place}")
            if not print_only:
                click.echo(f"  {plugin_folder.put(place, text)}")
        for folder in due:
            click.echo(f"put a stand-in for npm's packages into {folder}: {WHY}")
            if not print_only:
                _stand_in(folder)
        for folder in self._waited_for():
            others = plugin_folder.others(folder)
            if others and plugin_folder.stands_in(folder):
                _remove_stand_in(folder, f"{others[0]} may need them", print_only=print_only)
        for hint in self._hints(place):
            click.echo(f"note: {hint}")

    def take(self, *, print_only: bool) -> None:
        """Take all of ours out of the folder. Raises HostError."""
        ours = plugin_folder.copies(self.folder)
        if not ours:
            click.echo(f"no file of ours is in {self.folder}")
        with _writing(self.folder):
            for path in ours:
                click.echo(f"remove {path}")
                if not print_only:
                    click.echo(f"  {plugin_folder.take(path)}")
            if ours and not print_only:
                plugin_folder.tidy(self.folder)
        for folder in self._waited_for():
            unused = folder == self.folder or not plugin_folder.copies(folder)
            if unused and plugin_folder.stands_in(folder):
                _remove_stand_in(folder, "nothing of ours needs it", print_only=print_only)

    def _waited_for(self) -> tuple[Path, ...]:
        """Folders into which the host fetches packages before it loads our file: the user's in any case."""
        return tuple(dict.fromkeys((self.folder, plugin_folder.user_folder(self.environment))))

    def elsewhere(self) -> tuple[Path, ...]:
        """Files of ours in other folders that an OpenCode started here reads."""
        return tuple(
            path for path in loaded(self.environment, self.project) if self.folder not in path.parents
        )

    def _hints(self, place: Path) -> Iterator[str]:
        for other in (*plugin_folder.copies(self.folder), *self.elsewhere()):
            if other != place:
                yield f"{other} is there too; only one of them works, and one is enough"
        for config in plugin_folder.named(self.folder, self.project):
            yield f"{config} names a supervisor.js among its plugins, which is not needed"
        if plugin_folder.switched_on(self.environment, "OPENCODE_PURE"):
            yield "OPENCODE_PURE is set here: OpenCode loads no plugin while it is"
        if not find("opencode", self.environment, str(self.project)):
            yield "opencode is not on PATH here"


def loaded(environment: Mapping[str, str], project: Path) -> tuple[Path, ...]:
    """Our files that an OpenCode loads which is started in `project`, each once."""
    folders = dict.fromkeys(plugin_folder.folders(environment, project))
    return tuple(path for folder in folders for path in plugin_folder.copies(folder))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HostError(
            f"{folder} cannot be written: {error.strerror or error}",
            f"look at it: ls -ld {folder}",
            "or see only what would be done: add --print-only",
        ) from None


def _stand_in(folder: Path) -> None:
    """Without it a start may be slow, and nothing else is amiss. Where we cannot write, the host cannot."""
    try:
        plugin_folder.stand_in(folder)
    except OSError as error:
        click.echo(f"  not done: {error.strerror or error}")


def _remove_stand_in(folder: Path, why: str, *, print_only: bool) -> None:
    click.echo(f"remove the stand-in for npm's packages from {folder}: {why}")
    with _writing(folder):
        if not print_only:
            plugin_folder.remove_stand_in(folder)
            plugin_folder.tidy(folder)
