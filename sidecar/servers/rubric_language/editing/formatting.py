"""Formats a rubric; also finds fixes that can be applied, rows, foldable spans and implicit IDs.

The formatter puts one blank row around headings and never two in a row, removes spaces at the end of rows,
writes `-` before criteria, normalizes the spelling of criterion lines such as `Severity:`, and uses one kind
of line end, once at the end of the text. It changes neither the wording nor code or HTML, including comments.
Two spaces that break a line are removed, as the judge reads the text and not a rendered page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.rubric import (
    Criterion,
    CriterionKey,
    CriterionLine,
    Flaw,
    LocatedCriterion,
    QuickFix,
    RubricOutline,
    TextEdit,
    TextSpan,
)

# --- which fixes are offered, and which of them can be applied without review -------------------------------


SAFE_FIX_CODES: Final = frozenset({"unknown-section", "unknown-severity", "unread-line", "unknown-evidence"})
"""Codes of flaws that are mere typos: if there is only one fix, the author meant it."""


def find_touched_flaws(flaws: Iterable[Flaw], place: TextSpan) -> Iterator[Flaw]:
    """Return the flaws that a selection touches."""
    return (flaw for flaw in flaws if flaw.begin <= place.end and place.begin <= flaw.end)


def safe_edits(flaws: Iterable[Flaw]) -> tuple[TextEdit, ...]:
    """Return all edits that can be applied at once, in text order; overlapping ones are left out."""
    fixes = (flaw.fixes[0] for flaw in flaws if flaw.code in SAFE_FIX_CODES and len(flaw.fixes) == 1)
    taken: list[TextEdit] = []
    for fix in fixes:
        if not any(_edits_overlap(one, other) for one in fix.edits for other in taken):
            taken += fix.edits
    return tuple(sorted(taken, key=lambda edit: edit.place))


def new_rubric_fix(outline: RubricOutline, beginning: str) -> QuickFix | None:
    """Return a fix that turns a text without any rubric section into a new rubric."""
    if not beginning or any(section.role for section in outline.sections):
        return None
    ending = LINE_BREAK.search(outline.text)
    text = beginning.replace("\n", ending[0] if ending else "\n")
    return QuickFix("Start from the default rubric", (TextEdit(TextSpan(0, len(outline.text)), text),))


def _edits_overlap(one: TextEdit, other: TextEdit) -> bool:
    return one.place.begin <= other.place.end and other.place.begin <= one.place.end


# --- rows: the text between two line ends -------------------------------------------------------------------


LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")


def row_at(text: str, place: int) -> TextSpan:
    """Return the row that contains a place, without its line end."""
    begin = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
    after = LINE_BREAK.search(text, place)
    return TextSpan(begin, after.start() if after else len(text))


def split_rows(text: str) -> Iterator[TextSpan]:
    """Yield every row of a text, including the one after its last line end."""
    begin = 0
    for ending in LINE_BREAK.finditer(text):
        yield TextSpan(begin, ending.start())
        begin = ending.end()
    yield TextSpan(begin, len(text))


def in_code(outline: RubricOutline, place: int) -> bool:
    """Return whether a place is in code or in HTML, such as a comment, where nothing is interpreted."""
    return any(place in span for span in outline.code)


# --- formatting ---------------------------------------------------------------------------------------------


BYTE_ORDER_MARK: Final = "\ufeff"


def format_rubric(outline: RubricOutline) -> str:
    """Return the formatted text; formatting it again changes nothing."""
    text = outline.text
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    ending = LINE_BREAK.search(text)
    end = ending[0] if ending else "\n"
    found = list(_normalize_blank_rows(_Rows(outline).formed()))
    if found and found[0].startswith(BYTE_ORDER_MARK):  # this character would become a byte order mark
        return text
    return mark + end.join(found) + end if found else mark


def edit_between_texts(before: str, after: str) -> TextEdit | None:
    """Return the one edit of whole rows that turns `before` into `after`; None if they are equal."""
    if before == after:
        return None
    old, new = list(_whole_rows(before)), list(_whole_rows(after))
    least = min(len(old), len(new))
    head = next((at for at in range(least) if old[at] != new[at]), least)
    tail = next((at for at in range(least - head) if old[-1 - at] != new[-1 - at]), least - head)
    begin, end = len("".join(old[:head])), len("".join(old[: len(old) - tail]))
    return TextEdit(TextSpan(begin, end), "".join(new[head : len(new) - tail]))


def is_same_for_judge(before: RubricOutline, after: RubricOutline) -> bool:
    """Return whether two texts are the same for the judge, except for trailing spaces and blank rows."""
    return _judged_content(before) == _judged_content(after)


class _Rows:
    """The rows of a rubric, and which role each of them has."""

    def __init__(self, outline: RubricOutline) -> None:
        self._outline = outline
        located = outline.criteria
        self._items = {one.whole.begin for one in located if not one.heading}
        self._lines = {line.whole.begin: (line, one.criterion) for one in located for line in one.lines}

    def formed(self) -> Iterator[tuple[str, bool, bool]]:
        """Yield each formatted row, whether it is a heading, and whether it is code."""
        text = self._outline.text
        for span in split_rows(text):
            row = text[span.begin : span.end]
            if not span.begin:
                row = row.removeprefix(BYTE_ORDER_MARK)
            if in_code(self._outline, span.begin):
                yield row, False, True
            else:
                yield self._form(span, row.rstrip(" \t")), _HEADING.match(row) is not None, False

    def _form(self, span: TextSpan, row: str) -> str:
        if span.begin in self._lines:
            line, criterion = self._lines[span.begin]
            return _usual_line(self._outline.text, line, criterion)
        if span.begin in self._items:
            return _BULLET.sub(r"\1-", row)
        return row


_HEADING: Final = re.compile(r"#{1,6}(?:[ \t]|$)")
_BULLET: Final = re.compile(r"^( {0,3})[*+](?=\s+[^\s-])")
"""A marker before another `-` is kept, as three of them would be a thematic break."""
_LEAD: Final = re.compile(r"\s{0,8}(?:[-*+]\s{1,4})?")


def _usual_line(text: str, line: CriterionLine, criterion: Criterion) -> str:
    """Return `Key: value` with its indentation. A list marker stays, to match those of neighbouring lines."""
    row = text[line.whole.begin : line.whole.end]
    lead = _LEAD.match(row)
    return f"{lead[0] if lead else ''}{line.key}: {_usual_value(text, line, criterion)}"


def _usual_value(text: str, line: CriterionLine, criterion: Criterion) -> str:
    match line.key:
        case CriterionKey.SEVERITY:
            return criterion.severity
        case CriterionKey.APPLIES_TO:
            return ", ".join(f"`{glob}`" for glob in criterion.applies_to)
        case CriterionKey.EVIDENCE:
            return ", ".join(criterion.evidence)
        case CriterionKey.WHEN:
            return text[line.value.begin : line.value.end].rstrip()


def _normalize_blank_rows(formed: Iterator[tuple[str, bool, bool]]) -> Iterator[str]:
    """Yield the rows with single blank rows where they belong, and none at the beginning and the end."""
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
    """Yield rows with their line ends."""
    begin = 0
    for ending in LINE_BREAK.finditer(text):
        yield text[begin : ending.end()]
        begin = ending.end()
    yield text[begin:]


def _judged_content(outline: RubricOutline) -> list[tuple[str, str | None, list[Criterion]]]:
    return [
        (
            _trim_rows(section.name),
            section.role,
            [replace(one.criterion, text=_trim_rows(one.criterion.text)) for one in section.criteria],
        )
        for section in outline.sections
    ]


def _trim_rows(text: str) -> str:
    rows = (row.rstrip(" \t") for row in text.split("\n"))
    return "\n".join(row for row in rows if row)


# --- foldable spans and implicit IDs ------------------------------------------------------------------------


def foldable_spans(outline: RubricOutline) -> Iterator[TextSpan]:
    """Yield the span of each section and each criterion, including those of one line."""
    for section in outline.sections:
        yield section.whole
        yield from (one.whole for one in section.criteria)


def implicit_ids(outline: RubricOutline) -> Iterator[tuple[LocatedCriterion, str]]:
    """Yield each criterion without an explicit `{#id}`, and the ID derived from its name."""
    for one in outline.criteria:
        if not has_explicit_id(outline, one):
            yield one, one.criterion.id


def has_explicit_id(outline: RubricOutline, one: LocatedCriterion) -> bool:
    """Return whether the ID of a criterion is written after its name."""
    return f"{{#{one.criterion.id}}}" in outline.text[one.name.end : one.whole.end].partition("\n")[0]
