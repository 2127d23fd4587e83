"""Results of `supervisor eval`: the schema of `--json`, the exit code, and what a terminal shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Final

from msgspec import Struct
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from sidecar.cli.screen import new_table
from sidecar.judging.figures import (
    SAFE_RATE,
    StopCounts,
    count_stops,
    misjudged_stops,
    most_accusing_criterion,
)
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.stop_history import ChangedOutcome, EvaluatedStop
from sidecar.kernel.text import escape_unprintable

FAMILY_ROWS: Final = 10
"""Families shown, worst first; --json has all of them."""
STOP_ROWS: Final = 10
"""Stops judged wrongly, and flips, that are shown; --json has all of them."""
CELL_LENGTH: Final = 200
"""Longest table cell, in characters."""


class EvalExitCode(IntEnum):
    """The exit codes of `supervisor eval`."""

    DONE = 0
    FELL_SHORT = 1
    COULD_NOT_RUN = 2


class EvalReport(Struct, frozen=True, kw_only=True):
    """One measurement.

    `blind` counts the stops written blind to the rules, if there are others too; `families` the kinds of
    endings, the worst first. `failures`: why there was no verdict, and how often. `against`, `stops_against`
    and `flips` are set where two rubrics are compared. `advice` is the last line on a terminal. `version` is
    raised when a field changes its meaning or is removed; fields may be added at any time.
    """

    version: int = 2
    backend: str
    rubric: str
    stops: StopCounts
    blind: StopCounts | None
    families: tuple[StopCounts, ...]
    wrong: tuple[EvaluatedStop, ...]
    cost: str
    failures: dict[str, int]
    against: str
    stops_against: StopCounts | None
    flips: tuple[ChangedOutcome, ...]
    advice: str
    exit_code: int


def missed_floors(known: StopCounts, precision: float | None, recall: float | None) -> tuple[str, ...]:
    """The floors that were not reached, as text; a figure that cannot be computed reaches none."""
    pairs = ("precision", precision, known.precision), ("recall", recall, known.recall)
    return tuple(
        f"{name} {'-' if rate is None else f'{rate:.1%}'} is below {floor:.1%}"
        for name, floor, rate in pairs
        if floor is not None and (rate is None or rate < floor)
    )


def count_families(outcomes: Iterable[EvaluatedStop]) -> tuple[StopCounts, ...]:
    """The families, the one with the most wrong stops first."""
    kept: dict[str, list[EvaluatedStop]] = {}
    for one in outcomes:
        kept.setdefault(one.family, []).append(one)
    ordered = sorted(kept.items(), key=lambda pair: (-sum(one.wrong for one in pair[1]), pair[0]))
    return tuple(count_stops(name, own) for name, own in ordered)


def count_judge_failures(outcomes: Iterable[EvaluatedStop]) -> dict[str, int]:
    """Why judges failed, the most frequent reason first."""
    return dict(Counter(one.failed for one in outcomes if one.failed).most_common())


def format_cost(outcomes: Iterable[EvaluatedStop]) -> str:
    """What a model was asked and what that cost; "" where none was."""
    asked = [one for one in outcomes if one.calls]
    tokens, cents = sum(one.tokens for one in asked), sum(one.cents or 0.0 for one in asked)
    unpriced = sum(one.cents is None for one in asked)
    more = f" and {unpriced} stops without a price" if unpriced else ""
    told = f"a model was asked about {len(asked)} stops: {tokens} tokens, {cents:.2f} cents{more}"
    return told if asked else ""


# --- The last line: one sentence to act on ------------------------------------------------------------------


def advise_on_judge(outcomes: Sequence[EvaluatedStop], rubric: Rubric, *, alone: bool) -> str:
    """Whether the judge is safe to leave on. `alone`: rules judged without a model."""
    known = count_stops("", outcomes)
    told = (
        f"{'Rules alone' if alone else 'This judge and rubric'} send back {known.right} of {known.early}"
        f" early stops and {known.accused} of {known.good} good ones"
    )
    if known.accused_at_most <= SAFE_RATE:
        return f"{told}: safe to leave on."
    if not known.accused:
        return f"{told}: too few good stops to call it safe; measure on 60 or more."
    named = most_accusing_criterion(outcomes)
    if not alone and named in {one.id for one in (*rubric.patterns, *rubric.antipatterns)}:
        return f"{told}: not safe; look at criterion {named} first: supervisor rubric replay."
    first = next(one.id for one in misjudged_stops(outcomes) if one.sent_back)
    return f"{told}: not safe; look at {f'the rule {named}' if named else first} first."


def advise_on_rubrics(before: StopCounts, after: StopCounts, rubric: str, against: str) -> str:
    """Which of two rubrics is better."""
    fewer, more = before.accused - after.accused, after.right - before.right
    choice = "weigh the stops that flip"
    if min(fewer, more) >= 0 or max(fewer, more) <= 0:
        choice = f"use {against}" if fewer + more > 0 else f"keep {rubric}"
    return (
        f"{against} sends back {after.right} of {after.early} early stops instead of {before.right}, and"
        f" {after.accused} of {after.good} good ones instead of {before.accused}: {choice}."
    )


# --- The terminal -------------------------------------------------------------------------------------------


@contextmanager
def eval_progress(screen: Console, total: int) -> Iterator[Callable[[object], None]]:
    """A progress bar, on a terminal only. Gives what is called with each stop that is done."""
    if not screen.is_terminal:
        yield lambda _done: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("judging", total=total)
        yield lambda _done: bar.advance(task)


def print_eval_report(screen: Console, report: EvalReport) -> None:
    """Print what a person wants to see, and last what to do."""
    print_plain(screen, f"judge: {report.backend}; rubric: {report.rubric}")
    wrong = [(one, "FALSE COMPLETE" if one.false_complete else one.ended) for one in report.wrong]
    flips = [(flip.after, f"{flip.before.ended} -> {flip.after.ended}") for flip in report.flips]
    _print_stops(screen, "judged wrongly", wrong)
    _print_stops(screen, "flip", flips)
    screen.print(_counts_table(report))
    if report.cost:
        print_plain(screen, report.cost)
    for reason, times in report.failures.items():
        print_plain(screen, f"! no verdict, {times} times: {reason}")
    print_plain(screen, report.advice)


def print_plain(screen: Console, text: str) -> None:
    """Print one line of text that may be untrusted: unprintable characters are escaped."""
    screen.print(escape_unprintable(text), markup=False, soft_wrap=True)


def _counts_table(report: EvalReport) -> Table:
    table = new_table("", "sent back", "right", "missed", "good ones sent back", "false completions")
    families = [one for one in report.families if one.missed or one.accused or one.false_completes]
    sets = [one for one in (report.stops, report.stops_against, report.blind) if one]
    for one in (*sets, *families[:FAMILY_ROWS]):
        back, missed = str(one.right + one.accused), f"{one.missed} of {one.early}"
        good, false = f"{one.accused} of {one.good}", str(one.false_completes or "no")
        table.add_row(clipped_cell(one.name), back, str(one.right), missed, good, false)
    return table


def _print_stops(screen: Console, title: str, stops: Sequence[tuple[EvaluatedStop, str]]) -> None:
    if not stops:
        return
    table = new_table(title, "family", "it was", "it ended", "at", "why")
    for one, ended in stops[:STOP_ROWS]:
        stage = f"{one.stage}: {one.rule}" if one.rule else one.stage
        table.add_row(*map(clipped_cell, (one.id, one.family, one.truth, ended, stage, one.detail)))
    screen.print(table)
    if len(stops) > STOP_ROWS:
        screen.print(f"and {len(stops) - STOP_ROWS} more: --json lists them all")


def clipped_cell(text: str) -> Text:
    """Untrusted text as a table cell: unprintable characters are escaped, and long text is cut."""
    shown = escape_unprintable(text)
    return Text(shown if len(shown) <= CELL_LENGTH else f"{shown[: CELL_LENGTH - 1]}…")
