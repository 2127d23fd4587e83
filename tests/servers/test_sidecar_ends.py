"""How a sidecar comes to its end, in one event loop and with a clock of the test's own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from servers.bench import Bench, happens
from servers.conftest import Start
from sidecar.platform.installation import is_newer_version
from sidecar.servers.control import Methods, SidecarControl
from sidecar.servers.sidecar import SidecarIntervals
from support.table import over_table


async def test_hello_says_who_is_there(bench: Bench) -> None:
    answer = await (await bench.caller()).ask("hello", {"version": "1.2.3"})
    said = {"version": "1.2.3", "pid": os.getpid(), "leaving": False, "code": "c0de", "busy": ""}
    assert answer["result"] == said


async def test_a_newer_caller_gets_the_place_when_what_is_under_way_is_done(
    bench: Bench, run_folder: Path
) -> None:
    asked, idle, newcomer = await bench.caller(), await bench.caller(), await bench.caller()
    asked.call("wait")
    await happens(bench.begun)
    assert (await newcomer.ask("hello", {"version": "1.10"}))["result"]["leaving"]
    assert await idle.is_hung_up_on()
    assert await newcomer.is_hung_up_on()
    assert not (run_folder / "sidecar.sock").exists()
    assert bench.running is not None
    assert not bench.running.done()
    bench.go_on.set()
    assert (await asked.hear())["result"] == "done"
    assert await asked.is_hung_up_on()
    assert await bench.end() == 0


@pytest.mark.parametrize(
    ("asked", "code", "busy", "leaving"),
    [
        ("echo", "other", "", True),
        ("echo", "c0de", "", False),
        ("echo", "", "", False),
        ("wait", "other", "a command", False),
        ("events", "other", "", True),
        ("", "other", "a run", False),  # it stays connected for its agents, and asks nothing
    ],
)
async def test_a_caller_of_other_code_gets_the_place_where_nothing_is_at_work(
    start: Start, asked: str, code: str, busy: str, *, leaving: bool
) -> None:
    bench: Bench
    bench = start(build=lambda control: {**bench.methods(control), "events": bench.wait})
    caller, other = await bench.caller(), await bench.caller()
    await other.ask("hello")
    if asked == "echo":
        await caller.ask(asked)
    elif asked:
        caller.call(asked)
        await happens(bench.begun)
    answer = (await other.ask("hello", {"version": "1.2.3", "code": code}))["result"]
    assert (answer["busy"], answer["leaving"]) == (busy, leaving)
    bench.go_on.set()


async def test_it_ends_after_a_request_when_its_code_on_disk_is_another_one(start: Start) -> None:
    on_disk = ["old"]
    bench = start(pace=SidecarIntervals(code_s=0.0), read_code=lambda: on_disk[-1])
    busy, caller = await bench.caller(), await bench.caller()
    await busy.ask("hello")
    for code in ("old", ""):  # "": it is being replaced
        on_disk.append(code)
        assert (await caller.ask("hook", {}))["result"] == {}
    busy.call("wait")
    await happens(bench.begun)
    on_disk.append("new")
    assert (await caller.ask("hook", {}))["result"] == {}
    assert not bench.control.ending.is_set()
    bench.go_on.set()
    assert await caller.is_hung_up_on()
    assert await bench.end() == 0


async def test_another_version_or_code_is_no_way_for_an_agent_to_end_a_sidecar(bench: Bench) -> None:
    bench.control.is_agent = lambda pid: pid == os.getpid()
    for said in ({"version": "99.0"}, {"version": "1.2.3", "code": "other"}):
        assert not (await (await bench.caller()).ask("hello", said))["result"]["leaving"]
    assert not bench.control.ending.is_set()


async def test_what_does_not_end_while_draining_is_cancelled(bench: Bench) -> None:
    caller = await bench.caller()
    caller.call("wait")
    await happens(bench.begun)
    bench.control.drain(0.01)
    assert await bench.end() == 0
    assert bench.cancelled.is_set()


async def test_shutdown_is_answered_and_cancels_what_is_under_way(bench: Bench) -> None:
    busy, caller = await bench.caller(), await bench.caller()
    busy.call("wait")
    await happens(bench.begun)
    assert (await caller.ask("shutdown"))["result"] == {}
    assert await caller.is_hung_up_on()
    assert await bench.end() == 0
    assert bench.cancelled.is_set()


@over_table(
    ("one", "other", "is_newer"),
    [
        ("0.2.0", "0.1.9", True),
        ("0.10", "0.9.9", True),
        ("1.0.1", "1.0", True),
        ("0.1.0", "0.1.0", False),
        ("0.1.0", "0.2.0", False),
        ("0.2.0a1", "0.2.0", False),
        ("", "0.1.0", False),
        ("nonsense", "0.1.0", False),
    ],
)
def test_versions_compare_by_the_numbers_they_begin_with(one: str, other: str, is_newer: bool) -> None:  # noqa: FBT001
    assert is_newer_version(one, other) is is_newer


class Timers:
    """A clock that moves when the test says so."""

    def __init__(self) -> None:
        self.set: list[Timers.Timer] = []
        self.armed = asyncio.Event()

    class Timer:
        def __init__(self, seconds: float, callback: Callable[[], None]) -> None:
            self.seconds = seconds
            self.callback = callback
            self.cancelled = False

        def cancel(self) -> None:
            self.cancelled = True

    def __call__(self, seconds: float, callback: Callable[[], None]) -> Timers.Timer:
        self.set.append(Timers.Timer(seconds, callback))
        self.armed.set()
        return self.set[-1]


async def test_it_ends_when_nobody_came_for_as_long_as_the_settings_say(start: Start) -> None:
    timers = Timers()
    bench: Bench

    def build(control: SidecarControl) -> Methods:
        control.idle_s = 1800.0
        return bench.methods(control)

    bench = start(build=build, later=timers)
    await happens(timers.armed)
    assert timers.set[-1].seconds == 1800.0
    timers.set[-1].callback()
    assert await bench.end() == 0


async def test_a_visitor_stops_the_clock_and_the_last_to_leave_starts_it_again(start: Start) -> None:
    timers = Timers()
    bench = start(later=timers)
    await happens(timers.armed)
    one, other = await bench.caller(), await bench.caller()
    await one.ask("echo")
    await other.ask("echo")
    assert timers.set[-1].cancelled
    before = len(timers.set)
    timers.armed.clear()
    one.leave()
    assert (await other.ask("echo"))["id"] == 1
    assert len(timers.set) == before
    other.leave()
    await happens(timers.armed)
    assert not timers.set[-1].cancelled


async def test_what_runs_beside_begins_with_the_methods_and_is_cancelled_at_the_end(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def works() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def fails() -> None:
        await begun.wait()
        raise RuntimeError("a fault")

    def build(control: SidecarControl) -> Methods:
        control.beside += [fails, works]
        return {}

    bench = start(build=build)
    await happens(begun)
    assert "result" in await (await bench.caller()).ask("hello")
    bench.control.stop()
    assert await bench.end() == 0
    assert cancelled.is_set()
    assert "what runs beside the serving failed" in caplog.text
