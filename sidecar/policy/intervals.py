"""Shares and areas with their 95 % intervals, by arithmetic alone.

    share              Wilson (1927): holds for counts near 0 and for few stops too
    a ratio of shares  Donner and Zou (2012) from the two Wilson intervals: precision at another base rate
    area               Mann-Whitney with ties at a half; Hanley and McNeil's (1982) variance taken at each end
                       of the interval, as Newcombe (2006, method 5) does: an area of 1 has an interval too

Checked against the worked examples of these papers. What this file does not know: what is counted.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

Z: Final = 1.959964
"""Standard deviations on either side that hold 95 % of a normal distribution."""
HALVINGS: Final = 60
"""Steps to find an end of an interval between 0 and 1: more than a float tells apart."""


class Estimate(Struct, frozen=True):
    """A figure between 0 and 1 and the interval that holds the true one with 95 %."""

    value: float
    low: float
    high: float


class Share(Struct, frozen=True):
    """A count of a number."""

    count: int
    of: int

    @property
    def rate(self) -> float | None:
        """The share, None of nothing."""
        return self.count / self.of if self.of else None

    @property
    def estimate(self) -> Estimate | None:
        """The share with its interval by Wilson, None of nothing."""
        if not self.of:
            return None
        rate, spread = self.count / self.of, Z * Z / self.of
        middle = rate + spread / 2
        half = Z * math.sqrt(rate * (1 - rate) / self.of + spread / self.of / 4)
        low = (middle - half) / (1 + spread) if self.count else 0.0
        high = (middle + half) / (1 + spread) if self.count < self.of else 1.0
        return Estimate(rate, low, high)


def ratio(upper: Share, lower: Share) -> Estimate | None:
    """The first share by the second; ends may be infinite. None where one is of nothing, or both are 0.

    Both ends are the roots of a quadratic equation. The lower is written so that it divides by nothing that
    may be 0; the upper is infinite where the second share may be 0.
    """
    above, below = upper.estimate, lower.estimate
    if above is None or below is None or not (upper.count or lower.count):
        return None
    product = above.value * below.value
    least, most = above.low * (2 * above.value - above.low), above.high * (2 * above.value - above.high)
    small, great = below.low * (2 * below.value - below.low), below.high * (2 * below.value - below.high)
    root = math.sqrt(max(0.0, product * product - least * great))
    low = least / (product + root) if product + root else 0.0
    high = (product + math.sqrt(max(0.0, product * product - most * small))) / small if small else math.inf
    return Estimate(above.value / below.value if lower.count else math.inf, low, high)


def precision_at(base_rate: float, hits: Share, false_alarms: Share) -> Estimate | None:
    """The precision where `base_rate` of all stops are premature: what the two conditional rates make of it.

    `hits` are the premature ones that were sent back, `false_alarms` the legitimate ones. It falls with the
    ratio of false alarms to hits, and so its interval is that of the ratio. None where nothing is sent back.
    """
    odds = ratio(false_alarms, hits)
    if odds is None:
        return None
    weight = (1 - base_rate) / base_rate
    return Estimate(*(1 / (1 + weight * each) for each in (odds.value, odds.high, odds.low)))


def area(positive: Sequence[float], negative: Sequence[float]) -> Estimate | None:
    """How likely a positive has the higher number than a negative: the area under the ROC curve.

    None where there is none of either kind.
    """
    if not positive or not negative:
        return None
    ordered = sorted(negative)
    twice = sum(bisect_left(ordered, each) + bisect_right(ordered, each) for each in positive)
    value = twice / (2 * len(positive) * len(negative))
    count = len(positive) * len(negative), (len(positive) + len(negative)) / 2 - 1

    def strange(true: float) -> bool:
        """Whether what was seen would be unlikely if this were the true area."""
        return (value - true) ** 2 > Z * Z * _variance(true, *count)

    low = _edge(strange, 0.0, value)
    return Estimate(value, low, 1.0 - _edge(lambda end: strange(1.0 - end), 0.0, 1.0 - value))


def _variance(true: float, pairs: int, half: float) -> float:
    """Hanley and McNeil's, with both numbers of stops replaced by their mean where they stand alone."""
    spread = (1 - true) / (2 - true) + true / (1 + true)
    return true * (1 - true) * (1 + half * spread) / pairs


def _edge(strange: Callable[[float], bool], low: float, high: float) -> float:
    """Where, between `low` and `high`, a figure begins to be credible; it is at `high`."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if strange(middle) else (low, middle)
    return high
