"""Where a run stands, as the lines that stay below its output on a terminal.

It is drawn anew a few times a second, from what the run told and from its session's status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sidecar.kernel.runs import (
    AgentEnded,
    AgentPrinted,
    IterationJudged,
    IterationStarted,
    RunProgressEvent,
    RunStarted,
    RunStatus,
)
from sidecar.kernel.text import clean_line
from sidecar.systems.supervision.policy.journal_lines import StyledLine, journal_lines

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
