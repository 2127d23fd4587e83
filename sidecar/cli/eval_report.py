"""Results of `supervisor eval`: the schema of `--json`, the exit code, and what a terminal shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Final

from msgspec import Struct
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sidecar.cli.printing import local_time
from sidecar.cli.screen import clipped_cell, new_table
from sidecar.judging.labelled_stops import (
    SAFE_RATE,
    Measurement,
    StopCounts,
    changed_outcomes,
    count_stops,
    misjudged_stops,
)
from sidecar.kernel.stop_history import ChangedOutcome, EvaluatedStop
from sidecar.kernel.text import counted, escape_unprintable

FAMILY_ROWS: Final = 10
"""Families shown, worst first; --json has all of them."""
STOP_ROWS: Final = 20
"""Stops judged wrongly, and flips, that are shown; --json has all of them."""


class EvalExitCode(IntEnum):
    """The exit codes of `supervisor eval`."""

    DONE = 0
    FELL_SHORT = 1
    COULD_NOT_RUN = 2


class Evaluation(Struct, frozen=True, kw_only=True):
    """What was judged: by which judge (`alone`: by rules), by which rubrics, and the outcomes by each."""

    judge: str
    alone: bool
    rubrics: Sequence[str]
    outcomes: Sequence[Sequence[EvaluatedStop]]


class EvalReport(Struct, frozen=True, kw_only=True):
    """One measurement.

    `stops` counts those of which the truth is known, `blind` those written blind to the rules, if there are
    others too; `families` the kinds of endings, the worst first. `failures`: why there was no verdict, and
    how often. `against`, `stops_against` and `flips` are set where two rubrics are compared, or kept stops
    with how they ended. `undecided` counts the kept stops of which only a model could tell how they end.
    `last` is the last measurement of this judge. `advice` is the last line on a terminal. `version` is
    raised when a field changes its meaning or is removed; fields may be added at any time.
    """

    version: int = 3
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
    undecided: int
    last: Measurement | None = None
    advice: str
    exit_code: int


def build_report(done: Evaluation) -> EvalReport:
    """Count what was judged, and say what to do."""
    first, last = done.outcomes[0], done.outcomes[-1]
    every = [one for outcomes in done.outcomes for one in outcomes]
    known, compared = all(one.truth for one in first), len(done.outcomes) > 1
    blind = tuple(one for one in first if one.blind)
    flips = changed_outcomes(first, last) if compared else ()
    undecided = 0 if known else sum(bool(one.failed) for one in last)
    lie = next((one.id for one in every if one.false_complete), "")
    return EvalReport(
        backend=done.judge,
        rubric=done.rubrics[0],
        stops=count_stops("all", first if known else ()),
        blind=count_stops("written blind", blind) if blind and blind != first else None,
        families=_count_families(first) if known else (),
        wrong=misjudged_stops(first),
        cost=_format_cost(every),
        failures={} if done.alone else dict(Counter(one.failed for one in every if one.failed).most_common()),
        against=done.rubrics[-1] if compared else "",
        stops_against=count_stops("all, against", last) if compared and known else None,
        flips=flips,
        undecided=undecided,
        advice=_advise(done, lie) if known else _advise_on_kept(len(last), len(flips), undecided),
        exit_code=EvalExitCode.FELL_SHORT if lie or (flips and not known) else EvalExitCode.DONE,
    )


def _count_families(outcomes: Iterable[EvaluatedStop]) -> tuple[StopCounts, ...]:
    """Count each family, the one with the most wrong stops first."""
    kept: dict[str, list[EvaluatedStop]] = {}
    for one in outcomes:
        kept.setdefault(one.family, []).append(one)
    ordered = sorted(kept.items(), key=lambda pair: (-sum(one.wrong for one in pair[1]), pair[0]))
    return tuple(count_stops(name, own) for name, own in ordered)


def _format_cost(outcomes: Iterable[EvaluatedStop]) -> str:
    """Say what a model was asked and what that cost; "" where none was."""
    asked = [one for one in outcomes if one.calls]
    tokens, cents = sum(one.tokens for one in asked), sum(one.cents or 0.0 for one in asked)
    unpriced = sum(one.cents is None for one in asked)
    more = f" and {unpriced} stops without a price" if unpriced else ""
    told = f"a model was asked about {len(asked)} stops: {tokens} tokens, {cents:.2f} cents{more}"
    return told if asked else ""


# --- the last line: one sentence to act on ------------------------------------------------------------------


def _advise(done: Evaluation, lie: str) -> str:
    first, every = done.outcomes[0], [one for outcomes in done.outcomes for one in outcomes]
    failed = [one.failed for one in every if one.failed]
    if lie:
        return f"A goal that does not hold was called achieved: do not rely on this judge; see {lie}."
    if not done.alone and 2 * len(failed) > sum(one.asked for one in every):
        return f"The judge gave no verdict on most of what it was asked ({failed[0]}): see to that first."
    if len(done.outcomes) == 1:  # the others may be alike to what the rules were made on
        return advise_on_judge([one for one in first if one.blind] or first, alone=done.alone)
    if done.alone:
        return "No model read either rubric, so they cannot differ: add --backend auto."
    before, after = (count_stops("", each) for each in done.outcomes)
    return advise_on_rubrics(before, after, done.rubrics[0], done.rubrics[-1])


def advise_on_judge(outcomes: Sequence[EvaluatedStop], *, alone: bool) -> str:
    """Say whether the judge is safe to leave on. `alone`: rules judged without a model."""
    known = count_stops("", outcomes)
    told = (
        f"{'Rules alone' if alone else 'This judge and rubric'} send back {known.right} of {known.early}"
        f" early stops and {known.accused} of {known.good} good ones"
    )
    if known.accused_at_most <= SAFE_RATE:
        return f"{told}: safe to leave on."
    if not known.accused:
        return f"{told}: too few good stops to call it safe; measure on 60 or more."
    first = next(one.id for one in misjudged_stops(outcomes) if one.sent_back)
    return f"{told}: not safe; look at {first} first."


def advise_on_rubrics(before: StopCounts, after: StopCounts, rubric: str, against: str) -> str:
    """Say which of two rubrics is better."""
    fewer, more = before.accused - after.accused, after.right - before.right
    choice = "weigh the stops that flip"
    if min(fewer, more) >= 0 or max(fewer, more) <= 0:
        choice = f"use {against}" if fewer + more > 0 else f"keep {rubric}"
    return (
        f"{against} sends back {after.right} of {after.early} early stops instead of {before.right}, and"
        f" {after.accused} of {after.good} good ones instead of {before.accused}: {choice}."
    )


def _advise_on_kept(stops: int, changed: int, undecided: int) -> str:
    told = f"The last {counted(stops, 'stop')}: {changed} would end otherwise"
    return f"{told}; of {undecided} only a model can tell: add --backend auto." if undecided else f"{told}."


# --- the terminal -------------------------------------------------------------------------------------------


@contextmanager
def eval_progress(screen: Console, total: int) -> Iterator[Callable[[object], None]]:
    """Show a progress bar, on a terminal only. Yields what is called with each stop that is done."""
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("judging", total=total)
        yield lambda _done: bar.advance(task)


def print_eval_report(screen: Console, report: EvalReport) -> None:
    """Print what a person wants to see, and last what to do."""
    against = f"; {report.against}" if report.against else ""
    _print_line(screen, f"judge: {report.backend}; rubric: {report.rubric}{against}")
    wrong = [(one, "FALSE COMPLETE" if one.false_complete else one.ended) for one in report.wrong]
    _print_stops(screen, "judged wrongly", wrong)
    _print_stops(
        screen, "flip", [(flip.after, f"{flip.before.ended} -> {flip.after.ended}") for flip in report.flips]
    )
    if report.stops.early or report.stops.good:
        screen.print(_counts_table(report))
    for line in (report.cost, *(f"! no verdict, {n} times: {why}" for why, n in report.failures.items())):
        if line:
            _print_line(screen, line)
    if (last := report.last) is not None:
        then = f"{last.stops.right} of {last.stops.early} early stops and {last.stops.accused} of"
        _print_line(screen, f"on {last.on}: {then} {last.stops.good} good ones, by {last.rubric}")
    _print_line(screen, report.advice)


def _print_line(screen: Console, text: str) -> None:
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
    table = new_table(title, "kind", "it was", "it ended", "at", "why")
    for one, ended in stops[:STOP_ROWS]:
        stage = f"{one.stage}: {one.rule}" if one.rule else one.stage
        kind = one.family or local_time(one.at, "%Y-%m-%d %H:%M")
        table.add_row(*map(clipped_cell, (one.id, kind, one.truth or "", ended, stage, one.detail)))
    screen.print(table)
    if len(stops) > STOP_ROWS:
        screen.print(f"and {len(stops) - STOP_ROWS} more: --json lists them all")
