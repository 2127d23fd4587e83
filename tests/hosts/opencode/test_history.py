"""The turn that ends in a stop, asked of the host in few steps; whatever the host answers, nothing raises."""

from __future__ import annotations

from typing import Final

import pytest

from hosts.opencode.writing import RECORDED, Fields, answer, bash, text, user
from sidecar.hosts.opencode import record as history
from sidecar.hosts.opencode.record import OpenCodeHistory
from sidecar.kernel.events import AgentStopped, CommandTyped
from sidecar.kernel.orders import Order
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn
from sidecar.platform.rpc import PEER_ERROR_LIMIT
from support.fake_opencode import FOLDER, SESSION, FakeOpenCode

STOP: Final = AgentStopped(key=SessionKey("opencode", SESSION), project=FOLDER, transcript="")
TYPED: Final = CommandTyped(
    key=STOP.key, project=FOLDER, order=Order(name="goal", word="status"), prompt_id=""
)
CALL: Final = "session.messages"


@pytest.fixture
def host() -> FakeOpenCode:
    return FakeOpenCode()


async def read(host: FakeOpenCode, counted_to: int = -1) -> Turn:
    return await host.told(OpenCodeHistory(lambda: 0.0).read(STOP, counted_to))


def steps(host: FakeOpenCode) -> list[int]:
    """How many messages were asked for, step by step."""
    return [given["query"]["limit"] for given in host.given(CALL)]


def turn_of(calls: int, name: str = "new", at: int = 0) -> list[Fields]:
    """A prompt, that many answers with a call, and the end."""
    worked = [
        answer(f"{name}{number}", bash(f"make {number}"), at=at + 20 * number, finish="tool-calls")
        for number in range(1, calls + 1)
    ]
    end = answer(f"{name}-end", text("Done."), at=at + 20 * (calls + 1))
    return [user(f"{name}-prompt", text(name), at=at + 1), *worked, end]


OLD: Final = turn_of(2, "old")


class TestSteps:
    async def test_a_short_session_is_asked_for_once(self, host: FakeOpenCode) -> None:
        host.listed = turn_of(5)
        turn = await read(host)
        assert steps(host) == [64]
        assert (turn.prompts, len(turn.calls), turn.unfinished) == (("new",), 5, "")
        assert host.asked[0] == (CALL, FOLDER, {"path": {"id": SESSION}, "query": {"limit": 64}})

    async def test_what_the_event_carried_is_not_asked_for_until_it_was_read_once(
        self, host: FakeOpenCode
    ) -> None:
        host.listed = turn_of(5)
        history = OpenCodeHistory(lambda: 0.0)

        async def read_twice() -> tuple[Turn, Turn]:
            first = await history.read(STOP, -1)
            assert steps(host) == []
            return first, await history.read(STOP, -1)

        first, second = await host.told(read_twice(), messages=host.listed)
        assert first == second
        assert (len(first.calls), steps(host)) == (5, [64])

    async def test_a_short_turn_of_a_long_session_is_asked_for_once(self, host: FakeOpenCode) -> None:
        host.listed = [*turn_of(500, "old"), *turn_of(5, at=100_000)]
        assert (await read(host)).prompts == ("new",)
        assert steps(host) == [64]

    @pytest.mark.parametrize(
        ("calls", "asked"),
        [(61, [64]), (62, [64, 512]), (509, [64, 512]), (510, [64, 512, 4096]), (4093, [64, 512, 4096])],
    )
    async def test_more_is_asked_for_where_the_turns_prompt_lies_further_back(
        self, calls: int, asked: list[int], host: FakeOpenCode
    ) -> None:
        host.listed = [*OLD, *turn_of(calls, at=1000)]
        turn = await read(host)
        assert steps(host) == asked
        assert turn.prompts == ("new",)
        assert turn.calls_since_arrival == min(calls, 400)

    async def test_a_turn_beyond_the_last_step_is_read_without_its_beginning(
        self, host: FakeOpenCode
    ) -> None:
        host.listed = [*OLD, *turn_of(4200, at=1000)]
        turn = await read(host)
        assert steps(host) == list(history.FETCH_STEPS)
        assert turn.prompts == ()
        assert (len(turn.calls), turn.calls[-1].command) == (400, "make 4200")
        assert (turn.last_message, turn.readable, turn.unfinished) == ("Done.", True, "")

    async def test_tokens_are_those_since_the_position(self, host: FakeOpenCode) -> None:
        spent = {"input": 100, "output": 10, "cache": {"read": 9000, "write": 0}}
        host.listed = [
            *OLD,
            user("u", text("go"), at=1000),
            answer("a1", bash("make"), at=1010, finish="tool-calls", tokens=spent),
            answer("a2", text("Done."), at=1030, tokens=spent),
        ]
        turn = await read(host, counted_to=1020)
        assert (turn.tokens, turn.position) == (110, 1040)

    async def test_the_recorded_example_is_read(self, host: FakeOpenCode) -> None:
        host.script(CALL, RECORDED)
        turn = await read(host)
        assert (turn.prompts, turn.unfinished) == (("use bash now",), "")


class TestRefusals:
    async def test_a_host_that_is_gone_leaves_the_turn_unread_and_says_why(self, host: FakeOpenCode) -> None:
        host.refuses(CALL, "the peer left")
        assert await read(host, counted_to=7) == Turn(position=7, readable=False, unfinished="the peer left")

    async def test_without_a_host_there_is_nobody_to_ask(self) -> None:
        turn = await OpenCodeHistory(lambda: 0.0).read(STOP, -1)
        assert (turn.readable, turn.position, turn.unfinished) == (False, 0, "no OpenCode is connected")

    async def test_what_a_host_complains_of_is_cut_to_one_plain_line(self, host: FakeOpenCode) -> None:
        host.refuses(CALL, '{"name":\n"NotFoundError"}\x1b[31m' + "x" * 5000)
        said = (await read(host)).unfinished
        assert said.startswith('{"name": "NotFoundError"}xxx')
        assert len(said) == PEER_ERROR_LIMIT
        assert said.isprintable()

    async def test_where_not_even_one_message_fits_it_says_so(self, host: FakeOpenCode) -> None:
        for _ in range(4):
            host.refuses(CALL, "the answer is too long")
        turn = await read(host)
        assert (turn.readable, turn.unfinished) == (False, "the answer is too long")

    @pytest.mark.parametrize("raw", [b"null", b"{}", b'"x"', b"7", b"[[", b"\xff", b"[" * 100_000])
    async def test_what_is_no_list_of_messages_is_unread(self, raw: bytes, host: FakeOpenCode) -> None:
        host.script(CALL, raw)
        turn = await read(host)
        assert (turn.readable, turn.prompts, len(steps(host))) == (False, (), 1)
        assert turn.unfinished


def test_a_position_is_in_milliseconds() -> None:
    assert OpenCodeHistory(lambda: 1795295924.0667).position(TYPED) == 1795295924066
