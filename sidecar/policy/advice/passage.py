"""A criterion as advice reads it: which of its words are the author's own demand.

Words in code, in quotation marks, in examples ("Looks like: ...") and in lines that are no prose
(`Severity: must`) are none. They are blotted out, so that places stay what they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from sidecar.model.outline import Located, Outline, Role, Section, Span
from sidecar.policy.advice.edits import end_of_line
from sidecar.policy.advice.english import Tongue, tongue, words

BLOT: Final = "\ue000"
"""Stands for each character of what is quoted or code; no language uses it."""
CACHED: Final = 2048
"""Criteria that are remembered: in a text of 8 KiB there are no more."""


class Passage(Struct, frozen=True, kw_only=True, cache_hash=True):
    """A criterion. Places are counted from its first character.

    `raw` is its text as it is written, `prose` the same with the words blotted out that are not the author's
    demand. `sentences` are those of what it says under its name, or its name where it says nothing more:
    `said` tells which. `own_id` is its `{#id}` with the blanks before it, `spoken` its name in small letters
    and digits alone.
    """

    raw: str
    prose: str
    role: Role
    heading: bool
    name: Span
    own_id: Span | None
    spoken: str
    said: bool
    sentences: tuple[Span, ...]
    tongue: Tongue

    def sentence(self, number: int) -> str:
        place = self.sentences[number]
        return self.prose[place.begin : place.end]


class Place(Struct, frozen=True):
    """A criterion where it stands in the text: `located` has the places there, `passage` its own."""

    section: Section
    located: Located
    passage: Passage

    @property
    def begin(self) -> int:
        return self.located.whole.begin


def places(outline: Outline) -> tuple[Place, ...]:
    """Every criterion of a text, in its order."""
    return tuple(
        Place(section, one, _passage(outline, section.role, one))
        for section in outline.sections
        if section.role is not None
        for one in section.criteria
    )


def moved(place: Span, by: int) -> Span:
    """A place of a criterion as one of the text in which it begins at `by`."""
    return Span(place.begin + by, place.end + by)


# --- reading ------------------------------------------------------------------------------------------------


def _passage(outline: Outline, role: Role, one: Located) -> Passage:
    begin, end = one.whole.begin, one.whole.end
    first = bisect_left(outline.code, begin, key=lambda span: span.end)
    last = bisect_left(outline.code, end, key=lambda span: span.begin)
    return _read(
        outline.text[begin:end],
        moved(one.name, -begin),
        (role, one.heading),
        tuple(moved(line.whole, -begin) for line in one.lines),
        tuple(moved(span, -begin) for span in outline.code[first:last]),
    )


@lru_cache(maxsize=CACHED)
def _read(
    raw: str, name: Span, kind: tuple[Role, bool], lines: tuple[Span, ...], code: tuple[Span, ...]
) -> Passage:
    role, heading = kind
    prose = raw.replace("\r\n", " \n").replace("\r", "\n")
    for span in lines:
        prose = _blotted(prose, span.begin, span.end, " ")
    for span in code:
        prose = _blotted(prose, max(span.begin, 0), min(span.end, len(prose)), BLOT)
    prose = _hidden().sub(lambda found: BLOT * len(found[0]), prose)
    begin = _body(prose, name, heading=heading)
    shown = raw[name.begin : name.end][:500].casefold()
    said = tuple(_sentences(prose, begin, len(prose)))
    return Passage(
        raw=raw,
        prose=prose,
        role=role,
        heading=heading,
        name=name,
        own_id=_own_id(raw, name.end),
        spoken=" ".join("".join(char if char.isalnum() else " " for char in shown).split()),
        said=bool(said),
        sentences=said or tuple(_sentences(prose, name.begin, name.end)),
        tongue=tongue(words(prose.replace(BLOT, " "))),
    )


def _own_id(raw: str, begin: int) -> Span | None:
    end = end_of_line(raw, begin)
    found = _id().search(raw, begin, end)
    return Span(*found.span()) if found else None


@cache
def _id() -> re.Pattern[str]:
    return re.compile(r"\s{0,8}\{#[^\W_][\w.:-]{0,39}\}(?=\s*$)")


def _blotted(text: str, begin: int, end: int, blot: str) -> str:
    return text[:begin] + blot * (end - begin) + text[end:]


@cache
def _hidden() -> re.Pattern[str]:
    """Code within a line, quotations, comments, ids, addresses; examples to the end of their paragraph."""
    return re.compile(
        r"`[^`\n]{1,300}`|<!--.{0,2000}?-->|\{\#[^}\n]{0,80}\}|https?://\S+"
        r"|\"[^\"]{1,300}\"|\u201c[^\u201d]{1,300}\u201d|\u00ab[^\u00bb]{1,300}\u00bb"
        r"|(?<!\w)'[^'\n]{1,120}'(?!\w)"
        r"|\b(?:looks like|is not|for example|examples?|e\.g\.|bad|good|wrong|right|instead)\b[ \t]*:"
        r"(?:[^\n]|\n(?![ \t]*\n))*|(?m:^[ \t]{0,3}>[^\n]*)",
        re.IGNORECASE | re.DOTALL,
    )


def _body(prose: str, name: Span, *, heading: bool) -> int:
    """Where begins what a criterion says under its name: the first words of an item can be both."""
    if heading:
        end = prose.find("\n", name.end)
        return end if end >= 0 else len(prose)
    if mark := re.compile(r"(?:\*\*|__)?\s?:|(?:\*\*|__)").match(prose, name.end):
        return mark.end()
    return name.begin


def _sentences(prose: str, begin: int, end: int) -> Iterator[Span]:
    """What stands between full stops, empty lines and marks of list items, if it has a letter."""
    at = begin
    for mark in _end().finditer(prose, begin, end):
        yield from _trimmed(prose, at, mark.start())
        at = mark.end()
    yield from _trimmed(prose, at, end)


def _trimmed(prose: str, begin: int, end: int) -> Iterator[Span]:
    text = prose[begin:end]
    if any(char.isalnum() or char == BLOT for char in text):
        lead = len(text) - len(text.lstrip(" \n\t-*+_:"))
        yield Span(begin + lead, begin + max(len(text.rstrip(" \n\t*_:")), lead))


@cache
def _end() -> re.Pattern[str]:
    return re.compile(r"[.!?](?=\s|\Z)|\n[ \t]*\n|\n[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]")
