"""How likely a stop is premature, where no rule decides: a sum of what speaks for and against it.

The numbers are weights of evidence in log odds, set by hand: what users of agents report, and the shares of
a mix that was fixed before. They order stops; they are no measured probability. Two small terms make the
order fine: how much was done, and how much was said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from sidecar.policy.rules.claimed import claim
from sidecar.policy.rules.found import Finding, Legitimate
from sidecar.policy.rules.look import Asked, Look
from sidecar.policy.rules.message import asks, bare

BASE: Final = -1.6
"""Log odds of a stop of which nothing is known: one in six is premature."""
CALLS: Final = 60
LETTERS: Final = 3_000
"""Calls and characters beyond which more of them say nothing."""
SMALL: Final = 0.35
"""Weight of a small term at its end."""

UNSURE: Final = {"failure-reported": 0.2, "decision": 0.0, "done-and-offer": 0.2}
"""What a sign of a legitimate stop weighs that is not certain; the others in between."""

Sign = Callable[[Look], bool]
SIGNS: Final[tuple[tuple[float, Sign], ...]] = (
    (-1.6, lambda look: look.request.asked is Asked.ANSWER and not look.worked),
    (0.5, lambda look: look.request.asked is Asked.WORK),
    (0.9, lambda look: look.request.asked is Asked.WORK and not look.worked),
    (-1.1, lambda look: look.checked),
    (0.6, lambda look: look.worked and not look.checked),
    (1.3, lambda look: look.failure is not None and not look.says(look.message.text, "amiss")),
    (-0.5, lambda look: look.failure is not None and look.says(look.message.text, "amiss")),
    (-0.9, lambda look: bool(claim(look))),
    (1.2, lambda look: bool(look.turn.open_todos)),
    (1.5, lambda look: bare(look.message.text).endswith((":", "..."))),
    (-0.4, lambda look: asks(look.message.last)),
    (0.6, lambda look: look.says(look.message.paragraph, "rest")),
    (-0.6, lambda look: look.says(look.message.paragraph, "later")),
    (-1.2, lambda look: look.request.holds),
    (0.8, lambda look: look.goal),
    (0.8, lambda look: not look.message.text),
)


def likely(look: Look, findings: tuple[Finding, ...], legitimate: Legitimate | None) -> float:
    """0 to 1: certain findings near their own confidence, all else below them."""
    odds = BASE + sum(weight for weight, sign in SIGNS if sign(look)) + _small(look)
    for each in findings:
        odds += _odds(each.confidence) * (1.5 if each.certain else 0.5) + (3.0 if each.certain else 0.6)
    if legitimate is not None:
        odds -= 2.6 if legitimate.certain else UNSURE.get(legitimate.kind, 0.8)
    return round(1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))), 6)


def _small(look: Look) -> float:
    calls = min(len(look.turn.calls), CALLS) / CALLS
    letters = min(len(look.message.text), LETTERS) / LETTERS
    return SMALL * (0.5 - letters) - SMALL * (calls - 0.5)


def _odds(chance: float) -> float:
    return math.log(chance / (1 - chance)) if 0 < chance < 1 else 0.0
