"""Estimates the complexity of a task from its words and its scope: data/complexity.toml."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from sidecar.platform.data import load_data
from sidecar.systems.taskloop.policy.agents import LEAST_COMPLEXITY, MOST_COMPLEXITY

WILDCARDS: Final = frozenset("*?{[")


class _Weights(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains its fields."""

    least: int
    words_each: int
    most_words: int
    most_criteria: int
    wide: int
    most_scope: int
    hard: int
    most_hard: int
    groups: dict[str, str]


WEIGHTS: Final = load_data("complexity", _Weights)
GROUPS: Final = tuple(re.compile(one, re.IGNORECASE) for one in WEIGHTS.groups.values())


def estimate_complexity(description: str, criteria: tuple[str, ...] = (), scope: tuple[str, ...] = ()) -> int:
    """Return 1 to 14."""
    text = "\n".join((description, *criteria))
    found = (
        WEIGHTS.least
        + min(len(description.split()) // WEIGHTS.words_each, WEIGHTS.most_words)
        + min(len(criteria), WEIGHTS.most_criteria)
        + min(sum(map(_is_wide, scope)) * WEIGHTS.wide, WEIGHTS.most_scope)
        + min(sum(group.search(text) is not None for group in GROUPS) * WEIGHTS.hard, WEIGHTS.most_hard)
    )
    return max(LEAST_COMPLEXITY, min(found, MOST_COMPLEXITY))


def _is_wide(glob: str) -> bool:
    return glob.endswith("/") or not WILDCARDS.isdisjoint(glob)
