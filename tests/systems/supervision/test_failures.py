"""A stop fails open, loudly; a command fails closed (law 4). What cannot be saved is not said (law 6)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import HostAnswer, NoReply, Rest, RestReason
from sidecar.kernel.events import AnyHostEvent, SessionEnded, SessionOrigin
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.slots import WorkSlots
from sidecar.systems.supervision.policy.orders import not_judged_message
from support.cases import KEY, PROJECT, complete, incomplete, ran, stopped, turn, with_goal
from support.fakes import LIMIT, Fakes, command, prompt, started
from support.memory_stores import FixedConfiguration, TickingClock, at_once
from support.scripted_gates import ScriptedEnding

LIE = turn(ran("pytest", 1), message="All tests pass.")
FULL = "the state could not be saved: No space left on device"
Jump = Callable[[float], None]


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Move the running loop's clock on by so many seconds."""

    def jump(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        real = loop.time
        monkeypatch.setattr(loop, "time", lambda: real() + seconds)

    return jump


async def stop_that_takes_too_long(
    fakes: Fakes, begun: asyncio.Event, jump: Jump, key: SessionKey = KEY
) -> Rest:
    """Stop, and let the deadline pass once `begun` is set; only the later wait is bounded after the jump."""
    task: asyncio.Task[HostAnswer] = asyncio.create_task(fakes.supervisor.tell(stopped(key=key)))
    async with asyncio.timeout(LIMIT):
        await begun.wait()
    jump(841)
    async with asyncio.timeout(LIMIT):
        answer = await task
    assert isinstance(answer, Rest)
    return answer


async def test_a_judge_that_never_answers_lets_the_agent_rest_at_the_deadline(
    fakes: Fakes, jump: Jump
) -> None:
    fakes.store.save(with_goal())
    fakes.judge.hold()
    answer = await stop_that_takes_too_long(fakes, fakes.judge.asked, jump)
    assert answer.reason is RestReason.UNJUDGED
    assert answer.note == (
        "Supervisor: this stop was not judged: judging took longer than 840 seconds. The goal stays active.\n"
        "Type: supervisor explain"
    )
    assert fakes.judge.cancelled == 1
    assert fakes.goal().unjudged == "judging took longer than 840 seconds"


async def test_gates_that_never_end_hold_nobody_beyond_the_deadline(jump: Jump) -> None:
    fakes = Fakes(configuration=FixedConfiguration(Settings(stop_seconds=30)))
    fakes.store.save(with_goal(checks=("make",)))
    fakes.gates.script("make", ScriptedEnding(released=asyncio.Event()))
    answer = await stop_that_takes_too_long(fakes, fakes.gates.started, jump)
    assert answer.detail == "judging took longer than 30 seconds"
    assert fakes.gates.cancelled == ["make"]


@pytest.mark.parametrize(("host", "rank"), [("claude-code", "1"), ("run", "2"), ("marker", "2")])
async def test_a_stop_whose_time_goes_by_in_the_queue_says_so_and_a_persons_goes_first(
    jump: Jump, tmp_path: Path, host: str, rank: str
) -> None:
    begun, seen, key = asyncio.Event(), list[str](), SessionKey(host, "s1")

    class Clock(TickingClock):
        async def pause(self, seconds: float) -> None:
            step = fakes.supervisor.judging(key)
            ranks = sorted(name[0] for name in os.listdir(tmp_path))  # noqa: PTH208 - names
            seen.append(f"{step and step.doing}: {ranks}")
            if len(seen) > 5:
                begun.set()
            await super().pause(seconds)

    fakes, slots = Fakes(), WorkSlots(tmp_path, at_once(1), Clock())
    fakes.gates.slots = slots
    fakes.store.save(replace(with_goal(checks=("make",)), key=key))
    async with slots.hold({}):
        answer = await stop_that_takes_too_long(fakes, begun, jump, key)
    assert seen[-1] == f"waiting for 1 other check: {['1', rank]}"
    assert answer.reason is RestReason.UNJUDGED
    assert answer.detail.startswith("judging took longer than 840 seconds; the machine was busy: ")


async def test_at_the_deadline_what_arrived_stays_charged(fakes: Fakes, jump: Jump) -> None:
    fakes.store.save(with_goal())
    fakes.judge.script(incomplete())
    fakes.transcripts.script(turn(last_message_id="m1"), turn(last_message_id="m2"))
    first = await fakes.sent_back()
    fakes.transcripts.arrived.append(first.feedback.id)
    fakes.judge.hold()
    fakes.judge.asked.clear()
    await stop_that_takes_too_long(fakes, fakes.judge.asked, jump)
    assert (fakes.goal().spent.continuations, fakes.state().pending) == (1, None)


async def test_a_continuation_that_cannot_be_saved_is_not_said(fakes: Fakes) -> None:
    fakes.transcripts.script(LIE)
    fakes.store.full = True
    assert await fakes.rest() == Rest(reason=RestReason.UNJUDGED, detail=FULL, note=not_judged_message(FULL))
    assert fakes.store.load(KEY) is None
    assert fakes.story() == ["stop: unjudged"]


async def test_a_rest_without_a_goal_is_answered_first_and_told_where_it_could_not_be_saved(
    fakes: Fakes,
) -> None:
    fakes.store.full = True
    assert ((await fakes.rest()).reason, fakes.store.load(KEY)) == (RestReason.CLEAN, None)
    fakes.store.full = False
    assert (await fakes.rest()).note == not_judged_message(FULL)


async def test_an_achieved_goal_that_cannot_be_saved_is_not_announced(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    fakes.judge.script(complete())
    fakes.store.full = True
    answer = await fakes.rest()
    assert (answer.reason, answer.alarm) == (RestReason.UNJUDGED, False)
    assert fakes.state() == with_goal()


@pytest.mark.parametrize("typed", ["all tests pass", "clear", "pause", ""])
async def test_a_command_that_cannot_be_saved_is_refused_with_what_to_type(fakes: Fakes, typed: str) -> None:
    fakes.store.save(with_goal())
    fakes.store.full = True
    reply = await fakes.reply(command(typed))
    assert reply.refused
    assert not reply.work
    assert reply.text == (
        "Supervisor: refused: the state could not be saved (No space left on device), "
        "so nothing would be enforced. Type in a shell: supervisor doctor"
    )
    assert fakes.state() == with_goal()


async def test_a_command_without_a_readable_state_is_refused_with_what_to_type(fakes: Fakes) -> None:
    fakes.store.unreadable = True
    reply = await fakes.reply(command("all tests pass"))
    assert reply.refused
    assert reply.text.startswith("Supervisor: refused: the state could not be read (Permission denied)")
    assert "supervisor doctor" in reply.text


async def test_a_stop_without_a_readable_state_is_let_go_loudly(fakes: Fakes) -> None:
    fakes.store.unreadable = True
    answer = await fakes.rest()
    assert (answer.reason, answer.note) == (
        RestReason.UNJUDGED,
        not_judged_message("the state could not be read (Permission denied)"),
    )


EVENTS: list[AnyHostEvent] = [
    prompt(),
    prompt(human=False),
    started(SessionOrigin.RESUME),
    SessionEnded(key=KEY, project=PROJECT, reason="clear"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("fault", ["full", "unreadable"])
async def test_an_event_that_nobody_waits_for_holds_no_host_up(
    fakes: Fakes, event: AnyHostEvent, fault: str
) -> None:
    setattr(fakes.store, fault, True)
    assert await fakes.tell(event) == NoReply()


async def test_a_record_that_cannot_be_written_breaks_nothing(fakes: Fakes) -> None:
    fakes.log.full = True
    fakes.transcripts.script(LIE)
    reply = await fakes.reply(command("status"))
    assert not reply.refused
    assert (await fakes.sent_back()).feedback.kind == "false-complete"
    ended = SessionEnded(key=KEY, project=PROJECT, reason="clear")
    assert await fakes.tell(ended) == NoReply()
    assert fakes.story() == []
