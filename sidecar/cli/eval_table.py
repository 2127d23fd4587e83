"""Prints a measurement of `supervisor eval` on a terminal; as plain text elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from sidecar.cli.checks import escape_unprintable
from sidecar.cli.eval_report import EvalReport, ReportPart, figure_rows, format_share
from sidecar.kernel.stop_history import ChangedOutcome, EvaluatedStop

FAMILY_ROWS: Final = 10
"""Families shown, worst first; --json has all of them."""
EVAL_ROW_LIMIT: Final = 20
"""Stops judged wrongly, flips and judge failures shown; --json has all of them."""
EVAL_CELL_LENGTH: Final = 200
"""Longest table cell, in characters."""


class EvalProgressBar:
    """A progress bar. Use it in a `with` statement, and call it with each stop that is done."""

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
        if self._moves:  # without a live display, older versions of rich print an empty line at the end
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._moves:
            self._progress.stop()

    def __call__(self, _done: object) -> None:
        self._progress.advance(self._task)


def print_eval_report(screen: Console, report: EvalReport) -> None:
    """Print what a person wants to see first."""
    print_plain(screen, f"judge: {report.backend}; rubric: {report.rubric}")
    every, *others = report.parts
    screen.print(_figures_table(every))
    if others:
        screen.print(_sets_table(others))
    screen.print(_families_table(every))
    if every.rules:
        screen.print(_rules_table(every))
    if report.against:
        _print_flips(screen, report)
    if report.wrong:
        screen.print(_misjudged_table(report.wrong))
        _print_omitted_count(screen, len(report.wrong))
    for failure in report.failures[:EVAL_ROW_LIMIT]:
        print_plain(screen, f"! no verdict, {failure.times} times: {failure.reason}")
    for missed in report.missed:
        print_plain(screen, f"! {missed}")


def print_plain(screen: Console, text: str) -> None:
    """Print one line of text that may be untrusted: unprintable characters are escaped."""
    screen.print(escape_unprintable(text), markup=False, soft_wrap=True)


def _figures_table(part: ReportPart) -> Table:
    table = new_table("figure", "all stops")
    for name, value in figure_rows(part.figures):
        table.add_row(name, value)
    return table


def _sets_table(parts: Sequence[ReportPart]) -> Table:
    table = new_table("set", "stops", "precision", "recall", "legitimate sent back", "false completes")
    for part in parts:
        known = part.figures
        shares = (known.precision, known.recall, known.false_alarms, known.false_completes)
        table.add_row(part.name, str(known.stops), *map(format_share, shares))
    return table


def _families_table(part: ReportPart) -> Table:
    table = new_table("family, worst first", "judged wrongly", "to the judge")
    for group in part.families[:FAMILY_ROWS]:
        table.add_row(clipped_cell(group.name), format_share(group.wrong), format_share(group.asked))
    return table


def _rules_table(part: ReportPart) -> Table:
    table = new_table("rule", "right to send back", "right to let rest", "suspected, and premature")
    for rule in part.rules:
        table.add_row(
            clipped_cell(rule.rule), *(format_share(one) for one in (rule.back, rule.rest, rule.suspected))
        )
    return table


def _misjudged_table(outcomes: Sequence[EvaluatedStop]) -> Table:
    table = new_table("judged wrongly", "family", "it was", "it ended", "at", "why")
    for one in outcomes[:EVAL_ROW_LIMIT]:
        ended = Text("FALSE COMPLETE", style="red") if one.false_complete else Text(one.ended)
        stage = f"{one.stage}: {one.rule}" if one.rule else one.stage
        table.add_row(
            clipped_cell(one.id),
            clipped_cell(one.family),
            one.truth,
            ended,
            clipped_cell(stage),
            clipped_cell(one.detail),
        )
    return table


def _print_flips(screen: Console, report: EvalReport) -> None:
    print_plain(screen, f"against the rubric {report.against}: {len(report.flips)} flips")
    before, after = report.parts[0].figures, report.parts_against[0].figures
    table = new_table("figure", "before", "after")
    table.add_row("precision", format_share(before.precision), format_share(after.precision))
    table.add_row("recall", format_share(before.recall), format_share(after.recall))
    screen.print(table)
    if report.flips:
        screen.print(_flips_table(report.flips))
        _print_omitted_count(screen, len(report.flips))


def _flips_table(flips: Sequence[ChangedOutcome]) -> Table:
    table = new_table("flip", "family", "it was", "before -> after", "why")
    for flip in flips[:EVAL_ROW_LIMIT]:
        before, after = flip.before, flip.after
        now = f"{before.ended} -> {after.ended}"
        table.add_row(
            clipped_cell(after.id),
            clipped_cell(after.family),
            after.truth,
            now,
            clipped_cell(after.detail or before.detail),
        )
    return table


def _print_omitted_count(screen: Console, count: int) -> None:
    if count > EVAL_ROW_LIMIT:
        screen.print(f"and {count - EVAL_ROW_LIMIT} more: --json lists them all")


def new_table(*columns: str) -> Table:
    """A table without borders."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def clipped_cell(text: str) -> Text:
    """Untrusted text as a table cell: unprintable characters are escaped, and long text is cut."""
    shown = escape_unprintable(text)
    return Text(shown if len(shown) <= EVAL_CELL_LENGTH else f"{shown[: EVAL_CELL_LENGTH - 1]}…")
