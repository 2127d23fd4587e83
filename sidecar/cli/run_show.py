"""Output of `supervisor run`: text for people, one JSON object a line for scripts, each with its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from sidecar.cli.printing import echo_json_text, in_shell
from sidecar.cli.screen import Screen
from sidecar.kernel.goal import ExitCode
from sidecar.kernel.runs import (
    AgentEnded,
    AgentPrinted,
    HookRan,
    IterationJudged,
    IterationStarted,
    RunFinished,
    RunProgressEvent,
    RunStarted,
    RunStatus,
    RunWarning,
    TaskCompleted,
)
from sidecar.kernel.text import clean_line, counted, escape_unprintable
from sidecar.systems.supervision.policy.journal import StyledLine, journal_lines

SHOWN_LENGTH = 160
"""Characters shown of one line of untrusted text."""
REASON_LENGTH = 1_000
"""Characters shown of a reason that Supervisor gives; more, because it says what to do."""
SAID_LENGTH = 2_000
"""Characters of an agent's output that are kept, from its end."""


class RunView:
    """Shows the events of a run; this one shows none. `board` is what stays on a terminal, None elsewhere."""

    board: RunBoard | None = None

    def tell(self, what: RunProgressEvent) -> None:
        """Show an event."""

    def hear(self, line: str, iteration: int) -> None:
        """Show the line that the agent of this iteration is writing."""

    def close(self) -> None:
        """End, whatever happened."""


class RunJsonLines(RunView):
    """JSON lines on standard output, as docs/run.md describes them."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """`now`: seconds since the epoch."""
        self._now = now

    def tell(self, what: RunProgressEvent) -> None:
        if isinstance(what, AgentEnded):
            what = msgspec.structs.replace(what, said=what.said[-SAID_LENGTH:])
        echo_json_text(f'{{"at":{self._now():.3f},{msgspec.json.encode(what).decode()[1:]}')


class RunTerminalView(RunView):
    """Lines for a person. On a terminal `board` stays below them."""

    def __init__(self, console: Console | None = None, now: Callable[[], float] = time.time) -> None:
        """`console`: used instead of the terminal's, for tests. `now`: seconds since the epoch."""
        self._console = console or Screen(highlight=False, soft_wrap=True)
        self._now = now
        self._jobs = 0
        self.board = RunBoard(now) if self._console.is_terminal else None
        self._live = Live(self.board, console=self._console, transient=True) if self.board else None

    def close(self) -> None:
        if self._live:
            self._live.stop()

    def hear(self, line: str, iteration: int) -> None:
        if self.board:
            self.board.hear(line, iteration)

    def tell(self, what: RunProgressEvent) -> None:
        if self.board:
            self.board.tell(what)
        match what:
            case RunStarted():
                self._opened(what)
            case AgentEnded():
                self._rested(what)
            case IterationJudged():
                self._judged(what)
            case RunFinished():
                self._ended(what)
            case _:
                if line := _plain_line(what, self._mark(what)):
                    self._print(line)

    def _print(self, text: str) -> None:
        when = time.strftime("%H:%M:%S", time.localtime(self._now()))
        self._console.print(f"[dim]{when}[/] {text}")

    def _mark(self, what: RunProgressEvent) -> str:
        """Whose line it is, where several agents work at once."""
        if self._jobs and isinstance(what, AgentPrinted | AgentEnded | IterationJudged):
            return f"{what.iteration} "
        return "  "

    def _opened(self, what: RunStarted) -> None:
        self._jobs = what.jobs
        goes_on = " goes on" if what.resumed else ""
        minutes = f", {what.minutes} minutes of work" if what.minutes else ""
        most = f"at most {what.most} iterations{minutes}"
        self._print(f"[bold]session {what.session}{goes_on}[/] ({most})")
        self._print(f"  goal: {_escape_line(what.goal)}")
        if what.decides:
            self._print(f"  {_escape_line(in_shell(what.decides), REASON_LENGTH)}")
        if self._live:
            self._live.start()

    def _rested(self, what: AgentEnded) -> None:
        tokens = f", {what.tokens:,} tokens" if what.tokens else ""
        cents = f", {what.cents:.2f} cents" if what.cents is not None else ""
        self._print(f"{self._mark(what)}[cyan]agent[/] ({what.seconds:.0f} s{tokens}{cents})")
        if what.trouble or what.exit_code not in (0, None):
            why = what.trouble or f"it ended with exit code {what.exit_code}"
            self._print(f"  [red]agent: {_escape_line(why)}[/]")

    def _judged(self, what: IterationJudged) -> None:
        words = in_shell(what.note or f"{what.decision}: {what.reason} {what.detail}")
        first, *more = (line.removeprefix("Supervisor: ") for line in words.splitlines() or [""])
        self._print(f"{self._mark(what)}[bold yellow]supervisor[/] {_escape_line(first, REASON_LENGTH)}")
        for line in more:
            self._print(f"  {_escape_line(line, REASON_LENGTH)}")

    def _ended(self, what: RunFinished) -> None:
        self.close()
        good = what.exit_code == ExitCode.ACHIEVED
        mark = END_MARKS.get(what.exit_code, "[bold red]✘")
        times = counted(what.iterations, "iteration")
        why = "" if good or not what.detail else f": {_escape_line(what.detail, REASON_LENGTH)}"
        self._print(f"{mark} {escape(what.outcome)}[/] after {times}{why}")


