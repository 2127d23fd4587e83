"""Asking a peer back while it waits for us: both ways at once, and what becomes of it when it leaves."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Final

from msgspec import Raw

from servers.bench import LIMIT_S, Bench, happens
from servers.conftest import Start
from sidecar.platform.rpc import PeerError
from sidecar.servers.control import Methods, Peer, SidecarControl

QUESTIONS: Final = 3


class Asker:
    """A method that asks its caller, and once more when it is told to let go."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.through = asyncio.Event()

    def methods(self, _control: SidecarControl) -> Methods:
        return {"asker": self.work}

    async def work(self, params: Raw, peer: Peer) -> bytes:
        try:
            for _ in range(QUESTIONS):
                self.heard.append(bytes(await peer.ask("question", None)).decode())
        except PeerError as error:
            self.heard.append(f"refused: {error}")
        finally:
            await self._put_away(peer)
        return bytes(params)

    async def _put_away(self, peer: Peer) -> None:
        try:
            self.heard.append(bytes(await peer.ask("put away", None)).decode())
        except PeerError as error:
            self.heard.append(f"not put away: {error}")
        finally:
            self.through.set()


def bench_of(start: Start) -> tuple[Bench, Asker]:
    asker = Asker()
    return start(build=asker.methods), asker


def answer(ident: int, **said: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ident, **said}).encode()


async def test_a_caller_is_asked_as_often_as_need_be_before_it_gets_its_answer(start: Start) -> None:
    bench, asker = bench_of(start)
    caller = await bench.caller()
    caller.call("asker", {"x": 1}, ident=7)
    for number in range(QUESTIONS + 1):
        asked = await caller.hear()
        assert asked["method"] == ("question" if number < QUESTIONS else "put away")
        caller.send(answer(asked["id"], result=number))
    assert await caller.hear() == {"jsonrpc": "2.0", "id": 7, "result": {"x": 1}}
    assert asker.heard == ["0", "1", "2", "3"]


async def test_what_a_peer_refuses_is_known_by_its_words(start: Start) -> None:
    bench, asker = bench_of(start)
    caller = await bench.caller()
    caller.call("asker")
    caller.send(answer((await caller.hear())["id"], error={"code": -32000, "message": "not offered"}))
    caller.send(answer((await caller.hear())["id"]))
    await caller.hear()
    assert asker.heard == ["refused: not offered", "not put away: no result"]


async def test_a_peer_that_has_left_refuses_at_once_whatever_it_is_asked_while_things_are_put_away(
    start: Start,
) -> None:
    bench, asker = bench_of(start)
    caller = await bench.caller()
    caller.call("asker")
    await caller.hear()
    caller.leave()
    with suppress(ConnectionError):
        await caller.writer.wait_closed()
    await happens(asker.through)
    assert asker.heard == ["not put away: the peer left"]
    async with asyncio.timeout(LIMIT_S):
        other = await bench.caller()
        assert (await other.ask("hello"))["result"]["version"] == "1.2.3"
