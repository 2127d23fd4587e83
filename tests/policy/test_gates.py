"""Which checks apply to a goal, and what they decide."""

from __future__ import annotations

import pytest

from sidecar.model.gate import Gate, GateRun, Outcome
from sidecar.model.goal import Status
from sidecar.policy.gates import applicable, decided
from support.cases import (
    PYTEST,
    TREE,
    after,
    complete,
    gate_run,
    goal,
    judged,
    said,
    session,
    turn,
    with_goal,
)
from support.play import World, play

CHECK = Gate(id="check:1", command="make", why="you named it with --check", required=True)
FAILED, COULD_NOT_RUN = Outcome.FAILED, Outcome.COULD_NOT_RUN

SPEAKS_OF_TESTS = (
    "all tests pass",
    "the test suite is green",
    "pytest passes",
    "every spec is green",
    "add a login page with tests",
    "The Test of time is written",
)
OF_SOMETHING_ELSE = (
    "the docs build",
    "the greatest hits play",
    "latest version is used",
    "inspect the contest",
    "testing is documented",
    "all checks pass",
)


@pytest.mark.parametrize("condition", SPEAKS_OF_TESTS)
def test_a_goal_that_speaks_of_tests_requires_the_detected_runner(condition: str) -> None:
    (gate,) = applicable(goal(condition), PYTEST)
    assert (gate.id, gate.command, gate.required, gate.counts) == ("tests", "pytest -q", True, True)
    assert gate.why == "the goal speaks of tests; pyproject.toml names pytest"


@pytest.mark.parametrize("condition", OF_SOMETHING_ELSE)
def test_a_goal_that_speaks_of_something_else_runs_nothing(condition: str) -> None:
    assert applicable(goal(condition), PYTEST) == ()


@pytest.mark.parametrize("condition", SPEAKS_OF_TESTS)
def test_nothing_is_run_where_no_runner_was_detected(condition: str) -> None:
    assert applicable(goal(condition), None) == ()


def test_checks_come_first_in_the_order_in_which_they_were_typed() -> None:
    gates = applicable(goal("tests pass", checks=("make", "make docs")), PYTEST)
    assert [(gate.id, gate.command, gate.required) for gate in gates] == [
        ("check:1", "make", True),
        ("check:2", "make docs", True),
        ("tests", "pytest -q", True),
    ]


DECIDED = (
    "all tests pass",
    "All tests pass.",
    "the tests pass!",
    "tests pass",
    "make sure that all the tests are passing",
    "please get the test suite green",
    "every test passes",
    "the whole unit tests are green again",
    "pytest succeeds",
    "the tests must pass now",
    "  ensure our tests pass  ",
)
NOT_DECIDED = (
    "all tests pass and the docs are written",
    "all tests pass except the slow ones",
    "add tests for the parser and make them pass",
    "the tests do not pass",
    "no tests pass",
    "half of the tests pass",
    "the tests for the parser pass",
    "all tests pass on windows",
    "the tests never pass",
    "the tests",
    "write a test",
    "all tests passed by hand are documented",
    "",
)


@pytest.mark.parametrize("condition", DECIDED)
def test_passed_tests_alone_show_that_the_tests_pass(condition: str) -> None:
    assert decided(goal(condition), [gate_run()], TREE)


@pytest.mark.parametrize("condition", NOT_DECIDED)
def test_passed_tests_alone_show_nothing_more_than_that(condition: str) -> None:
    assert not decided(goal(condition), [gate_run()], TREE)


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ("all tests pass", []),
        ("all tests pass", [gate_run(CHECK)]),
        ("all tests pass", [gate_run(outcome=FAILED)]),
        ("all tests pass", [gate_run(outcome=COULD_NOT_RUN)]),
        ("all tests pass", [gate_run(tree="another")]),
        ("all checks pass", []),
        ("all checks pass", [gate_run(CHECK, FAILED)]),
        ("all checks pass", [gate_run(CHECK, tree="another")]),
    ],
)
def test_only_a_gate_of_the_kind_that_passed_on_this_tree_decides(
    condition: str, runs: list[GateRun]
) -> None:
    assert not decided(goal(condition), runs, TREE)


