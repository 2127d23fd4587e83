"""Finds the blocks of a Markdown text, and their lines. The only module that uses a Markdown parser.

Only blocks are parsed: markup within a line is text, as are headings and items in code, quotes and lists.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.kernel.rubric import TextSpan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt


HEADING_TAGS: Final = frozenset({"h1", "h2", "h3"})
CODE_TOKENS: Final = frozenset({"fence", "code_block", "html_block"})
MARKDOWN_BOM: Final = "\ufeff"
"""A byte order mark, which is not part of the first line."""

_BREAK: Final = re.compile(r"\r\n|\r|\n")
_CUT: Final = re.compile(r"#{1,6}(?:[ \t]|$)|[-*+] +\S")
"""A heading or item at the start of a line, at which prose is cut."""
_LETTERS: Final = r"(?:[^\W\d_]|[(\"]|`(?!`)|\*\*(?=\w))[^\n\0]*"
"""A line that begins no block but a paragraph."""
_PROSE: Final = re.compile(
    rf"(?P<mark>#{{1,3}}) (?P<title>[^\s\0#](?:[^\n\0]*[^\s\0#])?)(?:\n(?:{_LETTERS})?)*"
    rf"|[-*+] {_LETTERS}\n*"
)
"""A heading and paragraphs below it, or an item of one line: most parts of most rubrics."""


def markdown_sections(text: str) -> dict[str, str]:
    """Return the `##` sections of a Markdown text: heading -> the text below it, up to the next `#` or `##`.

    Sections of the same name are joined. Text stays as written; headings in code, lists and quotes are text.
    """
    page, bodies = MarkdownPage(text), dict[str, list[str]]()
    for head, end in page.second:
        bodies.setdefault(head.title, []).append("\n".join(page.lines[head.end : end]).strip("\n"))
    return {title: "\n\n".join(each).strip() for title, each in bodies.items()}


# --- Lines and blocks ---------------------------------------------------------------------------------------


class MarkdownHeading(NamedTuple):
    """A heading outside of any other block, and its lines."""

    tag: str
    title: str
    line: int
    end: int


class MarkdownBlocks(NamedTuple):
    """The blocks that matter here, each with its first line and the line after its last one.

    `headings` of level 1 to 3 and list `items` are those outside of any other block; `code` and HTML may be
    anywhere. `points` are the items with those in them, in the order of the text.
    """

    headings: list[MarkdownHeading]
    items: list[tuple[int, int]]
    code: list[tuple[int, int]]
    points: list[tuple[int, int]]


class MarkdownPage:
    """A text, its lines (counted from 0), and its blocks."""

    def __init__(self, text: str) -> None:
        self._mark = 1 if text.startswith(MARKDOWN_BOM) else 0
        clean = text[self._mark :]
        breaks = [match.span() for match in _BREAK.finditer(clean)]
        self._starts = [0, *(end for _, end in breaks)]
        self._ends = [*(begin for begin, _ in breaks), len(clean)]
        self.lines = [clean[begin:end] for begin, end in zip(self._starts, self._ends, strict=True)]
        self.headings, self.items, self.code, self.points = parse_blocks(self.lines)

    def coded_from(self, begin: int, end: int) -> frozenset[int]:
        """Return which of these lines are code, counted from the first of them."""
        return frozenset(
            line - begin
            for first, last in self.code
            if first < end and last > begin
            for line in range(max(first, begin), min(last, end))
        )

    @property
    def second(self) -> Iterator[tuple[MarkdownHeading, int]]:
        """Yield each heading of level 2, and the line before which its section ends."""
        heads = [each for each in self.headings if each.tag != "h3"]
        for head, end in zip(heads, [*(each.line for each in heads[1:]), len(self.lines)], strict=False):
            if head.tag == "h2":
                yield head, end

    def place(self, line: int, column: int = 0) -> int:
        """Return the position in the text of a column of a line."""
        return self._mark + min(self._starts[line] + column, self._ends[line])

    def span(self, line: int, end: int) -> TextSpan:
        """Return the span from the start of a line to the end of the last non-blank line before `end`."""
        while end > line + 1 and not self.lines[end - 1].strip():
            end -= 1
        return TextSpan(self.place(line), self._mark + self._ends[end - 1])

    def words(self, head: MarkdownHeading, text: str) -> TextSpan:
        """Return the span of these words of a heading.

        Words that are not found as written are taken to begin or end where their line does.
        """
        first, last = self.lines[head.line], text.rsplit("\n", 1)[-1]
        begin = max(first.find(text.split("\n", 1)[0]), 0)
        row = head.line + text.count("\n")
        end = self.lines[row].find(last) + len(last) if last in self.lines[row] else len(self.lines[row])
        return TextSpan(self.place(head.line, begin), self.place(row, end))


def parse_blocks(lines: list[str]) -> MarkdownBlocks:
    """Find the blocks of all lines, without the parser where prose is all there is.

    Importing the parser takes a tenth of a cold start, and the host waits for that.
    """
    cuts = [number for number, line in enumerate(lines) if number and _CUT.match(line)]
    items: list[tuple[int, int]] = []
    found = MarkdownBlocks([], items, [], items)
    for begin, end in pairwise([0, *cuts, len(lines)]):
        prose = _PROSE.fullmatch("\n".join(lines[begin:end]))
        if prose is None:
            return parse_markdown("\n".join(lines))
        if prose["mark"] is None:
            found.items.append((begin, max(begin + 1, end - 1)))
        else:
            found.headings.append(MarkdownHeading(f"h{len(prose['mark'])}", prose["title"], begin, begin + 1))
    return found


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 1.3 MiB that an idle sidecar does without

    return MarkdownIt("commonmark").disable("inline")


def parse_markdown(text: str) -> MarkdownBlocks:
    """Find the blocks of a text by the Markdown parser."""
    tokens = _markdown().parse(text)
    blocks = MarkdownBlocks([], [], [], [])
    for number, token in enumerate(tokens):
        if not token.map:
            continue
        begin, end = token.map
        if token.type == "heading_open" and not token.level and token.tag in HEADING_TAGS:
            blocks.headings.append(MarkdownHeading(token.tag, tokens[number + 1].content.strip(), begin, end))
        elif token.type == "list_item_open" and token.level % 2:  # not in a quote
            blocks.points.append((begin, end))
            if token.level == 1:
                blocks.items.append((begin, end))
        elif token.type in CODE_TOKENS:
            blocks.code.append((begin, end))
    return blocks
