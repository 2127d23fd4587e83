"""`supervisor status`: shows the state of this folder's session, and the latest decisions."""

from __future__ import annotations

import datetime as dt

import click
from rich.table import Table
from rich.text import Text

from sidecar.cli.goal import SESSION_OPTION, session_reference
from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo_json
from sidecar.cli.screen import Screen, new_table
from sidecar.kernel.goal import Spending
from sidecar.kernel.log import RecordEntry
from sidecar.kernel.text import escape_unprintable, escape_unprintable_lines
from sidecar.systems.supervision.people import SessionReport
from sidecar.systems.supervision.policy.commands import switch_on_command


@click.command()
@SESSION_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print the whole report for a script.")
def status(session: str, *, as_json: bool) -> None:
    """Show the goal, and what was decided at the last stops, with the reasons."""
    report = call_sidecar("report", session_reference(session), SessionReport)
    if as_json:
        echo_json(report)
        return
    console = Screen(highlight=False)
    console.print("\n".join(escape_unprintable_lines(report.text)), markup=False)
    if report.off:
        console.print(f"Supervisor is {report.off}. Type: {switch_on_command(report.off)}", markup=False)
    if report.spending.calls:
        console.print(_spending_line(report.spending), markup=False)
    if report.story:
        console.print(_decisions_table(report.story))
    for line in (*report.set_aside, *report.troubles):
        console.print(f"! {escape_unprintable(line)}", markup=False)


def _spending_line(today: Spending) -> str:
    """The cost of judging today; calls without a known price are counted separately."""
    unpriced = f", {today.unpriced} of them without a known price" if today.unpriced else ""
    calls = f"{today.calls} call{'' if today.calls == 1 else 's'}"
    return f"Judging today (UTC): {calls}, {today.tokens} tokens, {today.cents:.1f} cents{unpriced}"


def _decisions_table(story: tuple[RecordEntry, ...]) -> Table:
    table = new_table("when", "what", "decided", "by", "why")
    for entry in story:
        when = dt.datetime.fromtimestamp(entry.at, tz=dt.UTC).astimezone().strftime("%H:%M:%S")
        by = f"by {entry.origin}" if entry.origin else ""
        why = "; ".join(part for part in (entry.detail, ", ".join(entry.gates), by) if part)
        cells = (when, entry.event, entry.decided, entry.stage, why[:300])
        table.add_row(
            *(Text(escape_unprintable(cell)) for cell in cells)
        )  # Text, not markup: a test's id may look like markup
    return table
