"""Figures in words: one Markdown table, or JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Final

import msgspec
from measure import MEDIAN, Figure, Report, Series
from msgspec import Struct

HEAD: Final = ("figure", "ours", "peer", "peer's", "ratio", "recorded", "aim", "runs")
LARGE: Final = 100.0
"""From here on decimals are noise."""


Recorded = Mapping[str, float]
"""Ratios of an earlier run by the names of their rows."""


class Row(Struct, frozen=True, kw_only=True):
    """A figure as JSON, with every value behind it."""

    benchmark: str
    name: str
    against: str
    unit: str
    part: float
    ratio: float
    aim: float | None
    ours: tuple[float, ...]
    peer: tuple[float, ...]


def machine() -> str:
    """Where this is measured."""
    system = f"{platform.system()} {platform.release()}"
    return f"{platform.python_implementation()} {platform.python_version()}, {system}, {os.cpu_count()} cores"


def row_name(benchmark: str, figure: Figure) -> str:
    """What the row of a figure is called: it names the peer, because some have several."""
    return f"{benchmark}: {figure.name} / {figure.against}"


def table(reports: Mapping[str, Report], recorded: Recorded) -> str:
    """Everything in one table, and the remarks below it."""
    rows = [_cells(name, figure, recorded) for name, report in reports.items() for figure in report.figures]
    widths = [max(len(row[column]) for row in (HEAD, *rows)) for column in range(len(HEAD))]
    lines = [_line(HEAD, widths), _line(["-" * width for width in widths], widths)]
    lines += [_line(row, widths) for row in rows]
    remarks = [f"- {name}: {remark}" for name, report in reports.items() for remark in report.remarks]
    return "\n".join(lines + (["", *remarks] if remarks else []))


def as_json(reports: Mapping[str, Report]) -> bytes:
    """Every figure with its values."""
    rows = [_row(name, figure) for name, report in reports.items() for figure in report.figures]
    return msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n"


def _row(benchmark: str, figure: Figure) -> Row:
    return Row(
        benchmark=benchmark,
        name=figure.name,
        against=figure.against,
        unit=figure.unit,
        part=figure.part,
        ratio=figure.ratio,
        aim=figure.aim,
        ours=figure.ours.values,
        peer=figure.peer.values,
    )


def _cells(benchmark: str, figure: Figure, recorded: Recorded) -> tuple[str, ...]:
    return (
        f"{benchmark}: {figure.name}",
        _cost(figure.ours, figure),
        figure.against,
        _cost(figure.peer, figure),
        _ratio(figure),
        f"{recorded[name]:.2f}" if (name := row_name(benchmark, figure)) in recorded else "",
        _aim(figure),
        str(len(figure.ours.values)),
    )


def _aim(figure: Figure) -> str:
    if figure.aim is None:
        return ""
    return f"{figure.aim:g}: {'met' if figure.ratio <= figure.aim else 'missed'}"


def _ratio(figure: Figure) -> str:
    if figure.part != MEDIAN:
        return f"{figure.ratio:.2f}"
    return f"{figure.ratio:.2f} [{figure.spread.p10:.2f}-{figure.spread.p90:.2f}]"


def _cost(series: Series, figure: Figure) -> str:
    cost = f"{_short(series.at(figure.part))} {figure.unit}"
    return f"{cost} [{_short(series.p10)}-{_short(series.p90)}]" if figure.part == MEDIAN else cost


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= LARGE else f"{value:.1f}"


def _line(cells: tuple[str, ...] | list[str], widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
