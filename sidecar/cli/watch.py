"""`supervisor watch` and `dashboard`: the sessions as they go on, in a terminal and in a browser."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Final

import click
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from sidecar.cli.history import TEAM_OPTION
from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo
from sidecar.cli.run_keys import typed_keys
from sidecar.cli.screen import Screen
from sidecar.cli.status import spending_line
from sidecar.cli.team_orders import joined_membership
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.session import short_session
from sidecar.kernel.stop_history import CONTINUE_DECISION
from sidecar.kernel.text import clean_line, counted, escape_unprintable_lines
from sidecar.platform.client import SidecarError
from sidecar.platform.files import write_whole
from sidecar.platform.limits import describe_limit
from sidecar.platform.paths import user_paths
from sidecar.platform.team.membership import open_team
from sidecar.servers.page.door import PageAddress, PageRequest
from sidecar.servers.page.markup import fill
from sidecar.systems.supervision.people import SessionReport, SessionSelector, SessionSummary
from sidecar.systems.supervision.policy.decision_story import RULING_WORDING
from sidecar.systems.supervision.policy.journal import StyledLine, journal_lines, note_lines
from sidecar.systems.supervision.policy.sessions import describe_age, needs_person
from sidecar.systems.supervision.team import TeamOverview, list_lines, read_team, slots_line

REFRESH_S: Final = 1.0
NO_SCREEN: Final = ("", "dumb")
"""Values of TERM without a screen to draw on."""
PLAIN_HEIGHT: Final = 200
"""Lines that are printed where there is no screen."""
TEAM_SESSIONS: Final = 50
"""Sessions of a team that are shown."""
TASKS_SHOWN, NOTES_SHOWN, DECISIONS_SHOWN, OUTPUT_LINES = 12, 3, 12, 8
KEYS: Final = "↑ ↓ choose a session   q quit"
UP, DOWN = ("\x1b[A", "\x1bOA"), ("\x1b[B", "\x1bOB")
"""What the arrow keys send."""
STYLES: Final = {"judging": "yellow", "working": "cyan", "waiting": "bold red", "closed": "dim"}
"""How it is shown what a session does."""
DECISION_STYLES: Final = {
    CONTINUE_DECISION: "yellow",
    GoalStatus.ACHIEVED.value: "green",
    GoalStatus.JUDGED.value: "yellow",
}


@click.command()
@click.option("--all", "everywhere", is_flag=True, help="The sessions of every folder, not only of this one.")
@TEAM_OPTION
def watch(*, everywhere: bool, team: bool) -> None:
    """Watch the sessions of this folder, and those above and below it, until you press q.

    What each does, its goal, budget, tasks and last decisions, and what needs you. Without a terminal it is
    printed once. --team: how the lists, the limits and the sessions of all machines stand.
    """
    folder = "/" if everywhere else str(Path.cwd())
    plain = not sys.stdout.isatty() or os.environ.get("TERM", "") in NO_SCREEN
    view = (TeamView if team else WatchView)(time.time, height=PLAIN_HEIGHT if plain else 0)
    with closing(open_team(joined_membership())) if team else nullcontext() as store:

        def look(session: str) -> SessionReport:
            if store is not None and isinstance(view, TeamView):
                view.seen = read_team(store, TEAM_SESSIONS)
                return SessionReport()
            return call_sidecar("report", SessionSelector(session=session, project=folder), SessionReport)

        if plain:
            view.report = look("")
            Screen(highlight=False).print(view)
            return
        with suppress(KeyboardInterrupt):
            asyncio.run(_watch(view, look))


async def _watch(view: WatchView, look: Callable[[str], SessionReport]) -> None:
    live = Live(view, console=Screen(highlight=False), screen=True, auto_refresh=False)
    with live, typed_keys(view.press):
        while not view.ended:
            view.pressed.clear()
            try:
                view.report, view.trouble = await asyncio.to_thread(look, view.chosen), ""
            except (SidecarError, BadInputError, OSError) as error:
                view.trouble, view.chosen = str(error), ""
            live.update(view, refresh=True)
            with suppress(TimeoutError):
                await asyncio.wait_for(view.pressed.wait(), REFRESH_S)


class WatchView:
    """Implements rich's `ConsoleRenderable`: the sessions, and below them the one that is shown."""

    def __init__(self, now: Callable[[], float], height: int = 0) -> None:
        """`now`: in seconds since the epoch. `height`: in lines, 0 for that of the terminal."""
        self._now = now
        self._height = height
        self.report = SessionReport()
        self.trouble = ""
        self.chosen = ""
        self.pressed = asyncio.Event()
        self.ended = False

    def press(self, key: str) -> None:
        """Choose another session, or end."""
        names = [_name(one) for one in self.report.sessions]
        if key in UP + DOWN and names:
            at = names.index(self._shown) if self._shown in names else 0
            self.chosen = names[(at + (1 if key in DOWN else -1)) % len(names)]
        self.ended = not key or "q" in key
        self.pressed.set()

    @property
    def _shown(self) -> str:
        return f"{self.report.host}:{self.report.session}" if self.report.session else ""

    def lines(self, height: int) -> Iterator[StyledLine]:
        """Return the lines of a screen of this height, without the keys."""
        now, sessions = self._now(), self.report.sessions
        at = next((index for index, one in enumerate(sessions) if _name(one) == self._shown), 0)
        most = max(1, height // 4)
        first = max(0, min(at - most // 2, len(sessions) - most))
        for one in sessions[first : first + most]:
            mark = "▸" if _name(one) == self._shown else " "
            yield StyledLine(f"{mark} {session_line(one, now)}", STYLES.get(one.doing, ""))
        if len(sessions) > most:
            yield StyledLine(f"  {len(sessions)} sessions, {first + 1} to {first + most} shown", "dim")
        if self.trouble:
            yield StyledLine(clean_line(self.trouble), "red")
        if sessions:
            yield StyledLine("")
        yield from report_lines(self.report, now)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = list(self.lines(self._height or console.height))[: (self._height or console.height) - 1]
        if not self._height:
            space = [StyledLine("")] * (console.height - 1 - len(lines))
            lines += [*space, StyledLine(KEYS, "dim")]
        for line in lines:
            text = Text(line.text, style=line.style, no_wrap=True)
            text.truncate(options.max_width, overflow="ellipsis")
            yield text


class TeamView(WatchView):
    """How a team stands: what needs a person, lists, limits, and the sessions that changed last."""

    seen: TeamOverview | None = None

    def press(self, key: str) -> None:
        """End at q; there is nothing to choose."""
        self.ended = not key or "q" in key
        self.pressed.set()

    def lines(self, height: int) -> Iterator[StyledLine]:  # noqa: ARG002 - the longer ones are cut by who draws
        if self.trouble:
            yield StyledLine(clean_line(self.trouble), "red")
        if self.seen is not None:
            yield from team_lines(self.seen)


def team_lines(seen: TeamOverview) -> Iterator[StyledLine]:
    """Describe how a team stands."""
    for task in seen.held:
        said = f"needs you: {task.list} {task.id}: {task.note or task.content}"
        again = f"supervisor team give-back {task.list} {task.id}"
        yield StyledLine(clean_line(f"{said}. To try it again: {again}"), "red")
    for line in list_lines(seen.lists):
        yield StyledLine(clean_line(f"list {line}"), "bold")
    for account in seen.accounts:
        if account.most is not None:
            used = f"{account.used:,.1f} of {account.most:,g}{' today' if account.daily else ''}"
            yield StyledLine(slots_line(account) or f"{account.name}: {used}")
    for limit in seen.limits:
        yield StyledLine(clean_line(describe_limit(limit, seen.now)), "yellow")
    yield StyledLine(f"{counted(len(seen.machines), 'machine')}: supervisor team status", "dim")
    for one in seen.sessions:
        when = describe_age(max(0.0, seen.now - one.changed))
        of = f"{one.person} on {one.machine} · {one.host}:{short_session(one.session)}"
        said = RULING_WORDING.get(one.decided, one.decided)
        line = f"{of} · {when} ago · {said} ({one.sent_back} of {counted(one.stops, 'stop')} sent back)"
        yield StyledLine(clean_line(f"{line} · {one.detail}"), DECISION_STYLES.get(one.decided, ""))


def session_line(one: SessionSummary, now: float) -> str:
    """Describe a session in a line, and first whether it needs a person."""
    needs = "needs you: " if needs_person(one.status, one.doing) else ""
    goal = f"goal {one.status}: {one.condition}" if one.condition else "no goal"
    detail = f" ({one.detail})" if one.detail and one.doing != "closed" else ""
    doing = f"{needs}{one.doing}{detail}, {describe_age(now - one.since)}"
    return clean_line(f"{one.host}:{short_session(one.session)} · {doing} · {goal}")


def report_lines(report: SessionReport, now: float) -> Iterator[StyledLine]:
    """Describe the session that is shown: what needs a person, what it does, what was decided."""
    for text in escape_unprintable_lines(report.text):
        yield StyledLine(text, "bold")
    for line in (*report.troubles, *report.set_aside):
        yield StyledLine(f"! {clean_line(line)}", "red")
    if report.off:
        yield StyledLine(f"Supervisor is {report.off}", "red")
    for text in report.output.splitlines()[-OUTPUT_LINES:]:
        yield StyledLine(f"  │ {clean_line(text)}")
    if report.project:
        yield StyledLine(clean_line(f"in {report.project}"), "dim")
    if report.spending.calls:
        yield StyledLine(spending_line(report.spending))
    yield from journal_lines(report.journal, TASKS_SHOWN, now)
    yield from note_lines(report.journal, NOTES_SHOWN)
    for entry in reversed(report.story[-DECISIONS_SHOWN:]):
        said = f"{describe_age(now - entry.at)} ago: {entry.event} {entry.decided}. {entry.detail}"
        yield StyledLine(clean_line(said), DECISION_STYLES.get(entry.decided, ""))


def _name(one: SessionSummary) -> str:
    return f"{one.host}:{one.session}"


OPENING_FILE = "dashboard.html"


@click.command()
@click.option("--open", "opens", is_flag=True, help="Open it in your browser, too.")
@click.option("--port", type=click.IntRange(1, 65535), default=None, help="At this port; else any free one.")
def dashboard(*, opens: bool, port: int | None) -> None:
    """Print the address of a page with your sessions, what was decided and why, checks and budgets.

    The page is served on this machine alone, until the sidecar ends, and changes nothing. The address opens
    once, within ten minutes; type the command again for another browser.
    """
    found = call_sidecar("dashboard", PageRequest(port or 0), PageAddress)
    echo(found.url)
    if not opens:
        return
    # The browser is given a file that only the user can read: other users may see its command line.
    place = user_paths().run / OPENING_FILE
    write_whole(place, fill("opening", url=found.url).encode())
    if not webbrowser.open(place.as_uri()):
        raise click.ClickException("no browser could be opened. Copy the address into one")
