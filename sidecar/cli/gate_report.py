"""Reports of `supervisor gates`: the schema of `--json`, the exit code, and the terminal output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from enum import IntEnum
from typing import Final

from msgspec import Struct
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from sidecar.cli.printing import in_shell
from sidecar.cli.screen import clipped_cell, new_table
from sidecar.evidence.ports import GateProgressCallback
from sidecar.kernel.gate import AvailableGates, Gate, GateRun, Outcome
from sidecar.kernel.text import escape_unencodable, escape_unprintable, escape_unprintable_lines


class GatesExitCode(IntEnum):
    """The exit codes of `supervisor gates`."""

    PASSED = 0
    FAILED = 1
    COULD_NOT_RUN = 2


GATE_FIELDS: Final = ("id", "kind", "origin", "command", "folder", "why", "required", "approved")
RUN_FIELDS: Final = (
    *("outcome", "reason", "exit_code", "seconds", "executed", "skipped", "percent", "failures", "failing"),
    *("output", "cached", "flaky", "moved", "environment", "waited"),
)
"""What of a Gate and a GateRun is reported. No outcome and no seconds with `--list`."""


class GatesReport(Struct, frozen=True, kw_only=True):
    """The JSON report. `tree`: fingerprint of files; `problems`: of settings; no `exit_code` with `--list`.

    `gates`: GATE_FIELDS and RUN_FIELDS of each. `version` is raised when a field changes its meaning or is
    removed; fields may be added at any time.
    """

    version: int = 1
    project: str
    tree: str = ""
    exit_code: int | None = None
    gates: tuple[dict[str, object], ...] = ()
    problems: tuple[str, ...] = ()


def report_listed_gates(
    project: str, catalog: AvailableGates, gates: Sequence[Gate], environments: Mapping[str, str]
) -> GatesReport:
    """The report of the gates that apply, for `--list`; `environments` by the gates' IDs."""
    blank = (
        GateRun(gate=gate, outcome=Outcome.NOT_APPROVED, tree="", environment=environments[gate.id])
        for gate in gates
    )
    lines = tuple({**_gate_line(run), "outcome": None, "seconds": None} for run in blank)
    return GatesReport(project=project, gates=lines, problems=catalog.problems)


def report_gate_runs(
    project: str, catalog: AvailableGates, tree: str, runs: Sequence[GateRun]
) -> GatesReport:
    """The report of the gates that ran; `approved` is what is stored, whatever `--yes` let run."""
    approved = {gate.id for gate in catalog.gates if gate.approved}
    return GatesReport(
        project=project,
        tree=tree,
        exit_code=gates_exit_code(runs),
        gates=tuple(_gate_line(run) | {"approved": run.gate.id in approved} for run in runs),
        problems=catalog.problems,
    )


def gates_exit_code(runs: Sequence[GateRun]) -> GatesExitCode:
    """Required gates decide where there are any, else all gates do. No gate at all is not a pass."""
    decisive = [run for run in runs if run.gate.required] or runs
    outcomes = {run.outcome for run in decisive}
    if Outcome.FAILED in outcomes:
        return GatesExitCode.FAILED
    return GatesExitCode.PASSED if outcomes == {Outcome.PASSED} else GatesExitCode.COULD_NOT_RUN


def _gate_line(run: GateRun) -> dict[str, object]:
    """Report a gate, and how it ended."""
    fields = {name: getattr(run.gate, name) for name in GATE_FIELDS}
    fields |= {name: getattr(run, name) for name in RUN_FIELDS}
    return {name: _encodable(value) for name, value in fields.items()} | {"seconds": round(run.seconds, 3)}


def _encodable(value: object) -> object:
    """Escape what no encoding holds, also in each line of a list."""
    if isinstance(value, tuple):
        return tuple(map(_encodable, value))
    return escape_unencodable(value) if type(value) is str else value


# --- Terminal output: a line for each gate as it ends, then a table; plain text elsewhere -------------------


