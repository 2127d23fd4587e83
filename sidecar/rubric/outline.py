"""Finds the sections and criteria of a rubric in its Markdown text, for both the judge and the editor."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from sidecar.kernel.rubric import (
    Criterion,
    CriterionLine,
    LocatedCriterion,
    RubricOutline,
    RubricSection,
    SectionRole,
    TextSpan,
)
from sidecar.rubric import conventions
from sidecar.rubric.markdown import MarkdownHeading, MarkdownPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


NAME_WORDS: Final = 6
"""Words that name a list item without bold text and without a colon after its name."""
CACHED_OUTLINES: Final = 64
"""Texts whose outline is cached."""

_BOLD: Final = re.compile(r"(?P<mark>\*\*|__)(?P<name>.+?)(?P=mark)", re.DOTALL)
_LEAD: Final = re.compile(r"(?P<name>[^\n:]{1,80}):(?=\s)")
_ITEM: Final = re.compile(r"[-*+]\s+|\d{1,9}[.)]\s+")
_ROLES: Final = {role.value.casefold(): role for role in SectionRole}


@lru_cache(maxsize=CACHED_OUTLINES)
def parse_outline(text: str) -> RubricOutline:
    """Return the outline of a text, also of one that is not a complete rubric yet."""
    page = MarkdownPage(text)
    found = [_parse_section(page, head, end) for head, end in page.second]
    return RubricOutline(text, tuple(_with_ids(found)), tuple(page.span(*lines) for lines in page.code))


def _parse_section(page: MarkdownPage, head: MarkdownHeading, end: int) -> RubricSection:
    role = _ROLES.get(head.title.casefold())
    return RubricSection(
        name=head.title,
        title=page.words(head, head.title),
        whole=page.span(head.line, end),
        role=role,
        criteria=tuple(_parse_criteria(page, head.end, end)) if role else (),
    )


def _parse_criteria(page: MarkdownPage, begin: int, end: int) -> Iterator[LocatedCriterion]:
    """Yield every list item above the first `###` heading, then every `###` heading with its text."""
    third = [each for each in page.headings if each.tag == "h3" and begin <= each.line < end]
    above = third[0].line if third else end
    for first, last in page.items[bisect_left(page.items, (begin, 0)) :]:
        if first >= above:
            break
        if found := _item_criterion(page, first, min(last, above)):
            yield found
    for head, after in pairwise([*third, None]):
        if head is not None and (found := _heading_criterion(page, head, after.line if after else end)):
            yield found


def _heading_criterion(page: MarkdownPage, head: MarkdownHeading, end: int) -> LocatedCriterion | None:
    """Return the criterion of a heading, None if it has no name."""
    name, own = conventions.split_chosen_id(head.title)
    if not name:
        return None
    begin = head.end
    while begin < end and not page.lines[begin].strip():
        begin += 1
    text = "\n".join(page.lines[begin:end]).rstrip()
    said = conventions.parse_conventions(text, page.coded_from(begin, end))
    return LocatedCriterion(
        criterion=_build_criterion(name, own, said),
        name=page.words(head, name),
        whole=page.span(head.line, end),
        heading=True,
        lines=tuple(_convention_spans(page, said, begin, [0] * (end - begin))),
    )


def _item_criterion(page: MarkdownPage, begin: int, end: int) -> LocatedCriterion | None:
    """Return the criterion of a list item, None for an empty one.

    The item's first line names the criterion, and may end in an id.
    """
    found = _parse_item_rows(tuple(page.lines[begin:end]), page.coded_from(begin, end))
    if found is None:
        return None
    first = begin + found.row
    return LocatedCriterion(
        criterion=found.criterion,
        name=TextSpan(page.place(first, found.name.begin), page.place(first, found.name.end)),
        whole=page.span(begin, end),
        heading=False,
        lines=tuple(_convention_spans(page, found.said, first, found.cuts)),
    )


class _Item(NamedTuple):
    """A parsed list item: the row where its text begins, and the columns of its name in that row.

    `cuts`: how many characters at the start of each row, from that one on, are not text.
    """

    criterion: Criterion
    row: int
    name: TextSpan
    cuts: list[int]
    said: conventions.Conventions


@lru_cache(maxsize=800)
def _parse_item_rows(rows: tuple[str, ...], code: frozenset[int]) -> _Item | None:
    """Parse the rows of an item; `code` are the numbers of those that are code."""
    lead = len(rows[0]) - len(rows[0].lstrip(" "))
    marker = _ITEM.match(rows[0], lead)
    width = marker.end() if marker else len(rows[0])
    cuts = [width, *(min(width, len(row) - len(row.lstrip(" "))) for row in rows[1:])]
    texts = [row[cut:] for row, cut in zip(rows, cuts, strict=True)]
    row = next((number for number, text in enumerate(texts) if text.strip()), None)
    if row is None:
        return None
    texts, cuts = texts[row:], cuts[row:]
    texts[0], own = conventions.split_chosen_id(texts[0].rstrip())
    no_prose = frozenset(number - row for number in code) | {0}
    said = conventions.parse_conventions("\n".join(texts).rstrip(), no_prose)
    name, at = _item_name(said.text)
    end = min(at.end, len(texts[0]))
    return _Item(
        _build_criterion(name, own, said), row, TextSpan(cuts[0] + at.begin, cuts[0] + end), cuts, said
    )


def _item_name(text: str) -> tuple[str, TextSpan]:
    """Return the name of an item, and its place in the item's text."""
    if bold := _BOLD.match(text):
        name = " ".join(bold["name"].split()).rstrip(":.")
        return name or text[:1], TextSpan(*bold.span("name"))
    if lead := _LEAD.match(text):
        return lead["name"].strip(), TextSpan(*lead.span("name"))
    name = " ".join(text.split()[:NAME_WORDS]).rstrip(".,;:") or text[:1]
    return name, TextSpan(0, len(name))


def _build_criterion(name: str, own: str, said: conventions.Conventions) -> Criterion:
    return Criterion(name, said.text.strip(), own, said.severity, said.applies_to, said.when, said.evidence)


def _convention_spans(
    page: MarkdownPage, said: conventions.Conventions, begin: int, cuts: list[int]
) -> Iterator[CriterionLine]:
    """Yield the places of the lines that hold a convention.

    `cuts`: how many characters at the start of each line are not text.
    """
    for found in said.found:
        row, cut = begin + found.number, cuts[found.number]
        value, *parts = (
            TextSpan(page.place(row, cut + first), page.place(row, cut + last))
            for first, last in (found.value, *found.parts)
        )
        yield CriterionLine(found.key, page.span(row, row + 1), value, tuple(parts))


def _with_ids(found: Iterable[RubricSection]) -> Iterator[RubricSection]:
    """Give every criterion an id; those of patterns are chosen first, then those of antipatterns."""
    found = list(found)
    ordered = [
        one for role in SectionRole for section in found if section.role is role for one in section.criteria
    ]
    made = conventions.unique_ids([(one.criterion.name, one.criterion.id) for one in ordered])
    known = dict(zip(map(id, ordered), made, strict=True))
    for section in found:
        named = [(one, replace(one.criterion, id=known[id(one)])) for one in section.criteria]
        yield replace(section, criteria=tuple(replace(one, criterion=own) for one, own in named))
