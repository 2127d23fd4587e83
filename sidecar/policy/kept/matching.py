"""Which test of before is which test of now, over all changed files.

First by file and name; then by its statements, wherever they went; then by name alone, if something is left
of what it expected; then by what it expected. What has no counterpart is gone. Nothing here weighs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.model.inspection import Assertion, FileReading, Reading, TestCase
from sidecar.policy.kept.forms import key, outline

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

ENOUGH: Final = 0.5
"""The part of a test's expectations that must be found again in another, for it to be the same test."""
ALIKE: Final = 0.3
"""The same where the name is the same; and the part of all names that two tests must both mention."""
NEAR: Final = 0.5
"""The part of names, and of the words of their own names, that two tests must share to be one, rewritten."""
REWRITTEN: Final = 300
"""Tests of one file that are compared each with each."""
WORD: Final = re.compile(r"[A-Z]?[a-z\d]+|[A-Z]+")
COMMON: Final = frozenset(
    ("test", "tests", "it", "is", "a", "an", "the", "of", "and", "in", "should", "when")
)


class Spot(Struct, frozen=True):
    """One test in one version of a file. `order` tells apart those that share a name."""

    file: str
    old_file: str
    test: TestCase
    order: int
    weak: bool = False


class Pair(Struct, frozen=True):
    """A test before and now."""

    before: Spot
    after: Spot


class Matching(Struct, frozen=True):
    """The pairs, the tests that are gone, and the new ones."""

    pairs: tuple[Pair, ...]
    gone: tuple[Spot, ...]
    new: tuple[Spot, ...]
    helpers_before: tuple[Spot, ...] = ()
    helpers_after: tuple[Spot, ...] = ()


def matched(reading: Reading) -> Matching:
    """Find the counterparts. Files that cannot be read on either side take no part."""
    readable = [file for file in reading.files if comparable(file)]
    before, old_helpers = _spots(readable, lambda file: file.before)
    after, new_helpers = _spots(readable, lambda file: file.after)
    pairs = list[Pair]()
    for rule in (_by_place, _by_body, _by_name, _by_expectations, _by_wording):
        found = rule(before, after)
        pairs += found
        before = _without(before, [pair.before for pair in found])
        after = _without(after, [pair.after for pair in found])
    return Matching(tuple(pairs), tuple(before), tuple(after), tuple(old_helpers), tuple(new_helpers))


def comparable(file: FileReading) -> bool:
    """Whether both versions say what they have; one that does not parse proves nothing."""
    if file.unread:
        return False
    return not ((file.after and file.after.broken) or (file.before and file.before.broken))


def live(test: TestCase) -> list[Assertion]:
    """What a test expects and can fail at."""
    return [one for one in test.assertions if not one.void]


def overlap(before: TestCase, after: TestCase) -> float:
    """The part of what one test expected that the other expects, copies with other values included."""
    wanted = live(before)
    if not wanted:
        return 0.0
    keys = {key(one) for one in live(after)}
    outlines = {outline(one, after.parameters) for one in live(after)} if after.parameters else set()
    found = sum(key(one) in keys or outline(one) in outlines for one in wanted)
    return found / len(wanted)


def _spots(
    files: Iterable[FileReading], side: Callable[[FileReading], object]
) -> tuple[list[Spot], list[Spot]]:
    tests, helpers = list[Spot](), list[Spot]()
    for file in files:
        seen: dict[str, int] = defaultdict(int)
        facts = side(file)
        for test in getattr(facts, "tests", ()):
            spot = Spot(file.path, file.old_path or file.path, test, seen[test.name], file.weak)
            seen[test.name] += 1
            (helpers if test.helper else tests).append(spot)
    return tests, helpers


def _without(spots: list[Spot], taken: list[Spot]) -> list[Spot]:
    ids = {id(spot) for spot in taken}
    return [spot for spot in spots if id(spot) not in ids]


def _paired(before: list[Spot], after: list[Spot], mark: Callable[[Spot], Hashable | None]) -> list[Pair]:
    """Pair what has the same mark, in order; None is no mark."""
    waiting: dict[Hashable, list[Spot]] = defaultdict(list)
    for spot in reversed(after):
        waiting[mark(spot)].append(spot)
    found = list[Pair]()
    for spot in before:
        sign = mark(spot)
        if sign is not None and waiting.get(sign):
            found.append(Pair(spot, waiting[sign].pop()))
    return found


def _by_place(before: list[Spot], after: list[Spot]) -> list[Pair]:
    return _paired(before, after, lambda spot: (spot.file, spot.test.name, spot.order))


def _by_body(before: list[Spot], after: list[Spot]) -> list[Pair]:
    same = _paired(before, after, lambda spot: (spot.test.body, _last(spot)) if spot.test.body else None)
    left, free = (
        _without(before, [pair.before for pair in same]),
        _without(after, [pair.after for pair in same]),
    )
    return same + _paired(left, free, lambda spot: spot.test.body or None)


def _by_name(before: list[Spot], after: list[Spot]) -> list[Pair]:
    named = _paired(before, after, lambda spot: (spot.test.name, spot.order))
    named += _paired(
        _without(before, [pair.before for pair in named]),
        _without(after, [pair.after for pair in named]),
        _last,
    )
    return [
        pair
        for pair in named
        if not live(pair.before.test)
        or overlap(pair.before.test, pair.after.test) >= ALIKE
        or _shared(pair.before.test.uses, pair.after.test.uses) >= ALIKE
    ]


def _by_expectations(before: list[Spot], after: list[Spot]) -> list[Pair]:
    """Each with the free one that shares most of its expectations. Indexed: there may be thousands."""
    index: dict[Hashable, list[int]] = defaultdict(list)
    for number, spot in enumerate(after):
        for mark in _signs(spot.test):
            index[mark].append(number)
    taken, found = set[int](), list[Pair]()
    for spot in before:
        near = {number for mark in _signs(spot.test) for number in index.get(mark, ())[:50]} - taken
        near = {number for number in near if _shared(spot.test.uses, after[number].test.uses) >= ALIKE}
        best = max(sorted(near), key=lambda number: overlap(spot.test, after[number].test), default=None)
        if best is not None and overlap(spot.test, after[best].test) >= ENOUGH:
            taken.add(best)
            found.append(Pair(spot, after[best]))
    return found


def _by_wording(before: list[Spot], after: list[Spot]) -> list[Pair]:
    """What was renamed and rewritten at once, in the same file: most names and most words are the same."""
    free: dict[str, list[Spot]] = defaultdict(list)
    for spot in after:
        if len(free[spot.file]) < REWRITTEN:
            free[spot.file].append(spot)
    found = list[Pair]()
    for spot in before:
        near = free[spot.file]
        best = max(near, key=lambda other: _likeness(spot, other), default=None) if near else None
        if best is not None and _likeness(spot, best) >= NEAR:
            near.remove(best)
            found.append(Pair(spot, best))
    return found


def _likeness(one: Spot, other: Spot) -> float:
    names = _shared(one.test.uses, other.test.uses)
    return _shared(_words(one), _words(other)) if names >= ALIKE else 0.0


def _words(spot: Spot) -> tuple[str, ...]:
    return tuple({word.lower() for word in WORD.findall(_last(spot))} - COMMON)


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """The part of all names that both have."""
    first, second = set(one), set(other)
    return len(first & second) / len(first | second) if first and second else 0.0


def _signs(test: TestCase) -> set[Hashable]:
    return {key(one) for one in live(test)}


def _last(spot: Spot) -> str:
    return spot.test.name.rpartition("::")[2].rpartition(" > ")[2]
