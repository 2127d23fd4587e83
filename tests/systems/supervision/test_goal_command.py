"""/supervisor:goal, in every form."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.orders import parse_order
from sidecar.kernel.session import ProgressSnapshot, Session
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.systems.supervision.policy.orders import (
    CHOSEN_LATER,
    CLEARABLE_STATUSES,
    NO_GOAL,
    PAUSABLE_STATUSES,
    RESUMABLE_STATUSES,
    Typed,
    carry_out_order,
)
from support.cases import SETTINGS, at_status, goal, said, session, with_goal
from support.table import over_table

CLEAR_WORDS = ("clear", "stop", "off", "reset", "none", "cancel")


def command(arguments: str, before: Session | None = None) -> tuple[Session, CommandReply]:
    return carry_out_order(before or session(), SETTINGS, parse_order("goal", arguments), Typed(50.0, 7))


def goal_after(arguments: str, before: Session | None = None) -> Goal:
    after, _ = command(arguments, before)
    assert after.goal is not None
    return after.goal


def test_a_condition_sets_an_active_goal_and_starts_the_work() -> None:
    after, reply = command("all tests pass")
    assert after.goal == Goal(id=goal_after("all tests pass").id, condition="all tests pass", set_at=50.0)
    budget = "Budget: 16 continuations, 30 minutes of work, 400000 tokens, no limit in money."
    assert reply == CommandReply(
        headline="goal set: all tests pass", details=(CHOSEN_LATER, budget), work=True
    )


def test_a_long_condition_is_shown_in_a_line_and_money_is_named() -> None:
    settings = Settings(goal_max_cents=50, judge=JudgeSettings(daily_cents=200.5))
    order = parse_order("goal", "first\n" + "x" * 3000)
    _, reply = carry_out_order(session(), settings, order, Typed(50.0, 7))
    first, *_, last = reply.lines
    assert len(first) < 350
    assert first.startswith("goal set: first ")
    assert last.endswith("tokens, 50 cents for judging it and 200.5 cents for judging in a day.")


def test_options_are_kept_with_the_goal_and_the_checks_are_shown() -> None:
    text = 'builds --check "make" --check "make docs" --max-minutes 5 --max-tokens 9'
    after, reply = command(text)
    kept = after.goal
    assert kept is not None
    assert (kept.checks, kept.max_seconds, kept.max_tokens) == (("make", "make docs"), 300, 9)
    assert reply.details[0] == f"`make`, `make docs` must pass. {CHOSEN_LATER}"


def test_work_is_counted_from_the_command_on() -> None:
    after, _ = command("all tests pass", session(counted_to=3, active_since=1.0))
    assert (after.counted_to, after.active_since) == (7, 50.0)


def test_the_users_own_budget_is_named() -> None:
    _, reply = command("all tests pass", session(retry=3))
    assert "Budget: 3 continuations, " in reply.text


def test_a_new_condition_replaces_the_goal_and_nothing_counts_towards_it_yet() -> None:
    old = goal(spent=GoalSpending(continuations=9, tokens=5, seconds=5.0), lifetime=90, last_reason="x")
    before = session(
        goal=old,
        pending=said(),
        serial=4,
        unasked=2,
        stalls=2,
        streak=5,
        movement=ProgressSnapshot(tree="t"),
        judged="m1",
        waited_for=("b1",),
        notified_native=True,
        retry=20,
    )
    after, reply = command("the docs build", before)
    assert reply.work
    new = after.goal
    assert new is not None
    assert (new.condition, new.spent, new.lifetime, new.status) == (
        "the docs build",
        GoalSpending(),
        0,
        "active",
    )
    assert new.id != old.id
    assert replace(after, goal=None) == session(serial=5, retry=20, counted_to=7, active_since=50.0)


@over_table("status", GoalStatus)
def test_a_condition_replaces_a_goal_wherever_that_stands(status: GoalStatus) -> None:
    assert goal_after("the docs build", at_status(status)).status is GoalStatus.ACTIVE


def test_the_same_condition_twice_makes_two_goals() -> None:
    once, _ = command("all tests pass")
    assert once.goal is not None
    assert goal_after("all tests pass", once).id != once.goal.id


REFUSALS = {
    "x" * 4001: (
        "the condition has 4001 characters, 4000 are allowed. "
        "Write the details into a file and name the file in the condition."
    ),
    '--check "make"': ("a goal needs a condition, for example: /supervisor:goal all tests pass"),
    "--max-minutes 5": ("a goal needs a condition, for example: /supervisor:goal all tests pass"),
    "x --check": ('--check needs a value. Example: /supervisor:goal the build is clean --check "make build"'),
    "x --max-minutes 0": (
        "--max-minutes takes a whole number of at least 1, not '0'. "
        "Example: /supervisor:goal all tests pass --max-minutes 60"
    ),
}


@pytest.mark.parametrize("text", REFUSALS, ids=lambda text: repr(text[:30]))
def test_what_cannot_be_carried_out_is_refused_and_changes_nothing(text: str) -> None:
    before = with_goal(spent=GoalSpending(continuations=2))
    assert command(text, before) == (before, CommandReply(headline=REFUSALS[text], refused=True))


@pytest.mark.parametrize("word", ["", "  ", "status", "STATUS", " status\n"])
def test_the_status_is_shown_at_no_cost_and_changes_nothing(word: str) -> None:
    before = with_goal(spent=GoalSpending(continuations=2))
    after, reply = command(word, before)
    assert after == before
    assert reply.text.startswith("Supervisor: goal active: the parser accepts comments\ncontinuations 2/16")
    assert not reply.work


def test_the_status_without_a_goal_says_what_to_type() -> None:
    assert command("")[1] == CommandReply(headline=NO_GOAL)


WORDS = [
    *((word, CLEARABLE_STATUSES, GoalStatus.CLEARED, "goal cleared: ") for word in CLEAR_WORDS),
    (
        "pause",
        PAUSABLE_STATUSES,
        GoalStatus.PAUSED,
        "goal paused; /supervisor:goal resume goes on: ",
    ),
    (
        "resume",
        RESUMABLE_STATUSES,
        GoalStatus.ACTIVE,
        "goal active again (type a prompt to go on): ",
    ),
]


@over_table("word", WORDS, ids=lambda row: row[0])
@over_table("status", GoalStatus)
def test_a_word_moves_a_goal_only_from_where_it_may(
    word: tuple[str, frozenset[GoalStatus], GoalStatus, str], status: GoalStatus
) -> None:
    name, allowed, to, words = word
    before = at_status(status)
    after, reply = command(name, before)
    assert after.goal is not None
    if status in allowed:
        assert after.goal.status is to
        assert reply == CommandReply(headline=f"{words}the parser accepts comments")
    else:
        assert after == before
        assert reply.text.startswith("Supervisor: nothing to do, ")


def test_only_these_moves_are_allowed() -> None:
    assert {GoalStatus.CLEARED} == set(GoalStatus) - CLEARABLE_STATUSES
    assert {GoalStatus.ACTIVE} == PAUSABLE_STATUSES
    assert {GoalStatus.PAUSED, GoalStatus.STALLED, GoalStatus.UNVERIFIED, "exhausted"} == RESUMABLE_STATUSES


@pytest.mark.parametrize("word", ["clear", "pause"])
def test_a_word_without_a_goal_does_nothing_and_says_so(word: str) -> None:
    assert command(word) == (
        session(),
        CommandReply(headline=f"nothing to do, {NO_GOAL}"),
    )


@pytest.mark.parametrize("word", ["Clear", " CANCEL ", "Off\n"])
def test_words_are_read_whatever_their_case_and_the_space_around(word: str) -> None:
    assert goal_after(word, with_goal()).status is GoalStatus.CLEARED


def test_resuming_an_exhausted_goal_is_refused_with_what_to_type() -> None:
    before = at_status(GoalStatus.EXHAUSTED, spent=GoalSpending(continuations=16))
    spent = "16 of 16 continuations are spent. To go on, type: /supervisor:retry 32"
    assert command("resume", before) == (before, CommandReply(headline=spent, refused=True))


def test_resuming_forgets_what_stalled_and_what_could_not_run() -> None:
    before = session(
        goal=goal(status=GoalStatus.STALLED, asked_to_run=("tests",), unjudged="x"),
        stalls=3,
        streak=7,
        movement=ProgressSnapshot(tree="t"),
    )
    after, _ = command("resume", before)
    assert after == session(goal=goal())


def test_clearing_gives_a_continuation_back_that_is_on_its_way() -> None:
    after, _ = command("clear", session(goal=goal(), pending=said()))
    assert after.pending is None


def test_pausing_does_not_give_back_a_continuation_that_may_have_arrived() -> None:
    paused, _ = command("pause", session(goal=goal(), pending=said()))
    resumed, _ = command("resume", paused)
    assert resumed.pending == said()


def test_resuming_looks_for_a_continuation_that_was_on_its_way_where_it_may_have_arrived() -> None:
    resumed, _ = command("resume", session(goal=goal(status=GoalStatus.PAUSED), pending=said(), counted_to=3))
    assert resumed.counted_to == 3


def test_the_limits_that_were_typed_are_said() -> None:
    _, reply = command("all tests pass --max-minutes 5 --max-tokens 9000")
    assert "Budget: 16 continuations, 5 minutes of work, 9000 tokens, " in reply.text
