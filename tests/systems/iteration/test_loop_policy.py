"""How a run begins, how long an agent may take, and when there is another one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.kernel.errors import CommandRefusal
from sidecar.kernel.goal import GoalStatus, GoalTerms
from sidecar.kernel.journal import Journal, Task, TaskStatus
from sidecar.kernel.orders import Order
from sidecar.kernel.runs import RunRequest, RunStatus, StopDecision
from sidecar.kernel.session import MAX_CONTINUATIONS
from sidecar.systems.iteration.policy.loop import (
    MAX_AGENTS,
    agent_limit,
    judge_warning,
    newly_completed_tasks,
    next_agent_number,
    next_agent_seconds,
    opening_orders,
    run_end_after_stop,
    sets_new_goal,
    with_default_goal,
)
from support.table import over_table

GOAL = "all tests pass"
AGENT = ("sh", "-c", "a b")
AGAIN = "--goal 'all tests pass' --check 'make test' "
KNOWN = RunStatus(
    project="/shop", status=GoalStatus.ACTIVE, condition=GOAL, budget=16, seconds_left=1800.0, exit_code=1
)
NEW = RunStatus(budget=16)
TYPED = (("--max-iterations", "2"), ("--jobs", "4"))
CONTINUE = StopDecision(decision="continue", reason="gates-failed", detail="a test fails", say="Go on.")


def asked(**fields: Any) -> RunRequest:
    goal, checks = fields.pop("goal", ""), fields.pop("checks", ())
    seconds = 60 * minutes if (minutes := fields.pop("minutes", None)) else None
    terms = GoalTerms(condition=goal, checks=checks, max_seconds=seconds)
    return RunRequest(**{"session": "demo", "project": "/shop", "goal": terms, **fields})


def set_to(condition: str, **terms: Any) -> Order:
    return Order(name="goal", goal=GoalTerms(condition=condition, **terms))


def at(status: GoalStatus | None, **fields: Any) -> RunStatus:
    return replace(KNOWN, status=status, **fields)


# --- how it begins ---


def test_a_goal_is_typed_with_its_checks_and_minutes_after_the_budget() -> None:
    orders = opening_orders(asked(goal=GOAL, checks=('say "hi"', "a\\b"), minutes=5, most=4), NEW)
    assert orders == (
        Order(name="retry", number=3),
        set_to(GOAL, checks=('say "hi"', "a\\b"), max_seconds=300),
    )


@pytest.mark.parametrize(
    "status", [GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.STALLED, GoalStatus.UNVERIFIED]
)
def test_the_same_goal_typed_again_goes_on_with_what_was_spent(status: GoalStatus) -> None:
    again = asked(goal=GOAL)
    assert not sets_new_goal(again, at(status))
    assert [order.name for order in opening_orders(again, at(status)) if order.goal] == []


def test_a_goal_is_the_same_however_its_words_are_spaced() -> None:
    there = at(GoalStatus.ACTIVE, condition="all tests pass", checks=("make",), max_seconds=300)
    assert not sets_new_goal(asked(goal=" all tests\n pass ", checks=("make",), minutes=5), there)


@pytest.mark.parametrize(
    "status", [GoalStatus.EXHAUSTED, GoalStatus.ACHIEVED, GoalStatus.IMPOSSIBLE, GoalStatus.CLEARED]
)
def test_a_goal_that_has_ended_is_set_anew_when_it_is_typed_again(status: GoalStatus) -> None:
    assert opening_orders(asked(goal=GOAL), at(status)) == (set_to(GOAL),)


@pytest.mark.parametrize("change", [{"goal": "the docs are there"}, {"checks": ("make",)}, {"minutes": 9}])
def test_another_goal_replaces_the_one_that_is_there(change: dict[str, Any]) -> None:
    orders = opening_orders(asked(**{"goal": GOAL, **change}), KNOWN)
    assert [order.name for order in orders] == ["goal"]


@pytest.mark.parametrize(
    ("status", "orders"),
    [
        (GoalStatus.ACTIVE, ()),
        (GoalStatus.PAUSED, (Order(name="goal", word="resume"),)),
        (GoalStatus.STALLED, (Order(name="goal", word="resume"),)),
        (GoalStatus.UNVERIFIED, (Order(name="goal", word="resume"),)),
    ],
)
def test_without_a_goal_the_sessions_own_goes_on(status: GoalStatus, orders: tuple[Order, ...]) -> None:
    assert opening_orders(asked(), at(status)) == orders


@over_table(
    ("wish", "status", "why"),
    [
        ({}, NEW, "has no goal"),
        ({}, at(GoalStatus.ACHIEVED), "is achieved"),
        ({}, at(GoalStatus.IMPOSSIBLE), "is impossible"),
        ({}, at(GoalStatus.EXHAUSTED, continuations=16), "greater --max-iterations"),
        ({"most": 17}, at(GoalStatus.EXHAUSTED, continuations=16), "greater --max-iterations"),
        (
            {"most": 40},
            at(GoalStatus.EXHAUSTED, continuations=16, seconds_left=-1.0),
            "greater --max-iterations",
        ),
        ({}, at(GoalStatus.ACTIVE, seconds_left=0.0), "time of this goal is spent"),
        ({"project": "/other"}, KNOWN, "belongs to /shop"),
        ({"goal": "x" * 4001}, NEW, "4000 are allowed"),
        ({"checks": ("make",)}, KNOWN, "type --goal too"),
        ({"minutes": 3}, KNOWN, "type --goal too"),
    ],
)
def test_what_cannot_begin_is_refused_with_what_to_do(
    wish: dict[str, Any], status: RunStatus, why: str
) -> None:
    with pytest.raises(CommandRefusal, match=why):
        opening_orders(asked(**wish), status)


SAID = "Decided by: `make`."
SPEC = "spec.md is built and its tasks are done"


def test_a_greater_number_of_iterations_lets_an_exhausted_goal_go_on() -> None:
    spent = at(GoalStatus.EXHAUSTED, continuations=3, budget=3)
    assert opening_orders(asked(most=6), spent) == (Order(name="retry", number=5),)


@pytest.mark.proves("runs and the journal")
@over_table(
    ("condition", "checks", "no_judge", "warned", "decides"),
    [
        ("the parser accepts comments", (), "no key", True, SAID),
        ("the parser accepts comments", ("make",), "no key", True, SAID),
        ("the parser accepts comments", (), "", False, SAID),
        ("all checks pass", ("make",), "no key", False, ""),
        ("all checks pass", (), "no key", True, ""),
        ("all checks pass", (), "no key", False, SAID),
        (SPEC, ("make",), "no key", False, ""),
        (SPEC, (), "no key", True, SAID),
    ],
)
def test_a_run_that_nobody_could_judge_says_so_before_it_starts(
    condition: str,
    checks: tuple[str, ...],
    no_judge: str,
    warned: bool,  # noqa: FBT001 - a cell
    decides: str,
) -> None:
    now = replace(KNOWN, condition=condition, checks=checks, tasks_alone=condition == SPEC, no_judge=no_judge)
    told = judge_warning(now, decides)
    assert bool(told) is warned
    assert not warned or all(way in told for way in (no_judge, "docs/models.md", "--check", "--spec"))
    of_list = judge_warning(now, decides, assigned=True)
    assert not warned or ('"all checks pass"' in of_list and "--spec" not in of_list)


@pytest.mark.proves("runs and the journal")
@over_table(
    ("wish", "status", "goal"),
    [
        ({"checks": ("make",)}, NEW, "all checks pass"),
        ({"spec": "spec.md"}, NEW, "spec.md is built and its tasks are done"),
        ({"spec": "spec.md", "checks": ("make",)}, NEW, "spec.md is built and its tasks are done"),
        ({"spec": "spec.md"}, at(GoalStatus.ACHIEVED), "spec.md is built and its tasks are done"),
        ({"spec": "spec.md", "goal": "mine"}, NEW, "mine"),
        ({"spec": "spec.md"}, KNOWN, ""),
        ({"checks": ("make",)}, replace(KNOWN, condition="all checks pass"), "all checks pass"),
        ({"checks": ("make",)}, KNOWN, ""),
        ({}, NEW, ""),
    ],
)
def test_a_check_or_a_specification_alone_is_a_goal_where_the_session_has_none(
    wish: dict[str, Any], status: RunStatus, goal: str
) -> None:
    assert with_default_goal(asked(**wish), status).goal.condition == goal


# --- how many, how long ---


def test_a_budget_of_n_is_n_plus_one_agents_unless_the_person_says_otherwise() -> None:
    assert agent_limit(asked(), KNOWN) == 17
    assert agent_limit(asked(most=4), KNOWN) == 4
    assert agent_limit(asked(), replace(KNOWN, budget=MAX_CONTINUATIONS)) == MAX_AGENTS


@pytest.mark.parametrize(
    ("arrived", "pending", "which"), [(0, "", 1), (0, "abc", 2), (3, "", 4), (3, "abc", 5)]
)
def test_an_agent_is_counted_by_the_continuations_before_it(arrived: int, pending: str, which: int) -> None:
    assert next_agent_number(replace(KNOWN, continuations=arrived, pending=pending)) == which


def test_an_agent_may_take_what_is_left_of_the_goals_time() -> None:
    assert next_agent_seconds(KNOWN, 3600.0) == 1800.0
    assert next_agent_seconds(KNOWN, 60.0) == 60.0
    assert next_agent_seconds(replace(KNOWN, seconds_left=-5.0), 60.0) == 1.0


@pytest.mark.proves("runs and the journal")
def test_at_most_n_agents_holds_over_the_goals_life() -> None:
    spent = at(GoalStatus.ACTIVE, continuations=1)
    with pytest.raises(CommandRefusal, match=r"iterations of this goal are spent \(1 of 1\)"):
        opening_orders(asked(goal=GOAL, most=1), spent)
    assert opening_orders(asked(goal=GOAL, most=2), spent) == (Order(name="retry", number=1),)
    assert opening_orders(asked(goal="another one", most=1), spent)[-1] == set_to("another one")


@pytest.mark.parametrize(
    "status", [GoalStatus.ACTIVE, GoalStatus.PAUSED, GoalStatus.STALLED, GoalStatus.UNVERIFIED]
)
def test_a_goal_whose_time_is_spent_does_not_go_on(status: GoalStatus) -> None:
    with pytest.raises(CommandRefusal, match="time of this goal is spent"):
        opening_orders(asked(), at(status, seconds_left=0.0))


# --- how it goes on ---


def test_a_continuation_is_another_agent_while_iterations_are_left() -> None:
    waits = replace(KNOWN, continuations=1, pending="abc")
    assert run_end_after_stop(CONTINUE, waits, 3, asked()) is None
    end = run_end_after_stop(CONTINUE, replace(waits, last_reason="a test fails"), 2, asked(options=TYPED))
    assert end is not None
    assert (end.outcome, end.exit_code) == ("exhausted", 1)
    way = "supervisor run --session demo --jobs 4 --max-iterations 4 -- AGENT"
    assert (end.detail.partition("; ")[2], end.then) == ("still missing: a test fails", way)


SPENT = at(GoalStatus.EXHAUSTED, continuations=16, checks=("make test",))
RESTS: dict[str, tuple[RunStatus, dict[str, Any], str]] = {
    "achieved": (KNOWN, {}, ""),
    "impossible": (KNOWN, {}, ""),
    "stalled": (KNOWN, {"options": TYPED}, "--max-iterations 2 --jobs 4 "),
    "waiting": (KNOWN, {}, "--extra 'YOUR ANSWER' "),
    "exhausted": (SPENT, {}, "--max-iterations 34 "),
    "exhausted, at most": (replace(SPENT, budget=100, continuations=100), {}, AGAIN),
    "exhausted by time": (replace(SPENT, continuations=3), {}, AGAIN),
    "exhausted, and the goal typed": (SPENT, {"goal": GOAL}, ""),
}


@over_table("case", RESTS)
def test_an_end_names_the_command_that_goes_on_as_it_was_typed(case: str) -> None:
    now, typed, options = RESTS[case]
    outcome = case.partition(" ")[0].strip(",")
    end = run_end_after_stop(
        StopDecision(decision="rest", reason=outcome), now, 9, asked(agent=AGENT, **typed)
    )
    final = outcome in ("achieved", "impossible")
    assert end is not None
    assert end.then == ("" if final else f"supervisor run --session demo {options}-- sh -c 'a b'")


def test_one_iteration_is_one_agent_though_the_least_budget_is_one_continuation() -> None:
    assert opening_orders(asked(goal=GOAL, most=1), NEW)[0] == Order(name="retry", number=1)
    end = run_end_after_stop(CONTINUE, replace(KNOWN, budget=1, pending="abc"), 1, asked())
    assert end is not None
    assert end.outcome == "exhausted"


@pytest.mark.parametrize("status", [GoalStatus.PAUSED, GoalStatus.CLEARED, None])
def test_a_run_does_not_go_on_with_a_goal_that_the_user_took_away_meanwhile(
    status: GoalStatus | None,
) -> None:
    end = run_end_after_stop(CONTINUE, at(status, exit_code=3), 9, asked())
    assert end is not None
    assert end.outcome in ("paused", "cleared")


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(
    ("reason", "code"),
    [("achieved", 0), ("judged", 4), ("exhausted", 1), ("stalled", 1), ("waiting", 1), ("unverified", 2)],
)
def test_a_rest_ends_the_run_as_the_sidecar_says(reason: str, code: int) -> None:
    end = run_end_after_stop(
        StopDecision(decision="rest", reason=reason, detail="why"), replace(KNOWN, exit_code=code), 9, asked()
    )
    assert end is not None
    assert (end.outcome, end.detail, end.exit_code) == (reason, "why", code)


# --- tasks ---


def task(ident: str, status: TaskStatus) -> Task:
    return Task(id=ident, content=ident, status=status)


def test_a_task_is_completed_when_it_was_open_or_not_there() -> None:
    before = Journal(tasks=(task("T1", TaskStatus.COMPLETED), task("T2", TaskStatus.BLOCKED)))
    now = Journal(tasks=tuple(task(f"T{each}", TaskStatus.COMPLETED) for each in (1, 2, 3)))
    assert [each.id for each in newly_completed_tasks(before, now)] == ["T2", "T3"]
    assert newly_completed_tasks(now, before) == ()
