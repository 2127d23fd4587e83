"""Output of `supervisor run`: text for people, one JSON object a line for scripts."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

import msgspec
from rich.console import Console
from rich.markup import escape

from sidecar.cli.printing import echo_json_text
from sidecar.cli.screen import Screen
from sidecar.kernel.runs import (
    AgentEnded,
    HookRan,
    IterationStarted,
    RunFinished,
    RunProgressEvent,
    RunStarted,
    RunWarning,
    StopJudged,
    TaskCompleted,
)
from sidecar.kernel.text import escape_unprintable

SHOWN_LENGTH = 160
"""Characters shown of one line of untrusted text."""
REASON_LENGTH = 1_000
"""Characters shown of a reason that Supervisor gives; more, because it says what to do."""
SAID_LENGTH = 2_000
"""Characters of an agent's output that are kept, from its end."""


class RunView(Protocol):
    """Shows the events of a run, as a context manager."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, whatever happened."""

    def tell(self, what: RunProgressEvent) -> None:
        """Show an event."""

    def hear(self, said: str) -> None:
        """Show output of the agent."""


class RunJsonLines:
    """JSON lines on standard output, as docs/run.md describes them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def tell(self, what: RunProgressEvent) -> None:
        if isinstance(what, AgentEnded):
            what = msgspec.structs.replace(what, said=what.said[-SAID_LENGTH:])
        echo_json_text(msgspec.json.encode(what).decode())

    def hear(self, said: str) -> None:
        pass


class RunTerminalView:
    """Lines for a person. On a terminal the last one is live: the iteration and the agent's output."""

    def __init__(self, console: Console | None = None) -> None:
        """`console`: used instead of the terminal's, for tests."""
        self._console = console or Screen(highlight=False, soft_wrap=True)
        self._status = self._console.status("")
        self._now = ""
        self._heard = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()

    def hear(self, said: str) -> None:
        *_, last = (self._heard + said[-SAID_LENGTH:]).rstrip().split("\n")
        self._heard = last[-SAID_LENGTH:]
        self._status.update(f"{self._now}  [dim]{_escape_line(last)}[/]")

    def tell(self, what: RunProgressEvent) -> None:
        match what:
            case RunStarted():
                self._opened(what)
            case IterationStarted():
                self._heard, self._now = "", f"[bold]iteration {what.iteration}/{what.most}[/]"
                task = f": {_escape_line(what.task)}" if what.task else ""
                self._console.print(f"{self._now}{task}")
                self._status.update(self._now)
                self._status.start()
            case AgentEnded():
                self._rested(what)
            case TaskCompleted():
                self._console.print(f"  [green]✔[/] {_escape_line(what.id)} {_escape_line(what.content)}")
            case StopJudged():
                self._judged(what)
            case HookRan():
                if what.exit_code != 0:
                    how = what.trouble or f"exit code {what.exit_code}"
                    self._console.print(
                        f"  [red]hook {what.name}: {_escape_line(how)}: {_escape_line(what.command)}[/]"
                    )
            case RunWarning():
                self._console.print(f"  [yellow]{_escape_line(what.text)}[/]")
            case RunFinished():
                self._ended(what)

    def _opened(self, what: RunStarted) -> None:
        goes_on = " goes on" if what.resumed else ""
        time = f", {what.minutes} minutes of work" if what.minutes else ""
        self._console.print(
            f"[bold]session {what.session}{goes_on}[/] (at most {what.most} iterations{time})"
        )
        self._console.print(f"  goal: {_escape_line(what.goal)}")

    def _rested(self, what: AgentEnded) -> None:
        lines = [line for line in what.said.splitlines() if line.strip()]
        last = f": {_escape_line(lines[-1])}" if lines else ""
        self._console.print(f"  [cyan]agent[/] ({what.seconds:.0f} s){last}")
        if what.trouble or what.exit_code not in (0, None):
            why = what.trouble or f"it ended with exit code {what.exit_code}"
            self._console.print(f"  [red]agent: {_escape_line(why)}[/]")
        self._status.update(f"{self._now}  [dim]Supervisor is judging[/]")

    def _judged(self, what: StopJudged) -> None:
        self._status.stop()
        words = what.note or f"{what.decision}: {what.reason} {what.detail}"
        self._console.print(
            f"  [bold yellow]supervisor[/] {_escape_line(words.removeprefix('Supervisor: '), REASON_LENGTH)}"
        )

    def _ended(self, what: RunFinished) -> None:
        self._status.stop()
        good = what.exit_code == 0
        mark = "[bold green]✔" if good else "[bold red]✘"
        times = f"{what.iterations} iteration{'' if what.iterations == 1 else 's'}"
        why = "" if good or not what.detail else f": {_escape_line(what.detail, REASON_LENGTH)}"
        self._console.print(f"{mark} {escape(what.outcome)}[/] after {times}{why}")


def _escape_line(text: str, limit: int = SHOWN_LENGTH) -> str:
    """Untrusted text on one line, cut at `limit`; control characters and markup are escaped."""
    line = escape_unprintable(" ".join(text[: 4 * limit].split()))
    return escape(line if len(line) <= limit else f"{line[: limit - 1]}…")
