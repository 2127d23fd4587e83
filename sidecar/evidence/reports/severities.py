"""Counts a security scanner's findings by severity, as its output tells: data/severities.toml."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from msgspec import Struct

from sidecar.platform.data import load_data


class Severities(Struct, frozen=True, kw_only=True):
    """Numbers of findings by severity, 0 where the output tells none."""

    critical: int = 0
    high: int = 0
    medium: int = 0
    low: int = 0


class _Patterns(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains its fields."""

    critical: tuple[str, ...]
    high: tuple[str, ...]
    medium: tuple[str, ...]
    low: tuple[str, ...]
    finding: str


@cache
def _patterns() -> tuple[dict[str, tuple[re.Pattern[str], ...]], re.Pattern[str]]:
    known = load_data("severities", _Patterns)
    return (
        {
            name: tuple(re.compile(one, re.IGNORECASE) for one in getattr(known, name))
            for name in Severities.__struct_fields__
        },
        re.compile(known.finding, re.IGNORECASE),
    )


def count_severities(text: str) -> Severities:
    """Return the highest number that is printed for each severity, or how many findings name it."""
    counts, finding = _patterns()
    named = Counter(hit[1].lower().replace("moderate", "medium") for hit in finding.finditer(text))
    return Severities(
        **{
            name: max((int(hit[1]) for one in patterns for hit in one.finditer(text)), default=named[name])
            for name, patterns in counts.items()
        }
    )
