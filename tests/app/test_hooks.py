"""The door for hooks: bytes in, bytes out, and every text for a model comes from the phrasebook."""

from __future__ import annotations

import asyncio

import pytest

from sidecar.adapters.memory import PlainPhrasebook
from sidecar.app.hooks import HookDoor
from sidecar.model.effects import Continue, HostAnswer, Nothing
from sidecar.model.events import Told
from sidecar.ports import BadInputError, Environment
from support.cases import ran, stopped, turn
from support.fakes import LIMIT, Fakes, prompt

LIE = turn(ran("pytest", 1), message="All tests pass.")


class Codec:
    """A codec that decodes to one event and keeps what it was asked to encode."""

    def __init__(self, event: Told) -> None:
        self._event = event
        self.decoded: list[tuple[bytes, Environment, int]] = []
        self.encoded: list[tuple[bytes, HostAnswer, str]] = []

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Told:
        self.decoded.append((raw, environment, host_pid))
        return self._event

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        self.encoded.append((raw, answer, feedback))
        return b"answered"


class Refusing(Codec):
    """A codec that cannot read anything."""

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Told:
        super().decode(raw, environment, host_pid)
        raise BadInputError("no event")


async def handle(fakes: Fakes, codec: Codec, host: str = "claude-code") -> bytes:
    door = HookDoor(fakes.house, fakes.supervisor, {"claude-code": codec, "opencode": codec})
    async with asyncio.timeout(LIMIT):
        return await door.handle(host, b"raw", {"PATH": "/bin"}, 4711)


async def test_a_continuation_is_worded_by_the_phrasebook(fakes: Fakes) -> None:
    fakes.transcripts.script(LIE)
    codec = Codec(stopped())
    assert await handle(fakes, codec) == b"answered"
    assert codec.decoded == [(b"raw", {"PATH": "/bin"}, 4711)]
    ((raw, answer, feedback),) = codec.encoded
    assert isinstance(answer, Continue)
    assert (raw, feedback) == (b"raw", PlainPhrasebook().continuation(answer.feedback))
    assert answer.feedback.id in feedback


async def test_any_other_answer_goes_without_words_for_a_model(fakes: Fakes) -> None:
    codec = Codec(prompt())
    await handle(fakes, codec)
    assert codec.encoded == [(b"raw", Nothing(), "")]


async def test_an_unknown_host_is_refused_with_those_that_are_known(fakes: Fakes) -> None:
    with pytest.raises(BadInputError, match=r"^unknown host 'x{40}'; known: claude-code, opencode$"):
        await handle(fakes, Codec(prompt()), host="x" * 1000)


async def test_an_event_that_cannot_be_read_reaches_nobody(fakes: Fakes) -> None:
    with pytest.raises(BadInputError, match="no event"):
        await handle(fakes, Refusing(prompt()))
    assert fakes.store.known() == ()
