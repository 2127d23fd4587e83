"""What a run looks like: a story for people, one JSON object a line for scripts."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

import click
import msgspec
from rich.console import Console
from rich.markup import escape

from sidecar.cli.checks import visible
from sidecar.model.iterations import (
    Completed,
    Ended,
    Happening,
    Hooked,
    Judged,
    Opened,
    Rested,
    Started,
    Warned,
)

SHOWN = 160
"""Characters of one line that others wrote."""
REASON = 1_000
"""Characters of a reason that Supervisor gives: it says what to do."""
SAID = 2_000
"""Characters of what an agent said that a script is told: the end."""


class Show(Protocol):
    """Tells what happens, between its beginning and its end."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, whatever happened."""

    def tell(self, what: Happening) -> None:
        """Something happened."""

    def hear(self, said: str) -> None:
        """The agent prints."""


class Lines:
    """JSON lines on standard output, as docs/run.md describes them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def tell(self, what: Happening) -> None:
        if isinstance(what, Rested):
            what = msgspec.structs.replace(what, said=what.said[-SAID:])
        click.echo(msgspec.json.encode(what).decode())

    def hear(self, said: str) -> None:
        pass


class Story:
    """Lines for a person. On a terminal the last one moves: which agent works, and what it says."""

    def __init__(self, console: Console | None = None) -> None:
        """`console`: another one than the terminal's, for tests."""
        self._console = console or Console(highlight=False, soft_wrap=True)
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
        *_, last = (self._heard + said[-SAID:]).rstrip().split("\n")
        self._heard = last[-SAID:]
        self._status.update(f"{self._now}  [dim]{_shown(last)}[/]")

    def tell(self, what: Happening) -> None:
        match what:
            case Opened():
                self._opened(what)
            case Started():
                self._heard, self._now = "", f"[bold]iteration {what.iteration}/{what.most}[/]"
                task = f": {_shown(what.task)}" if what.task else ""
                self._console.print(f"{self._now}{task}")
                self._status.update(self._now)
                self._status.start()
            case Rested():
                self._rested(what)
            case Completed():
                self._console.print(f"  [green]✔[/] {_shown(what.id)} {_shown(what.content)}")
            case Judged():
                self._judged(what)
            case Hooked():
                if what.exit_code != 0:
                    how = what.trouble or f"exit code {what.exit_code}"
                    self._console.print(f"  [red]hook {what.name}: {_shown(how)}: {_shown(what.command)}[/]")
            case Warned():
                self._console.print(f"  [yellow]{_shown(what.text)}[/]")
            case Ended():
                self._ended(what)

    def _opened(self, what: Opened) -> None:
        goes_on = " goes on" if what.resumed else ""
        self._console.print(f"[bold]session {what.session}{goes_on}[/] (at most {what.most} iterations)")
        self._console.print(f"  goal: {_shown(what.goal)}")

    def _rested(self, what: Rested) -> None:
        lines = [line for line in what.said.splitlines() if line.strip()]
        last = f": {_shown(lines[-1])}" if lines else ""
        self._console.print(f"  [cyan]agent[/] ({what.seconds:.0f} s){last}")
        if what.trouble or what.exit_code not in (0, None):
            why = what.trouble or f"it ended with exit code {what.exit_code}"
            self._console.print(f"  [red]agent: {_shown(why)}[/]")
        self._status.update(f"{self._now}  [dim]Supervisor is judging[/]")

    def _judged(self, what: Judged) -> None:
        self._status.stop()
        words = what.note or f"{what.decision}: {what.reason} {what.detail}"
        self._console.print(
            f"  [bold yellow]supervisor[/] {_shown(words.removeprefix('Supervisor: '), REASON)}"
        )

    def _ended(self, what: Ended) -> None:
        self._status.stop()
        good = what.outcome == "achieved"
        mark = "[bold green]✔" if good else "[bold red]✘"
        times = f"{what.iterations} iteration{'' if what.iterations == 1 else 's'}"
        why = "" if good or not what.detail else f": {_shown(what.detail, REASON)}"
        self._console.print(f"{mark} {escape(what.outcome)}[/] after {times}{why}")


def _shown(text: str, limit: int = SHOWN) -> str:
    """A text that others wrote, on one line, and nothing in it is obeyed."""
    line = visible(" ".join(text[: 4 * limit].split()))
    return escape(line if len(line) <= limit else f"{line[: limit - 1]}…")
