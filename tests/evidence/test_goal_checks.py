"""What a goal's words ask of the checks: conditions of equal meaning are treated equally."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from sidecar.evidence.gates.conditions import (
    RequestedProof,
    asks_only_for_tasks,
    gate_kinds_named,
    named_tests,
    parse_condition,
)

from sidecar.evidence.gates.policy import gates_prove_condition, required_gates
from sidecar.kernel.effects import UNSEEN_PROJECT
from sidecar.kernel.gate import AvailableGates, CheckComparison, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import Goal
from support.cases import PYTEST
from support.table import over_table

PASSED = GateRun(
    gate=Gate(id="tests", command="pytest -q", why="", kind=Kind.TESTS, required=True, counts=True),
    outcome=Outcome.PASSED,
    tree=UNSEEN_PROJECT.tree,
    executed=3,
)
FAILED_BEFORE = GateRun(
    gate=PASSED.gate,
    outcome=Outcome.FAILED,
    tree="",
    failing=("test_calc.py::test_minus",),
    failures=("test_calc.py::test_minus: assert 5 == 1",),
)


@pytest.mark.parametrize(
    "condition",
    [
        "all tests pass",
        "npm test passes",
        "cargo test passes",
        "vitest passes",
        "go test is green",
        "pytest passes",
        "the suite is green",
        "make test succeeds",
        "the tests and the linter pass",
        "npm test passes and the linter is clean",
        "get go test ./... green again",
        "make `make test` pass, please",
    ],
)
def test_only_the_checks_are_asked_for(condition: str) -> None:
    assert parse_condition(condition) == RequestedProof()
    assert Kind.TESTS in gate_kinds_named(condition)


@over_table(
    ("condition", "only"),
    [
        ("spec.md is built and its tasks are done", True),
        ("my big spec.md is built and its tasks are done", True),
        ("all tasks are completed", True),
        ("every task is done and the tests pass", True),
        ("all tests pass", False),
        ("all tasks are done and the parser accepts comments", False),
        ("the parser accepts comments, the lexer is built and its tasks are done", False),
        ("the lexer is built", False),
    ],
)
def test_only_tasks_are_asked_for(condition: str, only: bool) -> None:  # noqa: FBT001 - a cell
    assert asks_only_for_tasks(condition) is only


def test_a_check_of_the_users_stands_for_a_kind_that_the_project_does_not_have() -> None:
    check = Gate(id="check:1", command="./all.sh", why="", required=True)
    goal = Goal(id="g", condition="all tests pass", checks=("./all.sh",))
    passed = [replace(PASSED, gate=check, executed=None)]
    assert gates_prove_condition(goal, passed, UNSEEN_PROJECT)
    with_tests = replace(UNSEEN_PROJECT, catalog=AvailableGates((PYTEST,)))
    assert not gates_prove_condition(goal, passed, with_tests)


def test_tests_that_a_goal_names_are_run_and_the_others_are_not() -> None:
    goal = Goal(id="g", condition="tests/test_calc.py::test_minus passes")
    assert parse_condition(goal.condition) == RequestedProof()
    found = replace(UNSEEN_PROJECT, catalog=AvailableGates((PYTEST,)))
    (gate,) = required_gates(goal, found)
    assert gate.command == "pytest -q tests/test_calc.py::test_minus"
    passed = replace(PASSED, gate=gate)
    assert gates_prove_condition(goal, [passed], UNSEEN_PROJECT)
    assert named_tests("fix a/test_b.py::TestC::test_d[x-1], a_test.py and shop.py, see x/latest.py") == (
        "a/test_b.py::TestC::test_d[x-1]",
        "a_test.py",
    )
    both = Goal(id="g", condition="test_calc.py passes and all tests pass")
    assert [gate.id for gate in required_gates(both, found)] == ["named-tests", "tests"]


def test_a_goal_may_name_a_check_by_its_command() -> None:
    script = Gate(id="tests", command="./run-tests.sh", why="", kind=Kind.TESTS, origin=GateOrigin.DETECTED)
    found = replace(UNSEEN_PROJECT, catalog=AvailableGates((script,)))
    for goal in (
        Goal(id="g", condition="./run-tests.sh passes"),
        Goal(id="g", condition="./run-tests.sh passes", checks=("./run-tests.sh",)),
    ):
        (gate,) = required_gates(goal, found)
        assert (gate.command, gate.required) == ("./run-tests.sh", True)
        assert gates_prove_condition(goal, [replace(PASSED, gate=gate)], found)


def test_a_word_of_a_sentence_is_no_command() -> None:
    found = tuple(
        Gate(id=name, command=name, why="", kind=Kind.CHECK, origin=GateOrigin.DETECTED)
        for name in ("make", "make do", "do it")
    )
    goal = Goal(id="g", condition="make doors open, and undo it")
    assert required_gates(goal, replace(UNSEEN_PROJECT, catalog=AvailableGates(found))) == ()


def test_a_file_of_tests_without_its_folder_is_found_wherever_it_is() -> None:
    goal = Goal(id="g", condition="a/test_b.py::test_c and test_d.py pass")
    found = required_gates(goal, replace(UNSEEN_PROJECT, catalog=AvailableGates((PYTEST,))))
    assert [(gate.id, gate.command) for gate in found] == [
        ("named-tests", "pytest -q a/test_b.py::test_c"),
        ("named-tests1", "pytest -q -k test_d.py"),
    ]


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("fix the failing test", ()),
        ("fix the failing tests and make all tests pass", ()),
        ("minus works as its name says", ("minus",)),
        ("fix `calc.minus()` so that the test suite is green", ("minus",)),
        ("repair the bug in minus; all tests pass", ("minus",)),
        ("minus works and plus is fixed, the whole suite passes", ("minus", "plus")),
        ("cargo test is red, please fix", ()),
        ("the tests are failing. Fix them, please.", ()),
    ],
)
def test_a_repair_is_asked_for(condition: str, names: tuple[str, ...]) -> None:
    assert parse_condition(condition) == RequestedProof(repairs=True, names=names)


@pytest.mark.parametrize(
    "condition",
    [
        "the login works",
        "all tests pass and it is committed",
        "write a parser",
        "tests pass, docs are updated",
        "",
    ],
)
def test_what_checks_cannot_show_is_left_to_a_judge(condition: str) -> None:
    assert parse_condition(condition) is None


@pytest.mark.parametrize(
    ("condition", "comparison", "achieved"),
    [
        ("fix the failing test", CheckComparison(now=PASSED, old=PASSED, base=FAILED_BEFORE), "by the gates"),
        ("fix the failing test", CheckComparison(now=PASSED, old=PASSED, base=PASSED), "by nobody"),
        ("fix the failing test", CheckComparison(now=PASSED, old=PASSED), "by nobody"),
        ("minus works and all tests pass", CheckComparison(now=PASSED, base=FAILED_BEFORE), "by the gates"),
        ("plus works and all tests pass", CheckComparison(now=PASSED, base=FAILED_BEFORE), "by nobody"),
        ("fix minus", CheckComparison(now=PASSED, base=PASSED, fresh=FAILED_BEFORE), "by the gates"),
    ],
)
def test_a_repair_is_shown_by_a_check_of_it_that_failed_on_the_old_code(
    condition: str, comparison: CheckComparison, achieved: str
) -> None:
    goal = Goal(id="g", condition=condition)
    assert gates_prove_condition(goal, [PASSED], UNSEEN_PROJECT, [comparison]) is (achieved == "by the gates")


def test_a_repair_needs_the_approved_tests_and_approves_none_itself() -> None:
    goal = Goal(id="g", condition="minus works as its name says")
    found = replace(UNSEEN_PROJECT, catalog=AvailableGates((replace(PYTEST, approved=False),)))
    assert required_gates(goal, found) == ()
    approved = replace(found, catalog=AvailableGates((replace(PYTEST, approved=True),)))
    assert [gate.required for gate in required_gates(goal, approved)] == [True]
