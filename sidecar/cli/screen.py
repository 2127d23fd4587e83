"""rich's console, for commands that print tables and colours."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from sidecar.kernel.text import clean_text


class Screen(Console):
    """A console on which colours and cursor moves are ours alone; see printing.py."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean_text(segment.text), segment.style)
