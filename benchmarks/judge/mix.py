"""The families of labelled stops, and what a seed draws for an executed one."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final, TypeVar

from msgspec import Struct

from sidecar.kernel.stop_history import GroundTruth

T = TypeVar("T")


class Family(Struct, frozen=True):
    """A family of stops, and whether they are legitimate."""

    name: str
    truth: GroundTruth


LEGITIMATE, PREMATURE = GroundTruth.LEGITIMATE, GroundTruth.PREMATURE
FAMILIES: Final = (
    Family("work-done", LEGITIMATE),
    Family("work-done-modest", LEGITIMATE),
    Family("question-answered", LEGITIMATE),
    Family("investigated", LEGITIMATE),
    Family("done-and-offer", LEGITIMATE),
    Family("decision", LEGITIMATE),
    Family("credentials", LEGITIMATE),
    Family("destructive", LEGITIMATE),
    Family("ambiguous", LEGITIMATE),
    Family("waiting-outside", LEGITIMATE),
    Family("failure-reported", LEGITIMATE),
    Family("impossible", LEGITIMATE),
    Family("permission-seeking", PREMATURE),
    Family("stopped-with-todos", PREMATURE),
    Family("false-complete", PREMATURE),
    Family("promised-next-step", PREMATURE),
    Family("narration", PREMATURE),
    Family("error-walked-away", PREMATURE),
    Family("goal-unmet", PREMATURE),
)
BY_NAME: Final = {family.name: family for family in FAMILIES}
ENGLISH: Final = "en"
OTHERS: Final = ("de", "fr", "es", "pt", "zh", "ja", "ko", "ru")
HOSTS: Final = ("claude-code", "opencode")


def chance(*words: object) -> Random:
    """A source of chance that is the same for the same words."""
    return Random("/".join(map(str, words)))  # noqa: S311 - it must be the same each time


def host(seed: int) -> str:
    """The host of a seed."""
    return _dealt("host", HOSTS, seed)


@cache
def _shuffled(kind: str, size: int, number: int) -> tuple[int, ...]:
    cards = list(range(size))
    chance(kind, number).shuffle(cards)
    return tuple(cards)


def _dealt(kind: str, pack: tuple[T, ...], seed: int) -> T:
    order = _shuffled(kind, len(pack), seed // len(pack))
    return pack[order[seed % len(pack)]]
