"""How right the rules and gates are, without a model, on the stops that were written by hand or executed.

Those of the folder `fresh` were written when the rules were done, by somebody who had not seen them.
Each floor is what was measured when it was written down: a change that judges worse fails here. A change that
judges better raises them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct

from judge import by_hand, corpus
from sidecar.judging.asking import JudgeAccess
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import CONTINUE_DECISION, EvaluatedStop, GroundTruth
from sidecar.systems.supervision.evaluation import AbsentJudge, evaluate_stops
from support.cases import RUBRIC

pytestmark = pytest.mark.process
"""They start none: they are measured beside the scenes, and not in the lane of the README."""


class Floor(Struct, frozen=True):
    """`right`: premature stops sent back with no model, at least; `wrong`: legitimate ones, at most.

    `decided`: stops decided without a model, at least.
    """

    right: int
    wrong: int
    decided: int


FLOORS: Final = {
    ("by_hand", "en"): Floor(right=38, wrong=0, decided=146),
    ("by_hand", "other"): Floor(right=5, wrong=0, decided=60),
    ("fresh/fourteenth", "en"): Floor(right=25, wrong=0, decided=85),
    ("fresh/fifteenth", "en"): Floor(right=26, wrong=0, decided=84),
    ("executed", "en"): Floor(right=65, wrong=0, decided=93),
}
ENGLISH: Final[dict[str, Callable[[str], bool]]] = {"en": "en".__eq__, "other": "en".__ne__}


@pytest.fixture(scope="module", params=FLOORS, ids="-".join)
def judged(request: pytest.FixtureRequest) -> tuple[Floor, tuple[EvaluatedStop, ...]]:
    """A set's stops in English or in other languages, judged by rules and gates alone, and its floor."""
    name, languages = request.param
    fresh = Path(__file__).parent / name
    stored = by_hand.endings(fresh) if fresh.is_dir() and "/" in name else corpus.read(name)
    items = [item for item in stored if ENGLISH[languages](item.language)]
    asking = JudgeAccess(judge=AbsentJudge(), settings=Settings())
    return FLOORS[request.param], asyncio.run(evaluate_stops(items, RUBRIC, asking))


def test_the_stored_corpora_are_judged_no_worse_than_before(
    judged: tuple[Floor, tuple[EvaluatedStop, ...]],
) -> None:
    floor, outcomes = judged
    back = [one for one in outcomes if one.ended == CONTINUE_DECISION and not one.asked]
    right = [one for one in back if one.truth is GroundTruth.PREMATURE]
    assert len(right) >= floor.right
    assert len(back) - len(right) <= floor.wrong, [one.id for one in back if one not in right]
    assert sum(not one.asked for one in outcomes) >= floor.decided


def test_no_goal_that_does_not_hold_is_called_achieved(
    judged: tuple[Floor, tuple[EvaluatedStop, ...]],
) -> None:
    assert [one.id for one in judged[1] if one.completed and not one.complete] == []


def test_in_other_languages_no_rule_decides(judged: tuple[Floor, tuple[EvaluatedStop, ...]]) -> None:
    back = [one for one in judged[1] if one.language != "en" and one.ended == CONTINUE_DECISION]
    assert [one.id for one in back if one.stage == "rules"] == []
