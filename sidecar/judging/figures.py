"""Counts how evaluated stops ended. A stop that was sent back is the positive answer of the judge.

Intervals, ROC areas and figures at other base rates are computed by `benchmarks/judge`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from sidecar.kernel.stop_history import ChangedOutcome, EvaluatedStop

SAFE_RATE: Final = 0.05
"""The largest share of good stops that a judge may send back if it is called safe."""


class StopCounts(Struct, frozen=True, kw_only=True):
    """How one set of stops ended.

    `early` stops should have been sent back, `good` ones not; `right` are the early ones that were, `accused`
    the good ones that were. `precision` and `recall` are those of sending back, None where nothing was sent
    back or nothing should have been.
    """

    name: str
    early: int
    good: int
    right: int
    accused: int
    false_completes: int
    precision: float | None
    recall: float | None

    @property
    def missed(self) -> int:
        """The early stops that were not sent back."""
        return self.early - self.right

    @property
    def accused_at_most(self) -> float:
        """About the 95 % upper bound of the share of good stops that would be sent back; 3 / n for none."""
        return (self.accused + 3 + 1.7 * math.sqrt(self.accused)) / self.good if self.good else 1.0


def count_stops(name: str, outcomes: Sequence[EvaluatedStop]) -> StopCounts:
    """Count one set of stops, of which the truth is known."""
    ends = Counter((one.premature, one.sent_back) for one in outcomes)
    right, accused = ends[True, True], ends[False, True]
    early = right + ends[True, False]
    return StopCounts(
        name=name,
        early=early,
        good=len(outcomes) - early,
        right=right,
        accused=accused,
        false_completes=count_false_completes(outcomes),
        precision=right / (right + accused) if right + accused else None,
        recall=right / early if early else None,
    )


def count_false_completes(outcomes: Iterable[EvaluatedStop]) -> int:
    """Count the goals called achieved that do not hold, with or without made-up evidence."""
    return sum(one.false_complete for one in outcomes)


def misjudged_stops(outcomes: Iterable[EvaluatedStop]) -> tuple[EvaluatedStop, ...]:
    """Return the wrong ones: false completes first, then stops sent back wrongly, then missed ones."""
    found = [one for one in outcomes if one.wrong]
    return tuple(sorted(found, key=lambda one: (not one.false_complete, one.premature, one.family, one.id)))


def changed_outcomes(
    before: Iterable[EvaluatedStop], after: Iterable[EvaluatedStop]
) -> tuple[ChangedOutcome, ...]:
    """Return the stops in both sets that end differently, as far as that is known."""
    known = {(one.id, one.at): one for one in before}
    pairs = ((known[one.id, one.at], one) for one in after if (one.id, one.at) in known and not one.failed)
    return tuple(ChangedOutcome(old, new) for old, new in pairs if old.ended != new.ended)
