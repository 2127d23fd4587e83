"""`supervisor status`: what is known of this folder's session, and what was decided lately."""

from __future__ import annotations

import datetime as dt

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sidecar.app.people import Report
from sidecar.cli.checks import visible, visible_lines
from sidecar.cli.goal import HERE, who
from sidecar.cli.link import ask
from sidecar.model.spending import Spending
from sidecar.policy.status import switch_on
from sidecar.ports import Entry


@click.command()
@HERE
@click.option("--json", "as_json", is_flag=True, help="Print the whole report for a script.")
def status(session: str, *, as_json: bool) -> None:
    """Show the goal, and what was decided at the last stops, with the reasons."""
    report = ask("report", who(session), Report)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report)).decode())
        return
    console = Console(highlight=False)
    console.print("\n".join(visible_lines(report.text)), markup=False)
    if report.off:
        console.print(f"Supervisor is {report.off}. Type: {switch_on(report.off)}", markup=False)
    if report.spending.calls:
        console.print(_spending(report.spending), markup=False)
    if report.story:
        console.print(_table(report.story))
    for line in (*report.set_aside, *report.troubles):
        console.print(f"! {visible(line)}", markup=False)


def _spending(today: Spending) -> str:
    """What judging cost today; calls without a known price are told apart."""
    unpriced = f", {today.unpriced} of them without a known price" if today.unpriced else ""
    calls = f"{today.calls} call{'' if today.calls == 1 else 's'}"
    return f"Judging today (UTC): {calls}, {today.tokens} tokens, {today.cents:.1f} cents{unpriced}"


def _table(story: tuple[Entry, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("when", "what", "decided", "by", "why"):
        table.add_column(name, overflow="fold")
    for entry in story:
        when = dt.datetime.fromtimestamp(entry.at, tz=dt.UTC).astimezone().strftime("%H:%M:%S")
        why = "; ".join(part for part in (entry.detail, ", ".join(entry.gates)) if part)
        cells = (when, entry.event, entry.decided, entry.stage, why[:300])
        table.add_row(*(Text(visible(cell)) for cell in cells))  # no markup: a test's id may look like one
    return table
