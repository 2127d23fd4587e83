"""Labelled stops are played through the real policy, and only the judge is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from sidecar.judging.asking import DEFAULT_CONCURRENCY, JudgeAccess
from sidecar.judging.ports import ChosenBackend, Judge
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.events import JudgeAnswered, JudgeFailed, ProjectState
from sidecar.kernel.evidence import Verdict
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, GateRun
from sidecar.kernel.gate import Outcome as GateOutcome
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.kernel.stop_history import EvaluatedStop, GroundTruth, LabelledStop
from sidecar.systems.supervision.evaluation import (
    AbsentJudge,
    estimate_judge_calls,
    evaluate_stops,
)
from support.cases import (
    PYTEST,
    RUBRIC,
    SETTINGS,
    TREE,
    abstain,
    complete,
    edited,
    gate_run,
    incomplete,
    judged,
    ran,
    talk,
    turn,
)
from support.memory_stores import MemorySpending
from support.scripted_ports import ScriptedJudge

GOAL = "the parser accepts comments"
WORKED = turn(edited(), ran("node check.mjs"), message="The parser accepts comments now.")

SEEN = ProjectState(
    tree=TREE, rubric=Rubric(patterns=(), antipatterns=(), origin="the label"), changed=("a.py",)
)
"""A project_state without gates; its rubric is not the measured one."""


def item(number: str = "1", truth: GroundTruth = GroundTruth.PREMATURE, **fields: Any) -> LabelledStop:
    usual: dict[str, Any] = {"family": "f", "origin": "by-hand", "turn": WORKED}
    return LabelledStop(id=number, truth=truth, **usual | fields)


def with_goal(number: str = "1", condition: str = GOAL, **fields: Any) -> LabelledStop:
    seen = ProjectState(tree=TREE, rubric=RUBRIC, catalog=AvailableGates((PYTEST,)), changed=("a.py",))
    usual: dict[str, Any] = {"goal": condition, "complete": False, "seen": seen}
    return item(number, **usual | fields)


def with_gate(outcome: GateOutcome | None, **fields: Any) -> LabelledStop:
    runs: tuple[GateRun, ...] = () if outcome is None else (gate_run(outcome=outcome),)
    return with_goal(condition="all tests pass", runs=runs, **fields)


def play(*items: LabelledStop, judge: Judge | None = None, **more: Any) -> tuple[EvaluatedStop, ...]:
    at_once, told = more.pop("at_once", DEFAULT_CONCURRENCY), more.pop("told", None)
    asking = JudgeAccess(judge=judge or AbsentJudge(), **{"settings": SETTINGS} | more)
    return asyncio.run(evaluate_stops(items, RUBRIC, asking, told, at_once))


def one(item: LabelledStop, *answers: Verdict | JudgeFailed, **more: Any) -> EvaluatedStop:
    (outcome,) = play(item, judge=ScriptedJudge(*answers), **more)
    return outcome


class Priced:
    """Gives each answer with its cost, and keeps the cases; fails when they are used up."""

    def __init__(self, *answers: JudgeAnswered | JudgeFailed) -> None:
        self.answers = list(answers)
        self.cases: list[JudgeCase] = []

    def chosen(self, environment: Environment, settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        return ChosenBackend("priced", "a test says so")

    async def ask(
        self,
        case: JudgeCase,
        environment: Environment,  # noqa: ARG002 - the port's
        settings: Settings,  # noqa: ARG002 - the port's
    ) -> JudgeAnswered | JudgeFailed:
        self.cases.append(case)
        return self.answers.pop(0)


# --- where a stop is decided --------------------------------------------------------------------------------


def test_a_plain_answer_is_let_go_by_a_skip_rule() -> None:
    outcome = one(item(truth=GroundTruth.LEGITIMATE, turn=talk()))
    assert (outcome.calls, outcome.cents) == (0, 0.0)
    assert (outcome.ended, outcome.stage, outcome.asked, outcome.wrong) == (
        "only-talk",
        "skip rules",
        False,
        False,
    )


def test_a_failing_gate_sends_back_and_nobody_is_asked() -> None:
    outcome = one(with_gate(GateOutcome.FAILED))
    assert (outcome.ended, outcome.kind, outcome.stage) == ("continue", "gates-failed", "gates")
    assert outcome.confidence is not None
    assert outcome.confidence > 0.9
    assert (outcome.sent_back, outcome.asked, outcome.completed) == (True, False, False)
    assert "`pytest -q` fails (exit code 1)" in outcome.detail


def test_a_gate_that_passes_on_these_files_achieves_the_goal_it_decides() -> None:
    outcome = one(with_gate(GateOutcome.PASSED, truth=GroundTruth.LEGITIMATE, complete=True))
    assert (outcome.ended, outcome.completed, outcome.wrong) == ("achieved", True, False)
    assert outcome.confidence is not None
    assert outcome.confidence < 0.1


def test_a_goal_that_rests_because_nobody_approved_its_check_is_not_completed() -> None:
    own = Gate(id="own", command="make own", why="a file says so", origin=GateOrigin.PROJECT, required=True)
    seen = msgspec.structs.replace(SEEN, catalog=AvailableGates((own,)))
    outcome = one(with_goal(seen=seen))
    assert (outcome.ended, outcome.completed) == ("unverified", False)


# --- the judge ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "ended", "completed", "confidence"),
    [
        (complete("E2", confidence=0.8), "judged", True, 0.2),
        (incomplete(confidence=0.8), "continue", False, 0.8),
        (complete("E77"), "unjudged", False, None),
    ],
)
def test_a_verdict_ends_the_stop_where_it_agrees_with_the_evidence(
    answer: Verdict, ended: str, confidence: float | None, *, completed: bool
) -> None:
    outcome = one(with_goal(seen=SEEN), answer)
    assert (outcome.ended, outcome.completed, outcome.stage, outcome.asked) == (
        ended,
        completed,
        "judge",
        True,
    )
    assert outcome.failed == ""
    if confidence is not None:
        assert outcome.confidence == pytest.approx(confidence)


def test_a_goal_called_achieved_that_does_not_hold_is_a_false_complete() -> None:
    outcome = one(with_goal(seen=SEEN), complete("E2", confidence=0.95))
    assert (outcome.false_complete, outcome.wrong) == (True, True)


def test_a_judge_that_fails_or_abstains_leaves_the_stop_unjudged_and_only_the_first_is_a_failure() -> None:
    label = with_goal(seen=SEEN)
    failed, abstained = one(label, JudgeFailed("401")), one(label, abstain())
    assert [(each.ended, each.failed) for each in (failed, abstained)] == [
        ("unjudged", "401"),
        ("unjudged", ""),
    ]


def test_two_samples_are_added_up_and_a_second_that_fails_does_not_undo_the_first() -> None:
    near = judged(incomplete(confidence=0.55), tokens=1000, cents=1.0)
    judge = Priced(near, JudgeFailed("529", tokens=10, cents=0.5, calls=1))
    label = with_goal(seen=SEEN)
    (outcome,) = play(label, judge=judge)
    assert len(judge.cases) == 2, "the first answer was near the threshold"
    assert (outcome.calls, outcome.tokens, outcome.cents) == (2, 1010, 1.5)
    assert (outcome.sent_back, outcome.failed) == (True, "")


def test_a_call_without_a_price_makes_the_cost_unknown() -> None:
    (outcome,) = play(with_goal(seen=SEEN), judge=Priced(judged(incomplete(), tokens=5)))
    assert (outcome.cents, outcome.tokens) == (None, 5)


def test_what_judging_costs_is_kept_and_the_daily_limit_holds() -> None:
    spending = MemorySpending()
    labels = [with_goal(str(number), seen=SEEN) for number in range(3)]
    judge = Priced(*(judged(incomplete(), tokens=60, cents=2.0) for _ in labels))
    settings = Settings(judge=JudgeSettings(daily_tokens=100))
    outcomes = play(*labels, judge=judge, spending=spending, settings=settings, at_once=1)
    assert (spending.today().tokens, spending.today().cents) == (120, 4.0)
    assert ["daily limit" in outcome.failed for outcome in outcomes] == [False, False, True]
    assert "daily limit" in outcomes[-1].detail


def test_the_judge_sees_the_measured_rubric_and_no_secret() -> None:
    judge = Priced(judged(incomplete()))
    label = with_goal(
        condition="the token hunter2 works",
        seen=SEEN,
    )
    play(label, judge=judge, mask=lambda text: text.replace("hunter2", "***"))
    assert judge.cases[0].condition == "the token *** works"
    assert judge.cases[0].rubric.origin == RUBRIC.origin


def test_likely_calls_are_counted_without_asking() -> None:
    labels = [with_goal("1", seen=SEEN), item("2", turn=talk())]
    assert asyncio.run(estimate_judge_calls(labels, RUBRIC, SETTINGS)) == 1


# --- many of them -------------------------------------------------------------------------------------------


def test_outcomes_are_in_the_order_of_the_items_with_all_that_the_label_says() -> None:
    labels = [
        item(str(number), turn=talk(), language="de", host="opencode", blind=True, fabricated=True)
        for number in range(9)
    ]
    told: list[EvaluatedStop] = []
    outcomes = play(*labels, told=told.append)
    assert [outcome.id for outcome in outcomes] == [label.id for label in labels]
    assert {(each.language, each.host, each.blind, each.fabricated) for each in outcomes} == {
        ("de", "opencode", True, True)
    }
    assert sorted(each.id for each in told) == [label.id for label in labels]


def test_a_bug_ends_all_and_names_the_stop() -> None:
    labels = [with_goal("the-one", seen=SEEN)]
    with pytest.raises(ExceptionGroup) as error:
        play(*labels, judge=Priced())  # pops from an empty list
    assert error.value.exceptions[0].__notes__ == ["while the stop 'the-one' was judged"]
