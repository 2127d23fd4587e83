"""What does not fit: in the file, in what a judge reads of it, or in the head of a reader."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from sidecar.model.flaw import Flaw, Weight
from sidecar.model.outline import Outline, Role
from sidecar.policy.advice.codes import Code
from sidecar.policy.advice.edits import line_at
from sidecar.policy.advice.passage import BLOT, CACHED, Passage, Place

LIMIT: Final = 8 * 1024
"""Bytes of a rubric, as its reader has it."""
NEARLY: Final = 0.9
"""Share of LIMIT from which on it is said."""
ROOM: Final = 3_000
"""Tokens of all criteria that a judge reads, as the wording of its prompt has it."""
CUT_TO: Final = 150
"""Tokens of each text that are left where there are more than ROOM."""
NAME_LIMIT: Final = 120
"""Characters of a name that a judge reads."""
ASCII_PER_TOKEN: Final = 4.6
"""Characters; the estimate of the prompt's wording says 2.5 to 4.6 for prose."""
TOKENS_PER_OTHER: Final = 1.2
"""Tokens of a character beyond ASCII, at the least; the same estimate says 1.2 to 4."""
WIDE: Final = "\u0e00"
"""From here on letters are of scripts that do not part words with blanks, or say a word in one of them."""
PLAIN: Final = frozenset(("no", "not", "never"))


def file_size(outline: Outline) -> Iterator[Flaw]:
    """That the file is nearly as big as it may be."""
    text = outline.text
    size = len(text.encode("utf-8", "replace"))
    if NEARLY * LIMIT <= size <= LIMIT:
        end = len(text.rstrip())
        begin = line_at(text, end).begin
        why = f"{size} bytes; with more than {LIMIT} the file cannot serve"
        yield Flaw(Code.NEARLY_TOO_BIG, why, begin, end, Weight.HINT, "Take out what never fired.")


def for_judge(places: tuple[Place, ...]) -> Iterator[Flaw]:
    """What a judge does not get to read. The estimate is low: what is told is cut, and more may be."""
    yield from _long_names(places)
    always = [
        (place, tokens(place.passage.raw)) for place in places if not place.located.criterion.applies_to
    ]
    total = sum(size for _, size in always)
    if total <= ROOM:
        return
    filled = 0.0
    for place, size in always:
        over, filled = filled <= ROOM < filled + size, filled + size
        if over:
            why = f"here a judge's room is full: {ROOM} tokens, and all criteria need {round(total)} or more"
            yield _of_name(
                Code.TOO_MANY_CRITERIA, why, place, "Say which files a criterion is about, or take some out."
            )
        if size > CUT_TO:
            why = f"a judge reads the beginning and the end of it, {CUT_TO} of {round(size)} tokens or more"
            yield _of_name(Code.TOO_LONG_CRITERION, why, place, "Say it shorter, or make two of it.")


@lru_cache(maxsize=CACHED)
def tokens(text: str) -> float:
    """Tokens that a text has at the least."""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return plain / ASCII_PER_TOKEN + (len(text) - plain) * TOKENS_PER_OTHER


def _long_names(places: tuple[Place, ...]) -> Iterator[Flaw]:
    for place in places:
        name = place.located.name
        if place.passage.heading and name.end - name.begin > NAME_LIMIT:
            why = f"a judge reads {NAME_LIMIT} characters of a name"
            begin = name.begin + NAME_LIMIT
            yield Flaw(
                Code.TOO_LONG_CRITERION, why, begin, name.end, Weight.WARNING, "Put the rest below it."
            )


def _of_name(code: Code, why: str, place: Place, advice: str) -> Flaw:
    name = place.located.name
    return Flaw(code, why, name.begin, name.end, Weight.WARNING, advice)


def said_little(place: Place) -> Iterator[Flaw]:
    """That there is a name alone, and it says too little: one word is a warning, two are a hint."""
    count = _alone(place.passage)
    if count in {1, 2}:
        name = place.located.name
        yield Flaw(
            Code.NO_TEXT,
            "a judge is told this name, and nothing about it",
            name.begin,
            name.end,
            Weight.WARNING if count == 1 else Weight.HINT,
            "Say below it what has to be seen.",
        )


@lru_cache(maxsize=CACHED)
def _alone(passage: Passage) -> int:
    """How many words a criterion says in all; 0 where they may be enough."""
    if passage.role is Role.LEGITIMATE or BLOT in passage.prose or not passage.sentences:
        return 0
    name = passage.prose[passage.name.begin : passage.name.end]
    whole = len(passage.sentences) == 1 and passage.sentence(0).strip(" .:") == name.strip(" .:")
    if not whole or any(char >= WIDE for char in name):
        return 0
    found = name.replace("-", " ").split()
    return 0 if len(found) == 2 and found[0].casefold() in PLAIN else len(found)  # noqa: PLR2004 - words
