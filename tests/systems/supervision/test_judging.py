"""When a model is asked, how often, and what its answers cost."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.evidence.ledger import gather_evidence
from sidecar.judging.verdicts import MIN_CONFIDENCE, SECOND_ANSWER_BAND
from sidecar.kernel.effects import AskJudge, Continue, Effect, Inquiry, Rest, RestReason, Ruling
from sidecar.kernel.events import JudgeFailed, ProjectState
from sidecar.kernel.evidence import Judgement, Verdict
from sidecar.kernel.goal import GoalSpending, GoalStatus, Spending
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.systems.supervision.policy import judge_step
from support.cases import (
    PYTEST,
    RUBRIC,
    TREE,
    UNREACHABLE,
    complete,
    gate_run,
    incomplete,
    session,
    stopped,
    turn,
    waiting,
    with_goal,
)

SURVEY = ProjectState(tree=TREE, rubric=RUBRIC, changed=("a.py",))
RUNS = (gate_run(replace(PYTEST, required=True)),)


def inquiry(*, goal: bool = True, **fields: Any) -> Inquiry:
    known = gather_evidence(turn(), RUNS, SURVEY)
    usual: dict[str, Any] = {
        "session": with_goal() if goal else session(),
        "stop": stopped(),
        "settings": Settings(),
        "turn": turn(),
        "project_state": SURVEY,
        "runs": RUNS,
        "evidence": known.evidence,
        "suspicion": "" if goal else "false-complete: no test ran",
        "today": Spending(day="2026-11-22"),
    }
    return Inquiry(**usual | fields)


def said(verdict: Verdict, **cost: Any) -> Judgement:
    return Judgement(**{"verdict": verdict, "backend": "scripted", "tokens": 100, "cents": 0.5} | cost)


def ask(before: Inquiry) -> tuple[Inquiry, Effect | Ruling]:
    return judge_step.ask_judge(before, "the parser accepts comments" if before.session.goal else "", 0.0)


def asked(**fields: Any) -> Inquiry:
    after, order = ask(inquiry(**fields))
    assert isinstance(order, AskJudge)
    return after


def test_a_sure_answer_is_enough() -> None:
    after, ruling = judge_step.apply_judgement(asked(), said(complete("E1")), 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is RestReason.JUDGED
    assert (after.judge, after.judge_tokens, after.judge_cents) == ("scripted", 100, 0.5)
    assert after.confidence == pytest.approx(0.1)


def test_an_answer_near_the_threshold_is_asked_for_again_about_the_same_case() -> None:
    before = asked()
    after, order = judge_step.apply_judgement(
        before, said(incomplete(confidence=MIN_CONFIDENCE + SECOND_ANSWER_BAND)), 0.0
    )
    assert isinstance(order, AskJudge)
    assert order.case == before.case
    after, ruling = judge_step.apply_judgement(after, said(incomplete(confidence=0.8)), 0.0)
    assert isinstance(ruling, Continue)
    assert after.judge_tokens == 200
    assert after.confidence == pytest.approx((MIN_CONFIDENCE + SECOND_ANSWER_BAND + 0.8) / 2)


def test_two_answers_that_differ_are_none() -> None:
    after, _ = judge_step.apply_judgement(asked(), said(incomplete(confidence=MIN_CONFIDENCE)), 0.0)
    after, ruling = judge_step.apply_judgement(after, said(complete("E1", confidence=0.95)), 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is RestReason.UNJUDGED
    assert "asked twice, the judge said incomplete, then complete" in ruling.detail
    assert after.session.goal is not None
    assert after.session.goal.status is GoalStatus.ACTIVE


def test_a_second_question_that_fails_leaves_the_first_answer() -> None:
    after, _ = judge_step.apply_judgement(asked(), said(waiting(confidence=MIN_CONFIDENCE)), 0.0)
    _, ruling = judge_step.handle_judge_failure(after, UNREACHABLE, 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is RestReason.WAITING


@pytest.mark.parametrize(
    "settings",
    [
        Settings(judge=JudgeSettings(second_sample=False)),
        Settings(judge=JudgeSettings(daily_tokens=50)),
        Settings(judge=JudgeSettings(daily_cents=0.4)),
        Settings(goal_max_cents=0.3),
    ],
    ids=["switched off", "tokens of the day", "cents of the day", "cents of the goal"],
)
def test_it_is_asked_once_where_more_is_not_wanted_or_not_paid_for(settings: Settings) -> None:
    _, order = judge_step.apply_judgement(
        asked(settings=settings), said(waiting(confidence=MIN_CONFIDENCE)), 0.0
    )
    assert isinstance(order, Rest)
    assert order.reason is RestReason.WAITING


def test_no_answer_never_achieves_and_never_sends_back_but_is_charged() -> None:
    failure = JudgeFailed("overloaded (529)", tokens=7, cents=0.1, backend="anthropic", calls=3)
    after, ruling = judge_step.handle_judge_failure(asked(), failure, 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is RestReason.UNJUDGED
    assert "overloaded (529)" in ruling.note
    assert after.session.goal is not None
    assert after.session.goal.spent == GoalSpending(judge_tokens=7, judge_cents=0.1)
    assert after.today == Spending(day="2026-11-22", calls=3, tokens=7, cents=0.1)


@pytest.mark.parametrize("goal", [True, False])
def test_at_the_daily_limit_nobody_is_asked_and_the_user_is_told(*, goal: bool) -> None:
    spent = Spending(day="2026-11-22", cents=20.0, calls=9)
    before = inquiry(goal=goal, settings=Settings(judge=JudgeSettings(daily_cents=20)), today=spent)
    after, ruling = ask(before)
    assert isinstance(ruling, Rest)
    assert ruling.reason is RestReason.UNJUDGED
    assert "the daily limit of judging is reached: 20 of 20 cents" in ruling.note
    again, ruling = ask(replace(before, session=after.session))
    assert isinstance(ruling, Rest)
    assert bool(ruling.note) == goal, "without a goal it is said once a day"
    _, ruling = ask(replace(before, session=again.session, today=replace(spent, day="2026-11-23")))
    assert isinstance(ruling, Rest)
    assert ruling.note


def test_a_goal_whose_judging_cost_what_it_may_is_exhausted() -> None:
    spent = with_goal(spent=GoalSpending(judge_cents=5.0))
    _, ruling = ask(inquiry(session=spent, settings=Settings(goal_max_cents=5)))
    assert isinstance(ruling, Rest)
    assert ruling.reason is RestReason.EXHAUSTED
    assert "5 of 5 cents for judging" in ruling.note
