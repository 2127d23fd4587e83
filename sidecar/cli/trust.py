"""`supervisor trust`: approve the commands that a project's files name, once and exactly (law 12)."""

from __future__ import annotations

import asyncio
import difflib
import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from sidecar.adapters.settings.trust_file import KEPT, Approval, covers, kept
from sidecar.cli import checks
from sidecar.cli.checks import Checks, visible, visible_lines
from sidecar.cli.gates import FOLDER
from sidecar.cli.goal import refuse_agents
from sidecar.model.gate import REMOTE, Catalog, Gate, Origin

DECLINED = 1


@click.command()
@FOLDER
@click.option("--yes", is_flag=True, help="Approve what is shown without asking.")
@click.option("--list", "listing", is_flag=True, help="Only show what is approved and what is not.")
@click.option("--revoke", is_flag=True, help="Take all approvals for FOLDER back.")
def trust(folder: str, *, yes: bool, listing: bool, revoke: bool) -> None:
    """Approve the commands that the files of FOLDER (else of the current folder) name.

    They are shown with what is behind them; nothing else is approved, and a change needs another approval.
    Exit codes: 0 approved or nothing to approve, 1 declined, 2 no terminal to ask on and no --yes.
    """
    if listing and (yes or revoke):
        raise click.UsageError("--list goes with nothing else")
    if revoke and yes:
        raise click.UsageError("--revoke goes with nothing else")
    doors = checks.real()
    if listing:
        _show(doors, folder)
        return
    refuse_agents()
    if revoke:
        count = doors.trust.revoke(folder)
        click.echo(f"{count} approved before, none now: {visible(folder)}")
        return
    sys.exit(_approve(doors, folder, yes=yes))


def _catalog(doors: Checks, folder: str) -> Catalog:
    return asyncio.run(doors.catalog.list(folder, os.environ))


def _show(doors: Checks, folder: str) -> None:
    catalog, approvals = _catalog(doors, folder), doors.trust.approvals(folder)
    _say(catalog.gates, approvals)
    _problems(catalog)


def _approve(doors: Checks, folder: str, *, yes: bool) -> int:
    """Show all, ask once, and approve exactly what was shown."""
    catalog, approvals = _catalog(doors, folder), doors.trust.approvals(folder)
    _say(catalog.gates, approvals)
    _problems(catalog)
    new = [gate for gate in catalog.gates if not gate.approved]
    if not new:
        click.echo("There is nothing to approve.")
        return 0
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on. Look at what is shown, then add --yes")
    if not yes and not click.confirm(f"Approve {len(new)} of them for {visible(folder)}?", default=False):
        click.echo("Nothing was approved.")
        return DECLINED
    doors.trust.approve(folder, new)
    click.echo(f"Approved: {', '.join(visible(gate.id) for gate in new)}. `supervisor gates` runs them.")
    return 0


def _problems(catalog: Catalog) -> None:
    for problem in catalog.problems:
        click.echo(f"! {visible(problem)}")


def _say(gates: Sequence[Gate], approvals: Mapping[str, Approval]) -> None:
    for gate in gates:
        for line in told(gate, approvals.get(gate.id)):
            click.echo(line)
        click.echo()


def told(gate: Gate, approval: Approval | None) -> Iterator[str]:
    """All that an approval covers, with what was approved before where that is something else."""
    yield f"{visible(gate.id)}: {_standing(gate, approval)}"
    yield f"    why      {visible(gate.why)}"
    yield from _text("command", gate.command)
    if gate.folder:
        yield f"    in       {visible(gate.folder)}"
    if gate.behind:
        yield from _text("behind", gate.behind)
    if gate.least is not None:
        yield f"    least    {gate.least:g} percent of coverage"
    if approval and not gate.approved:
        yield from _before(gate, approval)


def _standing(gate: Gate, approval: Approval | None) -> str:
    if gate.kind in REMOTE:
        return "needs no approval, it only reads"
    if gate.origin is Origin.USER:
        return "approved by your own config.toml"
    if gate.approved or covers(approval, gate):
        return "approved"
    return "CHANGED since you approved it" if approval else "not approved"


def _before(gate: Gate, approval: Approval) -> Iterator[str]:
    """What was approved, where that differs in what people can see."""
    pairs = (
        ("command", approval.command, kept(gate.command)),
        ("folder", approval.folder, kept(gate.folder)),
        ("behind", approval.behind, kept(gate.behind)),
    )
    changed = [pair for pair in pairs if pair[1] != pair[2]]
    for name, old, new in changed:
        yield f"    {name} before -> after:"
        lines = difflib.unified_diff(visible_lines(old), visible_lines(new), n=1, lineterm="")
        yield from (f"      {line}" for line in itertools.islice(lines, 2, None) if not line.startswith("@@"))
    if not changed:
        yield f"    what changed is how it counts, or lies beyond the first {KEPT} characters"


def _text(name: str, text: str) -> Iterator[str]:
    """A text under its name, every line of it."""
    first, *rest = visible_lines(text)
    yield f"    {name:<8} {first}"
    yield from (f"    {'':<8} {line}" for line in rest)
