"""What judging has cost."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace


class Spending(Struct, frozen=True, kw_only=True):
    """What was spent on judging in one day.

    `day` is a date of the calendar in UTC, "2026-11-22". `tokens` are uncached input plus output, `cents`
    those that a price is known for, `unpriced` the calls that none is known for.
    """

    day: str = ""
    calls: int = 0
    tokens: int = 0
    cents: float = 0.0
    unpriced: int = 0


def added(spent: Spending, tokens: int, cents: float | None, calls: int) -> Spending:
    """The day after one more judgement."""
    return replace(
        spent,
        calls=spent.calls + calls,
        tokens=spent.tokens + tokens,
        cents=spent.cents + (cents or 0.0),
        unpriced=spent.unpriced + (calls if cents is None else 0),
    )
