"""`supervisor rubric`: shows the rubric in force, makes one, and compares it with the default."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Final

import click

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.goal import refuse_agents
from sidecar.cli.options import FOLDER_ARGUMENT
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.rubric_check import check
from sidecar.cli.trust import accept
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import escape_unprintable, escape_unprintable_lines
from sidecar.platform.configuration import user_config_folder
from sidecar.rubric.policy import (
    EDIT_HINT,
    PROJECT_RUBRIC_PATHS,
    describe_rubric,
    new_rubric_text,
    summarize_rubric_changes,
)
from sidecar.rubric.reader import (
    RejectedRubricError,
    RubricFiles,
    create_rubric_file,
    parse_rubric,
    read_rubric_text,
)
from sidecar.wiring.platform import build_rubrics, default_rubric

PROJECT, USER = "project", "user"
EXISTS_MESSAGE: Final = """ is there already, and stays as it is.
  - see what is wrong with it: supervisor rubric check
  - see how it differs from the default: supervisor rubric diff
  - begin anew, and keep it as rubric.md.bak: supervisor rubric init --force"""


@click.group()
def rubric() -> None:
    """The project's own idea of done: show it, make one, check it, and let an agent's edit of it count."""


rubric.add_command(accept)
rubric.add_command(check)


@rubric.command(short_help="Which rubric is in force, and why.")
@FOLDER_ARGUMENT
@click.option("--json", "as_json", is_flag=True, help="Print the rubric in force as JSON for a script.")
def show(folder: str, *, as_json: bool) -> None:
    """Which file is in force for FOLDER (else the current folder) and why, and what is held."""
    counts = build_rubrics(CommandLineFiles()).load(folder, os.environ)
    if as_json:
        echo_json(counts)
    else:
        echo("\n".join(escape_unprintable_lines("\n".join(describe_rubric(counts, folder)))))


@rubric.command(short_help="Compare a rubric with the default.")
@FOLDER_ARGUMENT
@click.option("--summary", is_flag=True, help="Only the criteria, not the lines.")
def diff(folder: str, *, summary: bool) -> None:
    """Compare the rubric file that serves FOLDER (else the current folder) with the default.

    First the criteria that are gone, new or changed, then the lines. It is the file as it is now, an edit
    that is held with it.
    """
    default = default_rubric()
    serving = RubricFiles(default, os.environ).load(folder, os.environ)
    for line in serving.rejected:
        echo(f"passed over: {escape_unprintable(line)}")
    origin = Path(serving.origin)
    if origin == default:
        move = "Mend that file." if serving.rejected else "Make a rubric of your own: supervisor rubric init"
        echo(f"The default serves here. {move}")
        return
    theirs, ours = read_valid_rubric(default), read_valid_rubric(origin)
    echo(f"{escape_unprintable(str(origin))}, compared with the default:")
    echo(f"  {escape_unprintable(summarize_rubric_changes(parse_rubric(theirs), parse_rubric(ours)))}")
    if not summary:
        before, after = escape_unprintable_lines(theirs), escape_unprintable_lines(ours)
        for line in ("", *difflib.unified_diff(before, after, "default", "in force", lineterm="")):
            echo(line)


@rubric.command()
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
    place, text = _new_path(scope), read_valid_rubric(Path(source) if source else default_rubric())
    if not source:
        text = new_rubric_text(text, Path.cwd().name if scope == PROJECT else "")
    backup = place.with_name(f"{place.name}.bak")
    if force and os.path.lexists(backup):  # of an earlier --force: it may be the user's only copy
        raise click.ClickException(f"{escape_unprintable(str(backup))} is there already: move it away first")
    try:
        beside = create_rubric_file(place, text, force=force)
    except FileExistsError as error:
        if error.filename != str(place):
            raise
        raise click.ClickException(f"{escape_unprintable(str(place))}{EXISTS_MESSAGE}") from error
    CommandLineFiles().vouch(place)
    kept = f"; what was there is {escape_unprintable(str(beside))}" if beside else ""
    echo(f"{escape_unprintable(str(place))} was made{kept}. {EDIT_HINT}")


def _new_path(scope: str) -> Path:
    if scope == PROJECT:
        return Path.cwd() / PROJECT_RUBRIC_PATHS[0]
    folder = user_config_folder(os.environ)
    if folder is None:
        raise click.UsageError("neither XDG_CONFIG_HOME nor HOME says where your configuration is")
    return folder / "rubric.md"


def read_valid_rubric(path: Path) -> str:
    """Return the text of a rubric. Raises BadInputError for a file that cannot be one."""
    try:
        text = read_rubric_text(path.resolve())
        parse_rubric(text)
    except (RejectedRubricError, OSError) as error:
        raise BadInputError(f"{path} cannot be a rubric: {error}") from error
    return text
