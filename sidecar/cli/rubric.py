"""`supervisor rubric`: which rubric is in force, and an agent's edit that is held. Needs no sidecar."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator

import click

from sidecar.adapters.paths import of_user
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.rubric import RubricFiles
from sidecar.cli.checks import visible, visible_lines
from sidecar.cli.gates import FOLDER
from sidecar.cli.goal import refuse_agents
from sidecar.policy.rubrics import described

DECLINED = 1


@click.group()
def rubric() -> None:
    """Show the rubric in force, or accept an edit of it that an agent made."""


@rubric.command()
@FOLDER
def show(folder: str) -> None:
    """Which file is in force for FOLDER (else the current folder) and why, and what is held."""
    click.echo("\n".join(visible_lines(described(_files().load(folder, os.environ), folder))))


@rubric.command()
@FOLDER
@click.option("--yes", is_flag=True, help="Accept what is shown without asking.")
def accept(folder: str, *, yes: bool) -> None:
    """Let an agent's edit of the rubric count, after a look at it.

    Exit codes: 0 accepted or nothing is held, 1 declined, 2 no terminal to ask on and no --yes.
    """
    refuse_agents()
    sys.exit(_accept(_files(), folder, yes=yes))


def _files() -> RubricFiles:
    return RubricFiles(plugin_root() / "rubric" / "rubric.md", os.environ, of_user().state / "rubrics")


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