def _plain_line(what: RunProgressEvent, mark: str) -> str:
    """The line of an event that has no other part, "" where there is nothing to tell."""
    match what:
        case IterationStarted():
            task = f": {_escape_line(what.task)}" if what.task else ""
            return f"[bold]iteration {what.iteration}/{what.most}[/]{task}"
        case AgentPrinted():
            return f"{mark}[dim]│[/] {_escape_line(what.text, REASON_LENGTH)}"
        case TaskCompleted():
            return f"  [green]✔[/] {_escape_line(what.id)} {_escape_line(what.content)}"
        case HookRan() if what.exit_code != 0:
            how = what.trouble or f"exit code {what.exit_code}"
            return f"  [red]hook {what.name}: {_escape_line(how)}: {_escape_line(what.command)}[/]"
        case RunWarning():
            return f"  [yellow]{_escape_line(what.text, REASON_LENGTH)}[/]"
        case _:
            return ""


def _escape_line(text: str, limit: int = SHOWN_LENGTH) -> str:
    """Untrusted text on one line, cut at `limit`; control characters and markup are escaped."""
    line = escape_unprintable(" ".join(text[: 4 * limit].split()))
    return escape(line if len(line) <= limit else f"{line[: limit - 1]}…")


END_MARKS: Final[dict[int, str]] = {ExitCode.ACHIEVED: "[bold green]✔", ExitCode.JUDGED: "[bold yellow]?"}
"""What the last line begins with; any other code is a failure."""
SILENT_S: Final = 10.0
"""Seconds without output after which that is said."""
TASKS_SHOWN: Final = 8
OTHER_LINES: Final = 8
"""Lines of a terminal that are left to other things than tasks."""
LINE_LENGTH: Final = 500
"""Characters of the unfinished line that are looked at: its last ones."""


@dataclass
class _Agent:
    """One agent at work, or being judged: since when, and when it was heard last."""

    iteration: int
    task: str
    begun: float
    heard_at: float
    line: str = ""
    doing: str = "the agent works"
    works: bool = True


class RunBoard:
    """Implements rich's `ConsoleRenderable`."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now`: a clock in seconds."""
        self._now = now
        self._begun = self._counted_at = now()
        self._agents = [_Agent(0, "", now(), now(), doing="begins", works=False)]
        self._most = self._jobs = self._tokens = 0
        self._cents: float | None = None
        self.status = RunStatus()
        self.keys: Callable[[], str] = str

    def tell(self, what: RunProgressEvent) -> None:
        """Take what the run tells."""
        match what:
            case RunStarted():
                self._most, self._jobs = what.most, what.jobs
            case IterationStarted():
                self._most, now = what.most, self._now()
                agent = _Agent(what.iteration, what.task, now, now)
                self._agents = [*(one for one in self._agents if self._jobs and one.iteration), agent]
            case AgentPrinted():
                self.hear("", what.iteration)
            case AgentEnded():
                agent = self._agent(what.iteration)
                agent.line, agent.doing, agent.works = "", "Supervisor judges", False
                self._tokens += what.tokens
                if what.cents is not None:
                    self._cents = (self._cents or 0.0) + what.cents
            case IterationJudged():
                self._counted_at = self._now()
                self._agent(what.iteration).doing = "hooks"
                self._agents = [one for one in self._agents if one.doing != "hooks"] or self._agents
            case _:
                pass

    def hear(self, line: str, iteration: int = 0) -> None:
        """Take the line that the agent of this iteration is writing, or the one that began last."""
        agent = self._agent(iteration)
        agent.line, agent.heard_at = line[-LINE_LENGTH:], self._now()

    def _agent(self, iteration: int) -> _Agent:
        return next((one for one in self._agents if one.iteration == iteration), self._agents[-1])

    def lines(self, height: int) -> Iterator[StyledLine]:
        """Return the lines for a terminal of this height."""
        now, last = self._now(), self._agents[-1]
        since = self._counted_at if self._jobs else last.begun
        left = self.status.seconds_left - (now - since if any(one.works for one in self._agents) else 0.0)
        doing = f"iteration {last.iteration}/{self._most}"
        times = (
            *(
                (f"{doing}, at most {self._jobs} at once",)
                if self._jobs
                else (f"{doing}: {last.doing}", format_duration(now - last.begun))
            ),
            f"run {format_duration(now - self._begun)}",
            *((f"{format_duration(left)} left",) if self.status.project else ()),
        )
        spent = (
            f"sent back {self.status.continuations + bool(self.status.pending)} of {self.status.budget}",
            *((f"{self._tokens:,} tokens",) if self._tokens else ()),
            *((f"{self._cents:.1f} cents",) if self._cents is not None else ()),
        )
        yield StyledLine(" · ".join(times), "bold")
        yield StyledLine(" · ".join(spent))
        for agent in self._agents:
            about = f"{agent.iteration} · {format_duration(now - agent.begun)} · " if self._jobs else ""
            line = clean_line(agent.line)
            if agent.works and now - agent.heard_at >= SILENT_S:
                yield StyledLine(f"{about}no output for {format_duration(now - agent.heard_at)}", "yellow")
            elif line or about:
                said = line or (clean_line(agent.task) if agent.works else agent.doing)
                yield StyledLine(about + said, "dim")
        room = height - OTHER_LINES - max(0, self._jobs - 1)
        yield from journal_lines(self.status.journal, max(1, min(TASKS_SHOWN, room)), now)
        if keys := self.keys():
            yield StyledLine(keys, "reverse")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in (StyledLine("─" * (options.max_width - 1), "dim"), *self.lines(console.height)):
            text = Text(line.text, style=line.style, no_wrap=True)
            text.truncate(options.max_width - 1, overflow="ellipsis")
            yield text


def format_duration(seconds: float) -> str:
    """Return minutes and seconds, and hours where there are any."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
