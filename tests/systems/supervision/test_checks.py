"""What an agent may have run between stops: what a stop would run, and nothing that a stop believes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.events import ToolCalled
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.gate import Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import GateSettings, Settings
from sidecar.kernel.turn import ToolAction
from sidecar.platform.slots import WorkSlots
from sidecar.systems.supervision.environments import MAX_ENVIRONMENTS
from sidecar.systems.supervision.gate_requests import ChecksError, SessionChecks
from support.cases import KEY, PROJECT, PYTEST, called, session, stopped, turn, with_goal
from support.fakes import ENVIRONMENT, LIMIT, Fakes, command, prompt
from support.memory_stores import FixedConfiguration, TickingClock, at_once
from support.scripted_gates import FAILED, PASSED

LINT = Gate(
    id="lint",
    command="ruff check",
    why="ruff.toml",
    kind=Kind.LINT,
    origin=GateOrigin.DETECTED,
    approved=True,
)
TYPES = replace(LINT, id="types", command="mypy .", why="mypy.ini", kind=Kind.TYPES)
TESTS = replace(PYTEST, approved=True)


class Room:
    """A session whose host was heard, on a project with three checks."""

    def __init__(self, **fakes: Any) -> None:
        self.fakes = Fakes(**fakes)
        self.begun = asyncio.Event()
        self.fakes.store.save(with_goal("all tests pass"))
        self.fakes.catalog.gates = (LINT, TYPES, TESTS)
        for gate in (LINT, TYPES, TESTS):
            self.fakes.gates.script(gate.command, PASSED)

    @property
    def checks(self) -> SessionChecks:
        return self.fakes.supervisor.checks

    async def run(self, *only: str) -> dict[str, GateRun]:
        begun = self.begun
        async with asyncio.timeout(LIMIT):
            runs = await self.checks.run(self.fakes.state(), only, lambda *_: begun.set())
        return {run.gate.id: run for run in runs}

    async def refused(self, *only: str) -> ChecksError:
        with pytest.raises(ChecksError) as refusal:
            await self.run(*only)
        return refusal.value

    def hold(self, gate: Gate) -> asyncio.Event:
        """Let a check wait until the event is set."""
        released = asyncio.Event()
        self.fakes.gates.script(gate.command, replace(PASSED, released=released))
        return released

    async def begin(self, *only: str) -> asyncio.Task[dict[str, GateRun]]:
        """Begin to run checks, until one runs."""
        task = asyncio.create_task(self.run(*only))
        await asyncio.wait_for(self.begun.wait(), LIMIT)
        return task


@pytest.fixture
async def room() -> Room:
    room = Room()
    await room.fakes.tell(prompt())
    return room


async def test_nothing_runs_where_supervisor_is_switched_off(room: Room) -> None:
    room.fakes.switches.turn(on=False, project=PROJECT)
    assert (await room.refused()).rule == "gates-off"
    assert room.fakes.gates.ran == []


# --- which --------------------------------------------------------------------------------------------------


async def test_what_the_goal_speaks_of_is_required_and_comes_first(room: Room) -> None:
    room.fakes.catalog.gates = (LINT, replace(PYTEST, approved=False))
    offered = await room.checks.list(room.fakes.state())
    assert [(gate.id, gate.required) for gate in offered.gates] == [("tests", True), ("lint", False)]
    assert all(gate.approved for gate in offered.gates)
    assert offered.at_stops


async def test_what_the_user_typed_with_check_is_listed_too(room: Room) -> None:
    room.fakes.store.put(with_goal("it is fast", checks=("make bench",)))
    offered = await room.checks.list(room.fakes.state())
    assert [gate.command for gate in offered.gates] == ["make bench", "ruff check", "mypy .", "pytest -q"]
    assert offered.gates[0].approved


async def test_without_a_goal_stops_run_what_is_configured_only_where_the_user_says_so() -> None:
    for says in (False, True):
        room = Room(configuration=FixedConfiguration(Settings(gates=GateSettings(without_goal=says))))
        await room.fakes.tell(prompt())
        room.fakes.store.put(session())
        assert (await room.checks.list(room.fakes.state())).at_stops is says


async def test_how_gates_ended_at_the_last_stop_is_told_and_whether_files_moved_since(room: Room) -> None:
    assert (await room.checks.list(room.fakes.state())).last is None
    room.fakes.gates.script("pytest -q", FAILED)
    await room.fakes.sent_back()
    offered = await room.checks.list(room.fakes.state())
    assert offered.last is not None
    assert offered.last.gates == ("tests: failed",)
    assert offered.moved is False
    room.fakes.workspace.tree = "tree-2"
    assert (await room.checks.list(room.fakes.state())).moved is True
    room.fakes.workspace.tree = ""
    assert (await room.checks.list(room.fakes.state())).moved is None


# --- how they run -------------------------------------------------------------------------------------------


async def test_required_ones_run_first_each_within_the_deadline_of_a_stop(room: Room) -> None:
    room.fakes.catalog.settings = GateSettings(seconds=7, advisory_seconds=3)
    runs = await room.run()
    assert room.fakes.gates.ran == ["pytest -q", "ruff check", "mypy ."]
    assert room.fakes.gates.deadlines == [7, 3]
    assert list(runs) == ["tests", "lint", "types"]
    assert {run.tree for run in runs.values()} == {"tree-1"}
    assert not any(run.moved or run.cached for run in runs.values())


async def test_only_those_run_that_are_named(room: Room) -> None:
    assert list(await room.run("types")) == ["types"]
    assert room.fakes.gates.ran == ["mypy ."]


async def test_a_failure_among_the_required_ones_hides_no_other(room: Room) -> None:
    room.fakes.gates.script("pytest -q", FAILED)
    room.fakes.gates.script("mypy .", FAILED)
    runs = await room.run()
    assert [run.outcome for run in runs.values()] == [Outcome.FAILED, Outcome.PASSED, Outcome.FAILED]


async def test_a_pass_while_files_moved_is_marked(room: Room) -> None:
    released = room.hold(TESTS)
    running = await room.begin("tests")
    room.fakes.workspace.tree = "tree-2"
    released.set()
    assert (await running)["tests"].moved


async def test_all_together_take_no_longer_than_the_judging_of_a_stop(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.hold(LINT)
    loop = asyncio.get_running_loop()
    real = loop.time

    def jump(_ended: int, _total: int, gate: Gate, run: GateRun | None) -> None:
        if gate is LINT and run is None:
            monkeypatch.setattr(loop, "time", lambda: real() + 841)

    runs = {run.gate.id: run for run in await room.checks.run(room.fakes.state(), (), jump)}
    assert runs["tests"].outcome is Outcome.PASSED
    for name in ("lint", "types"):
        assert runs[name].outcome is Outcome.COULD_NOT_RUN
        assert runs[name].reason == "all checks together took longer than 840 seconds"
    assert room.fakes.gates.cancelled == ["ruff check"]


# --- when they do not ---------------------------------------------------------------------------------------


async def test_before_the_host_was_heard_nothing_runs_in_a_guessed_environment() -> None:
    room = Room()
    assert (await room.refused()).rule == "gates-no-environment"
    await room.fakes.tell(prompt(environment={}))
    assert (await room.refused()).rule == "gates-no-environment"
    await room.fakes.tell(prompt(environment=ENVIRONMENT, ours=True))
    assert (await room.refused()).rule == "gates-no-environment"
    await room.fakes.tell(prompt())
    assert await room.run()


async def test_only_so_many_environments_are_remembered(room: Room) -> None:
    for number in range(MAX_ENVIRONMENTS):
        key = SessionKey(host="claude-code", id=f"other-{number}")
        await room.fakes.tell(prompt(key=key))
    assert room.checks.environment(room.fakes.state()) is None


async def test_nothing_runs_in_plan_mode_until_the_user_speaks_again(room: Room) -> None:
    assert (await room.fakes.rest(read_only=True)).reason is RestReason.PLAN_MODE
    assert (await room.refused()).rule == "gates-read-only"
    await room.fakes.tell(prompt(prompt_id="p2"))
    assert await room.run()


async def test_nothing_runs_while_the_user_has_the_agent_only_plan(room: Room) -> None:
    """In OpenCode a prompt says which agent works on it, in Claude Code each call says the mode."""
    await room.fakes.tell(prompt(prompt_id="p2", read_only=True))
    assert (await room.refused()).rule == "gates-read-only"
    await room.fakes.tell(prompt(prompt_id="p3", read_only=False))
    assert await room.run()
    call = ToolCalled(key=KEY, project=PROJECT, environment=ENVIRONMENT, tool="gates_run", certain=True)
    await room.fakes.tell(replace(call, read_only=True))
    assert (await room.refused()).rule == "gates-read-only"
    await room.fakes.tell(replace(call, read_only=False))
    assert await room.run()


# --- beside others ------------------------------------------------------------------------------------------


async def test_two_calls_at_once_take_turns(room: Room, tmp_path: Path) -> None:
    room.fakes.gates.slots = WorkSlots(tmp_path, at_once(1), TickingClock())
    released = room.hold(TESTS)
    first = await room.begin("tests")
    room.fakes.gates.started.clear()
    second = asyncio.create_task(room.run("tests"))
    await asyncio.wait_for(room.fakes.gates.started.wait(), LIMIT)
    assert room.fakes.gates.ran == ["pytest -q"]
    released.set()
    for task in (first, second):
        assert (await task)["tests"].outcome is Outcome.PASSED
    assert room.fakes.gates.ran == ["pytest -q"], "the second is told how the first ended"


async def test_cancelling_kills_what_runs(room: Room) -> None:
    room.hold(TESTS)
    running = await room.begin("tests")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert room.fakes.gates.cancelled == ["pytest -q"]


async def test_a_stop_comes_first(room: Room) -> None:
    """The check that it needs is held for ever by the agent's own call."""
    room.hold(TESTS)
    running = await room.begin("tests")
    room.fakes.gates.script("pytest -q", PASSED)
    assert (await room.fakes.rest()).reason is RestReason.ACHIEVED
    with pytest.raises(ChecksError) as refusal:
        await running
    assert refusal.value.rule == "gates-gave-way"
    assert room.fakes.gates.cancelled == ["pytest -q"]


