"""A text, and where in it the protocol's positions are: a line, and a column in units of an encoding."""

from __future__ import annotations

from itertools import islice
from typing import Final

from lsprotocol import types

from sidecar.model.outline import Span
from sidecar.policy.editing.rows import rows

UNITS: Final = {
    types.PositionEncodingKind.Utf8: ("utf-8", 1),
    types.PositionEncodingKind.Utf16: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32: ("utf-32-le", 4),
}
"""In which encoding a column counts units, and the bytes of one."""


class Page:
    """A text as an editor holds it. Lines end at LF, CRLF and CR alone."""

    def __init__(self, text: str, encoding: types.PositionEncodingKind) -> None:
        self.text = text
        self._encoding, self._size = UNITS[encoding]

    def position(self, place: int) -> types.Position:
        text = self.text
        line = text.count("\n", 0, place)
        if "\r" in text:
            line += text.count("\r", 0, place) - text.count("\r\n", 0, place)
        begin = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
        return types.Position(line, self._width(text[begin:place]))

    def range(self, span: Span) -> types.Range:
        return types.Range(self.position(span.begin), self.position(span.end))

    def place(self, position: types.Position) -> int:
        """The place nearest to a position, which may lie behind the end of its line or of the text."""
        row = next(islice(rows(self.text), position.line, None), None)
        if row is None:
            return len(self.text)
        return row.begin + self._length(self.text[row.begin : row.end], position.character)

    def span(self, found: types.Range) -> Span:
        return Span(self.place(found.start), self.place(found.end))

    def _width(self, part: str) -> int:
        if part.isascii():
            return len(part)
        return len(part.encode(self._encoding, "surrogatepass")) // self._size

    def _length(self, row: str, units: int) -> int:
        """How many characters of a row so many units are; half of one counts for nothing."""
        if row.isascii():
            return min(len(row), units)
        raw = row.encode(self._encoding, "surrogatepass")[: units * self._size]
        return len(raw.decode(self._encoding, "ignore"))