OUTCOME_STYLES: Final = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "red",
    Outcome.COULD_NOT_RUN: "yellow",
    Outcome.NOT_APPROVED: "yellow",
}
OUTCOME_WORDING: Final = {outcome: outcome.replace("-", " ") for outcome in Outcome}


@contextmanager
def show_gate_progress(at: Console, *, quiet: bool) -> Iterator[GateProgressCallback]:
    """Show running gates on a terminal, and a line for each ended one; with `quiet` nothing."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    moves = at.is_terminal and not quiet
    progress = Progress(*columns, console=at, transient=True, disable=not moves)
    tasks: dict[str, TaskID] = {}

    def show(gate: Gate, run: GateRun | None) -> None:
        if gate.id in tasks:
            progress.remove_task(tasks.pop(gate.id))
        if run is None:
            tasks[gate.id] = progress.add_task(escape_unprintable(gate.id), total=None)
        elif not quiet:
            line = Text(f"{OUTCOME_WORDING[run.outcome]:<14}", style=OUTCOME_STYLES[run.outcome])
            line.append(f"{escape_unprintable(gate.id)}  {run.seconds:.1f} s", style="default")
            progress.console.print(line, soft_wrap=True)

    # Without a live display, older versions of rich print an empty line when it stops.
    with progress if moves else nullcontext():
        yield show


def failing_output_lines(run: GateRun) -> tuple[str, ...]:
    """The output of a gate that did not pass, under its name."""
    if run.outcome not in (Outcome.FAILED, Outcome.COULD_NOT_RUN) or not run.output:
        return ()
    return (f"--- {escape_unprintable(run.gate.id)}", *escape_unprintable_lines(run.output), "")


def runs_table(runs: Sequence[GateRun]) -> Table:
    """A table of how each gate ended."""
    table = new_table("check", "counts as", "outcome", "tests", "seconds", "first failure, or why")
    for run in runs:
        table.add_row(
            clipped_cell(run.gate.id),
            _duty_label(run.gate),
            Text(OUTCOME_WORDING[run.outcome] + _run_marks(run), style=OUTCOME_STYLES[run.outcome]),
            _test_counts(run),
            f"{run.seconds:.1f}",
            clipped_cell(_why(run)),
        )
    return table


def _why(run: GateRun) -> str:
    """The first failure, or the reason; where neither is known, how the output ends.

    How to approve a check is said once, below the table.
    """
    if run.outcome is Outcome.NOT_APPROVED:
        return "it was changed since you approved it" if run.gate.changed else ""
    if known := next(filter(None, (*run.failures, in_shell(run.reason))), ""):
        return known
    if run.outcome is Outcome.PASSED:
        return ""
    last = next((line.strip() for line in reversed(run.output.splitlines()) if line.strip()), "no output")
    return f"exit code {run.exit_code}: {last}"


def gates_table(gates: Sequence[Gate]) -> Table:
    """A table of the gates that apply, and why."""
    table = new_table("check", "counts as", "approved", "command", "in", "why")
    for gate in gates:
        approved = Text("yes") if gate.approved else Text("no", style="yellow")
        cells = map(clipped_cell, (gate.command, gate.folder or ".", gate.why))
        table.add_row(clipped_cell(gate.id), _duty_label(gate), approved, *cells)
    return table


def summarize_runs(runs: Sequence[GateRun]) -> str:
    """The number of gates for each outcome: "2 passed, 1 failed"."""
    counts = (
        (word, sum(run.outcome is outcome for run in runs)) for outcome, word in OUTCOME_WORDING.items()
    )
    return ", ".join(f"{count} {word}" for word, count in counts if count)


def _duty_label(gate: Gate) -> str:
    return "required" if gate.required else "advises"


def _run_marks(run: GateRun) -> str:
    marks = [word for word in ("cached", "flaky", "moved") if getattr(run, word)]
    return f" ({', '.join(marks)})" if marks else ""


def _test_counts(run: GateRun) -> str:
    if run.executed is None:
        return "" if run.percent is None else f"{run.percent:g} %"
    return f"{run.executed}" + (f", {run.skipped} skipped" if run.skipped else "")
