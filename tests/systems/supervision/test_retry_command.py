"""/supervisor:retry, in every form."""

from __future__ import annotations

import pytest

from sidecar.kernel.effects import CommandReply
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.orders import parse_order
from sidecar.kernel.session import ProgressSnapshot, Session
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision.policy.orders import Typed, carry_out_order
from support.cases import SETTINGS, after, goal, session
from support.table import over_table


def command(arguments: str, before: Session, settings: Settings = SETTINGS) -> tuple[Session, CommandReply]:
    return carry_out_order(before, settings, parse_order("retry", arguments), Typed(0.0, 0))


@pytest.mark.parametrize("number", [1, 2, 16, 99, 100])
def test_a_number_is_the_sessions_budget(number: int) -> None:
    assert command(f" {number} ", session()) == (
        session(retry=number),
        CommandReply(headline=f"budget of {number} continuation{'' if number == 1 else 's'}."),
    )


REFUSED = ("0", "101", "x", "-1", "+5", "1.5", "5 6", "\u0665", "\u00b2", "1e2", "9" * 5000)


@over_table("text", REFUSED, ids=lambda text: text[:10])
def test_what_is_no_number_from_1_to_100_is_refused(text: str) -> None:
    before = session(retry=5)
    refusal = f"retry takes a whole number from 1 to 100, not {text[:40]!r}"
    assert command(text, before) == (before, CommandReply(headline=refusal, refused=True))


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (session(), "budget of 16 continuations."),
        (session(retry=3), "budget of 3 continuations."),
        (session(goal=after(2)), "budget of 16 continuations, 2 used."),
    ],
)
def test_without_a_number_the_budget_is_shown(before: Session, said: str) -> None:
    assert command("", before) == (before, CommandReply(headline=said))


def test_the_settings_budget_is_shown_where_the_user_named_none() -> None:
    assert "of 4 continuations" in command("", session(), Settings(max_attempts=4))[1].text


def exhausted() -> Session:
    spent = after(16, status=GoalStatus.EXHAUSTED)
    return session(goal=spent, stalls=2, streak=3, movement=ProgressSnapshot(tree="t"))


def test_a_greater_budget_makes_an_exhausted_goal_active_again() -> None:
    assert command("17", exhausted()) == (
        session(goal=after(16), retry=17),
        CommandReply(
            headline="budget of 17 continuations, 16 used. "
            "The goal is active again (type a prompt to go on): the parser accepts comments"
        ),
    )


@pytest.mark.parametrize("number", ["1", "15", "16"])
def test_a_budget_that_is_spent_already_leaves_the_goal_exhausted(number: str) -> None:
    kept, reply = command(number, exhausted())
    assert status(kept) is GoalStatus.EXHAUSTED
    assert "active again" not in reply.text


OTHER_LIMITS: dict[str, Goal] = {
    "100 of 100 continuations over the goal's whole life": after(
        5, lifetime=100, status=GoalStatus.EXHAUSTED
    ),
    "400000 of 400000 tokens": goal(status=GoalStatus.EXHAUSTED, spent=GoalSpending(tokens=400_000)),
    "1800 of 1800 seconds of work": goal(status=GoalStatus.EXHAUSTED, spent=GoalSpending(seconds=1800.0)),
}


@pytest.mark.parametrize("limit", OTHER_LIMITS)
def test_no_budget_of_continuations_lifts_another_limit_and_the_reply_names_it(limit: str) -> None:
    kept, reply = command("100", session(goal=OTHER_LIMITS[limit]))
    assert status(kept) is GoalStatus.EXHAUSTED
    way = "To go on, type: /supervisor:goal and the condition again"
    assert reply.text.endswith(f"The goal stays exhausted: {limit} are spent. {way}")


@pytest.mark.parametrize("kept", sorted(set(GoalStatus) - {GoalStatus.EXHAUSTED}))
def test_a_budget_moves_no_goal_that_is_not_exhausted(kept: GoalStatus) -> None:
    assert status(command("100", session(goal=goal(status=kept)))[0]) is kept


def test_lowering_the_budget_below_what_is_used_ends_nothing_by_itself() -> None:
    lowered, _ = command("2", session(goal=after(5)))
    assert status(lowered) is GoalStatus.ACTIVE


def status(of: Session) -> GoalStatus:
    assert of.goal is not None
    return of.goal.status
