"""How stops with a known truth are counted: by hand on sets so small that a reader can check them."""

from __future__ import annotations

import pytest

from sidecar.judging.labelled_stops import (
    SAFE_RATE,
    StopCounts,
    changed_outcomes,
    count_stops,
    misjudged_stops,
)
from support.evaluated_stops import LEGITIMATE, PREMATURE, back, outcome, rest


def test_a_set_is_counted_by_what_should_have_been_sent_back_and_what_was() -> None:
    ends = (
        *(back(str(number), PREMATURE) for number in range(3)),
        rest("missed", PREMATURE),
        back("accused", LEGITIMATE),
        rest("good", LEGITIMATE, completed=True),
    )
    known = count_stops("s", ends)
    assert (known.early, known.right, known.missed) == (4, 3, 1)
    assert (known.good, known.accused, known.false_completes) == (2, 1, 1)
    assert (known.precision, known.recall) == (0.75, 0.75)


def test_of_nothing_there_is_no_share_rather_than_nought() -> None:
    known = count_stops("s", ())
    assert (known.precision, known.recall, known.accused_at_most) == (None, None, 1.0)


@pytest.mark.parametrize(
    ("accused", "good", "safe"),
    [(0, 59, False), (0, 60, True), (2, 169, True), (2, 110, False), (7, 169, False)],
)
def test_a_judge_is_safe_where_few_good_stops_are_sent_back_and_there_were_enough_of_them(
    accused: int, good: int, *, safe: bool
) -> None:
    known = StopCounts(
        name="s", early=0, good=good, right=0, accused=accused, false_completes=0, precision=None, recall=None
    )
    assert (known.accused_at_most <= SAFE_RATE) is safe


def test_a_goal_that_is_called_achieved_and_of_which_nobody_knows_that_it_holds_is_a_false_complete() -> None:
    unknown, known = (rest("1", LEGITIMATE, completed=True, complete=one) for one in (None, True))
    assert count_stops("s", [unknown, known]).false_completes == 1


def test_the_worst_of_the_wrong_come_first() -> None:
    ends = (
        rest("missed", PREMATURE),
        back("accused", LEGITIMATE),
        outcome("false", LEGITIMATE, "achieved", complete=False, completed=True),
        rest("right", LEGITIMATE),
    )
    assert [one.id for one in misjudged_stops(ends)] == ["false", "accused", "missed"]


def test_a_flip_is_a_stop_of_both_that_ends_otherwise() -> None:
    before = [rest("1", PREMATURE), rest("2", PREMATURE), rest("only-before", PREMATURE)]
    after = [
        back("1", PREMATURE),
        rest("2", PREMATURE, detail="in other words"),
        back("only-after", PREMATURE),
    ]
    failed = [back("2", PREMATURE, failed="no verdict")]
    assert changed_outcomes(before, failed) == (), "how it ends is not known"
    (flip,) = changed_outcomes(before, after)
    assert (flip.before.ended, flip.after.ended) == ("nothing-suspicious", "continue")
