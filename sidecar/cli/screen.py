"""rich's console, for commands that print tables and colours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from sidecar.kernel.text import clean_text, escape_unprintable

CELL_LENGTH = 300
"""Longest table cell, in characters."""
PIPE_COLUMNS: Final = 200
"""Width of what is written to a file or a pipe, in columns, where COLUMNS says nothing else."""


class Screen(Console):
    """A console on which colours and cursor moves are ours alone; see printing.py."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - rich's own
        super().__init__(**options)
        if not self.is_terminal and self._width is None:
            self.width = PIPE_COLUMNS

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean_text(segment.text), segment.style)


def new_table(*columns: str) -> Table:
    """Return a table without borders."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def clipped_cell(text: str) -> Text:
    """Untrusted text as a table cell: unprintable characters are escaped, and long text is cut."""
    shown = escape_unprintable(text)
    return Text(shown if len(shown) <= CELL_LENGTH else f"{shown[: CELL_LENGTH - 1]}…")
