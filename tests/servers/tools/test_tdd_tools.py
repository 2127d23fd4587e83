"""The toolset `tdd` as an agent calls it, on a real project; only the worker is played."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from servers.tools.core_room import GOOD, CoreRoom
from sidecar.kernel.settings import Settings
from sidecar.servers.tools.tool import Caller, RefusalError
from sidecar.systems.tdd.workbench import SkillResult
from sidecar.workers.ports import WorkerRun, WorkerTask
from support.cases import KEY
from support.scripted_workers import writes

pytestmark = pytest.mark.process


@pytest.fixture
def room(tmp_path: Path) -> CoreRoom:
    return CoreRoom(tmp_path)


TEST = "tests/test_doubling.py"
ANSWER = {"verdict": "approved", "summary": "good, but for hunter2-and-more"}


async def test_green_is_verified_told_and_in_the_project(room: CoreRoom) -> None:
    told: list[str] = []

    async def hear(done: float, total: float, what: str) -> None:
        assert done < total
        told.append(what)

    await room.meet()
    await room.approve()
    room.workers.steps = [writes({"doubling.py": GOOD})]
    answer = await room.ask("tdd_green", hear, test_path=TEST)

    assert isinstance(answer.data, SkillResult)
    assert (answer.data.verified, answer.data.files) == (True, ("doubling.py",))
    assert answer.text.startswith("tdd_green: verified.")
    assert (room.project / "doubling.py").read_text() == GOOD
    assert told


async def test_a_command_that_nobody_approved_does_not_run_and_a_given_one_does(room: CoreRoom) -> None:
    await room.meet()
    room.workers.steps = [writes({"doubling.py": GOOD})]
    refused = await room.ask("tdd_green", test_path=TEST)
    given = await room.ask("tdd_green", test_path=TEST, test_cmd="python3 -m pytest -q")

    assert isinstance(refused.data, SkillResult)
    assert (refused.data.status, "supervisor trust" in refused.text) == ("error", True)
    assert (refused.failed, given.failed) == (True, False)
    assert isinstance(given.data, SkillResult)
    assert given.data.verified


async def test_a_skill_answers_with_secrets_masked(room: CoreRoom) -> None:
    await room.meet()
    room.workers.steps = [lambda _: ANSWER]
    answer = await room.ask("skill_run", skill="review", request="doubling.py")

    assert isinstance(answer.data, SkillResult)
    assert answer.data.answer is not None
    assert answer.data.answer["verdict"] == "approved"
    assert "hunter2" not in f"{answer.text}{answer.data.answer}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"project_root": ".."}, "not in this session's project"),
        ({"skill": "poem"}, "there are: debug, review, tdd_"),
    ],
)
async def test_refused(room: CoreRoom, arguments: dict[str, str], said: str) -> None:
    await room.meet()
    with pytest.raises(RefusalError, match=said):
        await room.toolbox.call(
            "skill_run", {"session": KEY.id, "skill": "review", "request": "x", **arguments}, Caller()
        )
    assert room.workers.tasks == []


async def test_a_call_that_is_cancelled_leaves_nothing(
    room: CoreRoom, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun, folders = asyncio.Event(), tmp_path / "temporary"
    folders.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folders))

    async def hangs(task: WorkerTask[Any], _: Settings, __: Callable[[str], None]) -> WorkerRun[Any]:
        writes({"doubling.py": GOOD})(Path(task.project))
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(room.workers, "run", hangs)
    await room.meet()
    await room.approve()
    before = (room.project / "doubling.py").read_text()
    call = asyncio.create_task(room.ask("tdd_green", test_path=TEST))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert (room.project / "doubling.py").read_text() == before
    assert list(folders.glob("supervisor-skill-*")) == []
