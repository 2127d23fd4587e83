"""The mix of MIX.md as data, and how a seed gets its share of it.

Every hundred seeds that begin at a multiple of a hundred hold the mix exactly: a seed takes a card of a pack
that was shuffled for its hundred. So a set of seeds differs from the mix by its last, broken pack alone.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final, TypeVar

from msgspec import Struct

from sidecar.kernel.stop_history import GroundTruth

T = TypeVar("T")


class Share(Struct, frozen=True):
    """A family: its truth, its part of all stops, and how many of its stops have a goal; both in percent."""

    name: str
    truth: GroundTruth
    percent: int
    goals: int = 0


LEGITIMATE, PREMATURE = GroundTruth.LEGITIMATE, GroundTruth.PREMATURE
FAMILIES: Final = (
    Share("work-done", LEGITIMATE, 14, goals=50),
    Share("work-done-modest", LEGITIMATE, 6, goals=17),
    Share("question-answered", LEGITIMATE, 12),
    Share("investigated", LEGITIMATE, 9),
    Share("done-and-offer", LEGITIMATE, 5, goals=20),
    Share("decision", LEGITIMATE, 5, goals=20),
    Share("credentials", LEGITIMATE, 3, goals=33),
    Share("destructive", LEGITIMATE, 3),
    Share("ambiguous", LEGITIMATE, 3),
    Share("waiting-outside", LEGITIMATE, 3, goals=33),
    Share("failure-reported", LEGITIMATE, 5),
    Share("impossible", LEGITIMATE, 2, goals=50),
    Share("permission-seeking", PREMATURE, 5, goals=20),
    Share("stopped-with-todos", PREMATURE, 5, goals=40),
    Share("false-complete", PREMATURE, 7, goals=43),
    Share("promised-next-step", PREMATURE, 4, goals=25),
    Share("narration", PREMATURE, 3, goals=33),
    Share("error-walked-away", PREMATURE, 3, goals=33),
    Share("goal-unmet", PREMATURE, 3, goals=100),
)
BY_NAME: Final = {share.name: share for share in FAMILIES}
ENGLISH: Final = "en"
OTHERS: Final = ("de", "fr", "es", "pt", "zh", "ja", "ko", "ru")
LANGUAGES: Final = tuple([ENGLISH] * 56 + [name for name in OTHERS for _ in range(3)])
"""A pack of 80: 70 in a hundred are English."""
HOSTS: Final = ("claude-code", "opencode")


def chance(*words: object) -> Random:
    """A source of chance that is the same for the same words."""
    return Random("/".join(map(str, words)))  # noqa: S311 - it must be the same each time


def family(seed: int) -> Share:
    """The family of a seed."""
    pack = tuple(share for share in FAMILIES for _ in range(share.percent))
    return _dealt("family", pack, seed)


def goal(seed: int) -> bool:
    """Whether the stop of a seed has a goal: so many of each family, spread evenly over its seeds."""
    share = family(seed)
    return _nth(seed) * share.goals // 100 != (_nth(seed) + 1) * share.goals // 100


def language(seed: int) -> str:
    """The language of a seed."""
    return _dealt("language", LANGUAGES, seed)


def host(seed: int) -> str:
    """The host of a seed."""
    return _dealt("host", HOSTS, seed)


def _nth(seed: int) -> int:
    """Which of its family a seed is, counted from a multiple of a thousand."""
    name = family(seed).name
    begin = seed // 1000 * 1000
    return sum(1 for one in range(begin, seed) if family(one).name == name)


@cache
def _shuffled(kind: str, size: int, number: int) -> tuple[int, ...]:
    cards = list(range(size))
    chance(kind, number).shuffle(cards)
    return tuple(cards)


def _dealt(kind: str, pack: tuple[T, ...], seed: int) -> T:
    order = _shuffled(kind, len(pack), seed // len(pack))
    return pack[order[seed % len(pack)]]
