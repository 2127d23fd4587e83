"""`supervisor explain`, `history`, `stats`, `events`: why agents were sent back, how often, at what cost.

The first three read the log themselves, so they need no sidecar.
"""

from __future__ import annotations

import asyncio
import csv
import datetime as dt
import io
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Final

import click
import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict
from rich.text import Text

from sidecar.cli.link import SESSION_OPTION
from sidecar.cli.printing import echo, echo_json, echo_json_text, local_time
from sidecar.cli.screen import Screen, new_table
from sidecar.cli.status import cost_text
from sidecar.cli.team_orders import joined_membership
from sidecar.kernel.log import LoggedEvent
from sidecar.kernel.session import short_session
from sidecar.kernel.stop_history import StopFigures
from sidecar.kernel.text import clean_line, escape_unprintable
from sidecar.platform.client import SidecarClient
from sidecar.platform.event_log import EventLogFile, lost_logs
from sidecar.platform.log_readings import DAY_S, StopHistory
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import SystemClock
from sidecar.platform.team.membership import open_team
from sidecar.platform.team.store import FIGURES_BY
from sidecar.servers.methods import EventsPage, EventsRequest
from sidecar.systems.supervision.decisions import read_decisions, replay_decision, worker_spending
from sidecar.systems.supervision.policy.decision_story import (
    RULING_WORDING,
    STAGE_WORDING,
    Story,
    StoryStep,
    tell_decision,
)
from sidecar.systems.supervision.policy.history import (
    GROUPINGS,
    Decision,
    check_figures,
    stop_figures,
)
from sidecar.systems.supervision.team import read_team_decisions

RARE: Final = ("judged", "unpriced", "would_send_back", "would_be_right")
"""Figures that have a column only where there are any."""
WHY_LENGTH: Final = 200
"""Characters of a reason in a table."""
NOTHING_FOUND: Final = "no agent has stopped here yet (`--all`: in every folder), or it was forgotten"
ISO: Final = "%Y-%m-%dT%H:%M:%S%z"
"""How a spreadsheet reads times."""
RIGHT_MEANS: Final = "right: after it was sent back, a check that had failed passed, or files changed."

SESSION_ARGUMENT = click.argument("session", default="")
DAYS_OPTION = click.option("--days", type=click.IntRange(1, 3650), default=30, help="Days back; else 30.")
EVERYWHERE_OPTION = click.option("--all", "everywhere", is_flag=True, help="In every folder, not this one.")
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
FORM_OPTIONS: Final = (
    click.option("--json", "form", flag_value="json", help="Print JSON for a script."),
    click.option("--csv", "form", flag_value="csv", help="Print a table for a spreadsheet."),
)
TEAM_OPTION: Final = click.option("--team", is_flag=True, help="Of all machines of your team.")
TEAM_GROUPINGS: Final = ("machine", "person")


class HistoryLine(Struct, frozen=True, kw_only=True):
    """One decision, for a script. `at`: seconds since the epoch, in CSV a date. `afterwards`: FollowUp."""

    at: float
    session: str
    project: str
    decided: str
    by: str
    why: str
    afterwards: str
    seconds: float
    tokens: int
    cents: float | None
    machine: str = ""
    person: str = ""


@click.command()
@SESSION_ARGUMENT
@click.option("--last", type=click.IntRange(1, 100), default=1, show_default=True, help="So many decisions.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a report.")
@JSON_OPTION
@EVERYWHERE_OPTION
def explain(session: str, *, last: int, markdown: bool, as_json: bool, everywhere: bool) -> None:
    """Tell why the agent was sent back or let rest when it last stopped: what ran and was found, who decided.

    SESSION is an ID, its beginning, or HOST:ID; without it, the newest stop of this folder is explained.
    What came of it and what it cost stand at the end. --last 3 tells of the two stops before, too.
    """
    log = _open_log()
    decisions = _found(log, session, None, everywhere=everywhere)[-last:]
    kept = StopHistory(log)
    stories = [
        tell_decision(one, None if one.what else asyncio.run(replay_decision(kept, one))) for one in decisions
    ]
    if as_json:
        echo_json(stories)
        return
    for number, story in enumerate(stories):
        title, steps = _title(story), story.steps
        lines = _markdown(title, steps) if markdown else (title, *story_lines(steps))
        echo(("\n" if number else "") + "\n".join(lines))


def _title(story: Story) -> str:
    one = story.decision
    where = f"{one.session.host}:{one.session.id} in {one.project}"
    return escape_unprintable(f"{local_time(one.at)} {where}: {story.summary}")


def story_lines(steps: Iterable[StoryStep]) -> Iterable[str]:
    """Return the lines of these steps for a terminal."""
    for step in steps:
        yield f"  {step.about}"
        yield from (f"    {escape_unprintable(line)}" for line in step.lines)


