"""Judged stops are kept behind the host's back, without secrets, and only where that can serve a replay."""

from __future__ import annotations

import asyncio
import threading

import msgspec
import pytest
from msgspec.structs import replace

from sidecar.judging.asking import JudgeAccess
from sidecar.kernel.effects import Rest
from sidecar.kernel.events import GatesRan, JudgeAnswered, ProjectState, SessionDeleted, TurnRead
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import CONTINUE_DECISION, RecordedStop
from sidecar.systems.supervision.evaluation import AbsentJudge, evaluate_stops
from support.cases import (
    KEY,
    PROJECT,
    PYTEST,
    RUBRIC,
    edited,
    incomplete,
    ran,
    stopped,
    task,
    turn,
    with_goal,
)
from support.fakes import ENVIRONMENT, LIMIT, Fakes, command
from support.memory_stores import FixedConfiguration, MemoryStopHistory

SECRET = "hunter2-and-more"
WITH_SECRET = ENVIRONMENT | {"DEPLOY_TOKEN": SECRET}


class SlowKept(MemoryStopHistory):
    """Stops on a disk that takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()

    def keep(self, stop: RecordedStop) -> None:
        assert self.free.wait(LIMIT)
        super().keep(stop)


async def settled(fakes: Fakes) -> tuple[RecordedStop, ...]:
    """What is kept once everything is."""
    async with asyncio.timeout(LIMIT):
        await fakes.supervisor._stops._keeper.idle()  # noqa: SLF001 - nobody else waits for it
    return fakes.stop_history.last(PROJECT, 20).stops


async def test_a_judged_stop_is_kept_with_all_that_was_found_out(fakes: Fakes) -> None:
    await fakes.reply(command("the parser accepts comments"))
    fakes.catalog.gates = (replace(PYTEST, approved=True),)
    fakes.transcripts.script(turn())
    fakes.judge.script(incomplete())
    sent = await fakes.sent_back(environment=WITH_SECRET)
    (stop,) = await settled(fakes)
    assert (stop.ended, stop.stage, stop.project) == (CONTINUE_DECISION, "judge", PROJECT)
    assert stop.detail == sent.feedback.missing[0]
    kinds = [type(one.fact) for one in stop.facts]
    assert (kinds[:2], kinds[-1]) == ([TurnRead, ProjectState], JudgeAnswered)
    assert set(kinds[2:-1]) <= {GatesRan}
    (again,) = await evaluate_stops([stop], RUBRIC, JudgeAccess(judge=AbsentJudge(), settings=Settings()))
    assert (again.ended, again.asked, again.failed) == (CONTINUE_DECISION, False, "")


async def test_no_secret_and_no_environment_is_kept(fakes: Fakes) -> None:
    await fakes.reply(command(f"the parser takes {SECRET}", environment=WITH_SECRET))
    said = turn(edited(), ran(f"curl -H {SECRET} x", output=SECRET), message=f"I used {SECRET}.")
    fakes.transcripts.script(said)
    fakes.judge.script(incomplete(f"{SECRET} is refused"))
    tasks = (replace(task("b"), description=SECRET),)
    await fakes.tell(stopped(environment=WITH_SECRET, last_message=SECRET, background=tasks))
    await fakes.tell(stopped(environment=WITH_SECRET, last_message=SECRET))
    stops = await settled(fakes)
    assert stops
    assert all(stop.inquiry.stop.environment == {} for stop in stops)
    assert SECRET not in msgspec.json.encode(stops).decode()
    assert "[masked]" in msgspec.json.encode(stops).decode()


@pytest.mark.parametrize("drawn", ["d626d8be-040a-42ae-a820-aa4223a8b926", "ses_4f8d2c1b9ffeXyZabcDEFghiJK"])
async def test_a_stop_is_kept_under_its_session_however_random_the_hosts_id_looks(
    fakes: Fakes, drawn: str
) -> None:
    key = SessionKey("gemini", drawn)
    fakes.transcripts.script(turn(edited()))
    await fakes.tell(stopped(key=key, environment=ENVIRONMENT | {"GEMINI_SESSION_ID": drawn}))
    (stop,) = await settled(fakes)
    assert (stop.inquiry.stop.key, stop.inquiry.session.key) == (key, key)
    await fakes.tell(SessionDeleted(key=key, project=PROJECT))
    assert await settled(fakes) == ()


async def test_a_word_that_only_its_option_tells_as_a_secret_is_not_kept(fakes: Fakes) -> None:
    fakes.transcripts.script(turn(edited(), ran("tool --password s3cr3t now"), message="Both are renamed."))
    await fakes.tell(stopped())
    (stop,) = await settled(fakes)
    assert "s3cr3t" not in msgspec.json.encode(stop).decode()


async def test_nothing_is_kept_where_the_user_does_not_want_it(fakes: Fakes) -> None:
    fakes = Fakes(configuration=FixedConfiguration(Settings(keep_stops=False)))
    fakes.transcripts.script(turn(message="Shall I continue?"))
    await fakes.sent_back()
    assert await settled(fakes) == ()


async def test_a_stop_that_took_too_long_is_not_kept(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    fakes.store.save(with_goal())
    fakes.judge.hold()
    judging = asyncio.create_task(fakes.supervisor.tell(stopped()))
    async with asyncio.timeout(LIMIT):
        await fakes.judge.asked.wait()
    loop = asyncio.get_running_loop()
    later = loop.time() + Settings().stop_seconds + 1
    monkeypatch.setattr(loop, "time", lambda: later)
    ended = await judging
    assert isinstance(ended, Rest)
    assert "judging took longer" in ended.detail
    monkeypatch.undo()
    assert await settled(fakes) == ()


async def test_with_a_session_that_the_user_deletes_its_stops_go_also_one_that_is_still_being_kept() -> None:
    slow = SlowKept()
    fakes = Fakes(kept=slow)
    fakes.transcripts.script(turn(message="Shall I continue?"))
    await fakes.sent_back()
    deleted = fakes.tell(SessionDeleted(key=KEY, project=PROJECT))
    await asyncio.gather(deleted, asyncio.to_thread(slow.free.set))
    assert await settled(fakes) == ()


async def test_the_host_does_not_wait_for_a_stop_to_be_kept() -> None:
    slow = SlowKept()
    fakes = Fakes(kept=slow)
    fakes.transcripts.script(turn(message="Shall I continue?"))
    await fakes.sent_back()
    assert fakes.stop_history.last(PROJECT, 20).stops == ()
    slow.free.set()
    assert len(await settled(fakes)) == 1
