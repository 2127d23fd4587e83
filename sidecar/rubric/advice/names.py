"""Names and ids by which a verdict speaks of a criterion: whether they tell it from every other one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sidecar.kernel.rubric import Flaw, FlawSeverity, QuickFix, RubricOutline, SectionRole, TextEdit, TextSpan
from sidecar.rubric.advice.edits import Code, end_of_line, without
from sidecar.rubric.advice.passage import Place, moved

RESERVED: Final = frozenset({"goal", "request"})
"""What a judge calls the goal and the request by, as the reader has it."""
ID_LIMIT: Final = 40
"""Characters of an id."""


def names(outline: RubricOutline, places: tuple[Place, ...]) -> Iterator[Flaw]:
    """Criteria that share a name or an id."""
    first_named: dict[str, Place] = {}
    first_known: dict[str, Place] = {}
    for place in places:
        if place.passage.own_id is not None:
            chosen = moved(place.passage.own_id, place.begin)
            yield from _of_id(outline, place, chosen, first_known)
            continue
        other = first_named.setdefault(place.passage.spoken, place)
        if other is not place and place.passage.spoken:
            yield _same_name(outline, place, other)


def _of_id(outline: RubricOutline, place: Place, chosen: TextSpan, first: dict[str, Place]) -> Iterator[Flaw]:
    """What is wrong with an id that the author chose."""
    ident = outline.text[chosen.begin : chosen.end].strip()[2:-1]
    other = first.setdefault(ident.casefold(), place)
    drop = QuickFix("Leave the id out", (TextEdit(chosen, ""),))
    if ident.casefold() in RESERVED:
        why = (
            f"a judge calls something else `{ident}`; the criterion is `{place.located.criterion.id}` instead"
        )
        yield Flaw(Code.RESERVED_ID, why, *_ends(chosen), FlawSeverity.WARNING, "Choose another id.", (drop,))
    elif other is not place:
        why = f"`{ident}` is taken; this criterion is `{place.located.criterion.id}` instead"
        also = ((other.located.name, "has this id"),)
        yield Flaw(
            Code.DUPLICATE_ID, why, *_ends(chosen), FlawSeverity.WARNING, "Choose another id.", (drop,), also
        )


def _same_name(outline: RubricOutline, place: Place, other: Place) -> Flaw:
    one, name = place.located, place.located.criterion.name
    also = ((other.located.name, "the other one"),)
    same = " ".join(name.split()).casefold() == " ".join(other.located.criterion.name.split()).casefold()
    if same and place.section.role is other.section.role:
        return Flaw(
            Code.DUPLICATE_CRITERION,
            f"there is a criterion of this name already; this one is `{one.criterion.id}`",
            *_ends(one.name),
            FlawSeverity.WARNING,
            "Make one of the two, or give this one a name of its own.",
            (QuickFix("Take this one out", (without(outline.text, one.whole),)),),
            also,
        )
    ident = f"{_lead(place.section.role)}{one.criterion.id}"[:ID_LIMIT].rstrip("-.:")
    at = end_of_line(outline.text, one.name.begin) if one.heading else None
    fix = (
        (QuickFix(f"Give it the id `{ident}`", (TextEdit(TextSpan(at, at), f" {{#{ident}}}"),)),)
        if at is not None
        else ()
    )
    return Flaw(
        Code.AMBIGUOUS_NAME,
        f"hardly to be told from another name: this one is `{one.criterion.id}`",
        *_ends(one.name),
        FlawSeverity.WARNING,
        "Give one of the two another name, or an id (`{#id}`).",
        fix,
        also,
    )


def _lead(role: SectionRole | None) -> str:
    return {SectionRole.ANTIPATTERNS: "not-", SectionRole.LEGITIMATE: "stop-"}.get(role, "") if role else ""


def _ends(span: TextSpan) -> tuple[int, int]:
    return span.begin, span.end
