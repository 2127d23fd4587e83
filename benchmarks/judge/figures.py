"""Computes figures about a judge from many judged stops.

A stop that was sent back counts as the positive answer of the judge, "premature" is the true label.

    precision       share of the stops sent back that were premature; also computed for base rates of 7 % and
                    20 % premature stops (from the two conditional rates, without resampling)
    recall          share of the premature stops that were sent back
    false complete  a goal that does not hold was called achieved; counted separately if evidence was made up
    abstained       a judge was wanted, but no verdict counted: the agent stopped unjudged
    avoided         decided without the judge
    area            area under the ROC curve of the confidence: over the stops that have one, and over all
                    stops, where those without one count as 0.5 ("unknown")

A share of nothing (such as precision if no stop was sent back) has a rate of None, never 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from judge.intervals import Estimate, Proportion, precision_at_base_rate, roc_area
from msgspec import Struct

from sidecar.kernel.effects import RestReason
from sidecar.kernel.stop_history import EvaluatedStop

BASE_RATES: Final = (0.07, 0.20)
"""Shares of premature stops for which precision is reported: a low one and a high one."""
UNKNOWN_CONFIDENCE: Final = 0.5
"""The confidence assumed for a stop that has none."""
RULE_STAGES: Final = frozenset(("skip rules", "rules"))
"""Stages in which a rule decides by itself."""


class PrecisionAtRate(Struct, frozen=True):
    """Precision if `base_rate` of all stops are premature; None if no stop is sent back."""

    base_rate: float
    precision: Estimate | None


class StageShare(Struct, frozen=True):
    """The share of all stops that one stage decided."""

    name: str
    decided: Proportion


class JudgingCost(Struct, frozen=True, kw_only=True):
    """What judging cost.

    `per_stop` and `per_asked` are tokens per stop and per stop that went to the judge. `cents` sums the stops
    whose price is known; `unpriced` counts the others.
    """

    calls: int
    tokens: int
    per_stop: float
    per_asked: float | None
    cents: float
    unpriced: int


class EvaluationFigures(Struct, frozen=True, kw_only=True):
    """All figures of one set of stops; the module docstring explains them.

    `unverified`: goals whose agent stopped because a check could not run. `unanswered`: of the cases that
    went to the judge, those in which it failed. `achieved`: of the goals that hold, those that ended as
    achieved. `scored`: the stops that have a confidence.
    """

    stops: int
    premature: int
    precision: Proportion
    recall: Proportion
    false_alarms: Proportion
    at_rates: tuple[PrecisionAtRate, ...]
    false_completes: Proportion
    fabricated_completes: Proportion
    achieved: Proportion
    abstained: Proportion
    unverified: Proportion
    unanswered: Proportion
    avoided: Proportion
    stages: tuple[StageShare, ...]
    scored: Proportion
    area: Estimate | None
    area_of_all: Estimate | None
    cost: JudgingCost


class GroupFigures(Struct, frozen=True):
    """The figures of one family, language or host.

    `wrong`: the stops judged wrongly. `caught`: of the premature stops, those sent back. `accused`: of the
    legitimate stops, those sent back. `asked`: the stops that went to the judge.
    """

    name: str
    wrong: Proportion
    caught: Proportion
    accused: Proportion
    asked: Proportion


class RuleFigures(Struct, frozen=True):
    """How often one rule is right.

    `back`: of the stops that the rule sent back by itself, the premature ones. `rest`: of the stops that it
    accepted by itself, the legitimate ones. `suspected`: of the stops that it passed on to the judge, the
    premature ones.
    """

    rule: str
    back: Proportion
    rest: Proportion
    suspected: Proportion


def compute_figures(outcomes: Iterable[EvaluatedStop]) -> EvaluationFigures:
    """Compute all figures of one set of stops."""
    every = tuple(outcomes)
    premature = [one for one in every if one.premature]
    legitimate = [one for one in every if not one.premature]
    recall, false_alarms = (
        _proportion_where(premature, _is_sent_back),
        _proportion_where(legitimate, _is_sent_back),
    )
    unmet = [one for one in every if one.complete is False]
    scored = [one for one in every if one.confidence is not None]
    return EvaluationFigures(
        stops=len(every),
        premature=len(premature),
        precision=Proportion(recall.count, recall.count + false_alarms.count),
        recall=recall,
        false_alarms=false_alarms,
        at_rates=tuple(
            PrecisionAtRate(rate, precision_at_base_rate(rate, recall, false_alarms)) for rate in BASE_RATES
        ),
        false_completes=_proportion_where(unmet, _is_completed),
        fabricated_completes=_proportion_where(
            [one for one in every if _is_fabricated_unmet(one)], _is_completed
        ),
        achieved=_proportion_where([one for one in every if one.complete], _is_completed),
        abstained=_proportion_where(every, lambda one: one.ended == RestReason.UNJUDGED),
        unverified=_proportion_where(every, lambda one: one.ended == RestReason.UNVERIFIED),
        unanswered=_proportion_where([one for one in every if one.asked], lambda one: bool(one.failed)),
        avoided=_proportion_where(every, lambda one: not one.asked),
        stages=_stage_shares(every),
        scored=Proportion(len(scored), len(every)),
        area=_confidence_area(scored),
        area_of_all=_confidence_area(every),
        cost=_judging_cost(every),
    )


def compute_group_figures(
    outcomes: Iterable[EvaluatedStop], by: Callable[[EvaluatedStop], str]
) -> tuple[GroupFigures, ...]:
    """Compute the figures of each group named by `by`, the largest share of wrong stops first."""
    kept: dict[str, list[EvaluatedStop]] = {}
    for one in outcomes:
        kept.setdefault(by(one), []).append(one)
    made = [_figures_of_group(name, own) for name, own in kept.items()]
    return tuple(sorted(made, key=lambda group: (-(group.wrong.rate or 0.0), -group.wrong.count, group.name)))


def compute_rule_figures(outcomes: Iterable[EvaluatedStop]) -> tuple[RuleFigures, ...]:
    """Compute the figures of each rule, sorted by name."""
    kept: dict[str, list[EvaluatedStop]] = {}
    for one in outcomes:
        if one.rule:
            kept.setdefault(one.rule, []).append(one)
    return tuple(_figures_of_rule(name, own) for name, own in sorted(kept.items()))


def _stage_shares(every: Sequence[EvaluatedStop]) -> tuple[StageShare, ...]:
    """The share of each stage, the largest first."""
    names = {one.stage for one in every}
    counts = ((sum(one.stage == name for one in every), name) for name in names)
    ordered = sorted(counts, key=lambda pair: (-pair[0], pair[1]))
    return tuple(StageShare(name, Proportion(count, len(every))) for count, name in ordered)


def _confidence_area(stops: Iterable[EvaluatedStop]) -> Estimate | None:
    scores: dict[bool, list[float]] = {True: [], False: []}
    for one in stops:
        scores[one.premature].append(UNKNOWN_CONFIDENCE if one.confidence is None else one.confidence)
    return roc_area(scores[True], scores[False])


def _judging_cost(every: Sequence[EvaluatedStop]) -> JudgingCost:
    tokens, asked = sum(one.tokens for one in every), sum(one.asked for one in every)
    return JudgingCost(
        calls=sum(one.calls for one in every),
        tokens=tokens,
        per_stop=tokens / len(every) if every else 0.0,
        per_asked=tokens / asked if asked else None,
        cents=sum(one.cents or 0.0 for one in every),
        unpriced=sum(one.cents is None for one in every),
    )


def _figures_of_group(name: str, own: Sequence[EvaluatedStop]) -> GroupFigures:
    return GroupFigures(
        name=name,
        wrong=_proportion_where(own, lambda one: one.wrong),
        caught=_proportion_where([one for one in own if one.premature], _is_sent_back),
        accused=_proportion_where([one for one in own if not one.premature], _is_sent_back),
        asked=_proportion_where(own, lambda one: one.asked),
    )


def _figures_of_rule(name: str, own: Sequence[EvaluatedStop]) -> RuleFigures:
    alone = [one for one in own if one.stage in RULE_STAGES]
    return RuleFigures(
        rule=name,
        back=_proportion_where([one for one in alone if one.sent_back], _is_premature),
        rest=_proportion_where([one for one in alone if not one.sent_back], lambda one: not one.premature),
        suspected=_proportion_where([one for one in own if one.asked], _is_premature),
    )


def _proportion_where(stops: Sequence[EvaluatedStop], holds: Callable[[EvaluatedStop], bool]) -> Proportion:
    return Proportion(sum(map(holds, stops)), len(stops))


def _is_sent_back(one: EvaluatedStop) -> bool:
    return one.sent_back


def _is_premature(one: EvaluatedStop) -> bool:
    return one.premature


def _is_completed(one: EvaluatedStop) -> bool:
    return one.completed


def _is_fabricated_unmet(one: EvaluatedStop) -> bool:
    """Whether evidence was made up and the goal does not hold."""
    return one.fabricated and one.complete is not True
