"""Criteria that clash: by their names and ids, or because they say the same or the opposite.

Precision first: two say the same where their words are the same, and the opposite where moreover one of them
denies or forbids what the other demands.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.rubric import Flaw, RubricOutline, SectionRole, TextSpan
from sidecar.rubric.advice.edits import Code, end_of_line, fix, moved, warn, without
from sidecar.rubric.advice.passage import Place

RESERVED: Final = frozenset({"goal", "request"})
"""What a judge calls the goal and the request by, as the reader has it."""
ID_LIMIT: Final = 40
"""Characters of an id."""
ENOUGH: Final = 5
"""Words, without small ones, with which the same words under two names say the same."""
TAKE_OUT: Final = "Take this one out"
LEADS: Final = dict(zip(SectionRole, ("", "not-", "stop-"), strict=True))
"""What an id that is offered begins with, so that it differs between sections."""


def clashes(outline: RubricOutline, places: tuple[Place, ...]) -> Iterator[Flaw]:
    """Criteria that share a name, an id or all their words with an earlier one."""
    named: dict[str, Place] = {}
    known: dict[str, Place] = {}
    saying: dict[Hashable, Place] = {}
    for place in places:
        one, passage = place.located, place.passage
        name = outline.text[one.name.begin : one.name.end]
        spoken = " ".join(re.findall(r"[^\W_]+", name[:500].casefold()))
        if passage.own_id is not None:
            yield from _of_id(outline, place, moved(passage.own_id, place.begin), known)
        elif spoken and (other := named.setdefault(spoken, place)) is not place:
            yield _also(_same_name(outline, place, other), other)
            continue
        same = (place.section.role, *passage.said, one.criterion.applies_to, one.criterion.when)
        other = saying.setdefault(same, place)
        if other is not place and len(passage.said[0]) >= ENOUGH and not _named_alike(place, other):
            drop = without(outline.text, one.whole, TAKE_OUT)
            why = "another criterion says the same"
            yield _also(warn(Code.DUPLICATE_CRITERION, why, one.name, "Make one of the two.", drop), other)


def opposites(places: tuple[Place, ...]) -> Iterator[Flaw]:
    """Each criterion that forbids what an earlier one demands, or the other way round."""
    known: dict[Hashable, tuple[Place, bool]] = {}
    for place in places:
        one, demand = place.located, place.passage.demand
        if demand is not None:
            about, wanted = demand
            same = (about, one.criterion.applies_to, one.criterion.when)
            other, before = known.setdefault(same, (place, wanted))
            if before is not wanted:
                why = f'"{other.located.criterion.name[:60]}" says the opposite'
                help_ = "Keep one of the two, or say when each of them holds."
                yield _also(warn(Code.CONTRADICTION, why, one.name, help_), other, "says the opposite")


def _of_id(outline: RubricOutline, place: Place, chosen: TextSpan, first: dict[str, Place]) -> Iterator[Flaw]:
    """What is wrong with an id that the author chose."""
    ident = outline.text[chosen.begin : chosen.end].strip()[2:-1]
    other = first.setdefault(ident.casefold(), place)
    drop = fix("Leave the id out", chosen, "")
    instead = f"the criterion is `{place.located.criterion.id}` instead"
    if ident.casefold() in RESERVED:
        why = f"a judge calls something else `{ident}`; {instead}"
        yield warn(Code.RESERVED_ID, why, chosen, "Choose another id.", drop)
    elif other is not place:
        why = f"`{ident}` is taken; {instead}"
        yield _also(warn(Code.DUPLICATE_ID, why, chosen, "Choose another id.", drop), other, "has this id")


def _same_name(outline: RubricOutline, place: Place, other: Place) -> Flaw:
    one, role = place.located, place.section.role
    if _named_alike(place, other) and role is other.section.role:
        why = f"there is a criterion of this name already; this one is `{one.criterion.id}`"
        help_ = "Make one of the two, or give this one a name of its own."
        drop = without(outline.text, one.whole, TAKE_OUT)
        return warn(Code.DUPLICATE_CRITERION, why, one.name, help_, drop)
    ident = f"{LEADS[role] if role else ''}{one.criterion.id}"[:ID_LIMIT].rstrip("-.:")
    at = end_of_line(outline.text, one.name.begin)
    given = fix(f"Give it the id `{ident}`", TextSpan(at, at), f" {{#{ident}}}")
    why = f"hardly to be told from another name: this one is `{one.criterion.id}`"
    help_ = "Give one of the two another name, or an id (`{#id}`)."
    return warn(Code.AMBIGUOUS_NAME, why, one.name, help_, *([given] if one.heading else []))


def _named_alike(one: Place, other: Place) -> bool:
    first, second = (each.located.criterion.name.casefold().split() for each in (one, other))
    return first == second


def _also(flaw: Flaw, other: Place, said: str = "the other one") -> Flaw:
    return replace(flaw, also=((other.located.name, said),))
