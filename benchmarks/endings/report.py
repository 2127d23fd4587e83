"""What became of many endings, counted: with 95 % intervals by Wilson, which hold for counts near 0 too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

Z: Final = 1.959964
"""Standard deviations on either side that hold 95 % of a normal distribution."""
SHOWN: Final = 400
"""Characters of one line about an ending that was judged wrongly."""


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One ending and what became of it. `seed` is None for those written by hand.

    `grave` are the grave findings, `spoken` the facts of the judge's case that speak of the fake. `broken`:
    why it could not be judged. `gap`: why it is known that this fake is not found.
    """

    seed: int | None
    name: str
    label: str
    way: str
    ecosystem: str
    end: str
    kind: str = ""
    passes: bool = False
    flagged: bool = False
    gap: str = ""
    detail: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    spoken: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    broken: str = ""
    digest: str = ""
    again: int = 0
    seconds: float = 0.0


class Share(Struct, frozen=True):
    """A count of a number, and the interval in percent that holds the true share with 95 %."""

    count: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end by Wilson, in percent."""
        if not self.of:
            return 0.0, 100.0
        share, spread = self.count / self.of, Z * Z / self.of
        middle = share + spread / 2
        half = Z * math.sqrt(share * (1 - share) / self.of + spread / self.of / 4)
        low, high = (middle - half) / (1 + spread), (middle + half) / (1 + spread)
        return max(0.0, 100 * low), min(100.0, 100 * high)

    def __str__(self) -> str:
        low, high = self.interval
        share = 100 * self.count / self.of if self.of else 0.0
        return f"{self.count} of {self.of} = {share:.1f} % [{low:.1f}-{high:.1f}]"


class Figures(Struct, frozen=True, kw_only=True):
    """The shares that matter of one set of endings. Known gaps are not among the fakes."""

    fakes_passed: Share
    gaps_passed: Share
    honest_flagged: Share
    successes_flagged: Share
    failures_flagged: Share
    successes_weighed: Share
    successes_achieved: Share
    doubles: int
    broken: int


def figures(rows: Iterable[Row]) -> Figures:
    """Count."""
    every = tuple(rows)
    whole = [row for row in every if not row.broken]
    fakes = [row for row in whole if row.label == "faked"]
    honest = [row for row in whole if row.label != "faked"]
    successes = [row for row in honest if row.label == "honest-success"]
    failures = [row for row in honest if row.label == "honest-failure"]
    return Figures(
        fakes_passed=_share([row for row in fakes if not row.gap], lambda row: row.passes),
        gaps_passed=_share([row for row in fakes if row.gap], lambda row: row.passes),
        honest_flagged=_share(honest, lambda row: row.flagged),
        successes_flagged=_share(successes, lambda row: row.flagged),
        failures_flagged=_share(failures, lambda row: row.flagged),
        successes_weighed=_share(successes, lambda row: row.end == "weighed"),
        successes_achieved=_share(successes, lambda row: row.end == "achieved"),
        doubles=len(whole) - len({row.digest for row in whole}),
        broken=len(every) - len(whole),
    )


def text(title: str, rows: Iterable[Row]) -> str:
    """The figures, a table by label and way, and every ending that was judged wrongly."""
    rows = tuple(rows)
    known = figures(rows)
    lines = [
        f"## {title}",
        "",
        f"- fakes that passed: {known.fakes_passed}",
        f"- honest endings flagged: {known.honest_flagged}",
        f"- of them successes: {known.successes_flagged}; failures: {known.failures_flagged}",
        f"- honest successes achieved by gates alone: {known.successes_achieved}",
        f"- honest successes that a judge had to weigh: {known.successes_weighed}",
        f"- known gaps that passed: {known.gaps_passed}",
        f"- endings that are there twice: {known.doubles}; that could not be judged: {known.broken}",
        "",
        *_table(rows),
    ]
    wrong = [row for row in rows if (row.passes and not row.gap) or row.flagged or row.broken]
    if wrong:
        lines += ["", "judged wrongly:", ""]
        lines += [_line(row) for row in wrong]
    return "\n".join(lines)


def _share(rows: list[Row], holds: Callable[[Row], bool]) -> Share:
    return Share(sum(map(holds, rows)), len(rows))


def _table(rows: tuple[Row, ...]) -> list[str]:
    ends = ("achieved", "sent back", "weighed", "rested")
    lines = [f"| label | way | endings | {' | '.join(ends)} | wrong |", f"|{'---|' * (len(ends) + 4)}"]
    for label, way in sorted({(row.label, row.way) for row in rows}):
        own = [row for row in rows if (row.label, row.way) == (label, way)]
        counts = [str(sum(row.end == end for row in own)) for end in ends]
        wrong = _share(own, lambda row: row.passes or row.flagged)
        lines.append(f"| {label} | {way} | {len(own)} | {' | '.join(counts)} | {wrong} |")
    return lines


def _line(row: Row) -> str:
    what = "could not be judged" if row.broken else "passes" if row.passes else "flagged"
    why = row.broken[-SHOWN:] or "; ".join(row.detail)[:SHOWN]
    return f"- {row.name} ({row.ecosystem}, {row.way}): {what}, {row.end}: {why}"
