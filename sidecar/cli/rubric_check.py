"""`supervisor rubric check`: what an editor shows of a rubric, for commit hooks and CI. Asks no model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from sidecar.adapters.files import UnfitError, read_whole
from sidecar.adapters.paths import of_user
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.rubric_check import RubricCheck
from sidecar.cli.checks import visible
from sidecar.cli.rubric_found import FORMATS
from sidecar.cli.rubric_spots import Checked
from sidecar.model.flaw import Flaw, Weight
from sidecar.policy.rubrics import OF_PROJECT

READ_LIMIT: Final = 1 << 20
"""Bytes that are read of a file; a rubric has 8 KiB at most, and what is more than this is not counted."""
BROKEN: Final = 2


@click.command(short_help="Say what is wrong with rubrics.")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path())
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="A warning is an error.")
def check(files: tuple[str, ...], form: str, *, strict: bool) -> None:
    """Say what is wrong with rubrics: those named, else those of the project in the current folder.

    A file that is named is checked wherever it is; a text that is no rubric in its place is one on trial.

    Exit codes: 0 no error, 1 an error (with --strict also a warning), 2 a file could not be read, or there
    is none.
    """
    sys.exit(_check(files or _of_project(), form, strict=strict))


def _of_project() -> tuple[str, ...]:
    found = tuple(place for place in OF_PROJECT if os.path.lexists(place))
    if not found:
        raise click.UsageError(
            f"there is no {' and no '.join(OF_PROJECT)} here. Make one: supervisor rubric init"
        )
    return found


def _check(files: tuple[str, ...], form: str, *, strict: bool) -> int:
    desk = RubricCheck(plugin_root() / "rubric" / "rubric.md", os.environ, of_user().state)
    every, unread = [], False
    for name in files:
        try:
            every.append(_checked(desk, name))
        except OSError as error:
            click.echo(f"supervisor: {visible(name)}: {error.strerror or error}", err=True)
            unread = True
    for line in FORMATS[form](every) if every else ():
        click.echo(line)
    bad = {Weight.ERROR, Weight.WARNING} if strict else {Weight.ERROR}
    if unread:
        return BROKEN
    return int(any(flaw.weight in bad for checked in every for flaw in checked.flaws))


def _checked(desk: RubricCheck, name: str) -> Checked:
    """Raises OSError."""
    path = Path(name).absolute()
    try:
        raw = read_whole(path, READ_LIMIT, follow=True)
    except UnfitError as unfit:
        return Checked(name, "", (Flaw("unusable", str(unfit), 0, 0),))
    text = raw.decode("utf-8", "replace")
    desk.refresh(str(path))
    flaws = desk.flaws(str(path), text)
    return Checked(name, text, _on_trial(desk, raw, text) if flaws is None else flaws)


def _on_trial(desk: RubricCheck, raw: bytes, text: str) -> tuple[Flaw, ...]:
    """The flaws of a file elsewhere, as if it were the rubric of the project in the current folder."""
    place = str(Path.cwd() / OF_PROJECT[0])
    desk.refresh(place)
    found = desk.of_text(text, desk.around(place))
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        at = len(raw[: error.start].decode())
        return (Flaw("not-utf-8", f"not UTF-8 at byte {error.start}", at, at + 1), *found)
    return found
