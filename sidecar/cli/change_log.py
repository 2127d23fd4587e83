"""`supervisor check --log FILE...`: what was found about many changes, by agent or author, with a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import msgspec
from rich.text import Text

from sidecar.cli.printing import echo, echo_json
from sidecar.cli.screen import Screen, clipped_cell, new_table
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import clean_line, counted
from sidecar.platform.files import UnusableFileError, read_whole, write_whole
from sidecar.systems.supervision.changes import CheckedChange
from sidecar.systems.supervision.policy.change_figures import ChangeFigure, JudgedChange, change_figures

RESULT_LIMIT: Final = 16 << 20
"""Maximum bytes of a file of results."""
MEANS: Final = (
    "A change counts once, by its last result, and for each of its {by}s. 95 %: the interval by Wilson."
)
LEFT, WIDE, RIGHT, STEP, HEAD = 190, 400, 150, 20, 34
"""Pixels of a picture: names, the scale from 0 to 100 %, figures, a line, and what stands above a scale."""
QUARTERS: Final = (0, 25, 50, 75, 100)
NAME: Final = 30
"""Characters of a name in a picture."""
STYLE: Final = """svg { background: #fff; font: 12px system-ui, sans-serif } text { fill: #24292f }
.title { font-weight: 600 } .scale { fill: #57606a; font-size: 10px } .right { text-anchor: end }
.middle { text-anchor: middle } line { stroke: #d0d7de } .interval { stroke: #0969da; stroke-width: 2 }
circle { fill: #0969da } .all { stroke: #24292f } circle.all { fill: #24292f }"""


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
        interval = f"{one.low:g} to {one.high:g}"
        numbers = (str(one.changes), str(one.of), f"{one.percent:g}", interval)
        table.add_row(clipped_cell(one.what), clipped_cell(one.by), *map(Text, numbers))
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
    makers: Mapping[str, tuple[str, ...]] = {"agent": one.source.agents, "author": one.source.authors}
    return JudgedChange(
        makers[by], frozenset((f"result {one.result}", *(found.rule for found in one.findings)))
    )


# --- the picture --------------------------------------------------------------------------------------------


def draw_figures(figures: Sequence[ChangeFigure]) -> bytes:
    """Draw each share as a dot on its 95 % interval, a scale for each finding, as SVG."""
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    ET.SubElement(root, "title").text = "Share of changes by finding, with 95 % intervals"
    ET.SubElement(root, "style").text = STYLE
    y = 0
    for what, group in groupby(figures, key=lambda one: one.what):
        rows = list(group)
        foot = y + HEAD + STEP * len(rows)
        _write(root, 12, y + STEP, what, "title")
        for percent in QUARTERS:
            x = _x(percent)
            _line(root, (x, y + HEAD - STEP / 2, x, foot - STEP / 2), "grid")
            _write(root, x, y + HEAD - STEP / 2 - 2, f"{percent} %", "scale middle")
        for at, one in enumerate(rows):
            _draw_figure(root, one, y + HEAD + STEP * at, "all" if at == 0 else "")
        y = foot
    size = {"width": str(LEFT + WIDE + RIGHT), "height": str(y + STEP)}
    root.attrib |= {**size, "viewBox": f"0 0 {size['width']} {size['height']}"}
    drawn: bytes = ET.tostring(root, encoding="utf-8")
    return drawn


def _draw_figure(root: ET.Element, one: ChangeFigure, y: float, kind: str) -> None:
    _write(root, LEFT - 12, y + 4, clean_line(one.by, NAME), "right")
    _line(root, (_x(one.low), y, _x(one.high), y), f"interval {kind}")
    ET.SubElement(root, "circle", {"cx": f"{_x(one.percent):g}", "cy": f"{y:g}", "r": "4", "class": kind})
    _write(root, LEFT + WIDE + 16, y + 4, f"{one.changes} of {one.of}, {one.percent:g} %", "")


def _x(percent: float) -> float:
    return round(LEFT + WIDE * percent / 100, 1)


def _line(root: ET.Element, ends: tuple[float, float, float, float], kind: str) -> None:
    places = {name: f"{value:g}" for name, value in zip(("x1", "y1", "x2", "y2"), ends, strict=True)}
    ET.SubElement(root, "line", {**places, "class": kind})


def _write(root: ET.Element, x: float, y: float, text: str, kind: str) -> None:
    ET.SubElement(root, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": kind}).text = clean_line(text)
