"""When a model is asked, how often, and what its answers cost."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.model.effects import AskJudge, Continue, Effect, Reason, Rest, Ruling
from sidecar.model.events import JudgeFailed, Surveyed
from sidecar.model.goal import Spent, Status
from sidecar.model.inquiry import Inquiry
from sidecar.model.settings import Judge, Settings
from sidecar.model.spending import Spending
from sidecar.model.verdict import Judgement, Verdict
from sidecar.policy import judging
from sidecar.policy.evidence import gather
from sidecar.policy.verdicts import BAND, SURE, SURE_UNASKED
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

SURVEY = Surveyed(tree=TREE, rubric=RUBRIC, changed=("a.py",))
RUNS = (gate_run(replace(PYTEST, required=True)),)


def inquiry(*, goal: bool = True, **fields: Any) -> Inquiry:
    known = gather(turn(), RUNS, SURVEY)
    usual: dict[str, Any] = {
        "session": with_goal() if goal else session(),
        "stop": stopped(),
        "settings": Settings(),
        "turn": turn(),
        "survey": SURVEY,
        "runs": RUNS,
        "evidence": known.evidence,
        "suspicion": "" if goal else "false-complete: no test ran",
        "today": Spending(day="2026-11-22"),
    }
    return Inquiry(**usual | fields)


def said(verdict: Verdict, **cost: Any) -> Judgement:
    return Judgement(**{"verdict": verdict, "backend": "scripted", "tokens": 100, "cents": 0.5} | cost)


def ask(before: Inquiry) -> tuple[Inquiry, Effect | Ruling]:
    return judging.ask(before, "the parser accepts comments" if before.session.goal else "")


def asked(**fields: Any) -> Inquiry:
    after, order = ask(inquiry(**fields))
    assert isinstance(order, AskJudge)
    return after


def test_a_sure_answer_is_enough() -> None:
    after, ruling = judging.judged(asked(), said(complete("E1")), 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is Reason.ACHIEVED
    assert (after.judge, after.judge_tokens, after.judge_cents) == ("scripted", 100, 0.5)
    assert after.confidence == pytest.approx(0.1)


def test_an_answer_near_the_threshold_is_asked_for_again_about_the_same_case() -> None:
    before = asked()
    after, order = judging.judged(before, said(incomplete(confidence=SURE + BAND)), 0.0)
    assert isinstance(order, AskJudge)
    assert order.case == before.case
    after, ruling = judging.judged(after, said(incomplete(confidence=0.8)), 0.0)
    assert isinstance(ruling, Continue)
    assert after.judge_tokens == 200
    assert after.confidence == pytest.approx((SURE + BAND + 0.8) / 2)


def test_a_first_answer_just_below_the_threshold_counts_if_the_second_lifts_the_mean() -> None:
    after, order = judging.judged(
        asked(goal=False), said(incomplete(confidence=SURE_UNASKED - BAND / 2)), 0.0
    )
    assert isinstance(order, AskJudge)
    low = judging.judged(after, said(incomplete(confidence=SURE_UNASKED)), 0.0)[1]
    assert isinstance(low, Rest)
    assert "not sure enough" in low.detail
    assert isinstance(judging.judged(after, said(incomplete(confidence=0.9)), 0.0)[1], (Continue, Rest))


def test_two_answers_that_differ_are_none() -> None:
    after, _ = judging.judged(asked(), said(incomplete(confidence=SURE)), 0.0)
    after, ruling = judging.judged(after, said(complete("E1", confidence=0.95)), 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is Reason.UNJUDGED
    assert "asked twice, the judge said incomplete, then complete" in ruling.detail
    assert after.session.goal is not None
    assert after.session.goal.status is Status.ACTIVE


def test_a_second_question_that_fails_leaves_the_first_answer() -> None:
    after, _ = judging.judged(asked(), said(waiting(confidence=SURE)), 0.0)
    _, ruling = judging.failed(after, UNREACHABLE, 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is Reason.WAITING


@pytest.mark.parametrize(
    "settings",
    [
        Settings(judge=Judge(second_sample=False)),
        Settings(judge=Judge(daily_tokens=50)),
        Settings(judge=Judge(daily_cents=0.4)),
        Settings(goal_max_cents=0.3),
    ],
    ids=["switched off", "tokens of the day", "cents of the day", "cents of the goal"],
)
def test_it_is_asked_once_where_more_is_not_wanted_or_not_paid_for(settings: Settings) -> None:
    _, order = judging.judged(asked(settings=settings), said(waiting(confidence=SURE)), 0.0)
    assert isinstance(order, Rest)
    assert order.reason is Reason.WAITING


def test_a_second_question_that_fails_ends_no_goal_by_the_first_answer() -> None:
    after, _ = judging.judged(asked(), said(complete("E1", confidence=SURE + BAND)), 0.0)
    after, ruling = judging.failed(after, UNREACHABLE, 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is Reason.UNJUDGED
    assert after.session.goal is not None
    assert after.session.goal.status is Status.ACTIVE


def test_no_answer_never_achieves_and_never_sends_back_but_is_charged() -> None:
    failure = JudgeFailed("overloaded (529)", tokens=7, cents=0.1, backend="anthropic", calls=3)
    after, ruling = judging.failed(asked(), failure, 0.0)
    assert isinstance(ruling, Rest)
    assert ruling.reason is Reason.UNJUDGED
    assert "overloaded (529)" in ruling.note
    assert after.session.goal is not None
    assert after.session.goal.spent == Spent(judge_tokens=7, judge_cents=0.1)
    assert after.today == Spending(day="2026-11-22", calls=3, tokens=7, cents=0.1)


@pytest.mark.parametrize("goal", [True, False])
def test_at_the_daily_limit_nobody_is_asked_and_the_user_is_told(*, goal: bool) -> None:
    spent = Spending(day="2026-11-22", cents=20.0, calls=9)
    before = inquiry(goal=goal, settings=Settings(judge=Judge(daily_cents=20)), today=spent)
    after, ruling = ask(before)
    assert isinstance(ruling, Rest)
    assert ruling.reason is Reason.UNJUDGED
    assert "the daily limit of judging is reached: 20 of 20 cents" in ruling.note
    again, ruling = ask(replace(before, session=after.session))
    assert isinstance(ruling, Rest)
    assert bool(ruling.note) == goal, "without a goal it is said once a day"
    _, ruling = ask(replace(before, session=again.session, today=replace(spent, day="2026-11-23")))
    assert isinstance(ruling, Rest)
    assert ruling.note


def test_a_goal_whose_judging_cost_what_it_may_is_exhausted() -> None:
    spent = with_goal(spent=Spent(judge_cents=5.0))
    _, ruling = ask(inquiry(session=spent, settings=Settings(goal_max_cents=5)))
    assert isinstance(ruling, Rest)
    assert ruling.reason is Reason.EXHAUSTED
    assert "5 of 5 cents for judging" in ruling.note
