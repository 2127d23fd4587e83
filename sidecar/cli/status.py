"""`supervisor status`: shows the sessions of this folder, their goals, and the latest decisions."""

from __future__ import annotations

import sys
import time
from typing import Final

import click
from rich.table import Table
from rich.text import Text

from sidecar.cli.link import (
    ACCEPT_JUDGED_OPTION,
    SESSION_OPTION,
    accepted_code,
    call_sidecar,
    session_reference,
)
from sidecar.cli.printing import echo, echo_json, in_shell, local_time
from sidecar.cli.screen import Screen, new_table
from sidecar.kernel.goal import Spending
from sidecar.kernel.log import RecordEntry
from sidecar.kernel.text import counted, escape_unprintable, escape_unprintable_lines
from sidecar.systems.supervision.people import SessionReport, SessionSummary
from sidecar.systems.supervision.policy.decision_story import STAGE_WORDING
from sidecar.systems.supervision.policy.journal import journal_lines
from sidecar.systems.supervision.policy.orders import switch_on_command
from sidecar.systems.supervision.policy.sessions import describe_age

MOST_OTHERS: Final = 10
"""Other sessions that are shown."""
TASKS_SHOWN: Final = 10
CONDITION_LENGTH: Final = 80
"""Characters shown of another session's goal, and of what it does."""


@click.command(short_help="Where the sessions of this folder stand, and why.")
@SESSION_OPTION
@click.option("--exit-code", is_flag=True, help="End with a code for the goal.")
@ACCEPT_JUDGED_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print the whole report for a script.")
def status(session: str, *, exit_code: bool, accept_judged: bool, as_json: bool) -> None:
    """Show the goal, what is spent, the last decisions and why, and the other sessions of this folder.

    They are those in the folder, above and below it. One whose goal is held now comes first.

    Exit codes with --exit-code: 0 achieved, 1 not achieved, 2 unverified, 3 no goal, 4 judged.
    """
    report = call_sidecar("report", session_reference(session), SessionReport)
    if session and not report.session:
        raise click.ClickException(
            f"no session is known as {session}\n  - those of a folder: supervisor status"
        )
    if as_json:
        echo_json(report)
    else:
        _print_report(report)
    sys.exit(accepted_code(report.exit_code, accept_judged=accept_judged) if exit_code else 0)


def _print_report(report: SessionReport) -> None:
    console = Screen(highlight=False)
    text = in_shell(report.text) if report.session else report.text  # which host to start is told else
    console.print("\n".join(escape_unprintable_lines(text)), markup=False)
    for task in journal_lines(report.journal, TASKS_SHOWN, time.time()):
        console.print(Text(task.text, style=task.style), soft_wrap=True)
    if report.off:
        console.print(f"Supervisor is {report.off}. Type: {switch_on_command(report.off)}", markup=False)
    if report.shadow:
        console.print(report.shadow, markup=False, soft_wrap=True)
    for line in report.limits:
        console.print(f"Agents wait: {line}", markup=False, soft_wrap=True)
    if report.team is not None:
        console.print(f"Team: {report.team.detail}", markup=False, soft_wrap=True)
    console.print(spending_line(report.spending), markup=False)
    if report.story:
        console.print(_decisions_table(report.story))
    if others := other_sessions(report):
        console.print("\nOther sessions of this folder (--session HOST:ID shows one):", markup=False)
    for line in others:
        console.print(line, markup=False, soft_wrap=True)
    for line in (*report.set_aside, *report.troubles):
        echo(f"supervisor: {escape_unprintable(line)}", err=True)


def other_sessions(report: SessionReport) -> tuple[str, ...]:
    """A line for each other session that is open, or whose goal a resumed session goes on with."""
    mine = (report.host, report.session)
    lines = [
        _session_line(one, time.time())
        for one in report.sessions
        if (one.host, one.session) != mine and (one.doing != "closed" or one.detail)
    ]
    more = len(lines) - MOST_OTHERS
    return (*lines[:MOST_OTHERS], f"  and {more} more: --json") if more > 0 else tuple(lines)


def _session_line(one: SessionSummary, at: float) -> str:
    goal = f"goal {one.status}: {_one_line(one.condition)[:CONDITION_LENGTH]}" if one.condition else "no goal"
    detail = f" ({_one_line(one.detail)[:CONDITION_LENGTH]})" if one.detail and one.doing != "closed" else ""
    doing = f"{one.doing}{detail}, {describe_age(at - one.since)}"
    return escape_unprintable(f"  {one.host}:{one.session} in {one.project}: {doing}; {goal}")


def _one_line(text: str) -> str:
    """Join the lines of a text; what a terminal would obey stays, to be shown escaped."""
    return " ".join(text.split())


def spending_line(today: Spending) -> str:
    """Return the cost of today, workers' apart; calls without a known price are counted separately."""
    spent = f"today (UTC): {cost_text(today.calls, today.tokens, today.cents, today.unpriced)}"
    if not today.worker_calls:
        return f"Judging {spent}"
    if today.worker_calls == today.calls:
        return f"Headless agents {spent}"
    own = cost_text(today.worker_calls, today.worker_tokens, today.worker_cents)
    return f"Judging and headless agents {spent}; headless agents alone: {own}"


def cost_text(calls: int, tokens: int, cents: float, unpriced: int = 0) -> str:
    """Say what calls of models cost."""
    more = f", {unpriced} of them without a known price" if unpriced else ""
    return f"{counted(calls, 'call')}, {tokens} tokens, {cents:.1f} cents{more}"


def _decisions_table(story: tuple[RecordEntry, ...]) -> Table:
    table = new_table("when", "what", "decided", "by", "why")
    for entry in story:
        when = local_time(entry.at, "%H:%M:%S")
        by = f"by {entry.origin}" if entry.origin else ""
        why = "; ".join(part for part in (entry.detail, ", ".join(entry.gates), by) if part)
        stage = STAGE_WORDING.get(entry.stage, entry.stage)
        cells = (when, entry.event, entry.decided, stage, why[:300])
        table.add_row(
            *(Text(escape_unprintable(_one_line(cell))) for cell in cells)
        )  # Text, not markup: a test's id may look like markup
    return table
