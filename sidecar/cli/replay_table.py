"""What a replay has found: the schema of `--json`, and how it looks on a terminal."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from sidecar.cli import eval_report
from sidecar.cli.eval_table import cell, new_table, print_plain
from sidecar.model.kept import Replayed

OPEN: Final = "?"
"""Stands for an ending that only a model can tell."""
UNTOLD: Final = "the judge would see other criteria: add --backend"


class Report(Struct, frozen=True, kw_only=True):
    """One replay.

    `rubric` is where the rubric was read from, `stops` are in the order of time. `version` is raised when a
    field changes its meaning or goes; new fields may come at any time.
    """

    version: int = 1
    project: str
    rubric: str
    stops: tuple[Replayed, ...]
    problems: tuple[str, ...]
    summary: str
    exit_code: int


def plain(report: Report) -> Any:  # noqa: ANN401 - what JSON can say of it
    """The report for JSON; each stop also says whether it changed."""
    stops = [eval_report.plain(one) | {"changed": one.changed} for one in report.stops]
    return eval_report.plain(report) | {"stops": stops}


def tell(screen: Console, report: Report) -> None:
    """Every stop, and the count in one line."""
    print_plain(screen, f"rubric: {report.rubric}")
    if report.stops:
        shown = new_table("when", "session", "ended then", "ends now", "why")
        for one in report.stops:
            shown.add_row(when(one.at), cell(one.session), one.before, _now(one), cell(_why(one)))
        screen.print(shown)
    for problem in report.problems:
        print_plain(screen, f"! {problem}")
    print_plain(screen, report.summary)


def when(at: float) -> str:
    """A moment in the time of this machine."""
    return f"{dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone():%Y-%m-%d %H:%M}"


def _now(one: Replayed) -> Text:
    if one.asks:
        return Text(OPEN, style="yellow")
    return Text(one.now, style="red" if one.changed else "")


def _why(one: Replayed) -> str:
    if one.failed:
        return f"no verdict: {one.failed}"
    return UNTOLD if one.asks and one.other_case else one.detail
