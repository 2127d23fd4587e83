"""How a measurement looks on a terminal. Plain text elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from sidecar.cli.checks import visible
from sidecar.cli.eval_report import Part, Report, headline, share
from sidecar.model.evaluation import Flip, Outcome

FAMILIES: Final = 10
"""Worst families that are shown; the rest stand in --json."""
LISTED: Final = 20
"""Stops judged wrongly, or flips, that are shown; the rest stand in --json."""
CELL: Final = 200
"""Characters of why a stop ended as it did."""


class Bar:
    """Shows how far it is. Made for `with`; called with each that is done."""

    def __init__(self, at: Console, total: int, *, quiet: bool) -> None:
        self._moves = at.is_terminal and not quiet
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=at, transient=True, disable=not self._moves)
        self._task = self._progress.add_task("judging", total=total)

    def __enter__(self) -> Self:
        if self._moves:  # where nothing moves, older versions of rich print an empty line at the end
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._moves:
            self._progress.stop()

    def __call__(self, _done: object) -> None:
        self._progress.advance(self._task)


def tell(screen: Console, report: Report) -> None:
    """All that a person wants to see at first."""
    print_plain(screen, f"judge: {report.backend}; rubric: {report.rubric}")
    every, *others = report.parts
    screen.print(_figures(every))
    if others:
        screen.print(_apart(others))
    screen.print(_families(every))
    if every.rules:
        screen.print(_rules(every))
    if report.against:
        _tell_flips(screen, report)
    if report.wrong:
        screen.print(_wrong(report.wrong))
        _more(screen, len(report.wrong))
    for failure in report.failures[:LISTED]:
        print_plain(screen, f"! no verdict, {failure.times} times: {failure.reason}")
    for missed in report.missed:
        print_plain(screen, f"! {missed}")


def print_plain(screen: Console, text: str) -> None:
    """One line of words, whoever wrote them."""
    screen.print(visible(text), markup=False, soft_wrap=True)


def _figures(part: Part) -> Table:
    table = new_table("figure", "all stops")
    for name, value in headline(part.figures):
        table.add_row(name, value)
    return table


def _apart(parts: Sequence[Part]) -> Table:
    table = new_table("set", "stops", "precision", "recall", "legitimate sent back", "false completes")
    for part in parts:
        known = part.figures
        shares = (known.precision, known.recall, known.false_alarms, known.false_completes)
        table.add_row(part.name, str(known.stops), *map(share, shares))
    return table


def _families(part: Part) -> Table:
    table = new_table("family, worst first", "judged wrongly", "to the judge")
    for group in part.families[:FAMILIES]:
        table.add_row(cell(group.name), share(group.wrong), share(group.asked))
    return table


def _rules(part: Part) -> Table:
    table = new_table("rule", "right to send back", "right to let rest", "suspected, and premature")
    for rule in part.rules:
        table.add_row(cell(rule.rule), *(share(one) for one in (rule.back, rule.rest, rule.suspected)))
    return table


def _wrong(outcomes: Sequence[Outcome]) -> Table:
    table = new_table("judged wrongly", "family", "it was", "it ended", "at", "why")
    for one in outcomes[:LISTED]:
        ended = Text("FALSE COMPLETE", style="red") if one.false_complete else Text(one.ended)
        stage = f"{one.stage}: {one.rule}" if one.rule else one.stage
        table.add_row(cell(one.id), cell(one.family), one.truth, ended, cell(stage), cell(one.detail))
    return table


def _tell_flips(screen: Console, report: Report) -> None:
    print_plain(screen, f"against the rubric {report.against}: {len(report.flips)} flips")
    before, after = report.parts[0].figures, report.parts_against[0].figures
    table = new_table("figure", "before", "after")
    table.add_row("precision", share(before.precision), share(after.precision))
    table.add_row("recall", share(before.recall), share(after.recall))
    screen.print(table)
    if report.flips:
        screen.print(_flips(report.flips))
        _more(screen, len(report.flips))


def _flips(flips: Sequence[Flip]) -> Table:
    table = new_table("flip", "family", "it was", "before -> after", "why")
    for flip in flips[:LISTED]:
        before, after = flip.before, flip.after
        now = f"{before.ended} -> {after.ended}"
        table.add_row(
            cell(after.id), cell(after.family), after.truth, now, cell(after.detail or before.detail)
        )
    return table


def _more(screen: Console, count: int) -> None:
    if count > LISTED:
        screen.print(f"and {count - LISTED} more: --json lists them all")


def new_table(*columns: str) -> Table:
    """A table without lines."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def cell(text: str) -> Text:
    """What others wrote, in a table."""
    shown = visible(text)
    return Text(shown if len(shown) <= CELL else f"{shown[: CELL - 1]}…")
