"""How gates look on a terminal: a line for each as it ends, then a table. Plain text elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from sidecar.cli.checks import visible
from sidecar.model.gate import Gate, GateRun, Outcome

STYLES: Final = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.COULD_NOT_RUN: "yellow"}
WORDS: Final = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.COULD_NOT_RUN: "could not run",
}
WIDE: Final = 200
"""Columns of a table that goes into a file or a pipe."""
CELL: Final = 300
"""Characters of one cell."""


def console(*, errors: bool = False) -> Console:
    """Standard output, or standard error. NO_COLOR is respected."""
    made = Console(highlight=False, stderr=errors)
    return made if made.is_terminal else Console(highlight=False, stderr=errors, width=WIDE)


class Live:
    """Shows what runs, and a line for each that ended. Made for `with`; a Progress of the port itself."""

    def __init__(self, at: Console, *, quiet: bool) -> None:
        """`quiet`: show nothing."""
        self._console = at
        self._quiet = quiet
        self._tasks: dict[str, TaskID] = {}
        columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
        self._moves = at.is_terminal and not quiet
        self._progress = Progress(*columns, console=at, transient=True, disable=not self._moves)

    def __enter__(self) -> Self:
        if self._moves:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._moves:  # where nothing moves, older versions of rich print an empty line here
            self._progress.stop()

    def __call__(self, gate: Gate, run: GateRun | None) -> None:
        if gate.id in self._tasks:
            self._progress.remove_task(self._tasks.pop(gate.id))
        if run is None:
            self._tasks[gate.id] = self._progress.add_task(visible(gate.id), total=None)
        elif not self._quiet:
            self._progress.console.print(_ended(run), soft_wrap=True)


def _ended(run: GateRun) -> Text:
    line = Text(f"{WORDS[run.outcome]:<14}", style=STYLES[run.outcome])
    return line.append(f"{visible(run.gate.id)}  {run.seconds:.1f} s", style="default")


def runs_table(runs: Sequence[GateRun]) -> Table:
    """How each gate ended."""
    table = _table("gate", "counts as", "outcome", "tests", "seconds", "first failure, or why")
    for run in runs:
        table.add_row(
            _cell(run.gate.id),
            _duty(run.gate),
            Text(WORDS[run.outcome] + _marks(run), style=STYLES[run.outcome]),
            _tests(run),
            f"{run.seconds:.1f}",
            _cell(next(iter((*run.failures, run.reason)), "")),
        )
    return table


def gates_table(gates: Sequence[Gate]) -> Table:
    """Which gates apply, and why."""
    table = _table("gate", "counts as", "approved", "command", "in", "why")
    for gate in gates:
        approved = Text("yes") if gate.approved else Text("no", style="yellow")
        cells = map(_cell, (gate.command, gate.folder or ".", gate.why))
        table.add_row(_cell(gate.id), _duty(gate), approved, *cells)
    return table


def summary(runs: Sequence[GateRun]) -> str:
    """How many ended how: "2 passed, 1 failed"."""
    counts = ((word, sum(run.outcome is outcome for run in runs)) for outcome, word in WORDS.items())
    return ", ".join(f"{count} {word}" for word, count in counts if count)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _duty(gate: Gate) -> str:
    return "required" if gate.required else "advises"


def _marks(run: GateRun) -> str:
    marks = [word for word in ("cached", "flaky", "moved") if getattr(run, word)]
    return f" ({', '.join(marks)})" if marks else ""


def _tests(run: GateRun) -> str:
    if run.executed is None:
        return "" if run.percent is None else f"{run.percent:g} %"
    return f"{run.executed}" + (f", {run.skipped} skipped" if run.skipped else "")


def _cell(text: str) -> Text:
    shown = visible(text)
    return Text(shown if len(shown) <= CELL else f"{shown[: CELL - 1]}…")
