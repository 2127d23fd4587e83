"""Pictures of the page: inline SVG with a text alternative each. Nothing here reads.

Widths are pixels or percentages and nothing is scaled, so that text in a picture has the size of other text.
The class of a mark is its colour; the sign in it says the same without colour.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from sidecar.kernel.effects import RestReason
from sidecar.kernel.gate import Outcome
from sidecar.kernel.stop_history import CONTINUE_DECISION
from sidecar.servers.page.markup import Html, fill, fill_each
from sidecar.systems.taskloop.policy.loop import Action

LEFT_TO_PEOPLE: Final = (
    *(RestReason.STALLED, RestReason.EXHAUSTED, RestReason.UNVERIFIED, RestReason.IMPOSSIBLE),
    *(RestReason.WAITING, RestReason.QUESTION, RestReason.UNJUDGED, Action.HALT, Action.FAIL),
)
"""Rulings after which a person is wanted."""
TONES: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "achieved": ("✓", "achieved", (RestReason.ACHIEVED, RestReason.COMPLETED, Action.COMPLETE)),
    "judged": ("≈", "judged, not proved", (RestReason.JUDGED,)),
    "rested": ("·", "rested", ()),
    "sent-back": ("↩", "sent back", (CONTINUE_DECISION, Action.ITERATE, Action.ESCALATE, Action.COUNCIL)),
    "shadow": ("↪", "would have been sent back", (RestReason.SHADOW,)),
    "needs": ("!", "needs you", LEFT_TO_PEOPLE),
}
"""What a ruling means to a person: a class, its sign and words, and the rulings; all others are "rested".

In the order in which a bar is stacked, from below.
"""
TONE_OF: Final = {ruling: tone for tone, (_, _, rulings) in TONES.items() for ruling in rulings}
WORDS: Final = {tone: words for tone, (_, words, _) in TONES.items()}
SIGNS: Final = {tone: sign for tone, (sign, _, _) in TONES.items()} | {
    Outcome.PASSED: "✓",
    Outcome.FAILED: "✗",
}
"""Signs of tones and of outcomes of checks; "?" for others."""
DAYS_DRAWN: Final = 14
"""Days of a chart, today among them."""
MARK, STEP = 22, 24
"""Pixels of a mark's side, and from one mark to the next; WCAG wants 24 of what is pressed."""
PAUSE: Final = 6.0
"""Pixels more between two marks for a pause ten times as long."""
DAY_ROOM: Final = 46
"""Pixels that the name of a day takes."""
SIGN_BASE: Final = 17
"""Pixels from above a mark to the line on which its sign stands."""
LOWEST, TALLEST = 22, 56
"""Pixels of the quickest run's column, and of the slowest one's."""
CHART: Final = 96
"""Pixels of the highest bar."""
HEAD: Final = 18
"""Pixels above bars and marks, for a figure or a day."""
UNITS: Final = ((1_000_000, "M"), (1000, "k"))
WHOLE_FROM: Final = 100
"""A number from here on has no decimals."""
BAR_GAP: Final = 0.8
"""Percent of the width on each side of a day's bar."""


class Mark(Struct, frozen=True, kw_only=True):
    """One stop, or one run of a check, which took `seconds`. It is a link where it has a `href`.

    `tone` is a tone or an outcome, `at` in seconds since the epoch.
    """

    tone: str
    label: str
    at: float
    href: str = ""
    seconds: float | None = None


def tone(ruling: str) -> str:
    """Return the tone of a ruling, or of a goal's status of the same name."""
    return TONE_OF.get(ruling, "rested")


