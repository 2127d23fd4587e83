"""What the structure of a turn proves, without a model."""

from __future__ import annotations

import pytest

from sidecar.evidence.claims.proof import find_check_runs
from sidecar.judging.rules.every import apply_stop_rules
from sidecar.judging.rules.found import RuleFinding
from sidecar.kernel.effects import RestReason
from sidecar.kernel.gate import Kind
from sidecar.kernel.settings import RuleSettings
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn
from support.cases import ASKING, called, complete, edited, judged, ran, session, todos, turn, with_goal
from support.play import World, play
from support.table import over_table

CLAIM = "All tests pass."
HOPE = "All tests should pass."
"""A claim that is only a suspicion where nothing ran."""
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


@over_table("command", RUNS_NONE)
def test_a_failure_of_another_command_contradicts_no_claim(command: str) -> None:
    assert findings(turn(ran("pytest"), ran(command, 1), message=CLAIM)) == ()


def outcome(calls: tuple[ToolCall, ...]) -> str:
    found = findings(turn(*calls, message=CLAIM))
    return "silent" if not found else "certain" if found[0].certain else "suspicious"


CLAIMED: dict[str, tuple[str, tuple[ToolCall, ...]]] = {
    "the run failed": ("certain", (edited(), ran("pytest", 1))),
    "the run failed without a code": (
        "certain",
        (ran("pytest", None, outcome=CallOutcome.FAILED),),
    ),
    "it passed, then failed": ("certain", (ran("pytest"), edited(), ran("pytest", 2))),
    "it failed, then was edited": ("certain", (ran("pytest", 1), edited())),
    "it passed": ("silent", (edited(), ran("pytest"))),
    "it failed, then passed": ("silent", (ran("pytest", 1), edited(), ran("pytest"))),
    "it passed, then read": ("silent", (ran("pytest"), called(ToolAction.READ))),
    "it passed, then edited": ("suspicious", (ran("pytest"), edited())),
    "nothing ran": ("certain", (edited(),)),
    "it is still running": (
        "suspicious",
        (ran("pytest", None, outcome=CallOutcome.PENDING),),
    ),
    "a later run is still going": (
        "certain",
        (ran("pytest", 1), ran("pytest", None, outcome=CallOutcome.PENDING)),
    ),
    "it was interrupted": ("silent", (ran("pytest", None, outcome=CallOutcome.INTERRUPTED),)),
    "it failed, but lint may have": ("suspicious", (ran("ruff check && pytest", 1),)),
    "it failed with lint, and says so": (
        "certain",
        (ran("ruff check && pytest", 1, output="1 failed, 3 passed in 0.1s"),),
    ),
    "it passed, and the push failed": (
        "silent",
        (ran("pytest && git push", 1, output="3 passed in 0.1s"),),
    ),
    "the failure was swallowed, and seen": (
        "suspicious",
        (ran("pytest || true", output="1 failed in 0.1s"),),
    ),
    "the failure would be swallowed": ("suspicious", (ran("pytest || true"),)),
    "the end is swallowed, but it looks good": (
        "silent",
        (ran("pytest | tail -3", output="3 passed in 0.1s"),),
    ),
    "the good looks are printed by the line": (
        "suspicious",
        (ran("pytest || true; echo '3 passed'", output="3 passed"),),
    ),
    "echo ok came after it": ("suspicious", (ran("pytest; echo ok", output="ok"),)),
    "it ran nothing": ("suspicious", (ran("pytest --collect-only"),)),
    "it said nothing": ("silent", (ran("pytest > log 2>&1"),)),
    "it said nothing and could not fail": ("suspicious", (ran("pytest > log || true"),)),
    "a function took its name": ("suspicious", (ran("pytest() { :; }; pytest"),)),
    "it could not start": ("suspicious", (ran("pytest", 127),)),
    "only a part ran": ("suspicious", (ran("pytest tests/test_a.py"),)),
    "a part failed": ("certain", (ran("pytest tests/test_a.py", 1),)),
    "it passed, then a document was edited": ("silent", (ran("pytest"), edited("docs/guide.md"))),
    "it passed, then sed": ("suspicious", (ran("pytest"), ran("sed -i s/a/b/ a.py"))),
    "what ran is not known": ("suspicious", (ran("pytest", 1, runs=()),)),
}


@over_table("case", CLAIMED)
def test_a_claim_is_held_against_the_last_test_run_that_ended(case: str) -> None:
    expected, calls = CLAIMED[case]
    assert outcome(calls) == expected


def test_a_contradicted_claim_names_the_run_and_its_exit_code() -> None:
    (found,) = findings(turn(ran("pytest -q", 2), message=CLAIM))
    assert found.missing_work.missing == (
        "you say that tests pass; the last test run of this turn failed with exit code 2: pytest -q",
    )


SUSPICIONS: dict[str, ToolCall] = {
    "the test run `pytest || true` cannot show a failure": ran("pytest || true"),
    "the test run `pytest; echo ok` cannot show a failure": ran("pytest; echo ok"),
    "the test run `pytest --co` checks nothing": ran("pytest --co"),
    "the test run `pytest` could not start": ran("pytest", 127),
    "the test run `pytest` ran no test": ran("pytest", output="no tests ran"),
    "the test run `pytest a.py` took only a part": ran("pytest a.py"),
    "the test run `pytest & ls` went on in the background, and its end is not known": ran("pytest & ls"),
    "the test run `pytest` has not ended": ran("pytest", None, outcome=CallOutcome.PENDING),
    "you say that tests pass, and this turn ran none": ran("ls"),
}


@over_table("said", SUSPICIONS)
def test_a_suspicion_says_exactly_what_is_lacking(said: str) -> None:
    (found,) = findings(turn(SUSPICIONS[said], message=CLAIM))
    assert found.missing_work.missing == (said,)


def test_a_part_is_enough_where_the_message_does_not_speak_of_all() -> None:
    assert findings(turn(ran("pytest a.py"), message="The new tests pass.")) == ()


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
    found = findings(turn(edited(), message=HOPE, todos=OPEN))
    assert [(one.missing_work.kind, one.certain) for one in found] == [
        ("stopped-with-todos", True),
        ("false-complete", False),
    ]


def test_without_a_goal_a_certain_finding_sends_back_and_no_model_is_asked() -> None:
    played = play(session(), World(turn=turn(ran("pytest", 1), message=CLAIM)))
    assert (played.kind, played.case) == ("false-complete", None)


def test_without_a_goal_a_suspicion_is_shown_to_the_judge_and_says_what_it_is() -> None:
    world = World(turn=turn(edited(), message=HOPE), judge=judged(complete()))
    played = play(session(), world, settings=ASKING)
    assert played.case is not None
    assert (played.case.condition, played.case.suspicion) == (
        "",
        "false-complete: you say that tests pass, and this turn ran none",
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
