"""`supervisor rubric check`: finds the flaws that an editor shows, for commit hooks and CI. Asks no model."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct

from sidecar.cli.printing import echo, echo_json
from sidecar.kernel.rubric import Flaw, FlawSeverity
from sidecar.kernel.text import escape_unencodable, escape_unprintable
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import user_paths
from sidecar.rubric.policy import PROJECT_RUBRIC_PATHS, count_flaws, find_text_position

if TYPE_CHECKING:
    from sidecar.servers.rubric_language.checking import RubricCheck

READ_LIMIT: Final = 1 << 20
"""Largest file that is checked, in bytes (a rubric has at most 8 KiB); a larger one is "unusable"."""
UNREADABLE_CODE: Final = 2


class LocatedFlaw(Struct, frozen=True):
    """A flaw with its position. Lines and columns count from 1, columns in code points; the end is exclusive.

    `fixes` are the titles of the quick fixes that an editor offers.
    """

    code: str
    weight: FlawSeverity
    why: str
    help: str
    line: int
    column: int
    end_line: int
    end_column: int
    fixes: tuple[str, ...]


class CheckedFile(Struct, frozen=True):
    """A checked file and all its flaws."""

    path: str
    flaws: tuple[LocatedFlaw, ...]


class CheckReport(Struct, frozen=True):
    """One check, for a script; docs/rubric.md describes its fields."""

    errors: int
    warnings: int
    hints: int
    files: tuple[CheckedFile, ...]


@click.command(short_help="Say what is wrong with rubrics.")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path())
@click.option("--strict", is_flag=True, help="A warning is an error.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script, and nothing else.")
def check(files: tuple[str, ...], *, strict: bool, as_json: bool) -> None:
    """Say what is wrong with rubrics: those named, else those of the project in the current folder.

    A file that is named is checked wherever it is; a text that is no rubric in its place is one on trial.

    Exit codes: 0 no error, 1 an error (with --strict also a warning), 2 a file could not be read, or there
    is none.
    """
    checked, unread = _check_files(files or _project_rubrics())
    weights = [flaw.weight for one in checked for flaw in one.flaws]
    if as_json:
        errors, warnings, hints = (weights.count(weight) for weight in FlawSeverity)
        echo_json(CheckReport(errors, warnings, hints, tuple(checked)))
    else:
        _print_flaws(checked, weights)
    bad = {FlawSeverity.ERROR, FlawSeverity.WARNING} if strict else {FlawSeverity.ERROR}
    sys.exit(UNREADABLE_CODE if unread else int(not bad.isdisjoint(weights)))


def _project_rubrics() -> tuple[str, ...]:
    found = tuple(place for place in PROJECT_RUBRIC_PATHS if os.path.lexists(place))
    if not found:
        raise click.UsageError(
            f"there is no {' and no '.join(PROJECT_RUBRIC_PATHS)} here. Make one: supervisor rubric init"
        )
    return found


def _check_files(names: Sequence[str]) -> tuple[list[CheckedFile], bool]:
    """Return the files that could be read, and whether there was another one."""
    from sidecar.servers.rubric_language.checking import RubricCheck  # noqa: PLC0415 - not for --help

    check = RubricCheck(plugin_root() / "rubric" / "rubric.md", os.environ, user_paths().state)
    checked, unread = [], False
    for name in names:
        try:
            text, flaws = _check_file(check, name)
        except OSError as error:
            echo(f"supervisor: {escape_unprintable(name)}: {error.strerror or error}", err=True)
            unread = True
        else:
            located = tuple(_locate_flaw(text, flaw) for flaw in flaws)
            checked.append(CheckedFile(escape_unencodable(name), located))
    return checked, unread


def _check_file(check: RubricCheck, name: str) -> tuple[str, tuple[Flaw, ...]]:
    """Return the text of a file, in which invalid UTF-8 is replaced, and its flaws. Raises OSError.

    A file elsewhere is checked as if it were the rubric of the project in the current folder.
    """
    path = Path(name).absolute()
    try:
        raw = read_whole(path, READ_LIMIT, follow=True)
    except UnusableFileError as unfit:
        return "", (Flaw("unusable", str(unfit), 0, 0),)
    text = raw.decode("utf-8", "replace")
    check.refresh(str(path))
    flaws = check.flaws(str(path), text)
    if flaws is not None:
        return text, flaws
    place = str(Path.cwd() / PROJECT_RUBRIC_PATHS[0])
    check.refresh(place)
    flaws = check.text_flaws(text, check.around(place))
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return text, (Flaw("unusable", f"not UTF-8 at byte {error.start}", 0, 0), *flaws)
    return text, flaws


def _locate_flaw(text: str, flaw: Flaw) -> LocatedFlaw:
    line, column = find_text_position(text, flaw.begin)
    end_line, end_column = find_text_position(text, flaw.end)
    fixes = tuple(fix.title for fix in flaw.fixes)
    return LocatedFlaw(flaw.code, flaw.weight, flaw.why, flaw.help, line, column, end_line, end_column, fixes)


def _print_flaws(checked: Sequence[CheckedFile], weights: Sequence[FlawSeverity]) -> None:
    """Print `path:line:column: weight: why [code]` for each flaw, help and fixes below it; then totals."""
    for one in checked:
        path = escape_unprintable(one.path)
        for flaw in one.flaws:
            why = escape_unprintable(flaw.why)
            echo(f"{path}:{flaw.line}:{flaw.column}: {flaw.weight}: {why} [{flaw.code}]")
            if flaw.help:
                echo(f"    {escape_unprintable(flaw.help)}")
            for fix in flaw.fixes:
                echo(f"    fix: {escape_unprintable(fix)}")
    if checked:
        named = escape_unprintable(checked[0].path) if len(checked) == 1 else f"{len(checked)} files"
        echo(f"{named}: {count_flaws(weights)}")
