"""`supervisor gates`: lists or runs the checks (gates) that apply to a folder. Needs no sidecar."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.gate_report import (
    GatesExitCode,
    failing_output_lines,
    gates_table,
    report_gate_runs,
    report_listed_gates,
    runs_table,
    show_gate_progress,
    summarize_runs,
)
from sidecar.cli.options import FOLDER_ARGUMENT
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.screen import Screen
from sidecar.cli.signals import INTERRUPTED_CODE
from sidecar.evidence.gates.approvals import TrustFile
from sidecar.evidence.gates.installed import describe_runner
from sidecar.evidence.gates.policy import not_approved_run
from sidecar.evidence.ports import GateCatalog, GateContext, GateProgressCallback, GateRunner
from sidecar.kernel.gate import AvailableGates, Gate, GateRun
from sidecar.kernel.masking import mask_gate_run
from sidecar.kernel.session import Environment
from sidecar.kernel.text import escape_unprintable
from sidecar.platform.environments import find_environment, project_environment
from sidecar.platform.paths import user_paths
from sidecar.platform.secrets import SecretForms
from sidecar.platform.slots import CALLER, Caller
from sidecar.wiring.platform import build_evidence, build_platform

DUTIES: Final = (
    "required: no goal is achieved unless it passes. advises: failures that are new since the goal count."
)


class GatesOptions(Struct, frozen=True, kw_only=True):
    """The command line options."""

    project: str
    only: tuple[str, ...] = ()
    as_json: bool = False
    verbose: bool = False
    unapproved: bool = False


@click.command()
@FOLDER_ARGUMENT
@click.option("--list", "listing", is_flag=True, help="Only say which apply, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script, and nothing else.")
@click.option("--only", multiple=True, metavar="ID", help="Only this check. May be repeated.")
@click.option("--verbose", "-v", is_flag=True, help="Also show the whole output of what did not pass.")
@click.option("--yes", "unapproved", is_flag=True, help="This once, also run what you have not approved.")
def gates(  # noqa: PLR0913 - one parameter per option
    folder: str, only: tuple[str, ...], *, listing: bool, as_json: bool, verbose: bool, unapproved: bool
) -> None:
    """Run the checks of FOLDER (else of the current folder) and show how they end.

    Exit codes: 0 all passed, 1 one failed, 2 none failed but one could not run, or there are none, 130
    interrupted. Where some checks are required, only these decide; else all do.

    A check that you have not approved is not run: type `supervisor trust`. With --list: 0, or 2 where there
    are none.
    """
    wish = GatesOptions(project=folder, only=only, as_json=as_json, verbose=verbose, unapproved=unapproved)
    try:
        code = asyncio.run((show_gates if listing else execute_gates)(build_gate_services(), wish))
    except KeyboardInterrupt:
        echo("Interrupted: what ran was ended.", err=True)
        code = INTERRUPTED_CODE
    sys.exit(code)


async def show_gates(doors: GateServices, wish: GatesOptions) -> int:
    """Print which gates apply and why; return the exit code."""
    catalog = await doors.catalog.list(wish.project, os.environ)
    chosen = select_gates(catalog, wish.only)
    environments = {gate.id: await _environment_of(gate, wish.project) for gate in chosen}
    if wish.as_json:
        echo_json(report_listed_gates(wish.project, catalog, chosen, environments))
    else:
        screen = Screen(highlight=False)
        if chosen:
            screen.print(gates_table(chosen))
        if names := dict.fromkeys(
            part for name in environments.values() for part in name.split(", ") if part
        ):
            screen.print(f"Environment: {escape_unprintable(', '.join(names))}", markup=False)
        _print_hints(screen, catalog, chosen)
    return GatesExitCode.PASSED if chosen else GatesExitCode.COULD_NOT_RUN


async def _environment_of(gate: Gate, project: str) -> str:
    """Name the Python environment in which a gate would run, and its program; "" where neither is known.

    It is "" also for a gate that is not approved: a package manager may run code of the project (law 12).
    """
    if not gate.approved:
        return ""
    folder = Path(project, gate.folder)
    found = await find_environment(str(folder), os.environ, project, gate.python)
    environment = project_environment(str(folder), os.environ, project, gate.python)
    active = {"VIRTUAL_ENV": str(found)} if found else {}
    return await describe_runner(gate.command, folder, environment | active, project)


async def execute_gates(doors: GateServices, wish: GatesOptions) -> int:
    """Run the gates, print how they ended, and return the exit code."""
    catalog = await doors.catalog.list(wish.project, os.environ)
    chosen = tuple(
        replace(gate, approved=gate.approved or wish.unapproved)  # for this run only
        for gate in select_gates(catalog, wish.only)
    )
    tree = await doors.fingerprint(wish.project, os.environ)
    screen = Screen(highlight=False, stderr=wish.as_json)
    CALLER.set(Caller(tell=lambda text: echo(f"supervisor: {text}", err=True)))
    with show_gate_progress(screen, quiet=wish.as_json and not screen.is_terminal) as live:
        runs = await _run_approved(
            doors,
            catalog,
            chosen,
            GateContext(project=wish.project, tree=tree, environment=os.environ, whole=wish.verbose),
            live,
        )
    report = report_gate_runs(wish.project, catalog, tree, runs)
    if wish.as_json:
        echo_json(report)
    else:
        for run in runs if wish.verbose else ():
            for line in failing_output_lines(run):
                echo(line)
        if runs:
            screen.print(runs_table(runs))
            screen.print(summarize_runs(runs), markup=False)
        if not wish.verbose and any(map(failing_output_lines, runs)):
            screen.print("The whole output of what did not pass: supervisor gates --verbose", markup=False)
        _print_hints(screen, catalog, chosen)
    return report.exit_code or GatesExitCode.PASSED


def select_gates(catalog: AvailableGates, only: Sequence[str]) -> tuple[Gate, ...]:
    """The gates of `--only`, else all. Raises UsageError."""
    known = {gate.id: gate for gate in catalog.gates}
    if missing := [name for name in only if name not in known]:
        there = ", ".join(map(escape_unprintable, known)) or "none"
        raise click.UsageError(f"there is no check {missing[0]!r} here; there are: {there}")
    return tuple(gate for gate in catalog.gates if not only or gate.id in only)


async def _run_approved(
    doors: GateServices,
    catalog: AvailableGates,
    chosen: Sequence[Gate],
    site: GateContext,
    live: GateProgressCallback,
) -> tuple[GateRun, ...]:
    """Run the approved gates; the others are not started. In the order of `chosen`, secrets masked."""
    usual = {True: catalog.settings.seconds, False: catalog.settings.advisory_seconds}
    limits = {gate.id: gate.seconds or usual[gate.required] for gate in chosen}
    may = [replace(gate, seconds=limits[gate.id]) for gate in chosen if gate.approved]
    longest = max(limits.values(), default=0)
    done = await doors.runner.run(may, site, longest, live) if may else ()
    runs = {run.gate.id: run for run in done}
    for gate in chosen:
        runs.setdefault(gate.id, not_approved_run(gate, site.tree))
    mask = SecretForms().masker(os.environ)
    return tuple(mask_gate_run(runs[gate.id], mask) for gate in chosen)


def _print_hints(screen: Console, catalog: AvailableGates, chosen: Sequence[Gate]) -> None:
    """Print hints: that no gate was found, which are not approved, and problems of the settings."""
    if not chosen:
        screen.print("There is nothing to check here that Supervisor can see. Name a command of your own:")
        screen.print('  [gate.tests]\n  command = "..."     in .supervisor/config.toml', markup=False)
    if waiting := [gate.id for gate in chosen if not gate.approved]:
        names = [escape_unprintable(name) for name in waiting]
        some = f", or for one alone: supervisor trust --only {names[0]}" if names[1:] else ""
        screen.print(f"not approved: {', '.join(names)}. Type: supervisor trust{some}", markup=False)
    if chosen:
        screen.print(DUTIES, markup=False)
    for problem in catalog.problems:
        echo(f"supervisor: {escape_unprintable(problem)}", err=True)


class GateServices(Struct, frozen=True):
    """Access to a project's gates. `fingerprint`: see evidence.ports.Workspace."""

    catalog: GateCatalog
    runner: GateRunner
    trust: TrustFile
    fingerprint: Callable[[str, Environment], Awaitable[str]]


def build_gate_services() -> GateServices:
    """The services of the current user."""
    state, files = user_paths().state, CommandLineFiles()
    shared = build_evidence(state, build_platform(state, files), files)
    return GateServices(shared.catalog, shared.gates, TrustFile(state, files), shared.workspace.fingerprint)
