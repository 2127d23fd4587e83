"""The door for hooks: bytes in, bytes out, and every text for a model comes from the messages."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator

import pytest

from sidecar.kernel.effects import Continue, HostAnswer, NoReply, Rest, RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AnyHostEvent, SessionOrigin
from sidecar.kernel.session import Environment
from sidecar.systems.supervision.hook_events import HookHandler
from sidecar.systems.supervision.policy.sessions import JudgingStep
from support.cases import ran, stopped, turn
from support.fakes import LIMIT, Fakes, prompt, started
from support.memory_stores import PlainMessages

LIE = turn(ran("pytest", 1), message="All tests pass.")


class Codec:
    """A codec that decodes to one event and keeps what it was asked to encode."""

    relayed = False

    def __init__(self, event: AnyHostEvent) -> None:
        self._event = event
        self.decoded: list[tuple[bytes, Environment, int]] = []
        self.encoded: list[tuple[bytes, HostAnswer, str]] = []

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:
        self.decoded.append((raw, environment, host_pid))
        return self._event

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        self.encoded.append((raw, answer, feedback))
        return b"answered"


class Refusing(Codec):
    """A codec that cannot read anything."""

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:
        super().decode(raw, environment, host_pid)
        raise BadInputError("no event")


async def handle(fakes: Fakes, codec: Codec, host: str = "claude-code") -> bytes:
    door = HookHandler(fakes.services, {"claude-code": codec, "opencode": codec}, fakes.supervisor.tell)
    async with asyncio.timeout(LIMIT):
        return await door.handle(host, b"raw", {"PATH": "/bin"}, 4711)


async def test_a_continuation_is_worded_by_the_phrasebook(fakes: Fakes) -> None:
    fakes.transcripts.script(LIE)
    codec = Codec(stopped())
    assert await handle(fakes, codec) == b"answered"
    assert codec.decoded == [(b"raw", {"PATH": "/bin"}, 4711)]
    ((raw, answer, feedback),) = codec.encoded
    assert isinstance(answer, Continue)
    assert (raw, feedback) == (b"raw", PlainMessages().continuation(answer.feedback))
    assert answer.feedback.id in feedback


async def test_any_other_answer_goes_without_words_for_a_model(fakes: Fakes) -> None:
    codec = Codec(prompt())
    await handle(fakes, codec)
    assert codec.encoded == [(b"raw", NoReply(), "")]


async def test_an_event_that_cannot_be_read_reaches_nobody(fakes: Fakes) -> None:
    with pytest.raises(BadInputError, match="no event"):
        await handle(fakes, Refusing(prompt()))
    assert fakes.store.known() == ()


async def test_a_plugin_that_was_altered_when_a_session_began_is_told_at_its_stop(fakes: Fakes) -> None:
    altered = "Supervisor: hooks/cold.py is not what was installed."
    for event in (started(SessionOrigin.RESUME), stopped()):
        codec = Codec(event)
        tell = fakes.supervisor.tell
        door = HookHandler(fakes.services, {"h": codec}, tell, altered_plugin=lambda *_: altered)
        await door.handle("h", b"raw", {}, 1)
    rested = codec.encoded[0][1]
    assert isinstance(rested, Rest)
    assert rested.note == altered


@pytest.fixture
def on_terminal() -> Iterator[tuple[int, int]]:
    """A process whose standard error is a terminal, and where that can be read."""
    reading, theirs = os.openpty()
    with subprocess.Popen(["sleep", "60"], stderr=theirs) as host:
        yield host.pid, reading
        host.kill()
    os.close(theirs)
    os.close(reading)


@pytest.mark.process
async def test_on_the_terminal_of_a_host_without_a_screen_stands_what_is_done_and_what_came_of_it(
    fakes: Fakes, on_terminal: tuple[int, int]
) -> None:
    pid, reading = on_terminal
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def judged(_: AnyHostEvent) -> HostAnswer:
        begun.set()
        await go_on.wait()
        return Rest(reason=RestReason.ACHIEVED, note="Supervisor: goal achieved.")

    codec = Codec(stopped(headless=True, host_pid=pid))
    step = JudgingStep(doing="running `make`", since=fakes.clock.now())
    door = HookHandler(fakes.services, {"h": codec}, judged, lambda _: step)
    async with asyncio.timeout(LIMIT):
        answer = asyncio.create_task(door.handle("h", b"raw", {}, pid, pid))
        await begun.wait()
        fakes.clock.advance(8)
        shown = await asyncio.to_thread(os.read, reading, 1000)
        go_on.set()
        await answer
        shown += await asyncio.to_thread(os.read, reading, 1000)
    assert shown == b"Supervisor: running `make`, 8 s\r\nSupervisor: goal achieved.\r\n"
