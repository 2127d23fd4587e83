"""`supervisor rubric diff`: shows how a project's rubric differs from the default."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sidecar.cli.options import FOLDER_ARGUMENT
from sidecar.cli.printing import echo
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import escape_unprintable, escape_unprintable_lines
from sidecar.platform.installation import plugin_root
from sidecar.rubric.files import RejectedRubricError
from sidecar.rubric.reader import RubricFiles, parse_rubric, read_rubric_text

if TYPE_CHECKING:
    from sidecar.kernel.rubric import Criterion, Rubric


SECTIONS: Final = ("patterns", "antipatterns", "legitimate")


@click.command(short_help="Compare a rubric with the default.")
@FOLDER_ARGUMENT
@click.option("--summary", is_flag=True, help="Only the criteria, not the lines.")
def diff(folder: str, *, summary: bool) -> None:
    """Compare the rubric file that serves FOLDER (else the current folder) with the default.

    First the criteria that are gone, new or changed, then the lines. It is the file as it is now, an edit
    that is held with it.
    """
    default = plugin_root() / "rubric" / "rubric.md"
    rubric = RubricFiles(default, os.environ).load(folder, os.environ)
    for line in rubric.rejected:
        echo(f"passed over: {escape_unprintable(line)}")
    origin = Path(rubric.origin)
    if origin == default:
        move = "Mend that file." if rubric.rejected else "Make a rubric of your own: supervisor rubric init"
        echo(f"The default serves here. {move}")
        return
    ours, theirs = _read_rubric(origin), _read_rubric(default)
    echo(f"{escape_unprintable(str(origin))}, compared with the default:")
    for line in _criteria_changes(parse_rubric(theirs), parse_rubric(ours)):
        echo(line)
    for line in () if summary else _line_diff(theirs, ours):
        echo(line)


def _read_rubric(path: Path) -> str:
    found = read_rubric_text(path.resolve())
    if isinstance(found, RejectedRubricError):
        raise BadInputError(f"{path}: {found}")
    return found


def _criteria_changes(before: Rubric, after: Rubric) -> Iterator[str]:
    """One line for each criterion that is gone, new or changed, section by section."""
    same = True
    for section in SECTIONS:
        was, now = (_criteria_by_id(getattr(rubric, section)) for rubric in (before, after))
        for word, ids in (
            ("gone", [name for name in was if name not in now]),
            ("new", [name for name in now if name not in was]),
            ("changed", [name for name in now if name in was and now[name] != was[name]]),
        ):
            for name in ids:
                same = False
                yield f"  {word:<8}{section:<13}{escape_unprintable((now.get(name) or was[name]).name)}"
    if same:
        yield "  every criterion is the same"


def _criteria_by_id(criteria: tuple[Criterion, ...]) -> Mapping[str, Criterion]:
    return {criterion.id: criterion for criterion in criteria}


def _line_diff(before: str, after: str) -> Iterator[str]:
    found = difflib.unified_diff(
        escape_unprintable_lines(before), escape_unprintable_lines(after), "default", "in force", lineterm=""
    )
    yield from ("", *found)
