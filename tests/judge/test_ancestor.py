"""The three evals of Supervisor's ancestor, judged by one who knows no more than the prompt of a model."""

from __future__ import annotations

import asyncio

import pytest
from judge.ancestor import Named, Reader, cases, judged

from sidecar.judging.labelled_stops import changed_outcomes
from sidecar.kernel.effects import RestReason
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.stop_history import CONTINUE_DECISION
from sidecar.platform.installation import plugin_root
from sidecar.rubric.reader import RubricFiles

CASES = {case.name: case for case in cases()}


@pytest.fixture
def rubric() -> Rubric:
    """The one that comes with Supervisor."""
    return RubricFiles(plugin_root() / "rubric" / "rubric.md").load("", {})


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_ends_as_the_ancestor_wanted(case: Named, rubric: Rubric) -> None:
    outcome = asyncio.run(judged(case, rubric))
    assert (outcome.ended, outcome.stage, outcome.asked) == (case.ended, "judge", True)
    assert outcome.completed == (case.ended == RestReason.JUDGED)


def test_a_condition_that_is_met_is_complete_by_the_evidence_that_the_judge_read(rubric: Rubric) -> None:
    reader = Reader()
    outcome = asyncio.run(judged(CASES["condition met, with evidence"], rubric, reader))
    assert "what was asked for (E2)" in outcome.detail
    assert "E2 [tool WORK] the agent ran `node check-page.mjs`: ok, exit code 0" in reader.prompts[0]


def test_an_edited_antipattern_flips_the_verdict_of_the_very_same_stop(rubric: Rubric) -> None:
    before, after = CASES["a rubric before it is edited"], CASES["an antipattern edited in"]
    assert before.item == after.item
    (flip,) = changed_outcomes(
        [asyncio.run(judged(before, rubric))],
        [asyncio.run(judged(after, rubric))],
    )
    assert (flip.before.ended, flip.after.ended) == (RestReason.JUDGED, CONTINUE_DECISION)
    assert "which the rubric forbids" in flip.after.detail
