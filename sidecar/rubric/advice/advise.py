"""What is weak in a rubric that serves, and what would help.

Laws:
- What is told has a fix or prevents a misreading; taste in wording is the author's.
- Precision first: who is accused for a plain sentence switches all of it off.
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
from sidecar.rubric.advice import clashes, form, globs, lines
from sidecar.rubric.advice.edits import Code, moved, warn
from sidecar.rubric.advice.passage import places
from sidecar.rubric.advice.wording import AdviceWording

LIMIT: Final = 200
"""Flaws that are told of one text; who has more does not read them."""
LONGEST: Final = 64 * 1024
"""Characters of a text that is looked at; one that serves has an eighth of it."""
SEEN: Final = (
    "Say what can be seen when the agent stops: in the changed files, in what a command returned, or in the"
    " last message."
)


def advise(
    outline: RubricOutline, wording: AdviceWording, around: RubricContext = EMPTY_RUBRIC_CONTEXT
) -> tuple[Flaw, ...]:
    """What is weak in a rubric, in the order of its text."""
    if len(outline.text) > LONGEST:
        return ()
    found = sorted(_all(outline, wording, around), key=lambda flaw: (flaw.begin, flaw.end, flaw.code))
    return tuple(found[:LIMIT])


def _all(outline: RubricOutline, wording: AdviceWording, around: RubricContext) -> Iterator[Flaw]:
    known = places(outline, wording)
    yield from form.sections(outline, wording)
    yield from form.file_size(outline)
    yield from form.for_judge(known)
    yield from clashes.clashes(outline, known)
    yield from globs.strange(known, around)
    for place in known:
        yield from lines.unread(outline, place, around, wording)
        yield from lines.unknown(place, around)
    if sum(place.passage.english for place in known) > 0:
        yield from clashes.opposites(known)
        for place in known:
            found = place.passage.beyond
            if found and place.passage.english >= 0 and not place.located.criterion.evidence:
                yield warn(Code.UNDECIDABLE, found[0], moved(found[1], place.begin), SEEN)
