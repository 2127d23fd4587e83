"""Criteria that say the same, or the opposite. Precision first: only what is alike word for word, nearly.

Two are the opposite of each other where their words are the same ones and one of them denies or forbids what
the other demands. With two denials in a sentence nobody knows what it says, so nothing is said of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from sidecar.kernel.rubric import Flaw, FlawSeverity, QuickFix, RubricOutline, SectionRole
from sidecar.rubric.advice.edits import Code, without
from sidecar.rubric.advice.passage import BLOT, CACHED, Passage, Place, denials, stems, words

ALIKE: Final = 0.85
"""Share of the words of two criteria together that both have, from which on they say the same."""
ENOUGH: Final = 8
"""Words with which two criteria can be nearly alike; with fewer they have to be the same words."""
LEAST: Final = 3
"""Words of a criterion, its name among them, with which the same words say the same."""
UNDER_OTHER_NAME: Final = 5
"""Words under two names with which the same words say the same."""
COMPARED: Final = 20
"""Criteria with a word in common that one is compared with, the last ones."""
PAIRS: Final = 16 * CACHED
"""Pairs of criteria of which it is remembered whether they say the same."""
SHORTEST: Final = 2
"""Words of a demand that has an opposite."""
LONGEST: Final = 200
"""Characters of a demand that has one."""


class Gist(Struct, frozen=True, cache_hash=True):
    """What a criterion says, without small words.

    `said`: the words under its name; `named`: with its name. `demand`: those of its first sentence, None
    where it has no opposite. `wanted`: whether the demand is to be rather than not to be.
    """

    said: frozenset[str]
    named: frozenset[str]
    denials: int
    demand: frozenset[str] | None
    wanted: bool


def same(outline: RubricOutline, places: tuple[Place, ...]) -> Iterator[Flaw]:
    """Each criterion of a section that says what an earlier one of it says, under another name."""
    for role in SectionRole:
        ones = [place for place in places if place.section.role is role]
        for place, other in _alike(ones):
            yield Flaw(
                Code.DUPLICATE_CRITERION,
                "another criterion says nearly the same",
                place.located.name.begin,
                place.located.name.end,
                FlawSeverity.WARNING,
                "Make one of the two.",
                (QuickFix("Take this one out", (without(outline.text, place.located.whole),)),),
                ((other.located.name, "the other one"),),
            )


def opposite(places: tuple[Place, ...]) -> Iterator[Flaw]:
    """Each criterion that forbids what an earlier one demands, or the other way round."""
    known: dict[frozenset[str], Place] = {}
    for place in places:
        gist = _gist(place.passage)
        if gist.demand is None:
            continue
        other = known.setdefault(gist.demand, place)
        if _gist(other.passage).wanted is not gist.wanted and _for_the_same(place, other):
            yield Flaw(
                Code.CONTRADICTION,
                f'"{other.located.criterion.name[:60]}" says the opposite',
                place.located.name.begin,
                place.located.name.end,
                FlawSeverity.WARNING,
                "Keep one of the two, or say when each of them holds.",
                (),
                ((other.located.name, "says the opposite"),),
            )


def _alike(places: list[Place]) -> Iterator[tuple[Place, Place]]:
    """Pairs that say the same. Only those are compared that share one of their longest words.

    Of two sets of which ALIKE is in both, each has a common word among its first ones in any fixed order; so
    a few words of each lead to all that can be alike.
    """
    by_word: dict[str, list[int]] = defaultdict(list)
    gists = [_gist(place.passage) for place in places]
    for number, (place, gist) in enumerate(zip(places, gists, strict=True)):
        leads = _leads(gist.said)
        near = sorted({each for word in leads for each in by_word[word][-COMPARED:]})
        alike = (places[each] for each in near if _says_the_same(gist, gists[each]))
        other = next(
            (each for each in alike if _for_the_same(place, each) and not _same_name(place, each)), None
        )
        if other is not None:
            yield place, other
        for word in leads:
            by_word[word].append(number)


@lru_cache(maxsize=CACHED)
def _leads(found: frozenset[str]) -> tuple[str, ...]:
    ordered = sorted(found, key=lambda word: (-len(word), word))
    return tuple(ordered[: len(ordered) - int(ALIKE * len(ordered)) + 1])


@lru_cache(maxsize=PAIRS)
def _says_the_same(first: Gist, second: Gist) -> bool:
    if first.denials != second.denials:
        return False
    if first.named == second.named and len(first.named) >= LEAST:
        return True
    if first.said == second.said and len(first.said) >= UNDER_OTHER_NAME:
        return True
    common = len(first.said & second.said)
    all_of = len(first.said) + len(second.said) - common
    return all_of >= ENOUGH and common >= ALIKE * all_of and not _numbers(first.said ^ second.said)


def _same_name(one: Place, other: Place) -> bool:
    """Names that are the same are spoken of elsewhere."""
    first, second = (each.located.criterion.name.casefold().split() for each in (one, other))
    return first == second


def _numbers(found: frozenset[str]) -> bool:
    return any(char.isdigit() for word in found for char in word)


def _for_the_same(one: Place, other: Place) -> bool:
    first, second = one.located.criterion, other.located.criterion
    return (first.applies_to, first.when) == (second.applies_to, second.when)


# --- gist ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=CACHED)
def _gist(passage: Passage) -> Gist:
    both = zip(passage.raw, passage.prose, strict=True)
    kept = "".join(there if shown in (there, BLOT) else " " for there, shown in both)
    spans = passage.sentences
    under = words(kept[spans[0].begin if spans else 0 :])
    whole = words(kept[passage.name.begin :])
    alone = spans and (passage.role is SectionRole.PATTERNS or len(spans) == 1)
    demand, wanted = _demand(passage.sentence(0), passage.role) if alone else (None, True)
    return Gist(stems(under), stems(whole), denials(whole), demand, wanted)


def _demand(sentence: str, role: SectionRole) -> tuple[frozenset[str] | None, bool]:
    """The words of a demand, and whether it is to be. None where it has no opposite that can be told."""
    if BLOT in sentence or len(sentence) > LONGEST:
        return None, True
    bad = role is SectionRole.ANTIPATTERNS
    if bad and _ambiguous().match(sentence):
        return None, True
    if bad and (order := _forbidding().match(sentence)):
        sentence = sentence[order.end() :]
    found = words(sentence)
    denied = denials(found)
    about = stems(found)
    if denied > 1 or len(about) < SHORTEST:
        return None, True
    return about, (denied == 1) is bad


@cache
def _forbidding() -> re.Pattern[str]:
    """The beginning of an antipattern that forbids, as its section does anyway."""
    return re.compile(
        r"(?:never|do not|don['\u2019]t|avoid|(?:you |agents? )?(?:must|should) (?:not|never))\s",
        re.IGNORECASE,
    )


@cache
def _ambiguous() -> re.Pattern[str]:
    """The beginning of one that may be either: "no print" forbids a print, "no tests" regrets their lack."""
    return re.compile(r"no[ -]|always\b|make sure\b|ensure\b", re.IGNORECASE)
