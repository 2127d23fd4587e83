"""The log over the socket: pages, and every new event as it comes, whatever a follower does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from sidecar.kernel.log import LoggedEvent, SessionNoted
from sidecar.kernel.session import SessionKey
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods, SidecarControl
from sidecar.servers.methods import PAGE_EVENTS, EventsHandler, EventsRequest
from support.cases import KEY, session
from support.logs import event_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from servers.bench import Bench, Caller
    from servers.conftest import Start
    from sidecar.platform.event_log import EventLogFile


@pytest.fixture
def log(tmp_path: Path) -> EventLogFile:
    return event_log(tmp_path / "state")


@pytest.fixture
async def bench(start: Start, log: EventLogFile) -> Bench:
    def build(control: SidecarControl) -> Methods:
        def find(ident: str) -> Any:
            return session() if ident == KEY.id else None

        return {"events": struct_handler(EventsRequest, EventsHandler(log, find, control).open)}

    return start(build=build)


def append(log: EventLogFile, *whats: str, key: SessionKey | None = KEY) -> int:
    return [
        log.append(LoggedEvent(at=1.0, system="supervision", session=key, data=SessionNoted(what=what)))
        for what in whats
    ][-1]


def said(events: list[dict[str, Any]]) -> list[str]:
    return [event["data"]["what"] for event in events]


async def pushed(caller: Caller, number: int) -> list[str]:
    """What the next events say."""
    heard: list[dict[str, Any]] = []
    while len(heard) < number:
        line = await caller.hear()
        if line["method"] == "event":
            heard.append(line["params"])
    return said(heard)


async def test_pages_go_on_from_a_position_until_there_is_no_more(bench: Bench, log: EventLogFile) -> None:
    append(log, *map(str, range(PAGE_EVENTS + 20)))
    caller = await bench.caller()
    newest = (await caller.ask("events"))["result"]
    assert said(newest["events"]) == list(map(str, range(20, PAGE_EVENTS + 20)))
    first = (await caller.ask("events", {"after": 0}))["result"]
    assert (len(first["events"]), first["more"]) == (PAGE_EVENTS, True)
    second = (await caller.ask("events", {"after": first["position"]}))["result"]
    assert (len(second["events"]), second["more"]) == (20, False)
    assert (await caller.ask("events", {"after": second["position"]}))["result"]["events"] == []


@pytest.mark.parametrize("named", [KEY.id, f"{KEY.host}:{KEY.id}"])
async def test_one_session_is_read_by_its_name(bench: Bench, log: EventLogFile, named: str) -> None:
    append(log, "mine")
    append(log, "theirs", key=SessionKey("opencode", KEY.id))
    caller = await bench.caller()
    assert said((await caller.ask("events", {"session": named}))["result"]["events"]) == ["mine"]
    refused = (await caller.ask("events", {"session": "nobody"}))["error"]["message"]
    assert "no session is known as nobody" in refused


async def test_a_follower_gets_what_there_is_and_then_each_event_as_it_comes(
    bench: Bench, log: EventLogFile, tmp_path: Path
) -> None:
    before = append(log, "old")
    append(log, "first")
    caller = await bench.caller()
    caller.call("events", {"after": before, "follow": True})
    assert await pushed(caller, 1) == ["first"]
    append(event_log(tmp_path / "state"), "of another process")
    append(log, "second")
    assert await pushed(caller, 2) == ["of another process", "second"]
    bench.control.drain()
    while "result" not in (answer := await caller.hear()):
        pass
    assert answer["result"]["position"] == before + 3


async def test_a_follower_that_does_not_read_delays_nobody_and_misses_nothing(
    bench: Bench, log: EventLogFile
) -> None:
    slow, other = await bench.caller(), await bench.caller()
    slow.call("events", {"after": 0, "follow": True})
    number, long = 300, "x" * 15_000
    for _ in range(number):
        append(log, long)
    assert (await other.ask("events", {"after": number - 1}))["result"]["position"] == number
    assert await pushed(slow, number) == [long] * number


async def test_who_left_is_woken_no_more(
    bench: Bench, log: EventLogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = asyncio.Event()
    listen = log.listen

    def watched(heard: Callable[[], object]) -> Callable[[], None]:
        end = listen(heard)

        def ended() -> None:
            end()
            gone.set()

        return ended

    monkeypatch.setattr(log, "listen", watched)
    append(log, "one")
    caller = await bench.caller()
    caller.call("events", {"after": 0, "follow": True})
    await pushed(caller, 1)
    caller.leave()
    async with asyncio.timeout(60):
        await gone.wait()
    append(log, "two")