def _markdown(title: str, steps: Iterable[StoryStep]) -> Iterable[str]:
    yield f"## {title}"
    for step in steps:
        yield f"\n**{step.about}**\n"
        for line in step.lines:
            yield f"{' ' * (len(line) - len(line.lstrip()))}- {escape_unprintable(line.lstrip())}"


@click.command()
@SESSION_ARGUMENT
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="So many decisions.")
@DAYS_OPTION
@EVERYWHERE_OPTION
@TEAM_OPTION
@FORM_OPTIONS[0]
@FORM_OPTIONS[1]
def history(  # noqa: PLR0913 - one for each option
    session: str, *, last: int, days: int, everywhere: bool, team: bool, form: str | None
) -> None:
    """List what was decided when agents stopped in this folder, and whether sending them back was right.

    SESSION is an ID, its beginning, or HOST:ID. --team: the newest of all machines, however old.
    """
    if team:
        decisions = _of_team(session, last)
    else:
        decisions = _found(_open_log(), session, days, everywhere=everywhere)[-last:]
    lines = [_history_line(one) for one in decisions]
    if form:
        _print_rows(lines, form)
        return
    table = new_table(
        "when", *(("who", "machine") if team else ()), "session", "decided", "why", "afterwards"
    )
    for one in lines:
        when, short = local_time(one.at)[5:16], short_session(one.session.rpartition(":")[2])
        whose = (one.person, one.machine) if team else ()
        cells = (when, *whose, short, one.decided, one.why[:WHY_LENGTH], one.afterwards)
        table.add_row(*(Text(escape_unprintable(cell)) for cell in cells))
    for column in table.columns:
        column.no_wrap = column.header != "why"
    Screen(highlight=False).print(table)
    echo("One of them in full: supervisor explain [SESSION]")


def _history_line(one: Decision) -> HistoryLine:
    how = RULING_WORDING[one.stop.decided] if one.sent_back or one.in_shadow else one.stop.decided
    return HistoryLine(
        at=one.at,
        session=f"{one.session.host}:{one.session.id}",
        project=one.project,
        decided=f"{f'{one.what}: ' if one.what else ''}{how}",
        by=one.stop.rule or STAGE_WORDING.get(one.stop.stage, one.stop.stage),
        why=clean_line(one.stop.detail),
        afterwards=one.followed or "",
        seconds=one.stop.seconds,
        tokens=one.stop.judge_tokens,
        cents=one.stop.judge_cents,
        machine=one.machine,
        person=one.person,
    )


@click.command()
@SESSION_ARGUMENT
@click.option(
    "--by",
    type=click.Choice([*GROUPINGS, "check", *TEAM_GROUPINGS]),
    default="day",
    show_default=True,
    help="A line for each.",
)
@DAYS_OPTION
@EVERYWHERE_OPTION
@TEAM_OPTION
@FORM_OPTIONS[0]
@FORM_OPTIONS[1]
def stats(  # noqa: PLR0913 - one for each option
    session: str, *, by: str, days: int, everywhere: bool, team: bool, form: str | None
) -> None:
    """Count what was decided, whether it was right, how long it took and what it cost.

    SESSION is an ID, its beginning, or HOST:ID. --by check shows which checks are slow, and which fail.
    --days 7 --by all is the sum of a week. --team counts on all machines, also by machine and person.
    """
    if team:
        _print_figures(*_team_figures(session, by, days), by, form, (*RARE, "right", "nothing"))
        if not form:
            echo("Days are those of UTC. Whether sending back was right: supervisor stats, on each machine.")
        return
    if by in TEAM_GROUPINGS:
        raise click.UsageError(f"--by {by} needs --team")
    log = _open_log()
    decisions = [one for one in _found(log, session, days, everywhere=everywhere) if not one.what]
    rows: Sequence[Struct] = check_figures(decisions) if by == "check" else stop_figures(decisions, by)
    _print_figures(rows, () if by == "check" else stop_figures(decisions, "all"), by, form)
    if form or not rows:
        return
    if by == "check":
        echo("Seconds: a run, on average and at most. Passes that were remembered do not count.")
        return
    echo(f"{RIGHT_MEANS}\nSeconds are those of judging; tokens and cents those of the judge.")
    workers = worker_spending(log, time.time() - days * DAY_S)
    if workers.calls:
        said = cost_text(workers.calls, workers.tokens, workers.cents, workers.unpriced)
        echo(f"Headless agents, of all folders: {said}")


