"""What is counted as what: by hand on sets so small that a reader can check them."""

from __future__ import annotations

from typing import Any

import pytest
from judge.figures import (
    BASE_RATES,
    EvaluationFigures,
    StageShare,
    compute_figures,
    compute_group_figures,
    compute_rule_figures,
)
from judge.intervals import Proportion

from sidecar.kernel.stop_history import EvaluatedStop, GroundTruth
from support.evaluated_stops import LEGITIMATE, PREMATURE, back, outcome, rest


def asked(number: str, truth: GroundTruth, ended: str, **fields: Any) -> EvaluatedStop:
    return outcome(number, truth, ended, stage="judge", asked=True, **fields)


FOUR = (
    back("1", PREMATURE, confidence=0.9),
    rest("2", PREMATURE, confidence=0.4),
    rest("3", LEGITIMATE, confidence=0.1),
    back("4", LEGITIMATE, confidence=0.6),
)


def test_precision_is_of_those_sent_back_and_recall_of_the_premature() -> None:
    known = compute_figures((*FOUR, rest("5", LEGITIMATE)))
    assert (known.stops, known.premature) == (5, 2)
    assert (known.precision, known.recall, known.false_alarms) == (
        Proportion(1, 2),
        Proportion(1, 2),
        Proportion(1, 3),
    )


def test_precision_at_a_base_rate_follows_from_the_two_conditional_rates() -> None:
    known = compute_figures((*FOUR, rest("5", LEGITIMATE)))
    for each, base_rate in zip(known.at_rates, BASE_RATES, strict=True):
        assert each.precision is not None
        assert each.precision.value == pytest.approx(base_rate / 2 / (base_rate / 2 + (1 - base_rate) / 3))


def test_the_area_is_of_those_with_a_confidence_and_unknown_ones_stand_at_a_half_in_that_of_all() -> None:
    known = compute_figures((*FOUR, rest("5", LEGITIMATE), rest("6", LEGITIMATE)))
    assert known.scored == Proportion(4, 6)
    assert known.area is not None
    assert known.area_of_all is not None
    assert known.area.value == pytest.approx(3 / 4)
    assert known.area_of_all.value == pytest.approx((4 + 1) / 8)


@pytest.mark.parametrize(
    ("fields", "unmet", "made_up"),
    [
        ({"complete": False, "completed": True}, Proportion(1, 1), Proportion(0, 0)),
        ({"complete": False, "completed": True, "fabricated": True}, Proportion(1, 1), Proportion(1, 1)),
        ({"complete": False, "fabricated": True}, Proportion(0, 1), Proportion(0, 1)),
        ({"complete": True, "completed": True}, Proportion(0, 0), Proportion(0, 0)),
        ({}, Proportion(0, 0), Proportion(0, 0)),
    ],
)
def test_a_false_complete_is_a_goal_called_achieved_that_does_not_hold(
    fields: dict[str, Any], unmet: Proportion, made_up: Proportion
) -> None:
    known = compute_figures([outcome("1", PREMATURE, "achieved", **fields)])
    assert (known.false_completes, known.fabricated_completes) == (unmet, made_up)


def test_goals_that_hold_are_counted_as_achieved_or_not() -> None:
    known = compute_figures(
        [
            outcome("1", LEGITIMATE, "achieved", complete=True, completed=True),
            rest("2", LEGITIMATE, complete=True),
        ]
    )
    assert known.achieved == Proportion(1, 2)


def test_abstained_unverified_and_unanswered_are_told_apart() -> None:
    known = compute_figures(
        [
            asked("1", PREMATURE, "unjudged", failed="401"),
            asked("2", PREMATURE, "unjudged"),
            asked("3", PREMATURE, "continue"),
            outcome("4", PREMATURE, "unverified", stage="gates"),
        ]
    )
    assert (known.abstained, known.unverified, known.unanswered) == (
        Proportion(2, 4),
        Proportion(1, 4),
        Proportion(1, 3),
    )


def test_calls_avoided_and_the_share_of_each_stage() -> None:
    known = compute_figures(
        (*FOUR, asked("5", PREMATURE, "continue"), outcome("6", PREMATURE, "achieved", stage="gates"))
    )
    assert known.avoided == Proportion(5, 6)
    assert known.stages == (
        StageShare("rules", Proportion(4, 6)),
        StageShare("gates", Proportion(1, 6)),
        StageShare("judge", Proportion(1, 6)),
    )


def test_what_it_cost_is_told_per_stop_and_per_stop_asked_about() -> None:
    known = compute_figures(
        [
            asked("1", PREMATURE, "continue", calls=2, tokens=3000, cents=1.5),
            asked("2", PREMATURE, "continue", calls=1, tokens=1000, cents=None),
            rest("3", PREMATURE),
            rest("4", LEGITIMATE),
        ]
    ).cost
    assert (known.calls, known.tokens, known.per_stop, known.per_asked) == (3, 4000, 1000.0, 2000.0)
    assert (known.cents, known.unpriced) == (1.5, 1)


def test_of_nothing_there_is_no_figure_rather_than_nought() -> None:
    known = compute_figures([])
    assert known.precision.rate is None
    assert (known.area, known.area_of_all, known.cost.per_asked) == (None, None, None)
    assert all(each.precision is None for each in known.at_rates)
    assert isinstance(known, EvaluationFigures)


def test_groups_begin_with_the_one_in_which_most_is_wrong() -> None:
    found = compute_group_figures(
        [
            rest("1", LEGITIMATE, family="good"),
            rest("2", PREMATURE, family="bad"),
            back("3", LEGITIMATE, family="bad"),
            rest("4", PREMATURE, family="half"),
            back("5", PREMATURE, family="half"),
        ],
        lambda one: one.family,
    )
    assert [group.name for group in found] == ["bad", "half", "good"]
    assert (found[0].wrong, found[0].caught, found[0].accused) == (
        Proportion(2, 2),
        Proportion(0, 1),
        Proportion(1, 1),
    )


def test_a_rule_is_measured_by_what_it_decides_alone_and_by_what_it_makes_a_judge_look_at() -> None:
    (rule,) = compute_rule_figures(
        [
            back("1", PREMATURE, rule="r"),
            back("2", LEGITIMATE, rule="r"),
            rest("3", LEGITIMATE, rule="r"),
            asked("4", PREMATURE, "unjudged", rule="r"),
            asked("5", LEGITIMATE, "continue", rule="r"),
            rest("6", LEGITIMATE),
        ]
    )
    assert (rule.back, rule.rest, rule.suspected) == (Proportion(1, 2), Proportion(1, 1), Proportion(1, 2))
