"""`supervisor rubric init`: a rubric of one's own, begun from the default. It writes over no file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.rubric import parsed, read
from sidecar.adapters.rubrics.places import RejectedError
from sidecar.adapters.rubrics.starting import begin
from sidecar.adapters.settings.user_file import user_folder
from sidecar.cli.checks import visible
from sidecar.cli.goal import refuse_agents
from sidecar.policy.rubric_words import NEXT, started
from sidecar.policy.rubrics import OF_PROJECT

PROJECT, USER = "project", "user"
THERE: Final = """ is there already, and stays as it is.
  - see what is wrong with it: supervisor rubric check
  - see how it differs from the default: supervisor rubric diff
  - begin anew, and keep it as rubric.md.bak: supervisor rubric init --force"""


@click.command()
@click.option(
    "--scope",
    type=click.Choice([PROJECT, USER]),
    default=PROJECT,
    show_default=True,
    help="For the project in this folder, or for you wherever a project has none.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False),
    help="Begin with this file as it is, not with the default.",
)
@click.option("--force", is_flag=True, help="Replace what is there; it is kept beside it as rubric.md.bak.")
def init(scope: str, source: str | None, *, force: bool) -> None:
    """Make a rubric of your own to edit.

    An agent's shell is refused: what it makes here would count as yours.
    """
    refuse_agents()
    place = _place(scope)
    text = _begun(source, Path.cwd().name if scope == PROJECT else "")
    if force:
        _spare(place.with_name(f"{place.name}.bak"))
    try:
        beside = begin(place, text, force=force)
    except FileExistsError as error:
        if error.filename != str(place):
            raise
        raise click.ClickException(f"{visible(str(place))}{THERE}") from error
    kept = f"; what was there is {visible(str(beside))}" if beside else ""
    click.echo(f"{visible(str(place))} was made{kept}. {NEXT}")


def _spare(kept: Path) -> None:
    """Raises ClickException where an earlier --force put something: that may be the user's only copy."""
    if os.path.lexists(kept):
        raise click.ClickException(f"{visible(str(kept))} is there already: move it away first")


def _place(scope: str) -> Path:
    if scope == PROJECT:
        return Path.cwd() / OF_PROJECT[0]
    folder = user_folder(os.environ)
    if folder is None:
        raise click.UsageError("neither XDG_CONFIG_HOME nor HOME says where your configuration is")
    return folder / "rubric.md"


def _begun(source: str | None, project: str) -> str:
    """Raises ClickException for a file that could not serve."""
    path = Path(source) if source else plugin_root() / "rubric" / "rubric.md"
    try:
        text = read(path.resolve())
        if isinstance(text, RejectedError):
            raise text
        parsed(text)
    except (RejectedError, OSError) as error:
        raise click.ClickException(f"{visible(str(path))} cannot be a rubric: {error}") from error
    return text if source else started(text, project)