def test_any_passed_check_decides_that_the_checks_pass() -> None:
    assert decided(goal("all checks pass"), [gate_run(CHECK)], TREE)


TESTS_PASS = with_goal("all tests pass")


def test_tests_that_pass_achieve_the_goal_without_a_model() -> None:
    played = play(TESTS_PASS, World(runner=PYTEST))
    assert played.goal.status is Status.ACHIEVED
    assert played.rest.detail == "`pytest -q` passed (5 tests) on the files as they are"
    assert played.case is None


def test_tests_that_fail_send_the_agent_back_with_what_failed() -> None:
    played = play(TESTS_PASS, World(runner=PYTEST, outcomes={"tests": FAILED}))
    assert played.kind == "gates-failed"
    assert played.sent_back.feedback.missing == ("`pytest -q` fails (exit code 1)", "test_a")
    assert [fact.id for fact in played.sent_back.feedback.evidence] == ["E1"]
    assert played.case is None


def test_one_failing_check_outweighs_all_that_pass() -> None:
    before = with_goal("all tests pass", checks=("make", "make docs"))
    played = play(before, World(runner=PYTEST, outcomes={"check:2": FAILED}))
    assert played.sent_back.feedback.missing[0] == "`make docs` fails (exit code 1)"


def test_a_failing_gate_outweighs_one_that_could_not_run() -> None:
    before = with_goal(checks=("make", "make docs"))
    played = play(before, World(outcomes={"check:1": COULD_NOT_RUN, "check:2": FAILED}))
    assert played.kind == "gates-failed"


def test_passed_checks_do_not_replace_the_judge_where_the_condition_says_more() -> None:
    played = play(with_goal(checks=("make",)), World(judge=judged(complete("E1"))))
    assert played.goal.status is Status.ACHIEVED
    assert played.case is not None
    assert played.case.evidence[0].fact == "Supervisor ran `make`: passed"


def test_a_pass_on_another_tree_decides_nothing() -> None:
    world = World(runner=PYTEST, moved="another", judge=judged(complete("E1")))
    played = play(TESTS_PASS, world)
    assert played.kind == "unjudged"
    assert played.goal.status is Status.ACTIVE


def test_the_agent_is_asked_once_to_make_a_gate_run_and_then_the_goal_is_unverified() -> None:
    world = World(runner=PYTEST, outcomes={"tests": COULD_NOT_RUN})
    first = play(TESTS_PASS, world)
    assert first.kind == "gates-could-not-run"
    assert first.sent_back.feedback.missing == ("`pytest -q` could not run: the command was not found",)
    assert first.goal.asked_to_run == ("tests",)
    reached = turn(arrived=(first.sent_back.feedback.id,), last_message_id="m2")
    second = play(first.session, World(turn=reached, runner=PYTEST, outcomes={"tests": COULD_NOT_RUN}))
    assert second.goal.status is Status.UNVERIFIED
    assert second.rest.alarm


def test_another_gate_that_cannot_run_is_asked_for_too() -> None:
    before = with_goal(checks=("make", "make docs"), asked_to_run=("check:1",))
    played = play(before, World(outcomes={"check:2": COULD_NOT_RUN}))
    assert played.kind == "gates-could-not-run"
    assert played.goal.asked_to_run == ("check:1", "check:2")


def test_a_gate_that_runs_in_the_end_decides_as_any_other() -> None:
    before = with_goal("all tests pass", asked_to_run=("tests",))
    assert play(before, World(runner=PYTEST)).goal.status is Status.ACHIEVED


def test_a_gate_that_could_not_run_never_achieves_even_on_the_last_continuation() -> None:
    before = session(goal=after(16, condition="all tests pass"), pending=said())
    played = play(before, World(runner=PYTEST, outcomes={"tests": COULD_NOT_RUN}))
    assert played.goal.status is Status.EXHAUSTED


def test_a_gate_is_asked_for_again_where_the_continuation_that_asked_was_lost() -> None:
    world = World(runner=PYTEST, outcomes={"tests": COULD_NOT_RUN})
    first = play(TESTS_PASS, world)
    second = play(first.session, world)
    assert second.kind == "gates-could-not-run"
    assert second.goal.status is Status.ACTIVE
