"""`supervisor rubric check`: finds the flaws that an editor shows, for commit hooks and CI. Asks no model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from sidecar.cli.printing import echo
from sidecar.cli.rubric_found import FORMATS, CheckedFile
from sidecar.kernel.rubric import Flaw, FlawSeverity
from sidecar.kernel.text import escape_unprintable
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import user_paths
from sidecar.rubric.policy import PROJECT_RUBRIC_PATHS
from sidecar.servers.rubric_language.checking import RubricCheck

READ_LIMIT: Final = 1 << 20
"""Largest file that is checked, in bytes (a rubric has at most 8 KiB); a larger one is "unusable"."""
UNREADABLE_CODE: Final = 2


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
    sys.exit(_check_files(files or _project_rubrics(), form, strict=strict))


def _project_rubrics() -> tuple[str, ...]:
    found = tuple(place for place in PROJECT_RUBRIC_PATHS if os.path.lexists(place))
    if not found:
        raise click.UsageError(
            f"there is no {' and no '.join(PROJECT_RUBRIC_PATHS)} here. Make one: supervisor rubric init"
        )
    return found


def _check_files(files: tuple[str, ...], form: str, *, strict: bool) -> int:
    desk = RubricCheck(plugin_root() / "rubric" / "rubric.md", os.environ, user_paths().state)
    every, unread = [], False
    for name in files:
        try:
            every.append(_check_file(desk, name))
        except OSError as error:
            echo(f"supervisor: {escape_unprintable(name)}: {error.strerror or error}", err=True)
            unread = True
    for line in FORMATS[form](every) if every else ():
        echo(line)
    bad = {FlawSeverity.ERROR, FlawSeverity.WARNING} if strict else {FlawSeverity.ERROR}
    if unread:
        return UNREADABLE_CODE
    return int(any(flaw.weight in bad for checked in every for flaw in checked.flaws))


def _check_file(desk: RubricCheck, name: str) -> CheckedFile:
    """Check one file. Raises OSError."""
    path = Path(name).absolute()
    try:
        raw = read_whole(path, READ_LIMIT, follow=True)
    except UnusableFileError as unfit:
        return CheckedFile(name, "", (Flaw("unusable", str(unfit), 0, 0),))
    text = raw.decode("utf-8", "replace")
    desk.refresh(str(path))
    flaws = desk.flaws(str(path), text)
    return CheckedFile(name, text, _check_as_rubric(desk, raw, text) if flaws is None else flaws)


def _check_as_rubric(desk: RubricCheck, raw: bytes, text: str) -> tuple[Flaw, ...]:
    """Check a file elsewhere as if it were the rubric of the project in the current folder."""
    place = str(Path.cwd() / PROJECT_RUBRIC_PATHS[0])
    desk.refresh(place)
    found = desk.of_text(text, desk.around(place))
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        at = len(raw[: error.start].decode())
        return (Flaw("not-utf-8", f"not UTF-8 at byte {error.start}", at, at + 1), *found)
    return found
