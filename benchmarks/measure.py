"""Figures: two series of measurements taken in turn, and what one is to the other.

The machine may be slow, shared, or both. So nothing is read off one series: its peer is measured between any
two of its values, and the ratio of the medians is the figure. The spread is that of the pairs' ratios.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final, Literal

from msgspec import Struct

Unit = Literal["ms", "us", "KiB", "MiB"]
Job = Callable[[], float]
"""Does one thing once; what it cost, in the figure's unit."""

QUICK: Final = 10
"""By how much a quick run is shorter."""
MEDIAN: Final = 0.5
LEAST: Final = 2
"""Values that a series has at the least."""


class Series(Struct, frozen=True):
    """What the runs of one job cost, in the order in which they were made."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def p10(self) -> float:
        return quantile(self.values, 0.1)

    @property
    def p90(self) -> float:
        return quantile(self.values, 0.9)

    def at(self, part: float) -> float:
        """The value that this part of them is not above."""
        return quantile(self.values, part)


class Figure(Struct, frozen=True, kw_only=True):
    """`name` cost `ours` where `against` cost `peer`. `aim`: the ratio to stay within, if there is one.

    `part` of the values are not above the one that is told: half of them, where the figure is a median.
    """

    name: str
    ours: Series
    against: str
    peer: Series
    unit: Unit = "ms"
    aim: float | None = None
    part: float = MEDIAN

    @property
    def ratio(self) -> float:
        return self.ours.at(self.part) / self.peer.at(self.part)

    @property
    def spread(self) -> Series:
        """The ratios of the pairs, each of two values that were measured one after the other."""
        return Series(
            tuple(one / other for one, other in zip(self.ours.values, self.peer.values, strict=True))
        )


class Report(Struct, frozen=True):
    """What one benchmark found, and what a reader must know of it: what could not be measured, and why."""

    figures: tuple[Figure, ...] = ()
    remarks: tuple[str, ...] = ()


def quantile(values: Sequence[float], part: float) -> float:
    """The value below which this part of them lies, interpolated between two neighbours."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def rounds(usual: int, *, quick: bool) -> int:
    """How often to measure."""
    return max(usual // QUICK, LEAST) if quick else usual


def in_turn(times: int, *jobs: Job, warm_up: int = 2) -> tuple[Series, ...]:
    """Do the jobs one after the other (A B C A B C ...), so often, after some rounds that do not count."""
    found: list[list[float]] = [[] for _ in jobs]
    for number in range(warm_up + times):
        for job, values in zip(jobs, found, strict=True):
            cost = job()
            if number >= warm_up:
                values.append(cost)
        _show(number + 1, warm_up + times)
    return tuple(Series(tuple(values)) for values in found)


def _show(done: int, of: int) -> None:
    """Tell a person at a terminal how far it is."""
    if sys.stderr.isatty():
        print(f"\r  {done}/{of} ", end="\n" if done == of else "", file=sys.stderr, flush=True)
