"""`supervisor rubric`: shows the rubric in force and accepts an agent's held edit. Needs no sidecar.

The other subcommands have modules of their own, which are imported only when needed.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from sidecar.cli.gates import FOLDER_ARGUMENT
from sidecar.cli.goal import refuse_agents
from sidecar.cli.printing import echo
from sidecar.judging.replays import rubric_digest
from sidecar.kernel.text import escape_unprintable, escape_unprintable_lines
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import user_paths
from sidecar.rubric.policy import describe_rubric
from sidecar.rubric.reader import RubricFiles

DECLINED: Final = 1
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
def show(folder: str) -> None:
    """Which file is in force for FOLDER (else the current folder) and why, and what is held."""
    counts = _rubric_files().load(folder, os.environ)
    echo("\n".join(escape_unprintable_lines(describe_rubric(counts, folder))))
    saved = RubricFiles(_default_rubric_path(), os.environ).load(folder, os.environ)
    if counts.held is None and (saved.origin, rubric_digest(saved)) != (counts.origin, rubric_digest(counts)):
        origin = escape_unprintable(saved.origin)
        echo(f"What is saved now is another one, {origin}: the next stop looks at it.")


@rubric.command(short_help="Let an agent's edit count.")
@FOLDER_ARGUMENT
@click.option("--yes", is_flag=True, help="Accept what is shown without asking.")
def accept(folder: str, *, yes: bool) -> None:
    """Let an agent's edit of the rubric count, after a look at it.

    Exit codes: 0 accepted or nothing is held, 1 declined, 2 no terminal to ask on and no --yes.
    """
    refuse_agents()
    sys.exit(_accept_held_edit(_rubric_files(), folder, yes=yes))


def _rubric_files() -> RubricFiles:
    return RubricFiles(_default_rubric_path(), os.environ, user_paths().state / "rubrics")


def _default_rubric_path() -> Path:
    return plugin_root() / "rubric" / "rubric.md"


def _accept_held_edit(files: RubricFiles, folder: str, *, yes: bool) -> int:
    """Show the whole edit, ask once, and accept exactly what was shown."""
    held, texts = files.load(folder, os.environ).held, files.texts(folder)
    if held is None or texts is None:
        echo("Nothing is held.")
        return 0
    echo(f"{escape_unprintable(held.path)}: {escape_unprintable(held.summary)}")
    for line in _diff_lines(*texts):
        echo(line)
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on. Look at what is shown, then add --yes")
    if not yes and not click.confirm("Let this count?", default=False):
        echo("Nothing was accepted; it is held as before.")
        return DECLINED
    echo(escape_unprintable(files.accept(folder, os.environ, held.digest)))
    return 0


def _diff_lines(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(
        escape_unprintable_lines(before), escape_unprintable_lines(after), "in force", "held", lineterm=""
    )
    yield from (f"  {line}" for line in lines)
