"""No fake of the corpus becomes achieved, or reaches the judge unseen; the honest are not accused.

The endings written by hand, and a few generated ones, are judged with the gates' outcomes as they were
recorded, some with everything run for real. `python benchmarks/endings` does it at length, with fresh seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from endings.ending import Ending, Label
from endings.generator import digest, generate
from endings.judging import End, judge
from endings.report import Row, Share, figures

from endings import by_hand, ground
from support.table import often, over_table

pytestmark = pytest.mark.process

HAND = by_hand.load()
BY_NAME = {ending.name: ending for ending in HAND}
ONLY_A_REAL_RUN_SHOWS = frozenset(("nothing-executed", "flaky-by-state"))
"""Ways of faking that change what a gate reports, and nothing else that is sure to be seen."""
SEEDS = [pytest.param(seed, marks=() if seed <= 8 else pytest.mark.long) for seed in range(1, 21)]
"""Fixed: a red run is about the change, never about luck."""
EVERY = 4
"""One generated ending in so many has its gates run for real: that is what takes the time."""


def names(*labels: Label) -> list[str]:
    return [ending.name for ending in HAND if ending.label in labels]


SOME, ALL = 8, 1
"""Every eighth ending is played each time, all of them before a release: reading one takes a second."""
STRIDES = [SOME, pytest.param(ALL, marks=pytest.mark.long)]


@pytest.mark.parametrize("stride", STRIDES)
def test_fakes_written_by_hand_do_not_pass(stride: int) -> None:
    _all_hold(names(Label.FAKED)[::stride], _does_not_pass)


def _does_not_pass(name: str) -> None:
    ending = BY_NAME[name]

    seen = judge(ending, run=ending.way in ONLY_A_REAL_RUN_SHOWS)

    assert seen.passes(ending) == bool(ending.gap), f"a gap that is none is data to remove: {seen}"


@pytest.mark.parametrize("stride", STRIDES)
def test_honest_endings_written_by_hand_are_not_accused(stride: int) -> None:
    _all_hold(names(Label.HONEST_SUCCESS, Label.HONEST_FAILURE)[::stride], _is_not_accused)


def _is_not_accused(name: str) -> None:
    ending = BY_NAME[name]

    seen = judge(ending, run=False)

    assert seen.flagged(ending) == bool(ending.gap), seen
    assert (seen.end is End.SENT_BACK) == (not ending.green) or ending.gap


def _all_hold(rows: list[str], holds: Callable[[str], None]) -> None:
    """Try every row; all that fail are named together."""
    over_table("name", rows)(holds)()


@pytest.mark.parametrize("seed", often(SEEDS, 3))
def test_a_generated_ending_is_judged_rightly(seed: int) -> None:
    ending = generate(seed)

    seen = judge(ending, run=seed % EVERY == 0 or ending.way in ONLY_A_REAL_RUN_SHOWS)

    assert not seen.passes(ending), seen
    assert not seen.flagged(ending), seen


def test_every_way_of_faking_of_the_issue_is_among_those_written_by_hand() -> None:
    ways = Counter(ending.way for ending in HAND if ending.label is Label.FAKED)

    assert set(ways) >= {
        "tests-deleted",
        "tests-skipped",
        "expected-to-fail",
        "assertions-removed",
        "assertions-weakened",
        "assertions-tautological",
        "threshold-lowered",
        "runner-loosened",
        "ci-loosened",
        "lint-loosened",
        "snapshots-regenerated",
        "command-shadowed",
        "command-changed",
        "failure-swallowed",
        "nothing-executed",
        "stale-run",
        "claim-without-run",
    }


def test_a_seed_always_yields_the_same_ending_and_another_seed_another() -> None:
    endings = [generate(seed) for seed in range(200)]

    assert [digest(generate(seed)) for seed in range(200)] == [digest(ending) for ending in endings]
    assert len({digest(ending) for ending in endings}) == len(endings)
    assert {ending.ecosystem for ending in endings} >= {"python", "node", "make", "go", "rust", "java"}


@pytest.mark.parametrize("seed", often(range(1, 6), 2))
def test_a_generated_ending_is_what_it_says(seed: int, tmp_path: Path) -> None:
    assert sound(generate(seed), tmp_path)


def sound(ending: Ending, folder: Path) -> bool:
    return not ground.sound(ending, folder)


def test_an_interval_holds_the_share_and_is_wide_where_little_is_known() -> None:
    assert Share(0, 300).interval == pytest.approx((0.0, 1.264), abs=0.01)
    assert Share(6, 300).interval == pytest.approx((0.92, 4.29), abs=0.01)
    assert Share(0, 0).interval == (0.0, 100.0)


def test_figures_count_known_gaps_apart() -> None:
    rows = [
        row("1", "faked", passes=True),
        row("2", "faked", passes=True, gap="why"),
        row("3", "honest-success", flagged=True),
    ]

    known = figures(rows)

    assert (known.fakes_passed, known.gaps_passed, known.honest_flagged) == (
        Share(1, 1),
        Share(1, 1),
        Share(1, 1),
    )


def row(number: str, label: str, *, passes: bool = False, flagged: bool = False, gap: str = "") -> Row:
    return Row(
        seed=None,
        name=number,
        label=label,
        way="w",
        ecosystem="python",
        end="achieved",
        passes=passes,
        flagged=flagged,
        gap=gap,
        digest=number,
    )
