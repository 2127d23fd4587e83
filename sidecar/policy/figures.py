"""What many judged stops say about their judge. "Sent back" is the positive answer, "premature" the truth.

    precision       of the stops sent back, how many were premature; also as it would be where 7 or 20 of 100
                    stops are (from the two conditional rates, never by drawing again)
    recall          of the premature stops, how many were sent back
    false complete  a goal that does not hold was called achieved; counted apart where evidence was made up
    abstained       a judge was wanted, and no verdict counted: the agent rested unjudged
    avoided         decided without the judge
    area            under the ROC curve of the confidence: over the stops that have one, and over all, where
                    those without stand at a half, for that is what "unknown" is worth

Shares that cannot be had (precision where nothing was sent back) are shares of nothing, never 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from sidecar.model.effects import Reason
from sidecar.model.evaluation import Flip, Outcome
from sidecar.policy.intervals import Estimate, Share, area, precision_at

BASE_RATES: Final = (0.07, 0.20)
"""Shares of premature stops at which precision is told: few of them, and many."""
UNKNOWN: Final = 0.5
"""The confidence of a stop of which nobody said one."""
BY_RULES: Final = frozenset(("skip rules", "rules"))
"""Stages in which a rule decides by itself."""


class AtRate(Struct, frozen=True):
    """Precision where so many of all stops are premature; None where nothing is sent back."""

    base_rate: float
    precision: Estimate | None


class Stage(Struct, frozen=True):
    """The share of all stops that one stage decided."""

    name: str
    decided: Share


class Cost(Struct, frozen=True, kw_only=True):
    """What judging cost. `per_stop` and `per_asked` are tokens. `cents` add up the calls with a price."""

    calls: int
    tokens: int
    per_stop: float
    per_asked: float | None
    cents: float
    unpriced: int


class Figures(Struct, frozen=True, kw_only=True):
    """All figures of one set of stops, as the docstring of this file explains them.

    `unverified`: goals that rested because a check could not run. `unanswered`: of the cases that went to the
    judge, those in which it failed. `achieved`: of the goals that hold, those that ended as achieved.
    `scored`: the stops that have a confidence.
    """

    stops: int
    premature: int
    precision: Share
    recall: Share
    false_alarms: Share
    at_rates: tuple[AtRate, ...]
    false_completes: Share
    fabricated_completes: Share
    achieved: Share
    abstained: Share
    unverified: Share
    unanswered: Share
    avoided: Share
    stages: tuple[Stage, ...]
    scored: Share
    area: Estimate | None
    area_of_all: Estimate | None
    cost: Cost


class Group(Struct, frozen=True):
    """The stops of one family, language or host.

    `caught`: of the premature, those sent back; `accused`: of the legitimate.
    """

    name: str
    wrong: Share
    caught: Share
    accused: Share
    asked: Share


class RuleFigures(Struct, frozen=True):
    """How often one rule is right.

    `back`: of the stops it sent back alone, the premature; `rest`: of those it let rest alone, the
    legitimate; `suspected`: of those it made a judge look at, the premature.
    """

    rule: str
    back: Share
    rest: Share
    suspected: Share


def figures(outcomes: Iterable[Outcome]) -> Figures:
    """Count one set."""
    every = tuple(outcomes)
    premature = [one for one in every if one.premature]
    legitimate = [one for one in every if not one.premature]
    recall, false_alarms = _share(premature, _sent_back), _share(legitimate, _sent_back)
    unmet = [one for one in every if one.complete is False]
    scored = [one for one in every if one.confidence is not None]
    return Figures(
        stops=len(every),
        premature=len(premature),
        precision=Share(recall.count, recall.count + false_alarms.count),
        recall=recall,
        false_alarms=false_alarms,
        at_rates=tuple(AtRate(rate, precision_at(rate, recall, false_alarms)) for rate in BASE_RATES),
        false_completes=_share(unmet, _completed),
        fabricated_completes=_share([one for one in every if _made_up(one)], _completed),
        achieved=_share([one for one in every if one.complete], _completed),
        abstained=_share(every, lambda one: one.ended == Reason.UNJUDGED),
        unverified=_share(every, lambda one: one.ended == Reason.UNVERIFIED),
        unanswered=_share([one for one in every if one.asked], lambda one: bool(one.failed)),
        avoided=_share(every, lambda one: not one.asked),
        stages=_stages(every),
        scored=Share(len(scored), len(every)),
        area=_area(scored),
        area_of_all=_area(every),
        cost=_cost(every),
    )


def groups(outcomes: Iterable[Outcome], by: Callable[[Outcome], str]) -> tuple[Group, ...]:
    """The figures of each family (or what `by` says), the one with most wrong first."""
    kept: dict[str, list[Outcome]] = {}
    for one in outcomes:
        kept.setdefault(by(one), []).append(one)
    made = [_group(name, own) for name, own in kept.items()]
    return tuple(sorted(made, key=lambda group: (-(group.wrong.rate or 0.0), -group.wrong.count, group.name)))


def rules(outcomes: Iterable[Outcome]) -> tuple[RuleFigures, ...]:
    """The figures of each rule, by name."""
    kept: dict[str, list[Outcome]] = {}
    for one in outcomes:
        if one.rule:
            kept.setdefault(one.rule, []).append(one)
    return tuple(_rule(name, own) for name, own in sorted(kept.items()))


def wrong(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """Those judged wrongly: false completes first, then who was sent back for nothing, then the missed."""
    found = [one for one in outcomes if one.wrong]
    return tuple(sorted(found, key=lambda one: (not one.false_complete, one.premature, one.family, one.id)))


def flips(before: Iterable[Outcome], after: Iterable[Outcome]) -> tuple[Flip, ...]:
    """The stops of both that end differently in the second: sent back or not, or for another reason."""
    known = {one.id: one for one in before}
    pairs = ((known[one.id], one) for one in after if one.id in known)
    return tuple(Flip(old, new) for old, new in pairs if old.ended != new.ended)


def false_completes(outcomes: Iterable[Outcome]) -> int:
    """How many goals were called achieved that do not hold, made up or not."""
    return sum(one.false_complete for one in outcomes)


def _stages(every: Sequence[Outcome]) -> tuple[Stage, ...]:
    """In the order of their weight."""
    names = {one.stage for one in every}
    counts = ((sum(one.stage == name for one in every), name) for name in names)
    ordered = sorted(counts, key=lambda pair: (-pair[0], pair[1]))
    return tuple(Stage(name, Share(count, len(every))) for count, name in ordered)


def _area(stops: Iterable[Outcome]) -> Estimate | None:
    scores: dict[bool, list[float]] = {True: [], False: []}
    for one in stops:
        scores[one.premature].append(UNKNOWN if one.confidence is None else one.confidence)
    return area(scores[True], scores[False])


def _cost(every: Sequence[Outcome]) -> Cost:
    tokens, asked = sum(one.tokens for one in every), sum(one.asked for one in every)
    return Cost(
        calls=sum(one.calls for one in every),
        tokens=tokens,
        per_stop=tokens / len(every) if every else 0.0,
        per_asked=tokens / asked if asked else None,
        cents=sum(one.cents or 0.0 for one in every),
        unpriced=sum(one.cents is None for one in every),
    )


def _group(name: str, own: Sequence[Outcome]) -> Group:
    return Group(
        name=name,
        wrong=_share(own, lambda one: one.wrong),
        caught=_share([one for one in own if one.premature], _sent_back),
        accused=_share([one for one in own if not one.premature], _sent_back),
        asked=_share(own, lambda one: one.asked),
    )


def _rule(name: str, own: Sequence[Outcome]) -> RuleFigures:
    alone = [one for one in own if one.stage in BY_RULES]
    return RuleFigures(
        rule=name,
        back=_share([one for one in alone if one.sent_back], _premature),
        rest=_share([one for one in alone if not one.sent_back], lambda one: not one.premature),
        suspected=_share([one for one in own if one.asked], _premature),
    )


def _share(stops: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> Share:
    return Share(sum(map(holds, stops)), len(stops))


def _sent_back(one: Outcome) -> bool:
    return one.sent_back


def _premature(one: Outcome) -> bool:
    return one.premature


def _completed(one: Outcome) -> bool:
    return one.completed


def _made_up(one: Outcome) -> bool:
    """Whether evidence was made up, and the goal does not hold."""
    return one.fabricated and one.complete is not True
