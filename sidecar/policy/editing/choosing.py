"""Which fixes are on offer, and which of them may be made without a look at each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sidecar.model.flaw import Edit, Fix, Flaw
from sidecar.model.outline import Outline, Span
from sidecar.policy.advice import from_default

SAFE: Final = frozenset({"unknown-section", "unknown-severity", "unread-line", "unknown-evidence"})
"""Codes of flaws that are slips of the pen: where there is one fix, the author meant it."""


def touched(flaws: Iterable[Flaw], place: Span) -> Iterator[Flaw]:
    """The flaws that a selection touches."""
    return (flaw for flaw in flaws if flaw.begin <= place.end and place.begin <= flaw.end)


def safe_edits(flaws: Iterable[Flaw]) -> tuple[Edit, ...]:
    """All that can be mended at once, in the order of the text; what would overlap waits."""
    fixes = (flaw.fixes[0] for flaw in flaws if flaw.code in SAFE and len(flaw.fixes) == 1)
    taken: list[Edit] = []
    for fix in fixes:
        if not any(_meet(one, other) for one in fix.edits for other in taken):
            taken += fix.edits
    return tuple(sorted(taken, key=lambda edit: edit.place))


def afresh(outline: Outline, beginning: str) -> Fix | None:
    """Put what a new rubric begins with in place of a text that holds none of its sections."""
    if not beginning or any(section.role for section in outline.sections):
        return None
    return from_default(outline, beginning)


def _meet(one: Edit, other: Edit) -> bool:
    return one.place.begin <= other.place.end and other.place.begin <= one.place.end
