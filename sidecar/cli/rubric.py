"""`supervisor rubric`: which rubric is in force, and an agent's edit that is held. Needs no sidecar.

The other verbs have files of their own, which are imported when they are needed.
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

from sidecar.adapters.paths import of_user
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.rubric import RubricFiles
from sidecar.cli.checks import visible, visible_lines
from sidecar.cli.gates import FOLDER
from sidecar.cli.goal import refuse_agents
from sidecar.policy.firing import digest
from sidecar.policy.rubrics import described

DECLINED: Final = 1
LATER: Final = {
    "init": "sidecar.cli.rubric_init",
    "check": "sidecar.cli.rubric_check",
    "diff": "sidecar.cli.rubric_diff",
    "replay": "sidecar.cli.rubric_replay",
}
"""Verbs, and the module that has each under its own name."""


class _Verbs(click.Group):
    """A group that imports a verb when it is called, or when its help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *LATER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LATER:
            return super().get_command(ctx, cmd_name)
        command = getattr(importlib.import_module(LATER[cmd_name]), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{LATER[cmd_name]}.{cmd_name} is no command")
        return command


@click.group(cls=_Verbs)
def rubric() -> None:
    """The project's own idea of done: show it, make one, check it, and let an agent's edit of it count."""


@rubric.command(short_help="Which rubric is in force, and why.")
@FOLDER
def show(folder: str) -> None:
    """Which file is in force for FOLDER (else the current folder) and why, and what is held."""
    counts = _files().load(folder, os.environ)
    click.echo("\n".join(visible_lines(described(counts, folder))))
    saved = RubricFiles(_default(), os.environ).load(folder, os.environ)
    if counts.held is None and (saved.origin, digest(saved)) != (counts.origin, digest(counts)):
        click.echo(f"What is saved now is another one, {visible(saved.origin)}: the next stop looks at it.")


@rubric.command(short_help="Let an agent's edit count.")
@FOLDER
@click.option("--yes", is_flag=True, help="Accept what is shown without asking.")
def accept(folder: str, *, yes: bool) -> None:
    """Let an agent's edit of the rubric count, after a look at it.

    Exit codes: 0 accepted or nothing is held, 1 declined, 2 no terminal to ask on and no --yes.
    """
    refuse_agents()
    sys.exit(_accept(_files(), folder, yes=yes))


def _files() -> RubricFiles:
    return RubricFiles(_default(), os.environ, of_user().state / "rubrics")


def _default() -> Path:
    return plugin_root() / "rubric" / "rubric.md"


def _accept(files: RubricFiles, folder: str, *, yes: bool) -> int:
    """Show all, ask once, and accept exactly what was shown."""
    held, texts = files.load(folder, os.environ).held, files.texts(folder)
    if held is None or texts is None:
        click.echo("Nothing is held.")
        return 0
    click.echo(f"{visible(held.path)}: {visible(held.summary)}")
    for line in _difference(*texts):
        click.echo(line)
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on. Look at what is shown, then add --yes")
    if not yes and not click.confirm("Let this count?", default=False):
        click.echo("Nothing was accepted; it is held as before.")
        return DECLINED
    click.echo(visible(files.accept(folder, os.environ, held.digest)))
    return 0


def _difference(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(visible_lines(before), visible_lines(after), "in force", "held", lineterm="")
    yield from (f"  {line}" for line in lines)
