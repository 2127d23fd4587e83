"""What the structure of a turn proves, without a model."""

from __future__ import annotations

import pytest

from sidecar.evidence.claims.check_runs import find_check_runs
from sidecar.judging.rules.every import apply_stop_rules
from sidecar.judging.rules.found import RuleFinding
from sidecar.kernel.effects import RestReason
from sidecar.kernel.gate import Kind
from sidecar.kernel.settings import RuleSettings
from sidecar.kernel.turn import ToolAction, Turn
from support.cases import ASKING, called, complete, edited, judged, ran, session, todos, turn, with_goal
from support.play import World, play
from support.table import over_table

CLAIM = "All tests pass."
HERE = RuleSettings(error_walked_away="off", promised_next_step="off", narration="off")
"""The rules of this file; the others have files of their own in tests/judging/rules."""

RUNS_TESTS = (
    "pytest",
    "pytest -q tests/policy",
    "cd app && PYTHONPATH=. .venv/bin/python -m pytest -x | tail -5",
    "python3 -m unittest discover",
    "tox -e py311",
    "npm test",
    "npm run test",
    "yarn test --watch=false",
    "bun test",
    "npx vitest run",
    "go test ./...",
    "cargo test",
    "cargo nextest run",
    "mix test",
    "./gradlew :app:test",
    "mvn -q test",
    "make check",
    "git stash; pytest",
)
RUNS_NONE = (
    "ls tests",
    "cat pytest.ini",
    "grep -rn pytest setup.cfg",
    "/usr/bin/rg 'npm test'",
    "pip install pytest",
    "uv add pytest",
    "git commit -m 'run pytest in CI'",
    "echo run pytest yourself",
    "which tox",
    "npm install jest",
    "make build",
    "python latest.py",
    "go build ./...",
    "sed -i s/nose/pytest/ tox.ini",
)


def findings(seen: Turn) -> tuple[RuleFinding, ...]:
    return apply_stop_rules(seen, HERE, goal=False).findings


@over_table("command", RUNS_TESTS)
def test_a_test_runner_is_known_by_its_command(command: str) -> None:
    assert find_check_runs(turn(ran(command)), Kind.TESTS)


@over_table("command", RUNS_NONE)
def test_a_command_that_only_names_a_test_runner_runs_no_tests(command: str) -> None:
    assert not find_check_runs(turn(ran(command)), Kind.TESTS)


OPEN = todos("write the docs", "test the rest")


@pytest.mark.parametrize("message", ["I did the parser.", "", "I will do the others later."])
def test_open_todos_of_the_hosts_own_list_are_certain(message: str) -> None:
    (found,) = findings(turn(message=message, todos=OPEN))
    assert found.certain
    assert (found.missing_work.kind, found.missing_work.missing) == (
        "stopped-with-todos",
        ("write the docs", "test the rest"),
    )


@pytest.mark.parametrize(
    "message",
    [
        "Which of the two shall it be?",
        "I am blocked: the API key is missing.",
        "The next one deletes the table, so I stopped.",
        "I am waiting for your answer.",
    ],
)
def test_open_todos_are_never_certain_where_the_stop_may_be_legitimate(message: str) -> None:
    assert not any(found.certain for found in findings(turn(message=message, todos=OPEN)))


def test_todos_that_are_done_are_fine() -> None:
    assert findings(turn(todos=todos("write the docs", done=True))) == ()


def test_open_todos_of_a_turn_that_changed_nothing_are_fine() -> None:
    assert findings(turn(called(ToolAction.TODO), todos=OPEN)) == ()


def test_only_the_first_ten_todos_are_named() -> None:
    many = todos(*(str(number) for number in range(30)))
    assert len(findings(turn(todos=many))[0].missing_work.missing) == 10


def test_certain_findings_come_first() -> None:
    message = "Should I use Postgres or SQLite?\n\nRemaining: the docs."
    found = findings(turn(edited(), ran("make demo", 1), message=message))
    assert [one.certain for one in found] == sorted((one.certain for one in found), reverse=True)


def test_without_a_goal_a_certain_finding_sends_back_and_no_model_is_asked() -> None:
    played = play(session(), World(turn=turn(ran("pytest", 1), message=CLAIM)))
    assert (played.kind, played.case) == ("false-complete", None)


def test_without_a_goal_a_suspicion_is_shown_to_the_judge_and_says_what_it_is() -> None:
    world = World(turn=turn(edited(), message="Still to do: the parser"), judge=judged(complete()))
    played = play(session(), world, settings=ASKING)
    assert played.case is not None
    assert (played.case.condition, played.case.suspicion) == (
        "",
        "stopped-with-todos: Still to do: the parser",
    )


def test_without_a_goal_nothing_suspicious_costs_no_model_call() -> None:
    assert play(session()).rest.reason is RestReason.CLEAN


def test_with_a_goal_a_certain_finding_sends_back_before_the_judge_is_asked() -> None:
    played = play(with_goal(), World(turn=turn(todos=OPEN)))
    assert (played.kind, played.case) == ("stopped-with-todos", None)


def test_with_a_goal_a_mere_suspicion_is_left_to_the_judge_of_the_condition() -> None:
    played = play(with_goal(), World(turn=turn(message=CLAIM), judge=judged(complete())))
    assert played.case is not None
    assert (played.case.condition, played.case.suspicion) == ("the parser accepts comments", "")


@pytest.mark.parametrize("gap", ["\n" * 20_000, " " * 20_000, (" " * 100 + "\n") * 200])
def test_a_message_of_almost_nothing_is_read_in_no_time(gap: str) -> None:
    assert findings(turn(message=f"Done.\n{gap}.")) == ()
