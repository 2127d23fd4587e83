"""A rubric in its usual form: the form changes, never what is said.

One blank row around headings and no two in a row, no blanks at the end of a row, `-` before criteria, lines
that say something of a criterion in their usual spelling, one kind of line end, and one at the end. Code and
HTML, comments among it, stay as they are, and so does the wording. Two blanks that break a line go, for the
judge reads the text and not a page made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from sidecar.model.flaw import Edit
from sidecar.model.outline import Key, Line, Outline, Span
from sidecar.model.rubric import Criterion
from sidecar.policy.editing.rows import BREAK, in_code, rows

MARK: Final = "\ufeff"


def formatted(outline: Outline) -> str:
    """The whole text in its usual form; formatted again, it stays as it is."""
    text = outline.text
    mark = MARK if text.startswith(MARK) else ""
    ending = BREAK.search(text)
    end = ending[0] if ending else "\n"
    found = list(_blanks(_Rows(outline).formed()))
    if found and found[0].startswith(MARK):  # it would become a byte order mark
        return text
    return mark + end.join(found) + end if found else mark


def change(before: str, after: str) -> Edit | None:
    """The one edit of whole rows that makes a text into another; None where they are the same."""
    if before == after:
        return None
    old, new = list(_whole_rows(before)), list(_whole_rows(after))
    least = min(len(old), len(new))
    head = next((at for at in range(least) if old[at] != new[at]), least)
    tail = next((at for at in range(least - head) if old[-1 - at] != new[-1 - at]), least - head)
    begin, end = len("".join(old[:head])), len("".join(old[: len(old) - tail]))
    return Edit(Span(begin, end), "".join(new[head : len(new) - tail]))


def same(before: Outline, after: Outline) -> bool:
    """Whether two texts say the same to the judge, blanks at the ends of rows and blank rows aside."""
    return _said(before) == _said(after)


class _Rows:
    """The rows of a rubric, and what each of them is."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        located = outline.criteria
        self._items = {one.whole.begin for one in located if not one.heading}
        self._lines = {line.whole.begin: (line, one.criterion) for one in located for line in one.lines}

    def formed(self) -> Iterator[tuple[str, bool, bool]]:
        """Each row in its form, whether it is a heading, and whether it is code."""
        text = self._outline.text
        for span in rows(text):
            row = text[span.begin : span.end]
            if not span.begin:
                row = row.removeprefix(MARK)
            if in_code(self._outline, span.begin):
                yield row, False, True
            else:
                yield self._form(span, row.rstrip(" \t")), _HEADING.match(row) is not None, False

    def _form(self, span: Span, row: str) -> str:
        if span.begin in self._lines:
            line, criterion = self._lines[span.begin]
            return _usual(self._outline.text, line, criterion)
        if span.begin in self._items:
            return _BULLET.sub(r"\1-", row)
        return row


_HEADING: Final = re.compile(r"#{1,6}(?:[ \t]|$)")
_BULLET: Final = re.compile(r"^( {0,3})[*+](?=\s+[^\s-])")
"""Before another `-` it stays: three of them would be a rule across the page."""
_LEAD: Final = re.compile(r"\s{0,8}(?:[-*+]\s{1,4})?")


def _usual(text: str, line: Line, criterion: Criterion) -> str:
    """`Key: value` behind what indents it. A list's marker stays, for its neighbours have the same one."""
    row = text[line.whole.begin : line.whole.end]
    lead = _LEAD.match(row)
    return f"{lead[0] if lead else ''}{line.key}: {_value(text, line, criterion)}"


def _value(text: str, line: Line, criterion: Criterion) -> str:
    match line.key:
        case Key.SEVERITY:
            return criterion.severity
        case Key.APPLIES_TO:
            return ", ".join(f"`{glob}`" for glob in criterion.applies_to)
        case Key.EVIDENCE:
            return ", ".join(criterion.evidence)
        case Key.WHEN:
            return text[line.value.begin : line.value.end].rstrip()


def _blanks(formed: Iterator[tuple[str, bool, bool]]) -> Iterator[str]:
    """The rows with one blank one where it belongs, and none at the beginning and the end."""
    begun = wanted = False
    for row, heading, code in formed:
        if not row and not code:
            wanted = begun
            continue
        if begun and (wanted or heading):
            yield ""
        yield row
        begun, wanted = True, heading


def _whole_rows(text: str) -> Iterator[str]:
    """Rows with their line ends."""
    begin = 0
    for ending in BREAK.finditer(text):
        yield text[begin : ending.end()]
        begin = ending.end()
    yield text[begin:]


def _said(outline: Outline) -> list[tuple[str, str | None, list[Criterion]]]:
    return [
        (
            _plain(section.name),
            section.role,
            [replace(one.criterion, text=_plain(one.criterion.text)) for one in section.criteria],
        )
        for section in outline.sections
    ]


def _plain(text: str) -> str:
    rows = (row.rstrip(" \t") for row in text.split("\n"))
    return "\n".join(row for row in rows if row)
