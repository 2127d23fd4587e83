"""Where a run stands, as the lines that stay below its output on a terminal.

It is drawn anew a few times a second, from what the run told and from its session's status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sidecar.kernel.runs import (
    AgentEnded,
    AgentPrinted,
    IterationStarted,
    RunProgressEvent,
    RunStarted,
    RunStatus,
    StopJudged,
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


class RunBoard:
    """Implements rich's `ConsoleRenderable`."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now`: a clock in seconds."""
        self._now = now
        self._begun = self._iteration_begun = self._heard_at = now()
        self._iteration = self._most = 0
        self._doing = "begins"
        self._line = ""
        self._works = False
        self._tokens = 0
        self._cents: float | None = None
        self.status = RunStatus()
        self.keys: Callable[[], str] = str

    def tell(self, what: RunProgressEvent) -> None:
        """Take what the run tells."""
        match what:
            case RunStarted():
                self._most = what.most
            case IterationStarted():
                self._iteration, self._most = what.iteration, what.most
                self._iteration_begun = self._heard_at = self._now()
                self._doing, self._works = "the agent works", True
            case AgentPrinted():
                self.hear("")
            case AgentEnded():
                self._tokens += what.tokens
                if what.cents is not None:
                    self._cents = (self._cents or 0.0) + what.cents
                self._line, self._doing, self._works = "", "Supervisor judges", False
            case StopJudged():
                self._doing = "hooks"
            case _:
                pass

    def hear(self, line: str) -> None:
        """Take the line that the agent is writing."""
        self._line, self._heard_at = line[-LINE_LENGTH:], self._now()

    def lines(self, height: int) -> Iterator[StyledLine]:
        """Return the lines for a terminal of this height."""
        now = self._now()
        took = now - self._iteration_begun
        left = self.status.seconds_left - (took if self._works else 0.0)
        times = (
            f"iteration {self._iteration}/{self._most}: {self._doing}",
            format_duration(took),
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
        if self._works and now - self._heard_at >= SILENT_S:
            yield StyledLine(f"no output for {format_duration(now - self._heard_at)}", "yellow")
        elif line := clean_line(self._line):
            yield StyledLine(line, "dim")
        yield from journal_lines(self.status.journal, max(1, min(TASKS_SHOWN, height - OTHER_LINES)), now)
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
