"""Intervals against the worked examples of the papers that they come from, and what must always hold."""

from __future__ import annotations

import math
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge.intervals import Estimate, Proportion, precision_at_base_rate, roc_area, share_ratio

CT_NORMAL: Final = {1: 33, 2: 6, 3: 6, 4: 11, 5: 2}
CT_ABNORMAL: Final = {1: 3, 2: 2, 3: 2, 4: 11, 5: 33}
"""Ratings of 109 images, from Hanley and McNeil (1982), table I."""

shares = st.integers(0, 400).flatmap(lambda of: st.builds(Proportion, st.integers(0, of), st.just(of)))
scores = st.lists(st.sampled_from((0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)), min_size=1, max_size=40)


def rated(counts: dict[int, int]) -> list[float]:
    return [float(rating) for rating, count in counts.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_a_shares_interval_is_that_of_the_four_examples_of_newcombe_1998(
    count: int, of: int, low: float, high: float
) -> None:
    known = Proportion(count, of).estimate
    assert known is not None
    assert (known.low, known.high) == pytest.approx((low, high), abs=0.00006)


def test_a_ratios_interval_agrees_with_the_score_interval_of_koopmans_example() -> None:
    known = share_ratio(Proportion(36, 40), Proportion(16, 80))
    assert known is not None
    assert known.value == pytest.approx(4.5)
    assert known.low == pytest.approx(2.94, abs=0.05)
    assert known.high == pytest.approx(7.15, abs=0.05)


@pytest.mark.parametrize("base_rate", [0.03, 0.07, 0.2, 0.5])
def test_precision_at_a_base_rate_agrees_with_the_logit_interval_of_mercaldo_2007(base_rate: float) -> None:
    hits, alarms = Proportion(240, 418), Proportion(87, 375)  # their example: a gene that tells a disease
    true, false = 240 / 418, 87 / 375
    value = base_rate * true / (base_rate * true + (1 - base_rate) * false)
    spread = 1.959964 * math.sqrt((1 - true) / 240 + (1 - false) / 87)
    middle = math.log(value / (1 - value))
    low, high = (1 / (1 + math.exp(-end)) for end in (middle - spread, middle + spread))

    known = precision_at_base_rate(base_rate, hits, alarms)

    assert known is not None
    assert known.value == pytest.approx(value)
    assert (known.low, known.high) == pytest.approx((low, high), abs=0.003)


def test_at_the_base_rate_of_the_set_itself_precision_is_what_was_counted() -> None:
    known = precision_at_base_rate(100 / 400, Proportion(60, 100), Proportion(20, 300))
    assert known is not None
    assert known.value == pytest.approx(60 / 80)


def test_without_a_false_alarm_precision_still_has_a_lower_end() -> None:
    few, many = (
        precision_at_base_rate(0.07, Proportion(5, 10), Proportion(0, 10)),
        precision_at_base_rate(0.07, Proportion(600, 900), Proportion(0, 900)),
    )
    assert few is not None
    assert many is not None
    assert (few.value, few.high, many.value) == (1.0, 1.0, 1.0)
    assert few.low < 0.2
    assert many.low > 0.9


def test_precision_cannot_be_had_where_nothing_is_sent_back() -> None:
    assert precision_at_base_rate(0.07, Proportion(0, 10), Proportion(0, 10)) is None
    assert precision_at_base_rate(0.07, Proportion(0, 0), Proportion(1, 10)) is None
    assert precision_at_base_rate(0.07, Proportion(3, 10), Proportion(0, 0)) is None


def test_only_false_alarms_make_a_precision_of_nought() -> None:
    known = precision_at_base_rate(0.07, Proportion(0, 10), Proportion(3, 10))
    assert known is not None
    assert (known.value, known.low) == (0.0, 0.0)


def test_the_area_is_that_of_hanley_and_mcneil_1982_and_its_interval_as_wide() -> None:
    known = roc_area(rated(CT_ABNORMAL), rated(CT_NORMAL))
    assert known is not None
    assert known.value == pytest.approx(0.893, abs=0.0005)
    assert (known.high - known.low) / 2 / 1.96 == pytest.approx(0.032, abs=0.002)  # their standard error
    assert known.value - known.low > known.high - known.value, "it is wider towards the middle"


def test_an_area_of_1_has_a_lower_end_too() -> None:
    few, many = roc_area([0.9] * 5, [0.1] * 5), roc_area([0.9] * 500, [0.1] * 500)
    assert few is not None
    assert many is not None
    assert (few.value, few.high, many.value) == (1.0, 1.0, 1.0)
    assert few.low < 0.8
    assert many.low > 0.99


def test_ties_count_half() -> None:
    known = roc_area([0.5, 0.5], [0.5, 0.1])
    assert known is not None
    assert known.value == pytest.approx(0.75)


@given(shares)
def test_a_share_lies_in_its_interval(share: Proportion) -> None:
    holds(share.estimate)


@given(shares, shares, st.sampled_from((0.01, 0.07, 0.2, 0.9)))
def test_a_precision_lies_in_its_interval(hits: Proportion, alarms: Proportion, base_rate: float) -> None:
    holds(precision_at_base_rate(base_rate, hits, alarms))


@given(scores, scores)
def test_an_area_is_the_share_of_pairs_in_order_and_lies_in_its_interval(
    positive: list[float], negative: list[float]
) -> None:
    known = roc_area(positive, negative)
    holds(known)
    pairs = [(one > other) + (one == other) / 2 for one in positive for other in negative]
    assert known is not None
    assert known.value == pytest.approx(sum(pairs) / len(pairs))


@given(scores, scores)
def test_the_area_of_the_opposite_question_is_the_rest(positive: list[float], negative: list[float]) -> None:
    one, other = roc_area(positive, negative), roc_area(negative, positive)
    assert one is not None
    assert other is not None
    assert (one.low, one.value, one.high) == pytest.approx((1 - other.high, 1 - other.value, 1 - other.low))


def holds(known: Estimate | None) -> None:
    if known is not None:
        assert -1e-9 <= known.low <= known.value + 1e-9
        assert known.value - 1e-9 <= known.high <= 1 + 1e-9
