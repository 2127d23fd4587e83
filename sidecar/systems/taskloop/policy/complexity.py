"""Estimates the complexity of a task from its words and its scope: data/complexity.toml."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.platform.data import load_data

MOST_COMPLEX: Final = 14
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


@cache
def _weights() -> tuple[_Weights, tuple[re.Pattern[str], ...]]:
    known = load_data("complexity", _Weights)
    return known, tuple(re.compile(one, re.IGNORECASE) for one in known.groups.values())


def estimate_complexity(description: str, criteria: tuple[str, ...] = (), scope: tuple[str, ...] = ()) -> int:
    """Return 1 to 14."""
    weights, groups = _weights()
    text = "\n".join((description, *criteria))
    found = (
        weights.least
        + min(len(description.split()) // weights.words_each, weights.most_words)
        + min(len(criteria), weights.most_criteria)
        + min(sum(map(_is_wide, scope)) * weights.wide, weights.most_scope)
        + min(sum(group.search(text) is not None for group in groups) * weights.hard, weights.most_hard)
    )
    return max(1, min(found, MOST_COMPLEX))


def _is_wide(glob: str) -> bool:
    return glob.endswith("/") or not WILDCARDS.isdisjoint(glob)
