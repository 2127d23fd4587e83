"""What is weak in a rubric that serves, and what would help.

Laws:
- Precision first: who is accused for a plain sentence switches all of it off. What may be meant is a hint; a
  warning is what is hardly meant, or cannot be decided by anybody.
- Wording is judged in English only; a text in another language is judged by its form.
- The reader's own errors ("missing-section") are found where it reads; here is only what mends them.
- Each fix gives a text that the reader still reads, without that flaw and without another one.
- It runs at every keystroke: what is known of a criterion is remembered as long as its text stays.

This package knows no files and no editors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sidecar.kernel.rubric import EMPTY_RUBRIC_CONTEXT, Flaw, RubricContext, RubricOutline
from sidecar.rubric.advice import decidable, form, globs, likeness, names, unread
from sidecar.rubric.advice.compound import compound, demanded
from sidecar.rubric.advice.passage import Place, places
from sidecar.rubric.advice.vague import vague

LIMIT: Final = 200
"""Flaws that are told of one text; who has more does not read them."""
LONGEST: Final = 64 * 1024
"""Characters of a text that is looked at; one that serves has an eighth of it."""


def advise(outline: RubricOutline, around: RubricContext = EMPTY_RUBRIC_CONTEXT) -> tuple[Flaw, ...]:
    """What is weak in a rubric, in the order of its text."""
    if len(outline.text) > LONGEST:
        return ()
    found = sorted(_all(outline, around), key=lambda flaw: (flaw.begin, flaw.end, flaw.code))
    return tuple(found[:LIMIT])


def _all(outline: RubricOutline, around: RubricContext) -> Iterator[Flaw]:
    known = places(outline)
    yield from form.sections(outline)
    yield from names.names(outline, known)
    yield from likeness.same(outline, known)
    yield from globs.strange(known, around)
    yield from form.file_size(outline)
    yield from form.for_judge(known)
    for place in known:
        yield from unread.unread(outline, place, around)
        yield from decidable.unknown(place, around)
        yield from decidable.by_paths(outline, place)
        yield from form.said_little(place)
    yield from _of_wording(outline, known, around)


def _of_wording(outline: RubricOutline, known: tuple[Place, ...], around: RubricContext) -> Iterator[Flaw]:
    """What is wrong with words, if they are English."""
    tongues = [place.passage.tongue for place in known]
    if sum(each.english for each in tongues) <= sum(each.foreign for each in tongues):
        return
    yield from likeness.opposite(known)
    for place in known:
        if place.passage.tongue.english < place.passage.tongue.foreign:
            continue
        yield from vague(outline, place, around.gates or ())
        yield from compound(outline, place)
        yield from demanded(outline, place)
        yield from decidable.by_wording(place)
