"""Two demands in one criterion: a verdict about it cannot say which one is open. English only.

Only where it is clear: the first sentence has two halves, and each says of something that it is so, or both
are orders. Three and more in a row are a list, which is one demand as often as not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from sidecar.model.flaw import Edit, Fix, Flaw, Weight
from sidecar.model.outline import Outline, Role, Span
from sidecar.policy.advice.codes import Code
from sidecar.policy.advice.edits import coded, end_of_line, line_end
from sidecar.policy.advice.passage import CACHED, Place

LONGEST: Final = 240
"""Characters of a sentence that is looked at."""


def compound(outline: Outline, place: Place) -> Iterator[Flaw]:
    """At most one flaw, of a pattern."""
    passage = place.passage
    if passage.role is not Role.PATTERNS:
        return
    halves = _halves(passage.sentence(0)) if passage.sentences else None
    at = passage.sentences[0].begin if passage.sentences else 0
    if halves is None and passage.heading and passage.said:
        at, halves = passage.name.begin, _halves(passage.prose[passage.name.begin : passage.name.end])
    if halves is None:
        return
    first, second = (Span(place.begin + at + half.begin, place.begin + at + half.end) for half in halves)
    yield Flaw(
        Code.COMPOUND_CRITERION,
        "two demands in one: where one of them is open, a verdict cannot say which",
        first.begin,
        second.end,
        Weight.HINT,
        "Make two criteria of it.",
        tuple(_fixes(outline, place, first, second)),
    )


def _fixes(outline: Outline, place: Place, first: Span, second: Span) -> Iterator[Fix]:
    """The second half goes into a criterion of its own, behind this one, with the same lines beside it."""
    text, end, whole = outline.text, line_end(outline.text), place.located.whole
    said = " ".join(text[second.begin : second.end].split())
    lines = [text[line.whole.begin : line.whole.end].rstrip() for line in place.located.lines]
    if coded(outline, whole.end):
        return
    if place.passage.heading:
        own = [f"{end}### {said[0].upper()}{said[1:]}", *([""] if lines else []), *lines]
    else:
        marker = _marker().match(text, whole.begin)
        own = [f"{marker[0] if marker else '- '}{said[0].upper()}{said[1:]}", *lines]
    cut = Span(first.end, second.end)
    stop = Edit(Span(whole.end, whole.end), "".join(f"{end}{line}" for line in own))
    if cut.end > whole.end or end_of_line(text, cut.end) > whole.end:
        return
    yield Fix("Make two criteria of it", (Edit(cut, ""), stop))


@lru_cache(maxsize=CACHED)
def _halves(sentence: str) -> tuple[Span, Span] | None:
    """The two demands of a sentence, None where it is one, or more than two."""
    if len(sentence) > LONGEST:
        return None
    found = _apart().split(sentence)
    mark = _apart().search(sentence)
    if mark is None or len(found) != 2 or "," in found[0]:  # noqa: PLR2004 - two halves
        return None
    left, right = found
    if not (_both(_claim(), left, right) or _both(_order(), left, right)):
        return None
    return Span(0, mark.start()), Span(mark.end(), len(sentence))


def _both(form: re.Pattern[str], left: str, right: str) -> bool:
    return form.match(left) is not None and form.match(right) is not None


@cache
def _apart() -> re.Pattern[str]:
    return re.compile(r"\s*;\s+(?:and\s+)?|,?\s+and\s+", re.IGNORECASE)


@cache
def _claim() -> re.Pattern[str]:
    """A thing that is named as one ("the docs", "every handler", "all tests"), and what is said of it."""
    return re.compile(
        r"(?:(?:the|every|each|all|no|a|an)\s(?:[\w'-]+\s){1,4}?"
        r"|(?:(?:unit|integration|end-to-end)\s)?(?:tests|docs|documentation|coverage|checks|types|benchmarks)\s)"
        r"(?:is|are|was|were|has|have|had|must|should|can|passe?s?|passed|runs?|ran|fails?|builds?|exists?|works?|does|do)\b",
        re.IGNORECASE,
    )


@cache
def _order() -> re.Pattern[str]:
    return re.compile(
        r"(?:run|update|add|write|remove|delete|document|check|fix|use|rename|bump|regenerate|format|test|build"
        r"|commit|record|rebuild|verify)\s\w",
        re.IGNORECASE,
    )


@cache
def _marker() -> re.Pattern[str]:
    return re.compile(r"[ ]*(?:[-*+]|\d{1,9}[.)])[ ]{1,4}")
