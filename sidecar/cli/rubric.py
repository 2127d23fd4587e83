"""`supervisor rubric`: shows the rubric in force. Needs no sidecar.

The other subcommands have modules of their own, which are imported only when needed.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Final

import click

from sidecar.cli.options import FOLDER_ARGUMENT
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.trust import accept
from sidecar.judging.replays import rubric_digest
from sidecar.kernel.text import escape_unprintable, escape_unprintable_lines
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import user_paths
from sidecar.rubric.policy import describe_rubric
from sidecar.rubric.reader import RubricFiles

LAZY_COMMANDS: Final = {
    "init": "sidecar.cli.rubric_init",
    "check": "sidecar.cli.rubric_check",
    "diff": "sidecar.cli.rubric_diff",
    "replay": "sidecar.cli.rubric_replay",
}
"""Subcommands and their modules; a module defines its command under the name of the subcommand."""


class _LazyRubricGroup(click.Group):
    """A group that imports the module of a subcommand when it is called, or when help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *LAZY_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LAZY_COMMANDS:
            return super().get_command(ctx, cmd_name)
        command = getattr(importlib.import_module(LAZY_COMMANDS[cmd_name]), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{LAZY_COMMANDS[cmd_name]}.{cmd_name} is no command")
        return command


@click.group(cls=_LazyRubricGroup)
def rubric() -> None:
    """The project's own idea of done: show it, make one, check it, and let an agent's edit of it count."""


@rubric.command(short_help="Which rubric is in force, and why.")
@FOLDER_ARGUMENT
@click.option("--json", "as_json", is_flag=True, help="Print the rubric in force as JSON for a script.")
def show(folder: str, *, as_json: bool) -> None:
    """Which file is in force for FOLDER (else the current folder) and why, and what is held."""
    counts = _rubric_files().load(folder, os.environ)
    if as_json:
        echo_json(counts)
        return
    echo("\n".join(escape_unprintable_lines(describe_rubric(counts, folder))))
    saved = RubricFiles(_default_rubric_path(), os.environ).load(folder, os.environ)
    if counts.held is None and (saved.origin, rubric_digest(saved)) != (counts.origin, rubric_digest(counts)):
        origin = escape_unprintable(saved.origin)
        echo(f"What is saved now is another one, {origin}: the next stop looks at it.")


def _rubric_files() -> RubricFiles:
    return RubricFiles(_default_rubric_path(), os.environ, user_paths().state / "rubrics")


def _default_rubric_path() -> Path:
    return plugin_root() / "rubric" / "rubric.md"


rubric.add_command(accept)
