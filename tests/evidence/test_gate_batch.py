"""Gates of one stop run together: side by side where they may, in turn where they must."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.batch import PARALLEL_GATES, RERUN_LIMIT_S, ProjectGates
from sidecar.evidence.gates.cache import Circumstances, describe_circumstances, may_reuse_pass
from sidecar.evidence.ports import GateContext
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from sidecar.platform.slots import WorkSlots
from support.memory_stores import TickingClock, at_once

LIMIT_S: Final = 60.0
AT: Final = GateContext(project="/p", tree="t1", environment={})


def gate(name: str, **fields: Any) -> Gate:
    return Gate(id=name, command=name, why="the test says so", kind=Kind.LINT, **fields)


class Runs:
    """Ends each run only when the test says so."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.began: list[str] = []
        self.seconds: dict[str, float] = {}
        self.ends: dict[str, list[GateRun]] = {}
        self.go = asyncio.Event()
        self.changed = asyncio.Condition()

    async def once(self, of: Gate, at: GateContext, seconds: float) -> GateRun:
        self.began.append(of.id)
        self.seconds[of.id] = seconds
        self.running.append(of.id)
        async with self.changed:
            self.changed.notify_all()
        try:
            await self.go.wait()
        finally:
            self.running.remove(of.id)
        ends = self.ends.get(of.id, [])
        return ends.pop(0) if ends else passed(of, at.tree)

    async def until(self, *names: str) -> None:
        """Wait until exactly these run."""
        async with asyncio.timeout(LIMIT_S), self.changed:
            await self.changed.wait_for(lambda: sorted(self.running) == sorted(names))


def passed(of: Gate, tree: str = "t1") -> GateRun:
    return GateRun(gate=of, outcome=Outcome.PASSED, tree=tree, exit_code=0)


def failed(of: Gate, **fields: Any) -> GateRun:
    said: dict[str, Any] = {"exit_code": 1, "failures": ("it failed",)} | fields
    return GateRun(gate=of, outcome=Outcome.FAILED, tree="t1", **said)


@pytest.fixture
def runs() -> Runs:
    return Runs()


class Trees(GitWorkspace):
    """Tells these digests of the files, then "t1"."""

    def __init__(self, trees: list[str]) -> None:
        super().__init__(Path("/nowhere"))
        self._trees = trees

    async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:  # noqa: ARG002 - told
        return self._trees.pop(0) if self._trees else "t1"


class Batches(ProjectGates):
    def __init__(self, runs: Runs, trees: list[str] | None = None, slots: WorkSlots | None = None) -> None:
        super().__init__(workspace=Trees([] if trees is None else trees), slots=slots)
        self._runs = runs

    async def once(self, gate: Gate, at: GateContext, seconds: float) -> GateRun:
        return await self._runs.once(gate, at, seconds)

    async def circumstances(self, gate: Gate, at: GateContext) -> Circumstances | None:
        return describe_circumstances(gate, at) if may_reuse_pass(gate) else None


async def test_gates_that_may_run_beside_others_do_and_no_more_than_there_is_room_for(runs: Runs) -> None:
    many = [gate(f"g{number}", alone=False) for number in range(PARALLEL_GATES + 1)]
    task = asyncio.create_task(Batches(runs).run(many, AT, LIMIT_S))
    await runs.until(*(of.id for of in many[:PARALLEL_GATES]))
    runs.go.set()
    assert [run.gate for run in await task] == many


async def test_those_that_must_run_alone_wait_for_all_others(runs: Runs) -> None:
    asked = [gate("a"), gate("b", alone=False), gate("c")]
    task = asyncio.create_task(Batches(runs).run(asked, AT, LIMIT_S))
    await runs.until("b")
    runs.go.set()
    await task
    assert runs.began == ["b", "a", "c"]


async def test_of_a_project_one_batch_runs_and_a_gates_time_begins_when_it_does(
    runs: Runs, tmp_path: Path
) -> None:
    of_both = Batches(runs, slots=WorkSlots(tmp_path, at_once(2), TickingClock()))
    first = asyncio.create_task(of_both.run([gate("a")], AT, LIMIT_S))
    second = asyncio.create_task(of_both.run([gate("b")], AT, 0.01))
    other = asyncio.create_task(of_both.run([gate("c")], replace(AT, project="/q"), LIMIT_S))
    await runs.until("a", "c")
    runs.go.set()
    waited = [run.waited for (run,) in await asyncio.gather(first, second, other)]
    assert runs.began == ["a", "c", "b"]
    assert runs.seconds == {"a": LIMIT_S, "b": 0.01, "c": LIMIT_S}
    assert waited[1] > max(waited[0], waited[2])


async def test_what_is_known_to_be_short_and_runs_beside_others_waits_for_nobody(
    runs: Runs, tmp_path: Path
) -> None:
    busy = Batches(runs, slots=WorkSlots(tmp_path, at_once(1), TickingClock()))
    known = [gate("short", alone=False), gate("long", alone=False), gate("alone")]
    runs.ends["long"] = [replace(passed(known[1]), seconds=60.0)]
    runs.go.set()
    await busy.run(known, AT, LIMIT_S)
    runs.go.clear()
    holds = asyncio.create_task(busy.run([gate("new", alone=False)], AT, LIMIT_S))
    await runs.until("new")
    later = replace(AT, tree="t2")
    tasks = [asyncio.create_task(busy.run([one], later, LIMIT_S)) for one in known]
    assert [run.cached for run in await busy.run(known, AT, LIMIT_S)] == [True] * 3
    await runs.until("new", "short")
    runs.go.set()
    await asyncio.gather(holds, *tasks)