def draw_marks(marks: Sequence[Mark], label: str, *, paced: bool = False) -> Html:
    """Draw marks side by side, runs as columns as high as they took long.

    `paced`: the longer the pause before a mark, the wider the gap, and days are named.
    """
    slowest = max((one.seconds or 0.0 for one in marks), default=0.0) or 1.0
    floor = (TALLEST if any(one.seconds is not None for one in marks) else MARK) + (HEAD if paced else 0)
    drawn, x, last = [], 1.0, 0.0
    for one in marks:
        day = f"{local(one.at):%b %d}" if paced and local(one.at).date() != local(last).date() else ""
        if last:
            gap = STEP + (PAUSE * math.log10(max(one.at - last, 1.0)) if paced else 0)
            x += max(gap, DAY_ROOM) if day else gap
        height = MARK if one.seconds is None else max(LOWEST, round(TALLEST * one.seconds / slowest))
        drawn.append(
            fill(
                "pressed" if one.href else "mark",
                **structs.asdict(one),
                sign=SIGNS.get(one.tone, "?"),
                day=day,
                x=round(x),
                middle=round(x) + MARK // 2,
                top=floor - height + 1,
                base=floor - height + SIGN_BASE,
                height=height,
            )
        )
        last = one.at
    return fill(
        "marks",
        width=round(x) + (DAY_ROOM if paced else STEP),
        height=floor + 2,
        role="group" if any(one.href for one in marks) else "img",
        label=label,
        marks=Html("".join(drawn)),
    )


def day_chart(
    title: str, today: dt.date, values: Mapping[str, Mapping[str, float]], names: Mapping[str, str]
) -> Html:
    """Draw a bar for each of the last days, stacked of its values by tone in the order of their `names`."""
    days = [today - dt.timedelta(days=back) for back in reversed(range(DAYS_DRAWN))]
    rows = [values.get(day.isoformat(), {}) for day in days]
    totals = [sum(row.values()) for row in rows]
    named = (totals.index(max(totals)), len(days) - 1)
    bars = (
        fill(
            "day",
            bars=fill_each(
                "bar", _stacked(row, 100 * at / len(days), max(totals), f"{days[at]:%b %d}", names)
            ),
            middle=f"{100 * (at + 0.5) / len(days):.1f}%",
            top=round(HEAD + CHART * (1 - totals[at] / (max(totals) or 1)) - 4),
            total=short_number(totals[at]) if at in named and totals[at] else "",
            day=f"{days[at]:%d}",
        )
        for at, row in enumerate(rows)
    )
    sums = {kind: sum(row.get(kind, 0) for row in rows) for kind in names}
    said = {kind: f"{names[kind]} {short_number(value)}" for kind, value in sums.items() if value}
    drawn = f"{days[0]:%b %d} to {days[-1]:%b %d}"
    return fill(
        "chart",
        title=title,
        days=drawn,
        label=f"{title}, {drawn}: {', '.join(said.values()) or 'nothing'}",
        bars=Html("".join(bars)),
        names=legend(said or {"rested": "nothing"}),
    )


def _stacked(
    row: Mapping[str, float], left: float, most: float, day: str, names: Mapping[str, str]
) -> Iterator[Mapping[str, object]]:
    """Yield the rectangles of a day's bar, from the floor up."""
    top = float(HEAD + CHART)
    for kind, name in names.items():
        if value := row.get(kind, 0.0):
            height = CHART * value / most
            top -= height
            label = f"{day}: {name} {short_number(value)}"
            x, wide = f"{left + BAR_GAP:.1f}%", f"{100 / DAYS_DRAWN - 2 * BAR_GAP:.1f}%"
            yield {
                "tone": kind,
                "label": label,
                "x": x,
                "wide": wide,
                "y": round(top, 1),
                "height": round(height, 1),
            }


def legend(names: Mapping[str, str]) -> Html:
    """Return the tones that a picture has, and what each means."""
    return fill_each("name", ({"tone": kind, "text": text} for kind, text in names.items()))


def short_number(number: float) -> str:
    """Return a number in few characters: "7", "0.4", "12k", "1.2M"."""
    size, unit = next((one for one in UNITS if number >= one[0]), (1, ""))
    return f"{round(number / size, 1 if number / size < WHOLE_FROM else None):g}{unit}"


def local(at: float) -> dt.datetime:
    """Return the local time of seconds since the epoch."""
    return dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone()
