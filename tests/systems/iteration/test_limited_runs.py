"""Agents whose model service is limited: the run waits, and nothing is charged."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

import pytest

from sidecar.hosts.limits import account_name
from sidecar.hosts.ports import AgentResult, AgentTask
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.limits import ServiceLimit
from sidecar.platform.limits import (
    FIRST_S,
    FORGOTTEN_S,
    LONGEST_S,
    WORKED_TRIES,
    current_limits,
    describe_limit,
    known_limits,
)
from sidecar.platform.log_readings import DailySpending
from sidecar.work.progress import AgentEnded, IterationStarted, RunWarning
from support.cases import complete
from support.fakes import Fakes
from support.limits import LimitRoom
from support.memory_stores import MemoryEventLog
from support.run_scene import KEY, UNKEPT, Scene, made, worked

HOUR: Final = 3600.0
ACCOUNT: Final = "claude 1a2b3c4d"


def limit(until: float = 0.0) -> ServiceLimit:
    return ServiceLimit(account="", until=until, said="usage limit reached")


@pytest.fixture
def room() -> LimitRoom:
    return LimitRoom()


@pytest.mark.proves("runs and the journal")
async def test_a_run_waits_for_its_service_and_charges_nothing() -> None:
    fakes: Fakes = made(UNKEPT)
    fakes.judge.script(complete("E1"))
    room = LimitRoom(fakes.clock)
    began = room.clock.now()

    def limited(_task: AgentTask) -> AgentResult:
        return AgentResult(exit_code=1, trouble="429", tokens=7, limit=limit(began + 2 * HOUR))

    scene = Scene(fakes, limited, worked(fakes))
    scene.budget.limits = room.limits()
    ended = await scene.play()
    assert (ended.outcome, ended.iterations, ended.tokens) == ("achieved", 1, 7)
    goal = fakes.goal(KEY)
    assert (goal.status, goal.spent.continuations, goal.spent.tokens) == (GoalStatus.ACHIEVED, 0, 7)
    assert goal.spent.seconds < HOUR
    assert len(scene.all(IterationStarted)) == len(scene.all(AgentEnded)) == 1
    assert scene.all(AgentEnded)[0].seconds < HOUR
    assert [one.until for one in room.told] == [began + 2 * HOUR]


async def test_an_agent_that_worked_and_met_a_limit_each_time_is_judged_in_the_end() -> None:
    fakes: Fakes = made(UNKEPT)
    starts = 0

    def limited(_task: AgentTask) -> AgentResult:
        nonlocal starts
        starts += 1
        return AgentResult(exit_code=1, trouble="usage limit reached", tokens=7, limit=limit())

    scene = Scene(fakes, *[limited] * 50)
    scene.budget.limits = LimitRoom(fakes.clock).limits()
    ended = await scene.play()
    assert (ended.outcome, ended.iterations, starts) == ("unjudged", 1, WORKED_TRIES)


async def test_waits_get_longer_where_no_time_is_told(room: LimitRoom) -> None:
    limits, waits = room.limits(), []
    for _ in range(8):
        limits.meet(ACCOUNT, limit())
        limits.meet(ACCOUNT, limit())  # another agent, at the same time
        until = known_limits(room.log)[ACCOUNT].until
        waits.append(until - room.clock.now())
        room.clock.advance(waits[-1])
    assert waits == [60, 120, 240, 480, 960, LONGEST_S, LONGEST_S, LONGEST_S]
    room.clock.advance(FORGOTTEN_S + 1)
    limits.meet(ACCOUNT, limit())
    async with limits.turn(ACCOUNT) as waited:
        assert waited == FIRST_S


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        (2 * HOUR, 2 * HOUR),
        (-5.0, -5.0),  # it was over when the agent ended
        (-HOUR, FIRST_S),  # not believed: long ago, and in a year
        (365 * 24 * HOUR, FIRST_S),
    ],
)
def test_a_told_time_is_believed_within_reason(room: LimitRoom, told: float, waits: float) -> None:
    room.limits().meet(ACCOUNT, limit(room.clock.now() + told))
    assert known_limits(room.log)[ACCOUNT].until - room.clock.now() == waits


async def test_other_runs_of_the_account_wait_too_and_are_told_once(room: LimitRoom) -> None:
    room.limits().meet(ACCOUNT, limit(room.clock.now() + HOUR))
    assert len(current_limits(room.log, room.clock.now())) == 1
    for account, waits in (("opencode 1a2b3c4d", 0), (ACCOUNT, HOUR)):
        async with room.limits().turn(account) as waited:
            assert waited == waits
    assert current_limits(room.log, room.clock.now()) == ()
    (told,) = room.told
    assert describe_limit(told, room.clock.now()).endswith("(claude: usage limit reached)")


class NotedSlots:
    """Implements `CallSlots` without an end; `taken` has when one was taken first."""

    def __init__(self, room: LimitRoom) -> None:
        self._room, self.taken = room, dict[str, float]()

    def limits(self, program: str) -> bool:
        return bool(program)

    def take(self, program: str, token: str) -> bool:
        self.taken.setdefault(f"{program} {token}", self._room.clock.now())
        return True

    def free(self, program: str, token: str) -> None:
        assert f"{program} {token}" in self.taken


async def test_an_account_that_is_limited_holds_no_slot_while_it_waits(room: LimitRoom) -> None:
    until, slots = room.clock.now() + HOUR, NotedSlots(room)
    room.limits().meet(ACCOUNT, limit(until))
    async with replace(room.limits(), slots=slots).turn(ACCOUNT):
        assert list(slots.taken.values()) == [until]


def test_an_account_is_the_program_and_a_digest_of_its_credentials() -> None:
    name = account_name("/usr/bin/claude", {"ANTHROPIC_API_KEY": "sk-secret", "PATH": "/bin"})
    assert name.startswith("claude ")
    assert "secret" not in name
    assert name == account_name("claude", {"ANTHROPIC_API_KEY": "sk-secret"})
    assert name != account_name("claude", {"ANTHROPIC_API_KEY": "sk-other"})


async def test_a_run_waits_for_the_limit_that_its_team_shares_and_says_so_once() -> None:
    fakes: Fakes = made(UNKEPT)
    fakes.judge.script(complete("E1"))
    refusals = 3 * ["the team's limit of 100 cents today is taken"]
    scene = Scene(fakes, worked(fakes))
    scene.budget.spending = DailySpending(
        MemoryEventLog(), fakes.clock, refusal=lambda _: refusals.pop() if refusals else ""
    )

    async def time_passes() -> None:
        while True:
            fakes.clock.advance(10.0)
            await asyncio.to_thread(int)

    passing = asyncio.create_task(time_passes())
    ended = await scene.play()
    passing.cancel()
    assert (ended.outcome, ended.iterations, refusals) == ("achieved", 1, [])
    said = [one.text for one in scene.all(RunWarning) if "waits" in one.text]
    assert said == ["waits: the team's limit of 100 cents today is taken"]