async def test_nothing_begins_while_a_stop_is_judged(room: Room) -> None:
    """Between the checks of a stop there are moments in which nothing runs."""
    room.fakes.catalog.gates = ()
    room.fakes.store.put(with_goal())
    room.fakes.judge.hold()
    judging = asyncio.create_task(room.fakes.supervisor.tell(stopped(environment=ENVIRONMENT)))
    await asyncio.wait_for(room.fakes.judge.asked.wait(), LIMIT)
    assert (await room.refused()).rule == "gates-gave-way"
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    assert await room.run() == {}


# --- what a stop makes of it --------------------------------------------------------------------------------


@pytest.mark.parametrize("without", ["files that were let alone", "a goal", "a baseline"])
async def test_no_stop_believes_what_ran_while_the_agent_may_have_swapped_files(
    room: Room, without: str
) -> None:
    """An agent can put good files in place while a check looks, and take them away again."""
    room.fakes.gates.workspace, room.fakes.workspace.written = room.fakes.workspace, "files" in without
    goal = with_goal("all tests pass")
    if without == "a goal":
        room.fakes.store.put(session())
    if without == "a baseline":
        room.fakes.store.put(with_goal("all tests pass", base=FileBaseline()))
    assert (await room.run("tests"))["tests"].outcome is Outcome.PASSED
    room.fakes.store.put(goal)
    room.fakes.gates.script("pytest -q", FAILED)
    answer = await room.fakes.sent_back(environment=ENVIRONMENT)
    assert answer.feedback.kind == "gates-failed"


async def test_an_agent_that_runs_the_checks_sees_them_fail_and_stops_anyway_is_sent_back(room: Room) -> None:
    await room.fakes.reply(command("all tests pass"))
    room.fakes.gates.script("pytest -q", FAILED)
    assert (await room.run())["tests"].outcome is Outcome.FAILED
    room.fakes.transcripts.script(
        turn(called(ToolAction.EDIT), called(ToolAction.OTHER), message="All tests pass.")
    )
    answer = await room.fakes.sent_back(environment=ENVIRONMENT)
    assert answer.feedback.kind == "gates-failed"
    assert "test_a: it failed" in "\n".join(answer.feedback.missing)
    assert room.fakes.goal().status is GoalStatus.ACTIVE
