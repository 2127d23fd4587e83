"""Which checks the words of a goal name, and which of the project's gates that requires."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sidecar.evidence.gates.goal_checks import (
    NamedChecks,
    asks_for_change_of_checks,
    asks_only_for_tasks,
    named_checks,
)
from sidecar.evidence.gates.policy import gates_prove_condition, required_gates
from sidecar.kernel.effects import UNSEEN_PROJECT
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, Kind
from sidecar.kernel.goal import Goal
from support.cases import PYTEST, gate_run
from support.table import over_table

TESTS, LINT, TYPES, BUILD = Kind.TESTS, Kind.LINT, Kind.TYPES, Kind.BUILD


def offered(*commands: str, folder: str = "") -> tuple[Gate, ...]:
    return tuple(
        Gate(id=line, command=line, why="", kind=Kind.CHECK, origin=GateOrigin.DETECTED, folder=folder)
        for line in commands
    )


def names(*kinds: Kind, **fields: Any) -> NamedChecks:
    return NamedChecks(kinds=frozenset(kinds), **fields)


def only(*kinds: Kind, **fields: Any) -> NamedChecks:
    return names(*kinds, alone=True, **fields)


NO_GATES: tuple[Gate, ...] = ()
MEMBERS = (*offered("pytest -q", folder="packages/a"), *offered("pytest -q", folder="packages/b"))

SAYS_NOTHING_ELSE: list[tuple[str, tuple[Gate, ...], NamedChecks]] = [
    ("all tests pass", NO_GATES, only(TESTS)),
    ("the tests pass!", NO_GATES, only(TESTS)),
    ("  ensure our Tests pass.  ", NO_GATES, only(TESTS)),
    ("make sure that all the tests are passing", NO_GATES, only(TESTS)),
    ("please get the test suite green", NO_GATES, only(TESTS)),
    ("the whole unit tests are green again", NO_GATES, only(TESTS)),
    ("the suite is green", NO_GATES, only(TESTS)),
    ("every spec is green", NO_GATES, only(TESTS)),
    ("the tests must pass now", NO_GATES, only(TESTS)),
    ("pytest succeeds", NO_GATES, only(TESTS)),
    ("npm test passes and the linter is clean", NO_GATES, only(TESTS, LINT)),
    ("cargo test is red, please fix", NO_GATES, only(TESTS)),
    ("get go test ./... green again", NO_GATES, only(TESTS)),
    ("fix the failing tests and make all tests pass", NO_GATES, only(TESTS)),
    ("the tests are failing. Fix them, please.", NO_GATES, only(TESTS)),
    ("ruff and mypy pass", NO_GATES, only(LINT, TYPES)),
    ("tests, types and lint pass", NO_GATES, only(TESTS, TYPES, LINT)),
    ("types check", NO_GATES, only(TYPES)),
    ("build and tests pass", NO_GATES, only(BUILD, TESTS)),
    ("the build passes", NO_GATES, only(BUILD)),
    ("make CI green", NO_GATES, only(Kind.CI)),
    ("all checks pass", NO_GATES, only()),
    ("`pytest` passes", NO_GATES, only(TESTS)),
    ("`pytest -q` passes", (PYTEST,), only(commands=("pytest -q",))),
    ("make `make test` pass, please", offered("make test"), only(commands=("make test",))),
    ("make check has to pass", offered("make check"), only(commands=("make check",))),
    ("./run-tests.sh passes", offered("./run-tests.sh"), only(commands=("./run-tests.sh",))),
    (
        "pytest -q and ruff check . both exit 0",
        (PYTEST, *offered("ruff check .")),
        only(commands=("ruff check .", "pytest -q")),
    ),
    ("the tests of packages/a pass", MEMBERS, only(TESTS, folders=("packages/a",))),
    ("tests/test_calc.py::test_minus passes", NO_GATES, only(tests=("tests/test_calc.py::test_minus",))),
    ("test_calc.py passes and all tests pass", NO_GATES, only(TESTS, tests=("test_calc.py",))),
    ("all tasks are completed", NO_GATES, only(tasks=True)),
    ("every task is done and the tests pass", NO_GATES, only(TESTS, tasks=True)),
]
SAYS_MORE: list[tuple[str, tuple[Gate, ...], NamedChecks]] = [
    ("all tests pass and the docs are written", NO_GATES, names(TESTS)),
    ("all tests pass and it is committed", NO_GATES, names(TESTS)),
    ("all tests pass except the slow ones", NO_GATES, names(TESTS)),
    ("add tests for the parser and make them pass", NO_GATES, names(TESTS)),
    ("the tests do not pass", NO_GATES, names(TESTS)),
    ("no tests pass", NO_GATES, names(TESTS)),
    ("half of the tests pass", NO_GATES, names(TESTS)),
    ("the tests for the parser pass", NO_GATES, names(TESTS)),
    ("all tests passed by hand are documented", NO_GATES, names(TESTS)),
    ("the tests", NO_GATES, names(TESTS)),
    ("no failing tests", NO_GATES, names(TESTS)),
    ("mypy is happy", NO_GATES, names(TYPES)),
    ("npm run lint reports nothing", NO_GATES, names(LINT)),
    ("coverage is at least 90", NO_GATES, names(Kind.COVERAGE)),
    ("a pull request is open", NO_GATES, names(Kind.PR)),
    ("no known vulnerabilities are left", NO_GATES, names(Kind.SECURITY)),
    ("the rounding bug is fixed; `pytest -q` passes", (PYTEST,), names(commands=("pytest -q",))),
    ("get `make clean test` green", offered("make test"), names(foreign=("make clean test",))),
    ("`pytest -x tests/a` passes", (PYTEST,), names(foreign=("pytest -x tests/a",))),
    (
        "fix a/test_b.py::TestC::test_d[x-1], a_test.py and shop.py, see x/latest.py",
        NO_GATES,
        names(tests=("a/test_b.py::TestC::test_d[x-1]", "a_test.py")),
    ),
    ("all tasks are done and the parser accepts comments", NO_GATES, names(tasks=True)),
    ("minus works as its name says", NO_GATES, names()),
    ("build a login page", NO_GATES, names()),
    ("all types of users can log in", NO_GATES, names()),
    ("the docs build", NO_GATES, names()),
    ("specific prices are shown", NO_GATES, names()),
    ("the greatest hits of the latest contest play", NO_GATES, names()),
    ("make doors open, and undo it", offered("make", "make do", "do it"), names()),
    ("", NO_GATES, names()),
]


@over_table(("condition", "gates", "named"), SAYS_NOTHING_ELSE + SAYS_MORE)
def test_a_goal_names_checks_and_perhaps_nothing_else(
    condition: str, gates: tuple[Gate, ...], named: NamedChecks
) -> None:
    assert named_checks(condition, gates) == named


def test_a_typed_check_that_the_words_name_is_no_foreign_command() -> None:
    assert named_checks("`./all.sh` passes", checks=("./all.sh",)) == only(commands=("./all.sh",))


def test_a_run_that_was_given_a_specification_alone_asks_only_for_tasks() -> None:
    built = Goal(id="g", condition="spec.md is built and its tasks are done")
    assert not asks_only_for_tasks(built)
    assert asks_only_for_tasks(replace(built, tasks_alone=True))


@over_table(
    ("said", "asks"),
    [
        ("the tests are wrong, correct them", True),
        ("Fix the test please, the code is right", True),
        ("update the snapshots", True),
        ("lower the coverage threshold to 80", True),
        ("since the last change to merge(), the tests are red: fix it", False),
        ("remove the old parser", False),
        ("fix the rounding bug", False),
        ("make sure the code is right and the tests pass", False),
    ],
)
def test_a_user_may_ask_for_a_change_of_checks(said: str, asks: bool) -> None:  # noqa: FBT001 - a cell
    assert asks_for_change_of_checks(said) is asks


# --- which gates that requires ------------------------------------------------------------------------------

A_TESTS, B_TESTS = (replace(PYTEST, id=f"tests:{name}", folder=f"packages/{name}") for name in "ab")
REQUIRED: list[tuple[str, tuple[Gate, ...], list[str]]] = [
    ("tests/test_calc.py::test_minus passes", (PYTEST,), ["pytest -q tests/test_calc.py::test_minus"]),
    (
        "a/test_b.py::test_c and test_d.py pass",
        (PYTEST,),
        ["pytest -q a/test_b.py::test_c", "pytest -q -k test_d.py"],
    ),
    ("test_calc.py passes and all tests pass", (PYTEST,), ["pytest -q -k test_calc.py", "pytest -q"]),
    ("the tests of packages/a pass", (A_TESTS, B_TESTS), ["pytest -q in packages/a"]),
    ("all tests pass", (A_TESTS, B_TESTS), ["pytest -q in packages/a", "pytest -q in packages/b"]),
    ("make check has to pass", (PYTEST, *offered("make check")), ["make check"]),
    ("get `make clean test` green", offered("make test"), []),
    ("make doors open, and undo it", offered("make", "do it"), []),
]


@over_table(("condition", "gates", "commands"), REQUIRED)
def test_what_a_goal_names_must_pass_and_nothing_else(
    condition: str, gates: tuple[Gate, ...], commands: list[str]
) -> None:
    found = required_gates(Goal(id="g", condition=condition), offering(*gates))
    assert [f"{one.command} in {one.folder}" if one.folder else one.command for one in found] == commands
    assert all(gate.required and gate.approved for gate in found)


def test_a_check_of_the_users_stands_for_a_kind_that_the_project_does_not_have() -> None:
    check = Gate(id="check:1", command="./all.sh", why="", required=True)
    goal = Goal(id="g", condition="all tests pass", checks=("./all.sh",))
    passed = [gate_run(check, tree=UNSEEN_PROJECT.tree)]
    assert gates_prove_condition(goal, passed, UNSEEN_PROJECT)
    assert not gates_prove_condition(goal, passed, offering(PYTEST))


def test_a_gate_that_the_goal_names_by_its_command_decides_it() -> None:
    for checks in ((), ("./run-tests.sh",)):
        goal = Goal(id="g", condition="./run-tests.sh passes", checks=checks)
        (gate,) = required_gates(goal, offering(*offered("./run-tests.sh")))
        assert (gate.command, gate.required) == ("./run-tests.sh", True)
        passed = [gate_run(gate, tree=UNSEEN_PROJECT.tree)]
        assert gates_prove_condition(goal, passed, offering(*offered("./run-tests.sh")))


def offering(*gates: Gate) -> Any:
    return replace(UNSEEN_PROJECT, catalog=AvailableGates(gates))
