"""What every Judge does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import pytest
import stamina

from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Abstain, Complete, Gap, Impossible, Incomplete, Met, Waiting
from sidecar.kernel.settings import Settings
from support.fake_opencode import OpenCodeWorld
from support.judge_worlds import HostWorld, ScriptWorld, ServiceWorld, World
from support.model_server import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERDICTS: Final = (
    Complete(criteria=(Met("the tests pass", ("E1",)),), confidence=0.9),
    Incomplete(missing=(Gap("comments", "goal", ()),), next_step="Accept them.", confidence=1.0),
    Waiting(question="Which syntax?", confidence=0.5),
    Impossible(reason="there is no parser", evidence=("E1",), confidence=0.0),
    Abstain(reason="too little evidence", confidence=0.1),
)


@pytest.fixture(params=("opencode", "claude-cli", "anthropic", "openai", "scripted"))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "scripted":
        yield ScriptWorld()
    elif request.param == "opencode":
        yield OpenCodeWorld()
    elif request.param == "claude-cli":
        yield HostWorld(tmp_path)
    else:
        with ScriptedModel() as model, stamina.set_testing(testing=True, attempts=3, cap=True):
            yield ServiceWorld(request.param, model)


@pytest.mark.process
async def test_every_verdict_comes_back_as_it_was_given(world: World) -> None:
    for verdict in VERDICTS:
        world.answers(verdict)
        said = await world.ask()
        assert isinstance(said, JudgeAnswered)
        assert said.judgement.verdict == verdict
        assert said.judgement.backend
        assert said.judgement.calls == 1


@pytest.mark.process
async def test_a_broken_backend_is_told_in_one_line(world: World) -> None:
    world.breaks()
    said = await world.ask()
    assert isinstance(said, JudgeFailed)
    assert "529" in said.reason
    assert "\n" not in said.reason


@pytest.mark.process
async def test_a_failure_does_not_spoil_the_next_question(world: World) -> None:
    world.breaks()
    world.answers(VERDICTS[0])
    assert isinstance(await world.ask(), JudgeFailed)
    assert isinstance(await world.ask(), JudgeAnswered)


async def test_a_cancelled_question_raises(world: World) -> None:
    world.answers(VERDICTS[0])
    world.thinks()
    asking: asyncio.Task[Any] = asyncio.create_task(world.ask())
    asyncio.get_running_loop().call_soon(asking.cancel)
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.process
async def test_two_questions_at_once_get_an_answer_each(world: World) -> None:
    world.answers(VERDICTS[0])
    world.answers(VERDICTS[0])
    said = await asyncio.gather(world.ask(), world.ask())
    assert [type(one) for one in said] == [JudgeAnswered, JudgeAnswered]


async def test_who_would_be_asked_is_said_in_one_line(world: World) -> None:
    chosen = world.judge.chosen({}, Settings())
    assert chosen.why
    assert "\n" not in chosen.why
