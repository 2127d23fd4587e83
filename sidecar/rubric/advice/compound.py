"""Two demands in one criterion: a verdict about it cannot say which one is open. English only.

Only where it is clear: the first sentence has two halves, and each says of something that it is so, or both
are orders. Three and more in a row are a list, which is one demand as often as not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from sidecar.kernel.rubric import (
    Flaw,
    FlawSeverity,
    QuickFix,
    RubricOutline,
    RubricSection,
    SectionRole,
    TextEdit,
    TextSpan,
)
from sidecar.rubric.advice.edits import Code, coded, end_of_line, line_end, without
from sidecar.rubric.advice.passage import CACHED, Place, denials, words

LONGEST: Final = 240
"""Characters of a sentence that is looked at."""


def compound(outline: RubricOutline, place: Place) -> Iterator[Flaw]:
    """At most one flaw, of a pattern."""
    passage = place.passage
    if passage.role is not SectionRole.PATTERNS:
        return
    halves = _halves(passage.sentence(0)) if passage.sentences else None
    at = passage.sentences[0].begin if passage.sentences else 0
    if halves is None and passage.heading and passage.said:
        at, halves = passage.name.begin, _halves(passage.prose[passage.name.begin : passage.name.end])
    if halves is None:
        return
    first, second = (TextSpan(place.begin + at + half.begin, place.begin + at + half.end) for half in halves)
    yield Flaw(
        Code.COMPOUND_CRITERION,
        "two demands in one: where one of them is open, a verdict cannot say which",
        first.begin,
        second.end,
        FlawSeverity.HINT,
        "Make two criteria of it.",
        tuple(_fixes(outline, place, first, second)),
    )


def _fixes(outline: RubricOutline, place: Place, first: TextSpan, second: TextSpan) -> Iterator[QuickFix]:
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
    cut = TextSpan(first.end, second.end)
    stop = TextEdit(TextSpan(whole.end, whole.end), "".join(f"{end}{line}" for line in own))
    if cut.end > whole.end or end_of_line(text, cut.end) > whole.end:
        return
    yield QuickFix("Make two criteria of it", (TextEdit(cut, ""), stop))


@lru_cache(maxsize=CACHED)
def _halves(sentence: str) -> tuple[TextSpan, TextSpan] | None:
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
    return TextSpan(0, mark.start()), TextSpan(mark.end(), len(sentence))


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


# --- An antipattern that says what to do, not what was done wrong: a judge may take it either way. ----------
# English only, and only what is plainly an order. What forbids ("never", "must not") is
# understood as it is meant.


def demanded(outline: RubricOutline, place: Place) -> Iterator[Flaw]:
    """At most one flaw, of an antipattern."""
    passage = place.passage
    if passage.role is not SectionRole.ANTIPATTERNS or not passage.sentences:
        return
    sentence, at = passage.sentence(0), place.begin + passage.sentences[0].begin
    found = _demand_order().match(sentence)
    if found is None or denials(words(sentence)):
        return
    yield Flaw(
        Code.ANTIPATTERN_AS_DEMAND,
        "an antipattern says what must not be; this says what must be",
        at,
        at + found.end(),
        FlawSeverity.WARNING,
        "Move it to the patterns, or say what it looks like when it is missed.",
        tuple(_moved(outline, place)),
    )


def _moved(outline: RubricOutline, place: Place) -> Iterator[QuickFix]:
    """To the patterns: a heading to their end, an item before their first heading."""
    into = next((section for section in outline.sections if section.role is SectionRole.PATTERNS), None)
    if into is None or len(place.section.criteria) < 2:  # noqa: PLR2004 - one must stay
        return
    text, end, whole = outline.text, line_end(outline.text), place.located.whole
    at = _room(outline, into, heading=place.passage.heading)
    if coded(outline, at):
        return
    gap = end if not place.passage.heading and at != end_of_line(text, into.title.end) else end * 2
    put = TextEdit(TextSpan(at, at), f"{gap}{text[whole.begin : whole.end]}")
    yield QuickFix(
        "Move it to the patterns", tuple(sorted((put, without(text, whole)), key=lambda edit: edit.place))
    )


def _room(outline: RubricOutline, into: RubricSection, *, heading: bool) -> int:
    if heading:
        return into.whole.end
    items = [one for one in into.criteria if not one.heading]
    return items[-1].whole.end if items else end_of_line(outline.text, into.title.end)


@cache
def _demand_order() -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:please )?always\b|make sure\b|ensure\b|be sure to\b|remember to\b"
        r"|(?:you|the agent|agents) (?:must|should|has to|have to|shall)\b)",
        re.IGNORECASE,
    )
