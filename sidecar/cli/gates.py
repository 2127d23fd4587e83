"""`supervisor gates`: which checks apply to this folder and why, and how they end. Needs no sidecar."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Final

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console

from sidecar.adapters.secrets import SecretForms
from sidecar.cli import checks
from sidecar.cli.checks import Checks, visible
from sidecar.cli.gate_report import ExitCode, Report, listed, ran
from sidecar.cli.gate_table import Live, console, gates_table, runs_table, summary
from sidecar.model.gate import Catalog, Gate, GateRun, Outcome
from sidecar.model.settings import Gates
from sidecar.policy.gates import NOT_APPROVED
from sidecar.policy.masking import mask_run
from sidecar.ports import Site

INTERRUPTED: Final = 130
"""What a shell says of a command that Ctrl-C ended."""
FOLDER: Final = click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, resolve_path=True)
)


class Wish(Struct, frozen=True, kw_only=True):
    """What was typed."""

    project: str
    only: tuple[str, ...] = ()
    as_json: bool = False
    unapproved: bool = False


@click.command()
@FOLDER
@click.option("--list", "listing", is_flag=True, help="Only say which apply, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script, and nothing else.")
@click.option("--only", multiple=True, metavar="ID", help="Only this gate. May be repeated.")
@click.option("--yes", "unapproved", is_flag=True, help="This once, also run what you have not approved.")
def gates(folder: str, only: tuple[str, ...], *, listing: bool, as_json: bool, unapproved: bool) -> None:
    """Run the checks of FOLDER (else of the current folder) and show how they end.

    Exit codes: 0 all passed, 1 one failed, 2 none failed but one could not run, or there are none, 130
    interrupted. Where some gates are required, only these decide; else all do.

    A gate that you have not approved could not run: type `supervisor trust`. With --list: 0, or 2 where there
    are none.
    """
    wish = Wish(project=folder, only=only, as_json=as_json, unapproved=unapproved)
    try:
        code = asyncio.run((show if listing else execute)(checks.real(), wish))
    except KeyboardInterrupt:
        click.echo("Interrupted: what ran was ended.", err=True)
        code = INTERRUPTED
    sys.exit(code)


async def show(doors: Checks, wish: Wish) -> int:
    """Say which gates apply."""
    catalog = await doors.catalog.list(wish.project, os.environ)
    chosen = _chosen(catalog, wish)
    if wish.as_json:
        _print(listed(wish.project, catalog, chosen))
    else:
        screen = console()
        if chosen:
            screen.print(gates_table(chosen))
        _tell(screen, catalog, chosen)
    return ExitCode.PASSED if chosen else ExitCode.COULD_NOT_RUN


async def execute(doors: Checks, wish: Wish) -> int:
    """Run them."""
    catalog = await doors.catalog.list(wish.project, os.environ)
    chosen = _chosen(catalog, wish)
    tree = await doors.fingerprint(wish.project, os.environ)
    screen = console(errors=wish.as_json)
    with Live(screen, quiet=wish.as_json and not screen.is_terminal) as live:
        runs = await _runs(
            doors, catalog, chosen, Site(project=wish.project, tree=tree, environment=os.environ), live
        )
    report = ran(wish.project, catalog, tree, runs)
    if wish.as_json:
        _print(report)
    else:
        if runs:
            screen.print(runs_table(runs))
            screen.print(summary(runs), markup=False)
        _tell(screen, catalog, chosen)
    return report.exit_code or ExitCode.PASSED


def _chosen(catalog: Catalog, wish: Wish) -> tuple[Gate, ...]:
    """The gates that are meant, approved this once where the user says so."""
    known = {gate.id: gate for gate in catalog.gates}
    if missing := [name for name in wish.only if name not in known]:
        there = ", ".join(map(visible, known)) or "none"
        raise click.UsageError(f"there is no gate {missing[0]!r} here; there are: {there}")
    chosen = [gate for gate in catalog.gates if not wish.only or gate.id in wish.only]
    return tuple(replace(gate, approved=gate.approved or wish.unapproved) for gate in chosen)


async def _runs(
    doors: Checks, catalog: Catalog, chosen: Sequence[Gate], site: Site, live: Live
) -> tuple[GateRun, ...]:
    """Run what is approved; the rest could not run. In the order of `chosen`, without the user's secrets."""
    may = [_timed(gate, catalog.settings) for gate in chosen if gate.approved]
    longest = max((gate.seconds or 0 for gate in may), default=0)
    done = await doors.runner.run(may, site, longest, live) if may else ()
    runs = {run.gate.id: run for run in done}
    for gate in chosen:
        runs.setdefault(
            gate.id,
            GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=site.tree, reason=NOT_APPROVED),
        )
    mask = SecretForms().masker(os.environ)
    return tuple(mask_run(runs[gate.id], mask) for gate in chosen)


def _timed(gate: Gate, settings: Gates) -> Gate:
    """The gate with its deadline."""
    usual = settings.seconds if gate.required else settings.advisory_seconds
    return replace(gate, seconds=gate.seconds or usual)


def _tell(screen: Console, catalog: Catalog, chosen: Sequence[Gate]) -> None:
    """What else a person should know."""
    if not chosen:
        screen.print("There is nothing to check here that Supervisor can see. Name a command of your own:")
        screen.print('  [gate.tests]\n  command = "..."     in .supervisor/config.toml', markup=False)
    if waiting := [gate.id for gate in chosen if not gate.approved]:
        named = ", ".join(map(visible, waiting))
        screen.print(f"not approved: {named}. Type: supervisor trust", markup=False)
    for problem in catalog.problems:
        screen.print(f"! {visible(problem)}", markup=False)


def _print(report: Report) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(report)).decode())
