"""Reads plans: Markdown in which a person says what is to be done, and sees what is done.

The tasks are the outermost check boxes (`- [ ] title`), or the headings that have one (`## [ ] title`); where
a text has no box, the headings below its title. What stands below a task belongs to it: points and inner
boxes are its criteria, `check:`, `scope:`, `after:` and `complexity:` say more, and anything else is told to
who works on it. Everything outside of tasks is the person's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from textwrap import dedent
from typing import Final, NamedTuple

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.text import clean_line, clean_text
from sidecar.rubric.markdown import MarkdownHeading, MarkdownPage
from sidecar.systems.taskloop.policy.plan import PlannedTask

MARK: Final = r"[ \t]*(?:#{1,3}|[-*+]|\d{1,9}[.)])[ \t]+"
POINT: Final = re.compile(rf"{MARK}(?:\[[ xX]\][ \t]+)?")
BOX: Final = re.compile(rf"{MARK}\[(?P<mark>[ xX])\](?:[ \t]+(?P<title>.*))?$")
ALMOST_BOX: Final = re.compile(r"[ \t]*[-*+][ \t]*\[[ \t]*[xX]?[ \t]*\](?![(\[:])")
FIELD: Final = re.compile(r"\**([A-Za-z]+)\**[ \t]*:\**[ \t]*(.*)")
FIELDS: Final = {"check": "checks", "scope": "scope", "after": "after", "complexity": "complexity"}
"""The fields of PlannedTask, by their names in a plan."""
LIKENESS: Final = 0.8
"""Of a word to the name of a field that it is taken for a slip of, from 0 to 1."""
DECORATION: Final = re.compile(r"^\d+[.)]\s+|[`*_\"']")
"""What may be left out where a title is named."""
NO_TASK: Final = (
    "no task is in it: write `- [ ] add a --json option`, or let an agent write a plan (--propose)"
)

Span = tuple[int, int]
Fault = tuple[int, str]
"""A line, counted from 0, and what is wrong in it."""


class _Head(NamedTuple):
    """A task's line, and the lines below it. `mark`: the place of the mark in its box, None without a box."""

    line: int
    begin: int
    end: int
    title: str
    mark: int | None
    done: bool | None


def parse_plan(text: str) -> tuple[PlannedTask, ...]:
    """Return the tasks in their order. Raises BadInputError, which names each fault with its line."""
    page = MarkdownPage(text)
    heads = tuple(_find_heads(page))
    faults = [*_find_slips(page, heads)] if heads else [(0, NO_TASK)]
    tasks = tuple(_read_task(page, head, [one.title for one in heads], faults) for head in heads)
    try:
        TopologicalSorter({task.title: task.after for task in tasks}).prepare()
    except CycleError as error:
        names = error.args[1][::-1]  # each waits for the one behind it
        line = next(head.line for head in heads if head.title == names[0])
        faults.append((line, f"these wait for one another: {' -> '.join(names)}"))
    if faults:
        raise BadInputError("\n".join(f"line {line + 1}: {why}" for line, why in sorted(faults)))
    return tasks


def read_marks(text: str) -> dict[str, bool]:
    """Return whether each box is ticked, by the title of its task."""
    return {head.title: head.done for head in _find_heads(MarkdownPage(text)) if head.done is not None}


def set_marks(text: str, done: Mapping[str, bool]) -> str:
    """Return the text with the boxes of these tasks ticked or empty, by title; nothing else of it changes."""
    for head in _find_heads(MarkdownPage(text)):
        wanted = done.get(head.title, head.done)
        if head.mark is not None and wanted is not head.done:
            text = f"{text[: head.mark]}{'x' if wanted else ' '}{text[head.mark + 1 :]}"
    return text


# --- where tasks stand --------------------------------------------------------------------------------------


def _find_heads(page: MarkdownPage) -> Iterator[_Head]:
    """Yield the tasks of a text."""
    boxes = {line: found for line, row in enumerate(page.lines) if (found := BOX.match(row))}
    headings = {head.line: head for head in page.headings}
    boxed = [head for head in page.headings if head.line in boxes]
    spans = [] if boxed else _outermost(span for span in page.points if span[0] in boxes)
    for head in boxed or ([] if spans else _below_title(page.headings)):
        ends = (one.line for one in page.headings if one.line > head.line and one.tag <= head.tag)
        spans.append((head.line, next(ends, len(page.lines))))
    for line, end in spans:
        box, begin = boxes.get(line), headings[line].end if line in headings else line + 1
        if box is None:
            yield _Head(line, begin, end, clean_line(headings[line].title), None, None)
        else:
            mark = page.place(line, box.start("mark"))
            yield _Head(line, begin, end, clean_line(box["title"] or ""), mark, box["mark"] != " ")


