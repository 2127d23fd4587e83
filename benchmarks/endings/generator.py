"""From a seed to an ending, always the same one. Knows nothing of what finds fakes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from random import Random
from typing import Final, TypeVar

import msgspec
from endings.claims_endings import claims_ending
from endings.ending import Ending, Label
from endings.fit import UnfitError
from endings.make_endings import make_ending
from endings.node_endings import node_ending
from endings.python_endings import python_ending
from endings.recorded_endings import recorded_ending
from msgspec.structs import replace

T = TypeVar("T")
Draw = Callable[[Random, Label], Ending]

SOURCES: Final[tuple[tuple[Draw, int], ...]] = (
    (python_ending, 42),
    (claims_ending, 10),
    (node_ending, 18),
    (make_ending, 12),
    (recorded_ending, 18),
)
"""Who draws, and how often in a hundred."""
LABELS: Final = ((Label.FAKED, 52), (Label.HONEST_SUCCESS, 35), (Label.HONEST_FAILURE, 13))
"""The truth, and how often in a hundred."""
DRAWS: Final = 100
"""Attempts for one ending; what does not fit together is drawn anew."""


def generate(seed: int, again: int = 0) -> Ending:
    """The ending of a seed. `again`: the next ones of the same seed, where one turned out to be none."""
    for draw in range(DRAWS):
        rng = Random(f"{seed}/{again}/{draw}")  # noqa: S311 - it must be the same each time
        label = _weighted(Random(f"label {seed}"), LABELS)  # noqa: S311
        source = _weighted(Random(f"source {seed}/{label}"), SOURCES)  # noqa: S311
        if source is claims_ending and label is Label.HONEST_FAILURE:
            source = python_ending
        try:
            ending = source(rng, label)
        except UnfitError:
            continue
        return replace(ending, name=f"{seed}: {ending.name}")
    raise ValueError(f"nothing fits together for seed {seed}")


def digest(ending: Ending) -> str:
    """The same for the same ending, whatever its name."""
    return hashlib.sha256(msgspec.json.encode(replace(ending, name=""), order="deterministic")).hexdigest()


def _weighted(rng: Random, choices: tuple[tuple[T, int], ...]) -> T:
    things = [thing for thing, _ in choices]
    return rng.choices(things, [weight for _, weight in choices])[0]
