"""An antipattern that says what to do, not what was done wrong: a judge may take it either way.

English only, and only what is plainly an order. What forbids ("never", "must not") is
understood as it is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sidecar.model.flaw import Edit, Fix, Flaw, Weight
from sidecar.model.outline import Outline, Role, Section, Span
from sidecar.policy.advice.codes import Code
from sidecar.policy.advice.edits import coded, end_of_line, line_end, without
from sidecar.policy.advice.english import denials, words
from sidecar.policy.advice.passage import Place


def demanded(outline: Outline, place: Place) -> Iterator[Flaw]:
    """At most one flaw, of an antipattern."""
    passage = place.passage
    if passage.role is not Role.ANTIPATTERNS or not passage.sentences:
        return
    sentence, at = passage.sentence(0), place.begin + passage.sentences[0].begin
    found = _order().match(sentence)
    if found is None or denials(words(sentence)):
        return
    yield Flaw(
        Code.ANTIPATTERN_AS_DEMAND,
        "an antipattern says what must not be; this says what must be",
        at,
        at + found.end(),
        Weight.WARNING,
        "Move it to the patterns, or say what it looks like when it is missed.",
        tuple(_moved(outline, place)),
    )


def _moved(outline: Outline, place: Place) -> Iterator[Fix]:
    """To the patterns: a heading to their end, an item before their first heading."""
    into = next((section for section in outline.sections if section.role is Role.PATTERNS), None)
    if into is None or len(place.section.criteria) < 2:  # noqa: PLR2004 - one must stay
        return
    text, end, whole = outline.text, line_end(outline.text), place.located.whole
    at = _room(outline, into, heading=place.passage.heading)
    if coded(outline, at):
        return
    gap = end if not place.passage.heading and at != end_of_line(text, into.title.end) else end * 2
    put = Edit(Span(at, at), f"{gap}{text[whole.begin : whole.end]}")
    yield Fix(
        "Move it to the patterns", tuple(sorted((put, without(text, whole)), key=lambda edit: edit.place))
    )


def _room(outline: Outline, into: Section, *, heading: bool) -> int:
    if heading:
        return into.whole.end
    items = [one for one in into.criteria if not one.heading]
    return items[-1].whole.end if items else end_of_line(outline.text, into.title.end)


@cache
def _order() -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:please )?always\b|make sure\b|ensure\b|be sure to\b|remember to\b"
        r"|(?:you|the agent|agents) (?:must|should|has to|have to|shall)\b)",
        re.IGNORECASE,
    )
