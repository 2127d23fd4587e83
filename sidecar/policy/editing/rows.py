"""Rows of a text: what stands between two line ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sidecar.model.outline import Outline, Span

BREAK: Final = re.compile(r"\r\n|\r|\n")


def row_at(text: str, place: int) -> Span:
    """The row of a place, without its line end."""
    begin = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
    after = BREAK.search(text, place)
    return Span(begin, after.start() if after else len(text))


def rows(text: str) -> Iterator[Span]:
    """Every row of a text, the one behind its last line end too."""
    begin = 0
    for ending in BREAK.finditer(text):
        yield Span(begin, ending.start())
        begin = ending.end()
    yield Span(begin, len(text))


def in_code(outline: Outline, place: int) -> bool:
    """Whether everything at a place is text: it stands in code, or in HTML such as a comment."""
    return any(place in span for span in outline.code)
