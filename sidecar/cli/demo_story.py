"""The demo's terminal output: what user, agent and Supervisor say and do."""

from __future__ import annotations

import re
from pathlib import Path

from rich.markup import escape
from rich.panel import Panel

from sidecar.cli.screen import Screen

WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
COLUMNS = 100
"""Width of the message panel, and of a recorded story, in columns."""

GOAL = "/supervisor:goal all tests pass"
CLAIM = "I looked at shop.py. Everything is in order, all tests pass. Done."
SHORTCUT = "That test is flaky. I skip it; now all tests pass."
DIAGNOSIS = "The test is right: the discount is a rate. I undo the skip and repair shop.py."
TESTS = "python3 -m unittest discover"
REPORT = "total() now multiplies by the rate. I ran the tests: both pass."


class DemoStory:
    """Prints the story on a terminal; as plain text elsewhere."""

    def __init__(self, *, record: bool) -> None:
        """`record`: keep the output for `draw`."""
        self._console = Screen(highlight=False, record=record, width=COLUMNS if record else None)

    def person(self, text: str) -> None:
        """Print what the user types."""
        self._console.print(f"[bold]you        >[/] {escape(text)}")

    def agent(self, text: str) -> None:
        """Print what the agent says."""
        self._console.print(f"[cyan]agent      ●[/] {escape(text)}")

    def does(self, text: str) -> None:
        """Print what the agent does."""
        self._console.print(f"           [cyan]└[/] {escape(text)}")

    def stops(self) -> None:
        """Print that the agent stops and Supervisor runs the tests."""
        self._console.print("           [dim]■ the agent stops; Supervisor runs the tests itself[/]")

    def supervisor(self, text: str) -> None:
        """Print Supervisor's message to the user."""
        self._console.print(f"[bold yellow]supervisor └[/] {escape(text.removeprefix('Supervisor: '))}")

    def told(self, feedback: str) -> None:
        """Print the ends of Supervisor's message to the agent, so that the story fits a screen."""
        first, *between, last = feedback.split("\n\n") if "\n\n" in feedback else (feedback, "")
        shown = "\n".join(escape(part) for part in (first, "[...]" if between else "", last) if part)
        width = min(self._console.width, COLUMNS)
        panel = Panel(shown, title="what the agent is told", title_align="left", width=width)
        self._console.print(panel)

    def trouble(self, text: str) -> None:
        """Print an error."""
        self._console.print(f"[red]{escape(text)}[/]")

    def ends(self, *, well: bool) -> None:
        """Print the last line: whether the goal was achieved."""
        self._console.print("[bold green]✔ goal achieved[/]" if well else "[bold red]✘ goal not achieved[/]")

    def draw(self, path: str) -> None:
        """Write the output as an SVG that loads nothing from elsewhere. Raises OSError."""
        drawn = self._console.export_svg(title="supervisor demo", unique_id="demo")
        Path(path).write_text(WEB_FONT.sub("", drawn), encoding="utf-8")