def _print_figures(
    rows: Sequence[Struct], total: Sequence[Struct], by: str, form: str | None, rare: Sequence[str] = RARE
) -> None:
    """Print figures as a table or for a script, and below several of them their `total`."""
    if form:
        _print_rows(rows, form)
        return
    if not rows:
        echo("No check has run and no agent has stopped in these days.")
        return
    fields = rows[0].__struct_fields__[1:]
    names = [name for name in fields if name not in rare or any(getattr(row, name) for row in rows)]
    table = new_table(by, *(name.replace("_", " ") for name in names))
    table.columns[0].min_width = len("2026-11-22")
    for column in table.columns[1:]:
        column.no_wrap = True
    for row in rows if len(rows) == 1 else (*rows, *total):
        cells = (getattr(row, name) for name in ("name", *names))
        table.add_row(*(Text(escape_unprintable(str(cell))) for cell in cells))
    Screen(highlight=False).print(table)


def _of_team(session: str, last: int) -> tuple[Decision, ...]:
    """Return the newest decisions of all machines, or of a session. Raises ClickException for none."""
    with closing(open_team(joined_membership())) as team:
        if found := read_team_decisions(team, session, last):
            return found
    raise click.ClickException(f"the team knows no stop{session and f' of {session}'} yet")


def _team_figures(
    session: str, by: str, days: int
) -> tuple[tuple[StopFigures, ...], tuple[StopFigures, ...]]:
    """Return the figures of all machines of the team, and their sum."""
    if session or by not in FIGURES_BY:
        raise click.UsageError("--team goes with --by day, project, host, machine, person or all")
    since = dt.datetime.fromtimestamp(time.time() - days * DAY_S, tz=dt.UTC).date().isoformat()
    with closing(open_team(joined_membership())) as team:
        return team.figures(since, by), team.figures(since, "all")


def _print_rows(rows: Sequence[Struct], form: str) -> None:
    if form == "json":
        echo_json(rows)
        return
    paper = io.StringIO()
    if rows:
        writer = csv.writer(paper, lineterminator="\n")
        writer.writerow(rows[0].__struct_fields__)
        writer.writerows(
            [local_time(value, ISO) if name == "at" else value for name, value in asdict(row).items()]
            for row in rows
        )
    echo(paper.getvalue().removesuffix("\n"))


def _open_log() -> EventLogFile:
    return EventLogFile(user_paths().state, SystemClock())


def _found(log: EventLogFile, session: str, days: int | None, *, everywhere: bool) -> tuple[Decision, ...]:
    """Return the decisions of a session, else those of the current folder, or of all. Refuses none."""
    folder = "" if session or everywhere else os.getcwd()  # noqa: PTH109 - compared as text
    since = None if days is None else time.time() - days * DAY_S
    found = read_decisions(log, since=since, folder=folder, session=session)
    if not found:
        raise click.ClickException(
            f"no stop of {session} is known. `supervisor history --all` names the sessions"
            if session
            else "\n  - ".join((NOTHING_FOUND, *lost_logs(user_paths().state)))
        )
    return found


SHOWN_LENGTH = 300
"""Maximum characters of an event's data on a line."""


@click.command()
@SESSION_OPTION
@click.option("--kind", "kinds", multiple=True, help="Only this kind, such as stop-judged; may be repeated.")
@click.option("--after", type=click.IntRange(0), help="Those after this position; else the newest 100.")
@click.option("--follow", is_flag=True, help="Go on with every new event until you press Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as one line of JSON.")
def events(session: str, kinds: tuple[str, ...], after: int | None, *, follow: bool, as_json: bool) -> None:
    """Print what was decided and done, oldest first.

    Each line has position, time, system, kind and session, and what the event says.
    """

    def heard(method: str, params: Raw) -> None:
        if method == "event":
            print_event(msgspec.json.decode(params, type=LoggedEvent), as_json=as_json)

    client = SidecarClient(user_paths())
    more = True
    while more:  # a sidecar that makes room for a newer one ends the following
        asked = EventsRequest(after=after, session=session, kinds=kinds, follow=follow)
        seconds = float("inf") if follow else 60.0
        page = client.call("events", asked, EventsPage, seconds=seconds, on_notice=heard)
        for event in page.events:
            print_event(event, as_json=as_json)
        after, more = page.position, page.more or follow


def print_event(event: LoggedEvent, *, as_json: bool) -> None:
    """Print an event in one line."""
    if as_json:
        echo_json_text(msgspec.json.encode(event).decode())
    else:
        echo(event_line(event))


def event_line(event: LoggedEvent) -> str:
    """Describe an event in one line."""
    when = local_time(event.at)
    session = f"{event.session.host}:{event.session.id}" if event.session else "-"
    said = ", ".join(
        f"{name} {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in msgspec.json.decode(msgspec.json.encode(event.data)).items()
        if name != "type"
    )
    origin = f" by {event.origin}" if event.origin else ""
    line = f"{event.position} {when} {event.system} {event.kind} {session}{origin}: {said}"
    return clean_line(line, SHOWN_LENGTH)