async def test_a_cancelled_batch_cancels_every_gate_and_gives_its_turn_back(runs: Runs) -> None:
    same = Batches(runs)
    many = [gate(f"g{number}", alone=False) for number in range(PARALLEL_GATES)]
    task = asyncio.create_task(same.run(many, AT, LIMIT_S))
    await runs.until(*(of.id for of in many))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert runs.running == []
    runs.go.set()
    assert len(await same.run(many, AT, LIMIT_S)) == PARALLEL_GATES


async def test_files_that_move_beside_gates_make_all_their_passes_void(runs: Runs) -> None:
    runs.go.set()
    trees = ["t2", "t2", "t1", "t1"]
    same = Batches(runs, trees)
    runs.ends["b"] = [failed(gate("b", alone=False))] * 2
    asked = [gate("a", alone=False), gate("b", alone=False), gate("c", alone=False)]
    first = await same.run(asked, AT, LIMIT_S)
    assert [(run.outcome, run.moved) for run in first] == [
        (Outcome.PASSED, True),
        (Outcome.FAILED, False),
        (Outcome.PASSED, True),
    ]
    assert trees == ["t1", "t1"]  # looked at once for the failure, once for all passes
    second = await same.run([asked[0]], AT, LIMIT_S)
    assert (second[0].cached, second[0].moved) == (False, False)
    assert (await same.run([asked[0]], AT, LIMIT_S))[0].cached


async def test_a_pass_whose_circumstances_change_meanwhile_is_not_remembered() -> None:
    worlds = ["before"]

    class Installing(ProjectGates):
        async def circumstances(self, gate: Gate, at: GateContext) -> Circumstances:
            return describe_circumstances(gate, at, worlds[-1])

        async def once(self, gate: Gate, at: GateContext, seconds: float) -> GateRun:  # noqa: ARG002 - at once
            worlds.append("after" if len(worlds) == 1 else worlds[-1])
            return GateRun(gate=gate, outcome=Outcome.PASSED, tree=at.tree, exit_code=0)

    same = Installing()

    async def cached() -> bool:
        (run,) = await same.run([gate("a")], AT, LIMIT_S)
        return run.cached

    assert not await cached()
    worlds.append("before")
    assert not await cached()
    assert await cached()


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        ({"seconds": 1.0}, 2),
        ({"seconds": RERUN_LIMIT_S}, 1),
        ({"seconds": RERUN_LIMIT_S + 1}, 1),
        ({"exit_code": 0, "reason": "nothing was executed"}, 1),
    ],
    ids=["quick", "longer than is left", "slow", "no command failed"],
)
async def test_a_failure_on_files_that_move_is_run_again_once_where_that_can_tell_something(
    fields: dict[str, Any], times: int, runs: Runs
) -> None:
    runs.go.set()
    runs.ends["a"] = [failed(gate("a"), **fields) for _ in range(3)]
    (run,) = await Batches(runs, ["t2"]).run([gate("a")], AT, RERUN_LIMIT_S)
    assert (run.outcome, runs.began) == (Outcome.FAILED, ["a"] * times)


async def test_a_pass_after_files_moved_is_not_flaky_and_shows_nothing_of_the_tree(runs: Runs) -> None:
    runs.go.set()
    runs.ends["a"] = [failed(gate("a"))]
    (run,) = await Batches(runs, ["t2", "t2"]).run([gate("a")], AT, LIMIT_S)
    assert (run.outcome, run.flaky, run.moved, run.failures) == (Outcome.PASSED, False, True, ())


async def test_a_failure_on_quiet_files_is_run_once_until_its_gate_was_seen_to_be_flaky(runs: Runs) -> None:
    runs.go.set()
    asked = Batches(runs)

    async def outcome(*ends: GateRun) -> tuple[Outcome, bool]:
        runs.ends["a"] = list(ends)
        (run,) = await asked.run([gate("a")], AT, LIMIT_S)
        return run.outcome, run.flaky

    assert await outcome(failed(gate("a"))) == (Outcome.FAILED, False)
    assert runs.began == ["a"]
    assert await outcome() == (Outcome.PASSED, True)
    assert await outcome(failed(gate("a"))) == (Outcome.PASSED, True)
    assert runs.began == ["a"] * 4
    assert await outcome(failed(gate("a")), failed(gate("a"))) == (Outcome.FAILED, False)


async def test_a_failure_that_could_not_be_run_again_stays_one(runs: Runs) -> None:
    runs.go.set()
    first = failed(gate("a"))
    runs.ends["a"] = [first, GateRun(gate=first.gate, outcome=Outcome.COULD_NOT_RUN, tree="t1")]
    assert await Batches(runs, ["t2"]).run([gate("a")], AT, LIMIT_S) == (first,)


@pytest.mark.parametrize("kind", [Kind.PR, Kind.CI])
async def test_a_remote_is_not_asked_twice(kind: Kind, runs: Runs) -> None:
    runs.go.set()
    asked = Gate(id="a", command="gh", why="the test says so", kind=kind)
    runs.ends["a"] = [failed(asked)]
    (run,) = await Batches(runs).run([asked], AT, LIMIT_S)
    assert (run.outcome, runs.began) == (Outcome.FAILED, ["a"])


async def test_what_could_not_run_is_not_run_again(runs: Runs) -> None:
    runs.go.set()
    runs.ends["a"] = [GateRun(gate=gate("a"), outcome=Outcome.COULD_NOT_RUN, tree="t1", exit_code=127)]
    (run,) = await Batches(runs).run([gate("a")], AT, LIMIT_S)
    assert (run.outcome, runs.began) == (Outcome.COULD_NOT_RUN, ["a"])
