"""What agents take is reserved before they start and settled when they have ended."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from sidecar.kernel.log import WorkerRan
from sidecar.kernel.session import Limit
from sidecar.kernel.settings import JudgeSettings, Settings, WorkerSettings
from sidecar.workers.budget import Budget
from support.memory_stores import MemorySpending

Took = tuple[int, float | None]


def ran(took: Took) -> WorkerRan:
    return WorkerRan(backend="run", model="", tokens=took[0], cents=took[1], calls=1, seconds=1.0)


CENTS, MORE = {"max_cents": 100.0}, ("--max-cents", "200")
CASES: list[tuple[dict[str, Any], list[Took], int, str, tuple[str, ...]]] = [
    ({}, [(9_000_000, 9e6)], 9, "", ()),
    (CENTS, [], 0, "", ()),
    (CENTS, [], 1, "0 of 100 cents", MORE),  # nothing is known yet
    (CENTS, [(9, 20.0), (9, 30.0)], 0, "", ()),
    (CENTS, [(9, 20.0), (9, 30.0)], 1, "50 of 100 cents are taken, and an agent took up to 30", MORE),
    (CENTS, [(9, 120.0)], 0, "120 of 100 cents are taken.", MORE),
    ({"max_tokens": 900_000}, [(600_000, None)], 0, "600000 of 900000", ("--max-tokens", "1800000")),
    ({"day": 70.0}, [(9, 40.0)], 0, "40 of 70 cents today are taken", ()),
]


@pytest.mark.parametrize(("limits", "before", "at_work", "obstacle", "way"), CASES)
def test_an_agent_is_started_where_as_much_as_the_greatest_took_is_left_for_all_at_work(
    limits: dict[str, Any], before: list[Took], at_work: int, obstacle: str, way: tuple[str, ...]
) -> None:
    own = dict(limits)
    settings = Settings(workers=WorkerSettings(max_cents_per_day=own.pop("day", None)))
    budget = Budget(MemorySpending(), **own)
    for took in before:
        budget.settle(ran(took), settings)
    said = budget.obstacle(at_work, settings)
    assert (said is not None) is bool(obstacle)
    assert said is None or (obstacle in said.text and tuple(chain(*said.way)) == way)


def test_four_fifths_of_a_limit_and_a_silent_agent_are_told_once_and_all_counts_in_the_day() -> None:
    told: list[Limit | str] = []
    spending = MemorySpending(50, 10.0)
    budget = Budget(spending, told.append, told.append, max_tokens=100)
    settings = Settings(judge=JudgeSettings(daily_cents=100.0))
    for took in ((70, 20.0), (10, 50.0), (10, 5.0), (0, None), (0, None)):
        budget.settle(ran(took), settings)
    kinds = [(what.unit, what.used) if isinstance(what, Limit) else what[:25] for what in told]
    assert kinds == [
        ("tokens", 80),
        ("cents", 80.0),
        "an agent told no tokens, ",
        "an agent told no cents, s",
    ]
    assert (budget.tokens, budget.cents, spending.today().cents) == (90, 75.0, 85.0)
