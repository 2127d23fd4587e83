"""`supervisor check --log FILE...`: what was found about many changes, by agent or author, with a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from sidecar.cli.printing import echo, echo_json
from sidecar.cli.screen import Screen, clipped_cell, new_table
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import clean_line, counted
from sidecar.platform.data import load_data
from sidecar.platform.files import UnusableFileError, read_whole, write_whole
from sidecar.systems.supervision.changes import CheckedChange
from sidecar.systems.supervision.policy.change_figures import ChangeFigure, JudgedChange, change_figures

RESULT_LIMIT: Final = 16 << 20
"""Maximum bytes of a file of results."""
MEANS: Final = "A change counts once, by its last result, and for each {by}. 95 %: the interval by Wilson."
STEP, NAME = 20, 30
"""Pixels of a line in a picture, and characters of a name."""


class Picture(Struct, frozen=True):
    """The parts of a picture; see data/change_picture.toml."""

    all: str
    group: str
    figure: str


def sum_up_results(files: Sequence[Path], by: str, picture: Path | None, *, as_json: bool) -> None:
    """Print the figures of the results in these files, and draw them. Raises BadInputError, OSError."""
    if not files:
        raise BadInputError("--log needs files with results: supervisor check --log results/*.json")
    results = {(one.base, one.tree): one for file in files for one in _read_results(file)}
    figures = change_figures([_judged(one, by) for one in results.values()])
    if picture:
        write_whole(picture, draw_figures(figures))
    if as_json:
        echo_json(figures)
        return
    table = new_table("found", by, "changes", "of", "%", "95 %")
    for one in figures:
        numbers = (one.changes, one.of, one.percent, f"{one.low} to {one.high}")
        table.add_row(*map(clipped_cell, (one.what, one.by, *map(str, numbers))))
    Screen(highlight=False).print(table)
    echo(f"{counted(len(results), 'change')}. {MEANS.format(by=by)}")


def _read_results(file: Path) -> Iterable[CheckedChange]:
    """Read what `--json` wrote: one result, or one on each line of a .jsonl file."""
    try:
        content = read_whole(file, RESULT_LIMIT)
        if file.suffix == ".jsonl":
            return msgspec.json.Decoder(CheckedChange).decode_lines(content)
        return [msgspec.json.decode(content, type=CheckedChange)]
    except (UnusableFileError, msgspec.DecodeError) as error:
        raise BadInputError(f"{file} is no result of supervisor check --base REF --json ({error})") from error


def _judged(one: CheckedChange, by: str) -> JudgedChange:
    makers = one.source.agents if by == "agent" else one.source.authors
    return JudgedChange(makers, frozenset((f"result {one.result}", *(found.rule for found in one.findings))))


def draw_figures(figures: Sequence[ChangeFigure]) -> bytes:
    """Draw each share as a dot on its 95 % interval, as SVG."""
    parts, rows, y = load_data("change_picture", Picture), "", 2 * STEP
    for what, group in groupby(figures, key=lambda one: one.what):
        rows += _fill(parts.group, {"what": what, "y": y})
        for one in group:
            y += STEP
            rows += _fill(parts.figure, {**asdict(one), "y": y})
        y += 2 * STEP
    return Template(parts.all).substitute(height=y, rows=rows).encode()


def _fill(part: str, values: Mapping[str, object]) -> str:
    shown = {name: escape(clean_line(str(value), NAME)) for name, value in values.items()}
    return Template(part).substitute(shown)
