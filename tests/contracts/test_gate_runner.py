"""What every GateRunner does."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, GateOrigin, GateRun, Kind, Outcome
from support.scripted_gates import PASSED, ScriptedEnding, ScriptedGates

if TYPE_CHECKING:
    from pathlib import Path

    from sidecar.evidence.ports import GateRunner

pytestmark = pytest.mark.process

LIMIT_S: Final = 60.0
"""Deadline of a run that is to end by itself, in seconds."""
PASSES: Final = "echo fine"
FAILS: Final = "echo 'FAILED test_a - it failed'; exit 3"
MISSING: Final = "no-such-command-anywhere"
LUCKY: Final = "test -e lucky || { touch lucky; echo 'FAILED test_a - it failed'; exit 3; }"
"""Fails, and passes from then on."""
ENDLESS: Final = "sleep 600"
TALKS: Final = "echo it has begun; sleep 600"
EMPTY: Final = "echo 'no tests ran in 0.01s'"


def scripted() -> ScriptedGates:
    gates = ScriptedGates()
    failed = ScriptedEnding(
        outcome=Outcome.FAILED, exit_code=3, failures=("test_a: it failed",), failing=("test_a",)
    )
    gates.script(PASSES, PASSED)
    gates.script(FAILS, failed)
    gates.script(LUCKY, failed, PASSED)
    gates.script(ENDLESS, ScriptedEnding(released=asyncio.Event()))
    gates.script(TALKS, ScriptedEnding(released=asyncio.Event(), prints="it has begun"))
    gates.script(EMPTY, ScriptedEnding(outcome=Outcome.FAILED, executed=0, reason="nothing was executed"))
    return gates


def gate(command: str, **fields: Any) -> Gate:
    said: dict[str, Any] = {"id": command[:9], "kind": Kind.TESTS, "why": "the test says so"} | fields
    return Gate(command=command, **said)


class Run(Protocol):
    """Runs a command as a gate of one project, at a tree."""

    async def __call__(
        self, command: str, *, tree: str = "t1", seconds: float = ..., **fields: Any
    ) -> GateRun: ...


@pytest.fixture(params=("real", "scripted"))
def gates(request: pytest.FixtureRequest) -> GateRunner:
    return scripted() if request.param == "scripted" else ProjectGates()


@pytest.fixture
def site(tmp_path: Path) -> GateContext:
    return GateContext(project=str(tmp_path), tree="t1", environment={"PATH": os.environ["PATH"]})


@pytest.fixture
def run(gates: GateRunner, site: GateContext) -> Run:
    async def run(command: str, *, tree: str = "t1", seconds: float = LIMIT_S, **fields: Any) -> GateRun:
        asked = gate(command, **fields)
        at = GateContext(project=site.project, tree=tree, environment=site.environment)
        (done,) = await gates.run((asked,), at, seconds)
        assert (done.gate, done.tree) == (asked, tree)
        return done

    return run


async def test_a_command_that_ends_well_passed(run: Run) -> None:
    done = await run(PASSES)
    assert (done.outcome, done.exit_code, done.failures, done.reason) == (Outcome.PASSED, 0, (), "")
    assert (done.cached, done.flaky, done.moved) == (False, False, False)


async def test_a_command_that_ends_badly_failed_and_says_what(run: Run) -> None:
    done = await run(FAILS)
    assert (done.outcome, done.exit_code) == (Outcome.FAILED, 3)
    assert (done.failures, done.failing) == (("test_a: it failed",), ("test_a",))


async def test_a_command_that_is_not_there_could_not_run_and_says_why(run: Run) -> None:
    done = await run(MISSING)
    assert done.outcome is Outcome.COULD_NOT_RUN
    assert done.reason
    assert "\n" not in done.reason


async def test_a_command_that_takes_too_long_could_not_run_and_says_why(run: Run) -> None:
    done = await run(ENDLESS, seconds=0.01)
    assert (done.outcome, done.exit_code) == (Outcome.COULD_NOT_RUN, None)
    assert done.reason


async def test_a_gates_own_deadline_goes_before_that_of_all(gates: GateRunner, site: GateContext) -> None:
    (done,) = await gates.run((gate(ENDLESS, seconds=0),), site, 600)
    assert (done.outcome, done.exit_code) == (Outcome.COULD_NOT_RUN, None)


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


@pytest.mark.parametrize(
    "other",
    [{"counts": True}, {"kind": Kind.LINT}, {"folder": "sub"}],
    ids=["whether it counts", "its kind", "its folder"],
)
async def test_a_pass_of_a_gate_does_not_hold_for_one_that_differs_in(
    other: dict[str, Any], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    await run(PASSES)
    assert not (await run(PASSES, **other)).cached
    assert (await run(PASSES, **other)).cached


@pytest.mark.parametrize(
    ("fields", "holds"),
    [
        ({"kind": Kind.CHECK, "origin": GateOrigin.TYPED}, False),
        ({"kind": Kind.CHECK, "origin": GateOrigin.USER}, False),
        ({"kind": Kind.CHECK, "origin": GateOrigin.PROJECT}, False),
        ({"kind": Kind.CHECK, "origin": GateOrigin.DETECTED}, True),
        ({"kind": Kind.SECURITY, "origin": GateOrigin.DETECTED}, False),
        ({"kind": Kind.TESTS, "origin": GateOrigin.TYPED}, True),
    ],
)
async def test_a_pass_of_what_looks_out_of_the_tree_never_holds(
    fields: dict[str, Any], run: Run, *, holds: bool
) -> None:
    await run(PASSES, **fields)
    assert (await run(PASSES, **fields)).cached is holds


@pytest.mark.parametrize("command", [FAILS, MISSING])
async def test_what_did_not_pass_is_run_again(command: str, run: Run) -> None:
    assert (await run(command)).outcome is (await run(command)).outcome
    assert not (await run(command)).cached


async def test_a_failure_that_passes_on_the_same_tree_later_is_flaky_and_not_remembered(run: Run) -> None:
    assert (await run(LUCKY)).outcome is Outcome.FAILED
    for _ in range(2):
        done = await run(LUCKY)
        assert (done.outcome, done.flaky, done.cached) == (Outcome.PASSED, True, False)


async def test_a_failure_that_passes_on_another_tree_was_repaired(run: Run) -> None:
    assert (await run(LUCKY)).outcome is Outcome.FAILED
    done = await run(LUCKY, tree="t2")
    assert (done.outcome, done.flaky) == (Outcome.PASSED, False)


async def test_runs_come_in_the_order_asked_for_and_each_is_told_of(
    gates: GateRunner, site: GateContext
) -> None:
    told = list[tuple[str, Outcome | None]]()
    asked = (
        gate(PASSES, id="one"),
        gate(MISSING, id="two", alone=False),
        gate(FAILS, id="three"),
        gate(PASSES, id="four", alone=False),
    )
    done = await gates.run(
        asked, site, LIMIT_S, lambda of, run: told.append((of.id, run.outcome if run else None))
    )
    assert [(run.gate.id, run.outcome) for run in done] == [
        ("one", Outcome.PASSED),
        ("two", Outcome.COULD_NOT_RUN),
        ("three", Outcome.FAILED),
        ("four", Outcome.PASSED),
    ]
    assert sorted(told, key=str) == sorted(
        [(of.id, None) for of in asked] + [(run.gate.id, run.outcome) for run in done], key=str
    )
    assert [told.index((name, None)) < told.index((name, end)) for name, end in told if end] == [True] * 4
    assert told[-4:] == [
        ("one", None),
        ("one", Outcome.PASSED),
        ("three", None),
        ("three", Outcome.FAILED),
    ]


@pytest.mark.proves("seeing and asking back")
async def test_what_a_gate_prints_is_heard_while_it_runs(gates: GateRunner, site: GateContext) -> None:
    heard = asyncio.Event()
    at = replace(site, hear=lambda text: heard.set() if "it has begun" in text else None)
    running = asyncio.create_task(gates.run((gate(TALKS),), at, LIMIT_S))
    async with asyncio.timeout(LIMIT_S):
        await heard.wait()
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_cancelled_run_raises_and_the_next_one_is_not_held_up(run: Run) -> None:
    task = asyncio.create_task(run(ENDLESS))
    await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop: it has begun
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await run(PASSES)).outcome is Outcome.PASSED
