"""What every Judge does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from sidecar.adapters.judge_claude import ClaudeCliJudge
from sidecar.adapters.scripted.judge import ScriptedJudge
from sidecar.model.events import Judged, JudgeFailed
from sidecar.model.settings import Settings
from sidecar.model.verdict import Abstain, Complete, Gap, Impossible, Incomplete, Met, Verdict, Waiting
from support.fake_claude import CASE, FakeClaude, result, structured

if TYPE_CHECKING:
    from sidecar.ports import Judge

TEXTS: Final = Path(__file__).parents[2] / "rubric"
VERDICTS: Final = (
    Complete(criteria=(Met("the tests pass", ("E1",)),), confidence=0.9),
    Incomplete(missing=(Gap("comments", "goal", ()),), next_step="Accept them.", confidence=1.0),
    Waiting(question="Which syntax?", confidence=0.5),
    Impossible(reason="there is no parser", evidence=("E1",), confidence=0.0),
    Abstain(reason="too little evidence", confidence=0.1),
)


class World:
    """A judge, and what makes it answer."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._scripted = ScriptedJudge()
        self._claude = FakeClaude(folder)
        self.judge: Judge = self._scripted if kind == "scripted" else ClaudeCliJudge(TEXTS)

    def answers(self, verdict: Verdict) -> None:
        self._scripted.script(verdict)
        self._claude.says(structured(msgspec.to_builtins(verdict)))

    def breaks(self) -> None:
        self._scripted.script(JudgeFailed("the model service is overloaded (529)"))
        self._claude.says(result(is_error=True, api_error_status=529, result="Overloaded"), code=1)

    def thinks(self) -> None:
        self._scripted.released.clear()

    async def ask(self) -> Judged | JudgeFailed:
        return await self.judge.ask(CASE, self._claude.session, Settings())


@pytest.fixture(params=("claude-cli", "scripted"))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return World(request.param, tmp_path / "claude")


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda verdict: type(verdict).__name__)
async def test_every_verdict_comes_back_as_it_was_given(verdict: Verdict, world: World) -> None:
    world.answers(verdict)
    said = await world.ask()
    assert isinstance(said, Judged)
    assert said.judgement.verdict == verdict
    assert said.judgement.backend


async def test_a_broken_backend_is_told_in_one_line(world: World) -> None:
    world.breaks()
    said = await world.ask()
    assert isinstance(said, JudgeFailed)
    assert "529" in said.reason
    assert "\n" not in said.reason


async def test_a_failure_does_not_spoil_the_next_question(world: World) -> None:
    world.breaks()
    world.answers(VERDICTS[0])
    assert isinstance(await world.ask(), JudgeFailed)
    assert isinstance(await world.ask(), Judged)


async def test_a_cancelled_question_raises(world: World) -> None:
    world.answers(VERDICTS[0])
    world.thinks()
    asking: asyncio.Task[Any] = asyncio.create_task(world.ask())
    asyncio.get_running_loop().call_soon(asking.cancel)
    with pytest.raises(asyncio.CancelledError):
        await asking
