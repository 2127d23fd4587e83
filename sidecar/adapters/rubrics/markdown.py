"""The blocks of a Markdown text, and the lines that they take. The only module that knows a parser.

Blocks only: what stands within a line is text. Headings and items in code, quotes and lists are text too. A
text is parsed in parts, and a part that was parsed before is remembered: most of a text stays at a keystroke.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from markdown_it import MarkdownIt

from sidecar.model.outline import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

CUTS: Final = 400
"""Headings and list items above which a text is parsed as a whole."""
PARTS: Final = 2 * CUTS
"""Parts of texts of which it is remembered what they say."""
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
_CUT: Final = re.compile(r"#{1,6}(?:[ \t]|$)|[-*+] +\S")
"""A heading or item at the start of a line ends every block but code and HTML that are not closed."""


def sections(text: str) -> dict[str, str]:
    """The `##` sections of a Markdown text: heading -> what stands below it, down to the next `#` or `##`.

    Sections of one name are joined. Text stays as it is written; headings in code, lists and quotes are text.
    """
    page, bodies = Page(text), dict[str, list[str]]()
    for head, end in page.second:
        bodies.setdefault(head.title, []).append("\n".join(page.lines[head.end : end]).strip("\n"))
    return {title: "\n\n".join(each).strip() for title, each in bodies.items()}


# --- lines --------------------------------------------------------------------------------------------------


class Heading(NamedTuple):
    """A heading outside of all else, and its lines."""

    tag: str
    title: str
    line: int
    end: int


class Blocks(NamedTuple):
    """What of the blocks matters here, each with its lines, first to before last.

    `headings` of level 1 to 3 and `items` of lists stand in nothing else, `code` and HTML stand anywhere.
    `open`: the text ends within code, so that what follows it could be code too.
    """

    headings: list[Heading]
    items: list[tuple[int, int]]
    code: list[tuple[int, int]]
    open: bool = False


class Page:
    """A text, its lines from 0, and its blocks."""

    def __init__(self, text: str) -> None:
        self._mark = 1 if text.startswith(MARK) else 0
        clean = text[self._mark :]
        breaks = [match.span() for match in _BREAK.finditer(clean)]
        self._starts = [0, *(end for _, end in breaks)]
        self._ends = [*(begin for begin, _ in breaks), len(clean)]
        self.lines = [clean[begin:end] for begin, end in zip(self._starts, self._ends, strict=True)]
        self.headings, self.items, self.code, _ = blocks_of(self.lines)

    def coded_from(self, begin: int, end: int) -> frozenset[int]:
        """Which lines between these are code, counted from the first."""
        return frozenset(
            line - begin
            for first, last in self.code
            if first < end and last > begin
            for line in range(max(first, begin), min(last, end))
        )

    @property
    def second(self) -> Iterator[tuple[Heading, int]]:
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

    def words(self, head: Heading, text: str) -> Span:
        """Where these words of a heading are; its first line where they are not as they are written."""
        first, last = self.lines[head.line], text.rsplit("\n", 1)[-1]
        begin = max(first.find(text.split("\n", 1)[0]), 0)
        row = head.line + text.count("\n")
        end = self.lines[row].find(last) + len(last) if last in self.lines[row] else len(self.lines[row])
        return Span(self.place(head.line, begin), self.place(row, end))


def blocks_of(lines: list[str]) -> Blocks:
    """The blocks of all lines. Each part from a heading or item on is parsed by itself, and remembered."""
    cuts = [number for number, line in enumerate(lines) if number and _CUT.match(line)]
    if len(cuts) > CUTS:
        cuts = []
    found = Blocks([], [], [])
    for begin, end in pairwise([0, *cuts, len(lines)]):
        part = part_of("\n".join(lines[begin:end]))
        spills = part.open and end < len(lines)
        if spills:
            part = part_of("\n".join(lines[begin:]))
        found.headings.extend(
            each._replace(line=each.line + begin, end=each.end + begin) for each in part.headings
        )
        found.items.extend((first + begin, last + begin) for first, last in part.items)
        found.code.extend((first + begin, last + begin) for first, last in part.code)
        if spills:
            break
    return found


@lru_cache(maxsize=PARTS)
def part_of(text: str) -> Blocks:
    """The blocks of a text, parsed as a whole."""
    tokens = _MARKDOWN.parse(text)
    blocks = Blocks([], [], [])
    for number, token in enumerate(tokens):
        if not token.map:
            continue
        begin, end = token.map
        if token.type == "heading_open" and not token.level and token.tag in TAGS:
            blocks.headings.append(Heading(token.tag, tokens[number + 1].content.strip(), begin, end))
        elif token.type == "list_item_open" and token.level == 1:
            blocks.items.append((begin, end))
        elif token.type in CODE:
            blocks.code.append((begin, end))
    lines = text.rstrip().split("\n")
    return blocks._replace(open=any(_ends_open(token, lines) for token in tokens))


def _ends_open(token: Token, lines: list[str]) -> bool:
    """Whether a block may go on behind these lines, the last of which says something; in doubt it does."""
    if token.type not in SPILLING or not token.map or token.map[1] < len(lines):
        return False
    last = lines[-1]
    closed = last.strip().replace(token.markup[:1], "") == "" and len(last.strip()) >= len(token.markup)
    plain = token.type == "fence" and not token.level and len(last) - len(last.lstrip(" ")) <= INDENT
    return not (plain and closed and token.map[0] < len(lines) - 1)
