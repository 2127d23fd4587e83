"""The ends of a goal that says more than its checks: what was executed decides, then a judge, then nobody."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.policy import build_gate_baseline
from sidecar.kernel.effects import RestReason, RunOldChecks, TryChecks
from sidecar.kernel.evidence import CheckChange, FindingSeverity, IntegrityFinding
from sidecar.kernel.gate import CheckComparison, CheckTrial, Gate, GateOrigin, Kind, Outcome
from sidecar.kernel.goal import ExitCode, GoalStatus
from sidecar.systems.supervision.policy.orders import session_exit_code
from support.cases import (
    PYTEST,
    UNREACHABLE,
    complete,
    edited,
    gate_run,
    incomplete,
    judged,
    ran,
    turn,
    with_goal,
)
from support.play import Played, World, play

TESTS = replace(PYTEST, approved=True)
GREEN, RED = gate_run(TESTS), gate_run(TESTS, Outcome.FAILED)
REPAIRED = CheckComparison(now=GREEN, old=GREEN, base=RED, product=GREEN)
CAN_FAIL = CheckTrial(now=GREEN, on_base=RED, falsified=RED, expectation="tests/test_a.py:12")
FIX = with_goal("rounding goes to the nearest cent")
PROOF = "`pytest -q` failed before, and passes by the change of the product (5 tests)"
UNTOUCHED = IntegrityFinding(
    change=CheckChange.LOOKED_ELSEWHERE, weight=FindingSeverity.SHOWN, file="shop/api.py"
)


def repaired(**fields: Any) -> World:
    """The tests failed when the work began, and pass by the change of the product alone."""
    usual: dict[str, Any] = {
        "runner": TESTS,
        "comparisons": (REPAIRED,),
        "trials": (CAN_FAIL,),
        "judge": UNREACHABLE,
    }
    return World(**usual | fields)


def again(before: Played, **fields: Any) -> World:
    """Stop once more, after the continuation arrived."""
    reached = turn(arrived=(before.sent_back.feedback.id,), last_message_id="m2", message="It is right so.")
    return repaired(turn=reached, **fields)


# --- red that became green ----------------------------------------------------------------------------------


def test_red_to_green_by_the_product_is_achieved_without_a_judge_and_says_what_nobody_judged() -> None:
    played = play(FIX, repaired())
    assert (played.goal.status, played.inquiry.stage) == (GoalStatus.ACHIEVED, "gates")
    assert played.rest.detail == (
        f"{PROOF}; nobody judged what the goal asks beyond that (no backend can be reached)"
    )
    assert session_exit_code(played.session) is ExitCode.ACHIEVED


def test_a_judge_that_agrees_is_named_beside_what_was_executed() -> None:
    played = play(FIX, repaired(judge=judged(complete("E2"))))
    assert played.goal.status is GoalStatus.ACHIEVED
    assert played.rest.detail == f"{PROOF}; judged: The condition holds (E2)"
    assert played.case is not None
    assert played.case.proof == (PROOF,)


def test_a_judge_may_still_object() -> None:
    played = play(FIX, repaired(judge=judged(incomplete("negative amounts are refused"))))
    assert (played.kind, played.goal.status) == ("incomplete", GoalStatus.ACTIVE)
    assert played.sent_back.feedback.missing == ("negative amounts are refused",)


NOT_PROVED: dict[str, dict[str, Any]] = {
    "green when the work began": {"comparisons": (CheckComparison(now=GREEN, old=GREEN, base=GREEN),)},
    "red with the product alone": {"comparisons": (replace(REPAIRED, product=RED),)},
    "no replay": {"comparisons": (replace(REPAIRED, product=None),)},
    "a changed file that no check opened": {"findings": (UNTOUCHED,)},
    "changes that cannot be seen": {"unseen": "git is not there"},
    "a flaky run": {"runs": {"tests": {"flaky": True}}},
    "files that moved meanwhile": {"runs": {"tests": {"moved": True}}},
    "another check that does not pass": {
        "gates": (replace(TESTS, id="tests:api", folder=""),),
        "outcomes": {"tests:api": Outcome.COULD_NOT_RUN},
    },
}


@pytest.mark.parametrize("world", NOT_PROVED.values(), ids=NOT_PROVED)
def test_with_any_doubt_a_goal_stays_open_where_nobody_judges(world: dict[str, Any]) -> None:
    played = play(FIX, repaired(**world))
    assert (played.goal.status, played.kind) == (GoalStatus.ACTIVE, RestReason.UNJUDGED)
    assert not any(isinstance(order, TryChecks) for order in played.orders)


def test_a_part_of_the_goal_that_nothing_touched_keeps_checks_from_ending_it() -> None:
    played = play(FIX, repaired(untouched=("`--strict`",)))
    assert (played.goal.status, played.kind) == (GoalStatus.ACTIVE, RestReason.UNJUDGED)
    assert PROOF in played.rest.note
    seen = play(FIX, repaired(untouched=("`--strict`",), judge=judged(complete("E1", "E2"))))
    assert seen.goal.status is GoalStatus.ACHIEVED


@pytest.mark.parametrize(
    ("cited", "status"), [(("E1",), GoalStatus.JUDGED), (("E1", "E2"), GoalStatus.ACHIEVED)]
)
def test_a_verdict_that_does_not_weigh_what_is_said_of_the_checks_achieves_nothing(
    cited: tuple[str, ...], status: GoalStatus
) -> None:
    world = repaired(findings=(UNTOUCHED,), judge=judged(complete(*cited)))
    assert play(FIX, world).goal.status is status


# --- nothing that bears on it -------------------------------------------------------------------------------


@pytest.mark.parametrize("runner", [None, TESTS])
def test_a_judges_word_alone_ends_as_judged_and_never_as_achieved(runner: Gate | None) -> None:
    played = play(FIX, World(runner=runner, judge=judged(complete("E2"))))
    assert (played.goal.status, played.rest.reason) == (GoalStatus.JUDGED, RestReason.JUDGED)
    assert played.rest.note == (
        "Supervisor: goal judged done, not proved."
        " The condition holds (E2)\n"
        'To go on, type: /supervisor:goal and the condition again with --check "command", to have it proved'
    )
    assert (session_exit_code(played.session), played.rest.alarm) == (ExitCode.JUDGED, True)


BEARS_ON_IT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a typed check": ({"checks": ("make",)}, {}),
    "tests that the goal names": (
        {"condition": "tests/test_a.py passes and the README says so"},
        {"runner": TESTS},
    ),
    "new checks that fail on the old code": (
        {},
        {"runner": TESTS, "comparisons": (CheckComparison(now=GREEN, old=GREEN, fresh=RED),)},
    ),
    "a check that failed at an earlier stop of this goal": (
        {"seen_red": (TESTS.named,)},
        {"runner": TESTS},
    ),
    "a check that failed when the goal was set": (
        {"baseline": build_gate_baseline([RED])},
        {"runner": TESTS},
    ),
}


@pytest.mark.parametrize(("goal", "world"), BEARS_ON_IT.values(), ids=BEARS_ON_IT)
def test_a_judges_word_beside_a_check_that_would_have_noticed_achieves(
    goal: dict[str, Any], world: dict[str, Any]
) -> None:
    held = with_goal(**goal)
    trials = (CAN_FAIL,)
    assert play(held, World(**world, trials=trials, judge=judged(complete("E2")))).goal.status is (
        GoalStatus.ACHIEVED
    )


def test_a_check_that_failed_at_a_stop_of_this_goal_and_passes_now_is_proof() -> None:
    first = play(with_goal("tests pass and the README says so"), World(runner=TESTS, outcomes=FAILS))
    assert (first.kind, first.goal.seen_red) == ("gates-failed", ("`pytest -q`",))
    second = play(first.session, again(first, comparisons=(), judge=judged(complete("E2"))))
    assert second.goal.status is GoalStatus.ACHIEVED
    assert second.rest.detail.startswith("`pytest -q` would have failed without the work, and passes")


def test_a_member_is_named_with_its_folder_and_its_assertion_and_is_red_for_itself_alone() -> None:
    members = [replace(TESTS, id=f"tests:{name}", folder=f"packages/{name}") for name in ("a", "b")]
    world: dict[str, Any] = {"runner": members[0], "gates": tuple(members[1:])}
    fails: dict[str, Any] = {
        "outcomes": {"tests:b": Outcome.FAILED},
        "runs": {"tests:b": {"failures": ("tests/test_b.py::test_b: assert 1 == 2",)}},
    }
    first = play(with_goal("tests pass and the README says so"), World(**world, **fails))
    assert first.sent_back.feedback.missing[0] == "tests/test_b.py::test_b: assert 1 == 2"
    assert any(
        line.startswith("`pytest -q` in packages/b fails") for line in first.sent_back.feedback.missing
    )
    assert first.goal.seen_red == ("`pytest -q` in packages/b",)


# --- approved tests that fail -------------------------------------------------------------------------------

FAILS = {"tests": Outcome.FAILED}


def test_new_failures_of_approved_tests_send_back_whatever_the_goal_is() -> None:
    before = with_goal("the README says so", baseline=build_gate_baseline([GREEN]))
    played = play(before, World(runner=TESTS, outcomes=FAILS))
    assert played.kind == "gates-failed"
    assert "`pytest -q` fails (exit code 1)" in played.sent_back.feedback.missing
    second = play(played.session, again(played, outcomes=FAILS))
    assert second.kind == "gates-failed"


def test_an_approved_test_that_failed_before_and_fails_still_is_no_reason_to_send_back() -> None:
    before = with_goal(
        "the README says so", baseline=build_gate_baseline([replace(RED, failing=("test_a",))])
    )
    still = {"tests": {"failing": ("test_a",)}}
    played = play(before, World(runner=TESTS, outcomes=FAILS, runs=still, judge=UNREACHABLE))
    assert (played.kind, played.goal.status) == (RestReason.UNJUDGED, GoalStatus.ACTIVE)
    assert "Known: `pytest -q` failed" in played.rest.note


# --- checks that cannot fail --------------------------------------------------------------------------------

CANNOT_FAIL = {
    "with the old code": (
        replace(CAN_FAIL, on_base=GREEN),
        "`pytest -q`: passes with the old code, with which it failed, too",
    ),
    "with a wrong expectation": (
        replace(CAN_FAIL, falsified=GREEN),
        "`pytest -q`: passes with the expectation at tests/test_a.py:12 turned wrong, too",
    ),
}


@pytest.mark.parametrize(("trial", "said"), CANNOT_FAIL.values(), ids=CANNOT_FAIL)
@pytest.mark.parametrize("condition", ["rounding goes to the nearest cent", "all tests pass"])
def test_a_check_that_cannot_fail_is_asked_about_once_and_decides_nothing(
    condition: str, trial: CheckTrial, said: str
) -> None:
    first = play(with_goal(condition), repaired(trials=(trial,)))
    assert first.kind == "checks-changed"
    assert first.sent_back.feedback.missing == (said,)
    second = play(first.session, again(first, trials=(trial,)))
    assert (second.kind, second.goal.status) == (RestReason.UNJUDGED, GoalStatus.ACTIVE)


@pytest.mark.parametrize("condition", ["rounding goes to the nearest cent", "all tests pass"])
def test_answers_of_the_tests_in_the_product_are_for_a_judge(condition: str) -> None:
    trial = replace(CAN_FAIL, answers={"shop.py": ("1005", "1196")})
    played = play(with_goal(condition), repaired(trials=(trial,)))
    assert (played.kind, played.goal.status) == (RestReason.UNJUDGED, GoalStatus.ACTIVE)
    assert "shop.py: values of the tests stand in it now: 1005, 1196" in played.rest.note


def test_what_could_not_be_falsified_is_told_and_stops_nothing() -> None:
    trial = CheckTrial(now=GREEN, on_base=RED, unseen="no expectation of a known form")
    played = play(FIX, repaired(trials=(trial,)))
    assert played.goal.status is GoalStatus.ACHIEVED
    assert "whether `pytest -q` could fail was not tried (no expectation of a known form)" in played.rest.note


def test_checks_are_tried_only_where_they_would_end_the_goal_and_turned_green() -> None:
    tried = [
        any(isinstance(order, TryChecks) for order in play(held, world).orders)
        for held, world in (
            (FIX, repaired()),
            (with_goal("all tests pass"), repaired()),
            (with_goal("all tests pass"), World(runner=TESTS)),
            (FIX, World(runner=TESTS, judge=UNREACHABLE)),
            (with_goal("all tests pass"), repaired(outcomes=FAILS)),
        )
    ]
    assert tried == [True, True, False, False, False]


def test_nothing_is_compared_where_nothing_changed_or_all_is_known() -> None:
    known = with_goal("all tests pass", baseline=build_gate_baseline([GREEN]))
    compared = [
        any(isinstance(order, RunOldChecks) for order in play(held, world).orders)
        for held, world in (
            (with_goal("all tests pass"), World(runner=TESTS)),
            (with_goal("all tests pass"), World(runner=TESTS, changed=())),
            (known, World(runner=TESTS)),
            (known, repaired()),
        )
    ]
    assert compared == [True, False, False, True]


def test_a_lint_that_the_goal_does_not_name_proves_nothing_of_it() -> None:
    lint = replace(TESTS, id="lint", command="ruff check", kind=Kind.LINT, origin=GateOrigin.DETECTED)
    world = World(gates=(lint,), turn=turn(edited(), ran("./a")), judge=judged(complete("E2")))
    assert play(FIX, world).goal.status is GoalStatus.JUDGED
