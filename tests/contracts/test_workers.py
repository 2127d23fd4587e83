"""Every kind of `Workers`: a task goes in, a valid answer comes out, and every failure is told apart."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sidecar.workers.ports import WorkerError, WorkerFailure
from support.model_server import ScriptedModel
from support.worker_agents import (
    GOOD,
    KINDS,
    LIMIT_S,
    WRONG,
    Answer,
    GatewayWorld,
    ProgramWorld,
    Room,
    ScriptWorld,
    WorkerWorld,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.process


ENDED_BY_US = pytest.mark.parametrize("world", ["gateway", "script"], indirect=True)
"""Kinds of worker that are no program; how those end is shown in tests/workers/test_agents.py."""


@pytest.fixture(params=[*KINDS, "gateway", "script"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorkerWorld]:
    if request.param == "gateway":
        with ScriptedModel() as model:
            yield GatewayWorld(tmp_path, model)
    elif request.param == "script":
        yield ScriptWorld(Room(tmp_path, "command"))
    else:
        yield ProgramWorld(Room(tmp_path, request.param))


async def failure(world: WorkerWorld, seconds: float = LIMIT_S) -> WorkerError:
    with pytest.raises(WorkerError) as failed:
        await world.room.run(seconds=seconds)
    assert "\n" not in failed.value.message
    return failed.value


async def test_a_valid_answer_is_given_as_its_struct_and_heard(world: WorkerWorld) -> None:
    world.answers(GOOD)
    done = await world.room.run()
    assert done.answer == Answer("test_a.py", ok=True)
    assert done.model
    assert "test_a.py" in done.output or "Working." in done.output
    assert "".join(world.room.heard).strip() == done.output.strip()


async def test_an_answer_that_does_not_fit_says_where(world: WorkerWorld) -> None:
    world.answers(WRONG)
    failed = await failure(world)
    assert failed.failure is WorkerFailure.INVALID
    assert "Expected `bool`, got `str`" in failed.message
    assert ".ok`" in failed.message


async def test_prose_is_no_answer_and_is_told(world: WorkerWorld) -> None:
    world.talks()
    failed = await failure(world)
    assert (failed.failure, failed.output) == (WorkerFailure.UNPARSABLE, "I would rather not.")


@ENDED_BY_US
async def test_a_worker_that_takes_too_long_is_ended(world: WorkerWorld) -> None:
    world.hangs()
    failed = await failure(world, seconds=1.0)
    assert failed.failure is WorkerFailure.TIMED_OUT
    assert "1 s" in failed.message


@ENDED_BY_US
async def test_a_cancelled_run_ends_without_an_answer(world: WorkerWorld) -> None:
    world.hangs()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):  # which cancels
            await world.room.run()
