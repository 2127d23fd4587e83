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

from sidecar.kernel.rubric import LocatedCriterion, RubricOutline, RubricSection, SectionRole, TextSpan
from sidecar.rubric.advice.edits import end_of_line

# --- Words of a text: whether they are English, and what two wordings of one thing have in common. ----------
# A text in another language is not judged by its words: "robust", "simple" and "production" are words of
# many.


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH: Final = _set(
    "the and are were been with that this not must should every each have its which what when where before"
    " after by from does is of to it be has was on"
)
"""Small words of English, among them some that others have too."""
FOREIGN: Final = _set(
    "der die das den dem des und ist sind ein eine einer nicht mit von zu auf im wird werden kein keine oder"
    " dass le la les et est sont un une du de ne pas que qui dans pour avec sur au aux ce cette el los las y"
    " es una del en por con para se su sin al il che di della dei gli e non sono het een zijn niet van voor"
    " met dat och att som inte av til og ikke jest nie na w z i o os um uma em nao ja ei ve bir bu ile"
)
EMPTY: Final = _set(
    "a an the is are was were be been being to of in on at by for with from it its this that these those"
    " there every each all any has have had do does did will must should may can agent you your they their"
    " and or as into"
)
"""Words that two wordings of one demand may differ in."""
DENIALS: Final = _set("not no never without cannot none nothing nobody neither nor avoid lacks missing")


class Tongue(Struct, frozen=True):
    """How many small words of English a text has, and how many of other languages."""

    english: int
    foreign: int


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")


def words(text: str) -> list[str]:
    """The words and numbers of a text in small letters."""
    return _word().findall(text.casefold())


def tongue(found: list[str]) -> Tongue:
    """What these words say about their language; each with a letter beyond ASCII speaks against English."""
    english = sum(word in ENGLISH for word in found)
    foreign = sum(word in FOREIGN or not _plain(word) for word in found)
    return Tongue(english, foreign)


def _plain(word: str) -> bool:
    return word.replace("\u2019", "").isascii()


def denials(found: list[str]) -> int:
    """How many of these words deny something."""
    return sum(word in DENIALS or word.endswith(("n't", "n\u2019t")) for word in found)


def stems(found: list[str]) -> frozenset[str]:
    """What these words are about: without small words, denials and endings."""
    return frozenset(
        _stem(word)
        for word in found
        if word not in EMPTY and word not in DENIALS and not word.endswith(("n't", "n\u2019t"))
    )


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    """A word without the endings of plural, past and "-ing"; short words stay whole ("bed", "sing")."""
    if not word.endswith("ss"):
        word = _cut(word, "es") if word.endswith("es") else _cut(word, "s")
    for ending in ("ing", "ed"):
        stem = _cut(word, ending)
        if stem != word:
            doubled = stem[-1] == stem[-2] != "s"
            return stem[:-1] if doubled else stem.removesuffix("e")
    return word.removesuffix("e")


def _cut(word: str, ending: str) -> str:
    return word.removesuffix(ending) if len(word) > len(ending) + 2 else word


# --- A criterion as advice reads it: which of its words are the author's own demand. ------------------------
# Words in code, in quotation marks, in examples ("Looks like: ...") and in lines that are no prose
# (`Severity: must`) are none. They are blotted out, so that places stay what they are.


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
    role: SectionRole
    heading: bool
    name: TextSpan
    own_id: TextSpan | None
    spoken: str
    said: bool
    sentences: tuple[TextSpan, ...]
    tongue: Tongue

    def sentence(self, number: int) -> str:
        place = self.sentences[number]
        return self.prose[place.begin : place.end]


class Place(Struct, frozen=True):
    """A criterion where it stands in the text: `located` has the places there, `passage` its own."""

    section: RubricSection
    located: LocatedCriterion
    passage: Passage

    @property
    def begin(self) -> int:
        return self.located.whole.begin


def places(outline: RubricOutline) -> tuple[Place, ...]:
    """Every criterion of a text, in its order."""
    return tuple(
        Place(section, one, _passage(outline, section.role, one))
        for section in outline.sections
        if section.role is not None
        for one in section.criteria
    )


def moved(place: TextSpan, by: int) -> TextSpan:
    """A place of a criterion as one of the text in which it begins at `by`."""
    return TextSpan(place.begin + by, place.end + by)


# --- reading ------------------------------------------------------------------------------------------------


def _passage(outline: RubricOutline, role: SectionRole, one: LocatedCriterion) -> Passage:
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
    raw: str,
    name: TextSpan,
    kind: tuple[SectionRole, bool],
    lines: tuple[TextSpan, ...],
    code: tuple[TextSpan, ...],
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


def _own_id(raw: str, begin: int) -> TextSpan | None:
    end = end_of_line(raw, begin)
    found = _id().search(raw, begin, end)
    return TextSpan(*found.span()) if found else None


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


def _body(prose: str, name: TextSpan, *, heading: bool) -> int:
    """Where begins what a criterion says under its name: the first words of an item can be both."""
    if heading:
        end = prose.find("\n", name.end)
        return end if end >= 0 else len(prose)
    if mark := re.compile(r"(?:\*\*|__)?\s?:|(?:\*\*|__)").match(prose, name.end):
        return mark.end()
    return name.begin


def _sentences(prose: str, begin: int, end: int) -> Iterator[TextSpan]:
    """What stands between full stops, empty lines and marks of list items, if it has a letter."""
    at = begin
    for mark in _end().finditer(prose, begin, end):
        yield from _trimmed(prose, at, mark.start())
        at = mark.end()
    yield from _trimmed(prose, at, end)


def _trimmed(prose: str, begin: int, end: int) -> Iterator[TextSpan]:
    text = prose[begin:end]
    if any(char.isalnum() or char == BLOT for char in text):
        lead = len(text) - len(text.lstrip(" \n\t-*+_:"))
        yield TextSpan(begin + lead, begin + max(len(text.rstrip(" \n\t*_:")), lead))


@cache
def _end() -> re.Pattern[str]:
    return re.compile(r"[.!?](?=\s|\Z)|\n[ \t]*\n|\n[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]")
