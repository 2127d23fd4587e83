"""What an answer cost, by the prices that the user's settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.model.settings import Price

MOST: Final = 1_000_000_000
"""Tokens that a service may claim; beyond that it is no count."""
MILLION: Final = 1_000_000


class Usage(Struct, frozen=True):
    """Tokens of one answer: `input` without what the service had kept, `cached` that, and `output`."""

    input: int = 0
    cached: int = 0
    output: int = 0

    @property
    def tokens(self) -> int:
        """What counts for budgets: uncached input plus output."""
        return self.input + self.output


def cents(model: str, usage: Usage, prices: Mapping[str, Price]) -> float | None:
    """The price of an answer, by the exact name of its model, else by the longest name it begins with."""
    names = [name for name in prices if name and model.startswith(name)]
    if not names:
        return None
    price = prices[max(names, key=len)]
    cached = price.input if price.cached is None else price.cached
    return (usage.input * price.input + usage.cached * cached + usage.output * price.output) / MILLION


def count(value: object) -> int:
    """A number of tokens that a service claims; 0 for what is none."""
    return value if type(value) is int and 0 <= value <= MOST else 0
