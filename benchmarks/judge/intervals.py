"""Proportions and ROC areas with 95 % confidence intervals, in closed form or by bisection.

    proportion            Wilson (1927): valid for counts near 0 and for few stops too
    ratio of proportions  Donner and Zou (2012) from the two Wilson intervals; used for precision at another
                          base rate
    area                  Mann-Whitney with ties counted as a half; Hanley and McNeil's (1982) variance,
                          taken at each end of the interval as in Newcombe (2006, method 5), so that an area
                          of 1 has an interval too

Checked against the worked examples of these papers.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

Z_95_PERCENT: Final = 1.959964
"""Standard deviations on either side of the mean that hold 95 % of a normal distribution."""
BISECTION_STEPS: Final = 60
"""Bisection steps between 0 and 1, more than the precision of a float needs."""


class Estimate(Struct, frozen=True):
    """A value between 0 and 1 with its 95 % confidence interval."""

    value: float
    low: float
    high: float


class Proportion(Struct, frozen=True):
    """`count` out of `of`."""

    count: int
    of: int

    @property
    def rate(self) -> float | None:
        """The share, or None if `of` is 0."""
        return self.count / self.of if self.of else None

    @property
    def estimate(self) -> Estimate | None:
        """The share with its Wilson interval, or None if `of` is 0."""
        if not self.of:
            return None
        rate, spread = self.count / self.of, Z_95_PERCENT * Z_95_PERCENT / self.of
        middle = rate + spread / 2
        half = Z_95_PERCENT * math.sqrt(rate * (1 - rate) / self.of + spread / self.of / 4)
        low = (middle - half) / (1 + spread) if self.count else 0.0
        high = (middle + half) / (1 + spread) if self.count < self.of else 1.0
        return Estimate(rate, low, high)


def share_ratio(upper: Proportion, lower: Proportion) -> Estimate | None:
    """Return `upper` divided by `lower`; the value and the upper end may be infinite.

    Returns None if either is a share of nothing or both are 0. The ends are the roots of a quadratic
    equation. The lower end is written so that it never divides by 0; the upper end is infinite if `lower` may
    be 0.
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


def precision_at_base_rate(base_rate: float, hits: Proportion, false_alarms: Proportion) -> Estimate | None:
    """Return the precision if `base_rate` of all stops are premature.

    `hits` are the premature stops that were sent back, `false_alarms` the legitimate stops that were sent
    back. Precision falls as the ratio of false alarms to hits rises, so its interval follows from the
    interval of that ratio. Returns None if nothing is sent back.
    """
    odds = share_ratio(false_alarms, hits)
    if odds is None:
        return None
    weight = (1 - base_rate) / base_rate
    return Estimate(*(1 / (1 + weight * each) for each in (odds.value, odds.high, odds.low)))


def roc_area(positive: Sequence[float], negative: Sequence[float]) -> Estimate | None:
    """Return the area under the ROC curve: the probability that a positive scores above a negative.

    Returns None if there are no positives or no negatives.
    """
    if not positive or not negative:
        return None
    ordered = sorted(negative)
    twice = sum(bisect_left(ordered, each) + bisect_right(ordered, each) for each in positive)
    value = twice / (2 * len(positive) * len(negative))
    count = len(positive) * len(negative), (len(positive) + len(negative)) / 2 - 1

    def strange(true: float) -> bool:
        """Whether the observed area would be unlikely if `true` were the true area."""
        return (value - true) ** 2 > Z_95_PERCENT * Z_95_PERCENT * _roc_area_variance(true, *count)

    low = _interval_edge(strange, 0.0, value)
    return Estimate(value, low, 1.0 - _interval_edge(lambda end: strange(1.0 - end), 0.0, 1.0 - value))


def _roc_area_variance(true: float, pairs: int, half: float) -> float:
    """Hanley and McNeil's variance; where a count of stops stands alone, the mean of both is used."""
    spread = (1 - true) / (2 - true) + true / (1 + true)
    return true * (1 - true) * (1 + half * spread) / pairs


def _interval_edge(strange: Callable[[float], bool], low: float, high: float) -> float:
    """Find where values between `low` and `high` begin to be credible; `high` is credible."""
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if strange(middle) else (low, middle)
    return high
