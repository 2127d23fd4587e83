"""A criterion as advice reads it: which of its words are the author's own demand.

Words in code, in quotation marks, in examples ("Looks like: ...") and in lines that are no prose
(`Severity: must`) are none. They are blotted out, so that places stay what they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct

from sidecar.kernel.rubric import LocatedCriterion, RubricOutline, RubricSection, SectionRole, TextSpan
from sidecar.rubric.advice.edits import end_of_line, moved
from sidecar.rubric.advice.wording import AdviceWording

BLOT: Final = "\ue000"
"""Stands for each character of what is quoted or code; no language uses it."""
CACHED: Final = 2048
"""Criteria that are remembered: in a text of 8 KiB there are no more."""
LONGEST_DEMAND: Final = 200
"""Characters of a demand of which an opposite can be told."""


OWN_ID: Final = r"\s{0,8}\{#[^\W_][\w.:-]{0,39}\}(?=\s*$)"
SENTENCE_END: Final = r"[.!?](?=\s|\Z)|\n[ \t]*\n|\n[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]"
QUOTED: Final = (
    r"(?is)`[^`\n]{1,300}`|<!--.{0,2000}?-->|\{\#[^}\n]{0,80}\}|https?://\S+"
    r"|\"[^\"]{1,300}\"|\u201c[^\u201d]{1,300}\u201d|\u00ab[^\u00bb]{1,300}\u00bb"
    r"|(?<!\w)'[^'\n]{1,120}'(?!\w)"
    r"|\b(?:looks like|is not|for example|examples?|e\.g\.|bad|good|wrong|right|instead)\b[ \t]*:"
    r"(?:[^\n]|\n(?![ \t]*\n))*|(?m:^[ \t]{0,3}>[^\n]*)"
)
"""Code within a line, quotations, comments, ids, addresses; examples to the end of their paragraph."""


class Passage(Struct, frozen=True, kw_only=True, eq=False):
    """A criterion. Places are counted from its first character.

    `raw` is its text as it is written, `prose` the same with the words blotted out that are not the author's
    demand. `own_id` is its `{#id}` with the blanks before it. `english` is how many more small words are
    English than foreign. `said` are the words it says without small ones, and how many deny something.
    `demand` are the words of its first sentence, and whether it is to be rather than not to be; None where no
    opposite can be told. `beyond` is why no evidence can show it, and where.
    """

    raw: str
    prose: str
    own_id: TextSpan | None
    english: int
    said: tuple[frozenset[str], int]
    demand: tuple[frozenset[str], bool] | None
    beyond: tuple[str, TextSpan] | None


class Place(Struct, frozen=True):
    """A criterion where it stands in the text: `located` has the places there, `passage` its own."""

    section: RubricSection
    located: LocatedCriterion
    passage: Passage

    @property
    def begin(self) -> int:
        return self.located.whole.begin


def places(outline: RubricOutline, wording: AdviceWording) -> tuple[Place, ...]:
    """Every criterion of a text, in its order."""
    return tuple(
        Place(section, one, _passage(outline, section.role, one, wording))
        for section in outline.sections
        if section.role is not None
        for one in section.criteria
    )


def _passage(
    outline: RubricOutline, role: SectionRole, one: LocatedCriterion, wording: AdviceWording
) -> Passage:
    begin, end = one.whole.begin, one.whole.end
    first = bisect_left(outline.code, begin, key=lambda span: span.end)
    last = bisect_left(outline.code, end, key=lambda span: span.begin)
    lines = tuple((line.whole.begin - begin, line.whole.end - begin, " ") for line in one.lines)
    code = tuple(
        (max(span.begin, begin) - begin, min(span.end, end) - begin, BLOT)
        for span in outline.code[first:last]
    )
    return _read(outline.text[begin:end], moved(one.name, -begin), (role, one.heading), lines + code, wording)


@lru_cache(maxsize=CACHED)
def _read(
    raw: str,
    name: TextSpan,
    kind: tuple[SectionRole, bool],
    hidden: tuple[tuple[int, int, str], ...],
    wording: AdviceWording,
) -> Passage:
    role, heading = kind
    prose = raw.replace("\r\n", " \n").replace("\r", "\n")
    for begin, end, blot in hidden:
        prose = prose[:begin] + blot * (end - begin) + prose[end:]
    prose = re.sub(QUOTED, lambda found: BLOT * len(found[0]), prose)
    body = [*_sentences(prose, _body(prose, name, heading=heading), len(prose))]
    sentences = body or [*_sentences(prose, name.begin, name.end)]
    begin = sentences[0].begin if sentences else 0
    kept = "".join(there if shown in (there, BLOT) else " " for there, shown in zip(raw, prose, strict=True))
    alone = sentences and (role is SectionRole.PATTERNS or len(sentences) == 1)
    first = prose[sentences[0].begin : sentences[0].end] if alone else BLOT
    said, chosen = _words(kept[begin:]), re.compile(OWN_ID).search(raw, name.end, end_of_line(raw, name.end))
    return Passage(
        raw=raw,
        prose=prose,
        own_id=TextSpan(*chosen.span()) if chosen else None,
        english=sum(_english(word, wording) for word in _words(prose.replace(BLOT, " "))),
        said=(stems(said, wording), _denials(said, wording)),
        demand=_demand(first, role, wording),
        beyond=_beyond(prose, begin, wording) if role is not SectionRole.LEGITIMATE else None,
    )


def _body(prose: str, name: TextSpan, *, heading: bool) -> int:
    """Where begins what a criterion says under its name: the first words of an item can be both."""
    if heading:
        end = prose.find("\n", name.end)
        return end if end >= 0 else len(prose)
    mark = re.compile(r"(?:\*\*|__)?\s?:|(?:\*\*|__)").match(prose, name.end)
    return mark.end() if mark else name.begin


def _sentences(prose: str, begin: int, end: int) -> Iterator[TextSpan]:
    """What stands between full stops, empty lines and marks of list items, if it has a letter."""
    for mark in [*re.compile(SENTENCE_END).finditer(prose, begin, end), None]:
        text = prose[begin : mark.start() if mark else end]
        if any(char.isalnum() or char == BLOT for char in text):
            lead = len(text) - len(text.lstrip(" \n\t-*+_:"))
            yield TextSpan(begin + lead, begin + max(len(text.rstrip(" \n\t*_:")), lead))
        begin = mark.end() if mark else end


# --- what it says -------------------------------------------------------------------------------------------


def _beyond(prose: str, begin: int, wording: AdviceWording) -> tuple[str, TextSpan] | None:
    """The first wording of what no evidence of a stop can show."""
    for why, pattern in wording.undecidable.items():
        if found := re.compile(pattern, re.IGNORECASE).search(prose, begin):
            return why, TextSpan(*found.span())
    return None


def _demand(sentence: str, role: SectionRole, wording: AdviceWording) -> tuple[frozenset[str], bool] | None:
    """What a sentence demands. With two denials nobody knows what it says, so nothing is said of it."""
    bad = role is SectionRole.ANTIPATTERNS
    if BLOT in sentence or len(sentence) > LONGEST_DEMAND:
        return None
    if bad and re.match(wording.unclear, sentence, re.IGNORECASE):
        return None
    found = _words(re.sub(wording.forbids, "", sentence, flags=re.IGNORECASE) if bad else sentence)
    denied, about = _denials(found, wording), stems(found, wording)
    return (about, (denied == 1) is bad) if denied <= 1 < len(about) else None


def _words(text: str) -> list[str]:
    """The words and numbers of a text in small letters."""
    return re.findall(r"[^\W_]+(?:['\u2019][^\W\d_]+)?", text.casefold())


def _english(word: str, wording: AdviceWording) -> int:
    foreign = word in wording.foreign or not word.replace("\u2019", "").isascii()
    return (word in wording.english) - foreign


def _denials(found: list[str], wording: AdviceWording) -> int:
    return sum(word in wording.denials or word.endswith(("n't", "n\u2019t")) for word in found)


def stems(found: list[str], wording: AdviceWording) -> frozenset[str]:
    """What these words are about: without small words, denials and endings ("passes", "committed")."""
    kept = (word for word in found if word not in wording.small and not _denials([word], wording))
    bare = (re.sub(r"(?<=\w\w\w)(?:ing|ed|es|s)\Z", "", word) for word in kept)
    return frozenset(re.sub(r"(?<=\w\w)(?:(\w)(?=\1)\w|e)\Z", r"\1", word) for word in bare)
