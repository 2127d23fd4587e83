"""Figures of many judged changes: in how many of them something was found, by agent or by author.

A change that several agents or authors made counts for each of them. The interval says how far a share may be
off by chance alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

Z_95: Final = 1.959964
"""Standard deviations of a normal distribution within which 95 % lie."""
EVERYBODY: Final = "all"
UNKNOWN: Final = "unknown"


class JudgedChange(Struct, frozen=True):
    """Who made a change, and what was found about it: its result, and the rules of its findings."""

    makers: tuple[str, ...]
    found: frozenset[str]


class ChangeFigure(Struct, frozen=True, kw_only=True):
    """In how many changes of one maker, or of all, something was found.

    `percent` is their share, and `low` and `high` the ends of its 95 % interval by Wilson.
    """

    what: str
    by: str
    changes: int
    of: int
    percent: float
    low: float
    high: float


def change_figures(changes: Sequence[JudgedChange]) -> tuple[ChangeFigure, ...]:
    """Return the figures of all changes and of each maker, the most frequent finding first."""
    groups: dict[str, list[JudgedChange]] = {EVERYBODY: list(changes)}
    for one in changes:
        for maker in one.makers or (UNKNOWN,):
            groups.setdefault(maker, []).append(one)
    seen = [what for one in changes for what in one.found]
    order = sorted(set(seen), key=lambda what: (-seen.count(what), what))
    return tuple(_figure(what, by, group) for what in order for by, group in groups.items())


def _figure(what: str, by: str, group: Sequence[JudgedChange]) -> ChangeFigure:
    count = sum(what in one.found for one in group)
    low, high = wilson_interval(count, len(group))
    share, low, high = (round(100 * part, 1) for part in (count / len(group), low, high))
    return ChangeFigure(what=what, by=by, changes=count, of=len(group), percent=share, low=low, high=high)


def wilson_interval(count: int, of: int) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a share, from 0 to 1; it holds for counts near 0, too."""
    square = Z_95**2
    middle = (count + square / 2) / (of + square)
    half = Z_95 / (of + square) * math.sqrt(count * (of - count) / of + square / 4)
    return max(0.0, middle - half), min(1.0, middle + half)