def _below_title(headings: Sequence[MarkdownHeading]) -> list[MarkdownHeading]:
    """Return the highest headings, without the one that is the title of the whole."""
    tags = [head.tag for head in headings]
    below = headings[1:] if tags[:1] == ["h1"] and tags.count("h1") == 1 else headings
    return [head for head in below if head.tag == min(one.tag for one in below)]


def _outermost(spans: Iterable[Span]) -> list[Span]:
    found: list[Span] = []
    for span in spans:
        if not found or span[0] >= found[-1][1]:
            found.append(span)
    return found


def _find_slips(page: MarkdownPage, heads: Sequence[_Head]) -> Iterator[Fault]:
    """Yield what looks like a part of a task, and is none."""
    coded, lines = page.coded_from(0, len(page.lines)), dict[str, int]()
    for line, row in enumerate(page.lines):
        if line not in coded and ALMOST_BOX.match(row) and not BOX.match(row):
            yield line, "a check box is written `- [ ] what is to be done`"
    for head in heads:
        if not head.title:
            yield head.line, "this task says nothing; write what is to be done behind its box"
        elif (first := lines.setdefault(_title_key(head.title), head.line)) != head.line:
            yield head.line, f'"{head.title}" is the task of line {first + 1} already'
    ends = {head.end for head in heads if head.mark is not None}
    for begin, end in page.points:
        if begin in ends and not any(begin <= head.line < end for head in heads):
            yield begin, "this point stands beside a task; indent it to make it a criterion, or give it a box"


# --- what is said of a task ---------------------------------------------------------------------------------


def _read_task(page: MarkdownPage, head: _Head, titles: Sequence[str], faults: list[Fault]) -> PlannedTask:
    """Return a task with all that stands below it, and add what is wrong with it."""
    points = dict(_outermost(span for span in page.points if head.begin <= span[0] < head.end))
    coded, within = page.coded_from(0, len(page.lines)), 0
    said: dict[str, list[str]] = {name: [] for name in FIELDS.values()}
    about, criteria = [], []
    for line in range(head.begin, head.end):
        row = page.lines[line]
        bare = row.strip() if line in coded else POINT.sub("", row, 1).strip()
        field = None if line in coded else FIELD.fullmatch(bare)
        if field and (near := get_close_matches(field[1].lower(), FIELDS, 1, LIKENESS)):
            try:
                said[FIELDS[near[0]]] += _read_field(field[1], near[0], field[2].strip(), titles)
            except BadInputError as error:
                faults.append((line, str(error)))
        elif line in points and bare:
            criteria.append(bare)
            within = points[line]
        elif line < within:
            criteria[-1] = f"{criteria[-1]} {row.strip()}".rstrip()
        else:
            about.append(row)
    return PlannedTask(
        title=head.title,
        about=clean_text(dedent("\n".join(about)).strip()),
        criteria=tuple(criteria),
        complexity=int(next(iter(said.pop("complexity")), 0)),
        done=head.done,
        **{name: tuple(dict.fromkeys(values)) for name, values in said.items()},
    )


def _read_field(written: str, name: str, value: str, titles: Sequence[str]) -> Iterable[str]:
    """Return what a field says. Raises BadInputError."""
    if written.lower() != name:
        raise BadInputError(f"`{written}:` is not known here; is it `{name}:`?")
    if not value:
        raise BadInputError(f"`{name}:` says nothing")
    if name == "complexity" and value not in map(str, range(1, 15)):
        raise BadInputError(f"complexity is a number from 1 (trivial) to 14, not `{value}`")
    if name == "after":
        return _named_titles(value, titles)
    values = value.split(",") if name == "scope" else [value]
    return [one.strip(" \t`") for one in values]


def _named_titles(value: str, titles: Sequence[str]) -> list[str]:
    """Return the titles that are named, or whose numbers are. Raises BadInputError."""
    known = {str(number): title for number, title in enumerate(titles, 1)}
    known |= {_title_key(title): title for title in titles}
    names = [value] if _title_key(value) in known else value.split(",")
    for name in names:
        if (key := _title_key(name)) not in known:
            near = known[get_close_matches(key, known, 1, 0.0)[0]]
            raise BadInputError(f'no task is called "{name.strip()}"; the nearest is "{near}"')
    return [known[_title_key(name)] for name in names]


def _title_key(title: str) -> str:
    return DECORATION.sub("", title.strip()).strip().casefold()
