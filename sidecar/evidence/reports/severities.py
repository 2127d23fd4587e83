"""Counts a security scanner's findings by severity, as its output tells: data/severities.toml."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

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

    finding: str
    numbers: dict[str, tuple[str, ...]]


PATTERNS: Final = load_data("severities", _Patterns)
FINDING: Final = re.compile(PATTERNS.finding, re.IGNORECASE)


def count_severities(text: str) -> Severities:
    """Return the highest number that is printed for each severity, or how many findings name it."""
    counts = Counter(hit[1].lower().replace("moderate", "medium") for hit in FINDING.finditer(text))
    for name, patterns in PATTERNS.numbers.items():
        printed = [int(hit[1]) for one in patterns for hit in re.finditer(one, text, re.IGNORECASE)]
        counts[name] = max(printed, default=counts[name])
    return Severities(**counts)
