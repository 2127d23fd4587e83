"""`supervisor rubric init`: creates a rubric from the default one or a file. It overwrites no file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from sidecar.cli.goal import refuse_agents
from sidecar.cli.printing import echo
from sidecar.kernel.text import escape_unprintable
from sidecar.platform.configuration import user_config_folder
from sidecar.platform.installation import plugin_root
from sidecar.rubric.files import RejectedRubricError, create_rubric_file
from sidecar.rubric.policy import EDIT_HINT, PROJECT_RUBRIC_PATHS, new_rubric_text
from sidecar.rubric.reader import parse_rubric, read_rubric_text

PROJECT, USER = "project", "user"
EXISTS_MESSAGE: Final = """ is there already, and stays as it is.
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
    refuse_agents(noted=True)
    place = _rubric_path(scope)
    text = _starting_text(source, Path.cwd().name if scope == PROJECT else "")
    if force:
        _refuse_existing_backup(place.with_name(f"{place.name}.bak"))
    try:
        beside = create_rubric_file(place, text, force=force)
    except FileExistsError as error:
        if error.filename != str(place):
            raise
        raise click.ClickException(f"{escape_unprintable(str(place))}{EXISTS_MESSAGE}") from error
    kept = f"; what was there is {escape_unprintable(str(beside))}" if beside else ""
    echo(f"{escape_unprintable(str(place))} was made{kept}. {EDIT_HINT}")


def _refuse_existing_backup(kept: Path) -> None:
    """Raises ClickException where a backup of an earlier --force exists: it may be the user's only copy."""
    if os.path.lexists(kept):
        raise click.ClickException(f"{escape_unprintable(str(kept))} is there already: move it away first")


def _rubric_path(scope: str) -> Path:
    if scope == PROJECT:
        return Path.cwd() / PROJECT_RUBRIC_PATHS[0]
    folder = user_config_folder(os.environ)
    if folder is None:
        raise click.UsageError("neither XDG_CONFIG_HOME nor HOME says where your configuration is")
    return folder / "rubric.md"


def _starting_text(source: str | None, project: str) -> str:
    """The text to start with. Raises ClickException for a file that is not a valid rubric."""
    path = Path(source) if source else plugin_root() / "rubric" / "rubric.md"
    try:
        text = read_rubric_text(path.resolve())
        if isinstance(text, RejectedRubricError):
            raise text
        parse_rubric(text)
    except (RejectedRubricError, OSError) as error:
        raise click.ClickException(f"{escape_unprintable(str(path))} cannot be a rubric: {error}") from error
    return text if source else new_rubric_text(text, project)
