"""What every GateRunner does."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final, Protocol

import pytest

from sidecar.adapters.gates import ProjectGates
from sidecar.adapters.scripted.gates import FAILED, PASSED, Ended, ScriptedGates
from sidecar.model.gate import Gate, GateRun, Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from sidecar.ports import GateRunner

LIMIT_S: Final = 30.0
"""Deadline of a run that is to end by itself, in seconds."""
PASSES: Final = "echo fine"
FAILS: Final = "echo 'FAILED test_a - it failed'; exit 3"
MISSING: Final = "no-such-command-anywhere"
REPAIRED: Final = "test -e repaired || { touch repaired; exit 3; }"
ENDLESS: Final = "sleep 600"
EMPTY: Final = "echo 'no tests ran in 0.01s'"


def scripted() -> ScriptedGates:
    gates = ScriptedGates(runner=Gate(id="tests", command="go test ./...", why="go.mod", counts=True))
    gates.script(PASSES, PASSED)
    gates.script(FAILS, Ended(outcome=Outcome.FAILED, exit_code=3, failures=("test_a: it failed",)))
    gates.script(REPAIRED, FAILED, PASSED)
    gates.script(ENDLESS, Ended(released=asyncio.Event()))
    gates.script(EMPTY, Ended(outcome=Outcome.FAILED, executed=0, reason="nothing was executed"))
    return gates


class Run(Protocol):
    """Runs a command as a gate of one project, at a tree."""

    async def __call__(
        self, command: str, *, tree: str = "t1", counts: bool = False, seconds: float = ...
    ) -> GateRun: ...


@pytest.fixture(params=("real", "scripted"))
def gates(request: pytest.FixtureRequest) -> GateRunner:
    return scripted() if request.param == "scripted" else ProjectGates()


@pytest.fixture
def run(gates: GateRunner, tmp_path: Path) -> Run:
    async def run(
        command: str, *, tree: str = "t1", counts: bool = False, seconds: float = LIMIT_S
    ) -> GateRun:
        gate = Gate(id="check:1", command=command, why="the test says so", counts=counts)
        done = await gates.run(gate, str(tmp_path), tree, {"PATH": os.environ["PATH"]}, seconds)
        assert (done.gate, done.tree) == (gate, tree)
        return done

    return run


async def test_a_command_that_ends_well_passed(run: Run) -> None:
    done = await run(PASSES)
    assert (done.outcome, done.exit_code, done.failures, done.reason) == (Outcome.PASSED, 0, (), "")
    assert not done.cached


async def test_a_command_that_ends_badly_failed_and_says_what(run: Run) -> None:
    done = await run(FAILS)
    assert (done.outcome, done.exit_code, done.failures) == (Outcome.FAILED, 3, ("test_a: it failed",))


async def test_a_command_that_is_not_there_could_not_run_and_says_why(run: Run) -> None:
    done = await run(MISSING)
    assert done.outcome is Outcome.COULD_NOT_RUN
    assert done.reason
    assert "\n" not in done.reason


async def test_a_command_that_takes_too_long_could_not_run_and_says_why(run: Run) -> None:
    done = await run(ENDLESS, seconds=0.01)
    assert (done.outcome, done.exit_code) == (Outcome.COULD_NOT_RUN, None)
    assert done.reason


async def test_a_test_runner_that_executed_nothing_has_not_passed(run: Run) -> None:
    done = await run(EMPTY, counts=True)
    assert (done.outcome, done.exit_code, done.executed) == (Outcome.FAILED, 0, 0)
    assert done.reason


async def test_a_pass_holds_for_the_same_tree_and_no_other(run: Run) -> None:
    assert not (await run(PASSES)).cached
    assert (await run(PASSES)).cached
    assert not (await run(PASSES, tree="t2")).cached


async def test_a_pass_on_files_that_could_not_be_seen_never_holds(run: Run) -> None:
    for _ in range(2):
        done = await run(PASSES, tree="")
        assert (done.outcome, done.cached) == (Outcome.PASSED, False)


@pytest.mark.parametrize("command", [FAILS, MISSING])
async def test_what_did_not_pass_is_run_again(command: str, run: Run) -> None:
    assert (await run(command)).outcome is (await run(command)).outcome
    assert not (await run(command)).cached


async def test_a_failure_that_passes_on_the_same_tree_is_flaky(run: Run) -> None:
    assert (await run(REPAIRED)).outcome is Outcome.FAILED
    done = await run(REPAIRED)
    assert (done.outcome, done.flaky) == (Outcome.PASSED, True)
    assert (await run(REPAIRED)).flaky


async def test_a_failure_that_passes_on_another_tree_was_repaired(run: Run) -> None:
    assert (await run(REPAIRED)).outcome is Outcome.FAILED
    done = await run(REPAIRED, tree="t2")
    assert (done.outcome, done.flaky) == (Outcome.PASSED, False)


async def test_a_cancelled_run_raises_and_the_next_one_is_not_held_up(run: Run) -> None:
    task = asyncio.create_task(run(ENDLESS))
    await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop: it has begun
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await run(PASSES)).outcome is Outcome.PASSED


def test_a_detected_runner_counts_and_says_why(gates: GateRunner, tmp_path: Path) -> None:
    (tmp_path / "go.mod").touch()
    found = gates.detect_tests(str(tmp_path))
    assert found is not None
    assert (found.command, found.counts) == ("go test ./...", True)
    assert found.why
