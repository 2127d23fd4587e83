"""How a run begins, how long an agent may take, and when there is another one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.model.goal import Status
from sidecar.model.iterations import Asked, Ruled, Standing
from sidecar.model.journal import Journal, Task, TaskStatus
from sidecar.policy import budget
from sidecar.policy.arguments import Refusal, parse_goal
from sidecar.policy.iterations import (
    FAILURES,
    MOST,
    Typed,
    after,
    completed,
    failing,
    most,
    number,
    opening,
    resumes,
    seconds,
)

GOAL = "all tests pass"
KNOWN = Standing(
    project="/shop", status=Status.ACTIVE, condition=GOAL, budget=16, seconds_left=1800.0, exit_code=1
)
NEW = Standing(budget=16)
CONTINUE = Ruled(decision="continue", reason="gates-failed", detail="a test fails", say="Go on.")


def asked(**fields: Any) -> Asked:
    return Asked(**{"session": "demo", "project": "/shop", **fields})


def at(status: Status | None, **fields: Any) -> Standing:
    return replace(KNOWN, status=status, **fields)


# --- how it begins ---


def test_a_goal_is_typed_with_its_checks_and_minutes_after_the_budget() -> None:
    orders = opening(asked(goal=GOAL, checks=('say "hi"', "a\\b"), minutes=5, most=4), NEW)
    assert orders == (
        Typed("retry", "3"),
        Typed("goal", r'all tests pass --check "say \"hi\"" --check "a\\b" --max-minutes 5'),
    )


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=30)))
def test_a_check_is_understood_as_it_was_typed(checks: list[str]) -> None:
    wanted = tuple(check.strip() for check in checks if check.strip())
    (order,) = opening(asked(goal=GOAL, checks=wanted), NEW)
    assert parse_goal(order.arguments).checks == wanted
    assert parse_goal(order.arguments).condition == GOAL


@pytest.mark.parametrize("status", [Status.ACTIVE, Status.PAUSED, Status.STALLED, Status.UNVERIFIED])
def test_the_same_goal_typed_again_goes_on_with_what_was_spent(status: Status) -> None:
    again = asked(goal=GOAL)
    assert resumes(again, at(status))
    assert [order.name for order in opening(again, at(status)) if "tests" in order.arguments] == []


def test_a_goal_is_the_same_however_its_words_are_spaced_and_quoted() -> None:
    there = at(Status.ACTIVE, condition="all tests pass", checks=("make",), max_seconds=300)
    assert resumes(asked(goal=" all tests\n pass ", checks=(" make ",), minutes=5), there)
    assert resumes(asked(goal='"all tests pass"', checks=("make",), minutes=5), there)


@pytest.mark.parametrize("status", [Status.EXHAUSTED, Status.ACHIEVED, Status.IMPOSSIBLE, Status.CLEARED])
def test_a_goal_that_has_ended_is_set_anew_when_it_is_typed_again(status: Status) -> None:
    assert opening(asked(goal=GOAL), at(status)) == (Typed("goal", GOAL),)


@pytest.mark.parametrize("change", [{"goal": "the docs are there"}, {"checks": ("make",)}, {"minutes": 9}])
def test_another_goal_replaces_the_one_that_is_there(change: dict[str, Any]) -> None:
    orders = opening(asked(**{"goal": GOAL, **change}), KNOWN)
    assert [order.name for order in orders] == ["goal"]


@pytest.mark.parametrize(
    ("status", "orders"),
    [
        (Status.ACTIVE, ()),
        (Status.PAUSED, (Typed("goal", "resume"),)),
        (Status.STALLED, (Typed("goal", "resume"),)),
        (Status.UNVERIFIED, (Typed("goal", "resume"),)),
    ],
)
def test_without_a_goal_the_sessions_own_goes_on(status: Status, orders: tuple[Typed, ...]) -> None:
    assert opening(asked(), at(status)) == orders


@pytest.mark.parametrize(
    ("wish", "standing", "why"),
    [
        ({}, NEW, "has no goal"),
        ({}, at(Status.ACHIEVED), "is achieved"),
        ({}, at(Status.IMPOSSIBLE), "is impossible"),
        ({}, at(Status.EXHAUSTED, continuations=16), "greater --max-iterations"),
        ({"most": 17}, at(Status.EXHAUSTED, continuations=16), "greater --max-iterations"),
        ({"most": 40}, at(Status.EXHAUSTED, continuations=16, seconds_left=-1.0), "greater --max-iterations"),
        ({}, at(Status.ACTIVE, seconds_left=0.0), "time of this goal is spent"),
        ({"project": "/other"}, KNOWN, "belongs to /shop"),
        ({"goal": "Resume"}, NEW, "a goal is a condition"),
        ({"goal": "x" * 4001}, NEW, "at most 4000 characters"),
        ({"checks": ("make",)}, KNOWN, "type --goal too"),
        ({"minutes": 3}, KNOWN, "type --goal too"),
    ],
)
def test_what_cannot_begin_is_refused_with_what_to_do(
    wish: dict[str, Any], standing: Standing, why: str
) -> None:
    with pytest.raises(Refusal, match=why):
        opening(asked(**wish), standing)


def test_a_greater_number_of_iterations_lets_an_exhausted_goal_go_on() -> None:
    spent = at(Status.EXHAUSTED, continuations=3, budget=3)
    assert opening(asked(most=6), spent) == (Typed("retry", "5"),)


# --- how many, how long ---


def test_a_budget_of_n_is_n_plus_one_agents_unless_the_person_says_otherwise() -> None:
    assert most(asked(), KNOWN) == 17
    assert most(asked(most=4), KNOWN) == 4
    assert most(asked(), replace(KNOWN, budget=budget.MOST)) == MOST


@pytest.mark.parametrize(
    ("arrived", "pending", "which"), [(0, "", 1), (0, "abc", 2), (3, "", 4), (3, "abc", 5)]
)
def test_an_agent_is_counted_by_the_continuations_before_it(arrived: int, pending: str, which: int) -> None:
    assert number(replace(KNOWN, continuations=arrived, pending=pending)) == which


def test_an_agent_may_take_what_is_left_of_the_goals_time() -> None:
    assert seconds(KNOWN, 3600.0) == 1800.0
    assert seconds(KNOWN, 60.0) == 60.0
    assert seconds(replace(KNOWN, seconds_left=-5.0), 60.0) == 1.0


@pytest.mark.parametrize("goal", ['mend it --check "touch /tmp/x"', "mend it --max-minutes 3"])
def test_options_in_the_words_of_a_goal_are_refused_and_never_carried_out(goal: str) -> None:
    with pytest.raises(Refusal, match="no words of a condition"):
        opening(asked(goal=goal), NEW)


def test_at_most_n_agents_holds_over_the_goals_life() -> None:
    spent = at(Status.ACTIVE, continuations=1)
    with pytest.raises(Refusal, match=r"iterations of this goal are spent \(1 of 1\)"):
        opening(asked(goal=GOAL, most=1), spent)
    assert opening(asked(goal=GOAL, most=2), spent) == (Typed("retry", "1"),)
    assert opening(asked(goal="another one", most=1), spent)[-1] == Typed("goal", "another one")


@pytest.mark.parametrize("status", [Status.ACTIVE, Status.PAUSED, Status.STALLED, Status.UNVERIFIED])
def test_a_goal_whose_time_is_spent_does_not_go_on(status: Status) -> None:
    with pytest.raises(Refusal, match="time of this goal is spent"):
        opening(asked(), at(status, seconds_left=0.0))


# --- how it goes on ---


def test_a_continuation_is_another_agent_while_iterations_are_left() -> None:
    waits = replace(KNOWN, continuations=1, pending="abc")
    assert after(CONTINUE, waits, 3, 2) is None
    end = after(CONTINUE, replace(waits, last_reason="a test fails"), 2, 2)
    assert end is not None
    assert (end.outcome, end.exit_code, end.iterations) == ("exhausted", 1, 2)
    assert "still missing: a test fails" in end.detail


def test_one_iteration_is_one_agent_though_the_least_budget_is_one_continuation() -> None:
    assert opening(asked(goal=GOAL, most=1), NEW)[0] == Typed("retry", "1")
    end = after(CONTINUE, replace(KNOWN, budget=1, pending="abc"), 1, 1)
    assert end is not None
    assert end.outcome == "exhausted"


@pytest.mark.parametrize("status", [Status.PAUSED, Status.CLEARED, None])
def test_a_run_does_not_go_on_with_a_goal_that_the_user_took_away_meanwhile(status: Status | None) -> None:
    end = after(CONTINUE, at(status, exit_code=3), 9, 1)
    assert end is not None
    assert end.outcome in ("paused", "cleared")


@pytest.mark.parametrize(
    ("reason", "code"), [("achieved", 0), ("exhausted", 1), ("stalled", 1), ("waiting", 1), ("unverified", 2)]
)
def test_a_rest_ends_the_run_as_the_sidecar_says(reason: str, code: int) -> None:
    end = after(Ruled(decision="rest", reason=reason, detail="why"), replace(KNOWN, exit_code=code), 9, 3)
    assert end is not None
    assert (end.outcome, end.detail, end.exit_code, end.iterations) == (reason, "why", code, 3)


def test_only_so_many_failures_in_a_row_end_a_run() -> None:
    assert failing("it was killed", FAILURES - 1, 5) is None
    end = failing("it was killed", FAILURES, 5)
    assert end is not None
    assert (end.outcome, end.exit_code) == ("agent-failed", 1)
    assert "it was killed" in end.detail


# --- tasks ---


def task(ident: str, status: TaskStatus) -> Task:
    return Task(id=ident, content=ident, status=status)


def test_a_task_is_completed_when_it_was_open_or_not_there() -> None:
    before = Journal(tasks=(task("T1", TaskStatus.COMPLETED), task("T2", TaskStatus.BLOCKED)))
    now = Journal(tasks=tuple(task(f"T{each}", TaskStatus.COMPLETED) for each in (1, 2, 3)))
    assert [each.id for each in completed(before, now)] == ["T2", "T3"]
    assert completed(now, before) == ()
