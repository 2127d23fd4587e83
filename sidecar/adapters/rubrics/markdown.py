"""What in a Markdown text is a section and a criterion, and where: the one reader of judge and editor.

The text is parsed once, and blocks only: what stands within a line is text. Headings and items in code,
quotes and lists are text too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from markdown_it import MarkdownIt
from msgspec.structs import replace

from sidecar.adapters.rubrics import conventions, ids
from sidecar.model.outline import Line, Located, Outline, Role, Section, Span
from sidecar.model.rubric import Criterion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token

NAME_WORDS: Final = 6
"""Words that name a list item in which nothing is bold and no colon ends a name."""
CACHED: Final = 64
"""Texts whose outline is remembered."""
CUTS: Final = 200
"""Headings above which a text is parsed as a whole."""
TAGS: Final = frozenset({"h1", "h2", "h3"})
CODE: Final = frozenset({"fence", "code_block", "html_block"})
SPILLING: Final = frozenset({"fence", "html_block"})
"""Blocks that a heading at the start of a line does not end."""
INDENT: Final = 3
"""Spaces before a fence; with more it is none."""
MARK: Final = "\ufeff"
"""A byte order mark, which is no part of the first line."""

_MARKDOWN = MarkdownIt("commonmark").disable("inline")
_BREAK: Final = re.compile(r"\r\n|\r|\n")
_CUT: Final = re.compile(r"#{1,6}(?:[ \t]|$)")
"""A heading at the start of a line ends every block but code and HTML that are not closed."""
_BOLD: Final = re.compile(r"(?P<mark>\*\*|__)(?P<name>.+?)(?P=mark)", re.DOTALL)
_LEAD: Final = re.compile(r"(?P<name>[^\n:]{1,80}):(?=\s)")
_ITEM: Final = re.compile(r"[-*+]\s+|\d{1,9}[.)]\s+")
_ROLES: Final = {role.value.casefold(): role for role in Role}


@lru_cache(maxsize=CACHED)
def outline(text: str) -> Outline:
    """The rubric that a text is, or would be with more in it."""
    page = _Page(text)
    found = [_section(page, head, end) for head, end in page.second]
    return Outline(text, tuple(_with_ids(found)), tuple(page.span(*lines) for lines in page.code))


def sections(text: str) -> dict[str, str]:
    """The `##` sections of a Markdown text: heading -> what stands below it, down to the next `#` or `##`.

    Sections of one name are joined. Text stays as it is written; headings in code, lists and quotes are text.
    """
    page, bodies = _Page(text), dict[str, list[str]]()
    for head, end in page.second:
        bodies.setdefault(head.title, []).append("\n".join(page.lines[head.end : end]).strip("\n"))
    return {title: "\n\n".join(each).strip() for title, each in bodies.items()}


# --- lines --------------------------------------------------------------------------------------------------


class _Heading(NamedTuple):
    """A heading outside of all else, and its lines."""

    tag: str
    title: str
    line: int
    end: int


class _Blocks(NamedTuple):
    """What of the blocks matters here, each with its lines, first to before last.

    `headings` of level 1 to 3 and `items` of lists stand in nothing else, `code` and HTML stand anywhere.
    `open`: the text ends within code, so that what follows it could be code too.
    """

    headings: list[_Heading]
    items: list[tuple[int, int]]
    code: list[tuple[int, int]]
    open: bool = False


class _Page:
    """A text, its lines from 0, and its blocks."""

    def __init__(self, text: str) -> None:
        self._mark = 1 if text.startswith(MARK) else 0
        clean = text[self._mark :]
        breaks = [match.span() for match in _BREAK.finditer(clean)]
        self._starts = [0, *(end for _, end in breaks)]
        self._ends = [*(begin for begin, _ in breaks), len(clean)]
        self.lines = [clean[begin:end] for begin, end in zip(self._starts, self._ends, strict=True)]
        self.headings, self.items, self.code, _ = _blocks(self.lines)

    def coded_from(self, begin: int, end: int) -> frozenset[int]:
        """Which lines between these are code, counted from the first."""
        return frozenset(
            line - begin
            for first, last in self.code
            if first < end and last > begin
            for line in range(max(first, begin), min(last, end))
        )

    @property
    def second(self) -> Iterator[tuple[_Heading, int]]:
        """Each heading of level 2, and the line before which its section ends."""
        heads = [each for each in self.headings if each.tag != "h3"]
        for head, end in zip(heads, [*(each.line for each in heads[1:]), len(self.lines)], strict=False):
            if head.tag == "h2":
                yield head, end

    def place(self, line: int, column: int = 0) -> int:
        """Where a column of a line is in the text."""
        return self._mark + min(self._starts[line] + column, self._ends[line])

    def span(self, line: int, end: int) -> Span:
        """From the start of a line to the end of the last of them that says something."""
        while end > line + 1 and not self.lines[end - 1].strip():
            end -= 1
        return Span(self.place(line), self._mark + self._ends[end - 1])

    def words(self, head: _Heading, text: str) -> Span:
        """Where these words of a heading are; its first line where they are not as they are written."""
        first, last = self.lines[head.line], text.rsplit("\n", 1)[-1]
        begin = max(first.find(text.split("\n", 1)[0]), 0)
        row = head.line + text.count("\n")
        end = self.lines[row].find(last) + len(last) if last in self.lines[row] else len(self.lines[row])
        return Span(self.place(head.line, begin), self.place(row, end))


def _blocks(lines: list[str]) -> _Blocks:
    """The blocks of all lines. Each part that begins with a heading is parsed by itself, and remembered."""
    cuts = [number for number, line in enumerate(lines) if number and _CUT.match(line)]
    if len(cuts) > CUTS:
        cuts = []
    found = _Blocks([], [], [])
    for begin, end in pairwise([0, *cuts, len(lines)]):
        part = _part("\n".join(lines[begin:end]))
        spills = part.open and end < len(lines)
        if spills:
            part = _part("\n".join(lines[begin:]))
        found.headings.extend(
            each._replace(line=each.line + begin, end=each.end + begin) for each in part.headings
        )
        found.items.extend((first + begin, last + begin) for first, last in part.items)
        found.code.extend((first + begin, last + begin) for first, last in part.code)
        if spills:
            break
    return found


@lru_cache(maxsize=8 * CACHED)
def _part(text: str) -> _Blocks:
    tokens = _MARKDOWN.parse(text)
    blocks = _Blocks([], [], [])
    for number, token in enumerate(tokens):
        if not token.map:
            continue
        begin, end = token.map
        if token.type == "heading_open" and not token.level and token.tag in TAGS:
            blocks.headings.append(_Heading(token.tag, tokens[number + 1].content.strip(), begin, end))
        elif token.type == "list_item_open" and token.level == 1:
            blocks.items.append((begin, end))
        elif token.type in CODE:
            blocks.code.append((begin, end))
    return blocks._replace(open=any(_ends_open(token, text.rstrip().split("\n")) for token in tokens))


def _ends_open(token: Token, lines: list[str]) -> bool:
    """Whether a block may go on behind these lines, the last of which says something; in doubt it does."""
    if token.type not in SPILLING or not token.map or token.map[1] < len(lines):
        return False
    last = lines[-1]
    closed = last.strip().replace(token.markup[:1], "") == "" and len(last.strip()) >= len(token.markup)
    plain = token.type == "fence" and not token.level and len(last) - len(last.lstrip(" ")) <= INDENT
    return not (plain and closed and token.map[0] < len(lines) - 1)


# --- criteria -----------------------------------------------------------------------------------------------


def _section(page: _Page, head: _Heading, end: int) -> Section:
    role = _ROLES.get(head.title.casefold())
    return Section(
        name=head.title,
        title=page.words(head, head.title),
        whole=page.span(head.line, end),
        role=role,
        criteria=tuple(_criteria(page, head.end, end)) if role else (),
    )


def _criteria(page: _Page, begin: int, end: int) -> Iterator[Located]:
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


def _headed(page: _Page, head: _Heading, end: int) -> Located | None:
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


def _item(page: _Page, begin: int, end: int) -> Located | None:
    """The criterion of a list item, None for an empty one. Its first line names it, and may end in an id."""
    whole = page.span(begin, end)
    rows = page.lines[begin:end]
    lead = len(rows[0]) - len(rows[0].lstrip(" "))
    marker = _ITEM.match(rows[0], lead)
    width = marker.end() if marker else len(rows[0])
    cuts = [width, *(min(width, len(row) - len(row.lstrip(" "))) for row in rows[1:])]
    rows = [row[cut:] for row, cut in zip(rows, cuts, strict=True)]
    while rows and not rows[0].strip():
        begin, rows, cuts = begin + 1, rows[1:], cuts[1:]
    if not rows:
        return None
    rows[0], own = ids.chosen(rows[0].rstrip())
    said = conventions.read("\n".join(rows).rstrip(), page.coded_from(begin, end) | {0})
    name, at = _named(said.text)
    column, room = cuts[0] + at.begin, cuts[0] + len(rows[0])
    return Located(
        criterion=_criterion(name, own, said),
        name=Span(page.place(begin, column), page.place(begin, min(cuts[0] + at.end, room))),
        whole=whole,
        heading=False,
        lines=tuple(_lines(page, said, begin, cuts)),
    )


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


def _lines(page: _Page, said: conventions.Said, begin: int, cuts: list[int]) -> Iterator[Line]:
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
