"""What in a Markdown text is a section and a criterion, and where: the one reader of judge and editor."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from sidecar.adapters.rubrics import conventions, ids
from sidecar.adapters.rubrics.markdown import PARTS, Heading, Page
from sidecar.model.outline import Line, Located, Outline, Role, Section, Span
from sidecar.model.rubric import Criterion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME_WORDS: Final = 6
"""Words that name a list item in which nothing is bold and no colon ends a name."""
CACHED: Final = 64
"""Texts whose outline is remembered."""

_BOLD: Final = re.compile(r"(?P<mark>\*\*|__)(?P<name>.+?)(?P=mark)", re.DOTALL)
_LEAD: Final = re.compile(r"(?P<name>[^\n:]{1,80}):(?=\s)")
_ITEM: Final = re.compile(r"[-*+]\s+|\d{1,9}[.)]\s+")
_ROLES: Final = {role.value.casefold(): role for role in Role}


@lru_cache(maxsize=CACHED)
def outline(text: str) -> Outline:
    """The rubric that a text is, or would be with more in it."""
    page = Page(text)
    found = [_section(page, head, end) for head, end in page.second]
    return Outline(text, tuple(_with_ids(found)), tuple(page.span(*lines) for lines in page.code))


def _section(page: Page, head: Heading, end: int) -> Section:
    role = _ROLES.get(head.title.casefold())
    return Section(
        name=head.title,
        title=page.words(head, head.title),
        whole=page.span(head.line, end),
        role=role,
        criteria=tuple(_criteria(page, head.end, end)) if role else (),
    )


def _criteria(page: Page, begin: int, end: int) -> Iterator[Located]:
    """Every list item above the first `###` heading, then every `###` heading with what stands below it."""
    third = [each for each in page.headings if each.tag == "h3" and begin <= each.line < end]
    above = third[0].line if third else end
    for first, last in page.items[bisect_left(page.items, (begin, 0)) :]:
        if first >= above:
            break
        if found := _item(page, first, min(last, above)):
            yield found
    for head, after in pairwise([*third, None]):
        if head is not None and (found := _headed(page, head, after.line if after else end)):
            yield found


def _headed(page: Page, head: Heading, end: int) -> Located | None:
    """The criterion of a heading, None where it has no name."""
    name, own = ids.chosen(head.title)
    if not name:
        return None
    begin = head.end
    while begin < end and not page.lines[begin].strip():
        begin += 1
    text = "\n".join(page.lines[begin:end]).rstrip()
    said = conventions.read(text, page.coded_from(begin, end))
    return Located(
        criterion=_criterion(name, own, said),
        name=page.words(head, name),
        whole=page.span(head.line, end),
        heading=True,
        lines=tuple(_lines(page, said, begin, [0] * (end - begin))),
    )


def _item(page: Page, begin: int, end: int) -> Located | None:
    """The criterion of a list item, None for an empty one. Its first line names it, and may end in an id."""
    found = _item_text(tuple(page.lines[begin:end]), page.coded_from(begin, end))
    if found is None:
        return None
    first = begin + found.row
    return Located(
        criterion=found.criterion,
        name=Span(page.place(first, found.name.begin), page.place(first, found.name.end)),
        whole=page.span(begin, end),
        heading=False,
        lines=tuple(_lines(page, found.said, first, found.cuts)),
    )


class _Item(NamedTuple):
    """What an item says: the row where its text begins, the columns of its name there.

    `cuts`: how many characters of each row, from that one on, are no text.
    """

    criterion: Criterion
    row: int
    name: Span
    cuts: list[int]
    said: conventions.Said


@lru_cache(maxsize=PARTS)
def _item_text(rows: tuple[str, ...], code: frozenset[int]) -> _Item | None:
    """The criterion of an item's rows; `code`: which of them are code."""
    lead = len(rows[0]) - len(rows[0].lstrip(" "))
    marker = _ITEM.match(rows[0], lead)
    width = marker.end() if marker else len(rows[0])
    cuts = [width, *(min(width, len(row) - len(row.lstrip(" "))) for row in rows[1:])]
    texts = [row[cut:] for row, cut in zip(rows, cuts, strict=True)]
    row = next((number for number, text in enumerate(texts) if text.strip()), None)
    if row is None:
        return None
    texts, cuts = texts[row:], cuts[row:]
    texts[0], own = ids.chosen(texts[0].rstrip())
    no_prose = frozenset(number - row for number in code) | {0}
    said = conventions.read("\n".join(texts).rstrip(), no_prose)
    name, at = _named(said.text)
    end = min(at.end, len(texts[0]))
    return _Item(_criterion(name, own, said), row, Span(cuts[0] + at.begin, cuts[0] + end), cuts, said)


def _named(text: str) -> tuple[str, Span]:
    """The name of an item, and where in its text it is."""
    if bold := _BOLD.match(text):
        name = " ".join(bold["name"].split()).rstrip(":.")
        return name or text[:1], Span(*bold.span("name"))
    if lead := _LEAD.match(text):
        return lead["name"].strip(), Span(*lead.span("name"))
    name = " ".join(text.split()[:NAME_WORDS]).rstrip(".,;:") or text[:1]
    return name, Span(0, len(name))


def _criterion(name: str, own: str, said: conventions.Said) -> Criterion:
    return Criterion(name, said.text.strip(), own, said.severity, said.applies_to, said.when, said.evidence)


def _lines(page: Page, said: conventions.Said, begin: int, cuts: list[int]) -> Iterator[Line]:
    """Where the lines are that say something. `cuts`: how many characters of each line are no text."""
    for found in said.found:
        row, cut = begin + found.number, cuts[found.number]
        value, *parts = (
            Span(page.place(row, cut + first), page.place(row, cut + last))
            for first, last in (found.value, *found.parts)
        )
        yield Line(found.key, page.span(row, row + 1), value, tuple(parts))


def _with_ids(found: Iterable[Section]) -> Iterator[Section]:
    """The sections with an id for each criterion: patterns have theirs first, then antipatterns."""
    found = list(found)
    ordered = [one for role in Role for section in found if section.role is role for one in section.criteria]
    made = ids.unique([(one.criterion.name, one.criterion.id) for one in ordered])
    known = dict(zip(map(id, ordered), made, strict=True))
    for section in found:
        yield replace(
            section,
            criteria=tuple(
                replace(one, criterion=replace(one.criterion, id=known[id(one)])) for one in section.criteria
            ),
        )
