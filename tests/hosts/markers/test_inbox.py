"""Every stop that lies in the inbox gets a decision or a refusal beside it, and none gets two."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecar.hosts import marker_inbox as limits
from sidecar.hosts.marker_inbox import (
    AT_ONCE,
    GROWS_S,
    RETRY_S,
    STALE_S,
    InboxDecision,
    MarkerFolder,
    MarkerInbox,
)
from sidecar.hosts.unrecorded import MarkerDecision, StopFound
from sidecar.kernel.errors import BadInputError
from support.memory_stores import ManualClock

LIMIT_S = 60.0
"""Bound of every wait here, in seconds."""
REST = MarkerDecision(decision="rest", reason="achieved", note="Supervisor: goal achieved.")


class WatchedClock(ManualClock):
    """A manual clock that says when somebody waits for it."""

    def __init__(self, at: float) -> None:
        super().__init__(at)
        self.waited = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        self.waited.set()
        await super().pause(seconds)

    async def is_waited_for(self) -> None:
        async with asyncio.timeout(LIMIT_S):
            await self.waited.wait()
        self.waited.clear()


class Bench:
    """An inbox whose sidecar is the test."""

    def __init__(self, tmp_path: Path) -> None:
        self.path = tmp_path / "inbox"
        self.project = tmp_path
        self.clock = WatchedClock(tmp_path.stat().st_mtime)
        self.asked: list[StopFound] = []
        self.told: list[InboxDecision] = []
        self.answers: list[MarkerDecision | Exception] = []
        self.held = asyncio.Event()
        self.held.set()
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.inbox = MarkerInbox(MarkerFolder(self.path), self.ask, self.clock, self.hear)

    async def ask(self, stop: StopFound) -> bytes:
        self.asked.append(stop)
        self.begun.set()
        await self.held.wait()
        answer = self.answers.pop(0) if self.answers else REST
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode(answer)

    def hear(self, decided: InboxDecision) -> None:
        self.told.append(decided)
        self.ended.set()

    def drop(self, name: str = "a", **fields: Any) -> Path:
        usual = {"version": 1, "session": "s1", "project": str(self.project), "last_message": "Done."}
        return self.lay(f"{name}.stop.json", json.dumps(usual | fields).encode())

    def lay(self, name: str, raw: bytes) -> Path:
        path = self.path / f"{name}.new"
        path.write_bytes(raw)
        return path.rename(self.path / name)

    async def look(self) -> None:
        """Have everything that lies there dealt with."""
        async with asyncio.timeout(LIMIT_S):
            await self.inbox.look()
            await self.inbox.settled()

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())

    def refusal(self, name: str = "a") -> str:
        return (self.path / f"{name}.refused.txt").read_text(encoding="utf-8")


async def happens(event: asyncio.Event) -> None:
    async with asyncio.timeout(LIMIT_S):
        await event.wait()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    bench.inbox.open()
    yield bench
    await bench.inbox.close()


async def test_a_stop_is_told_once_and_its_decision_lies_beside_it(bench: Bench) -> None:
    bench.drop(requests=["Go."])
    await bench.look()
    await bench.look()
    assert bench.names == ["a.decision.json"]
    assert [(stop.marker.session, stop.marker.requests) for stop in bench.asked] == [("s1", ("Go.",))]
    told = InboxDecision(
        name="a.stop.json", session="s1", decision="rest", reason="Supervisor: goal achieved."
    )
    assert bench.told == [told]


async def test_stops_are_handled_side_by_side_and_too_many_wait_where_they_lie(bench: Bench) -> None:
    bench.held.clear()
    for number in range(AT_ONCE + 2):
        bench.drop(f"a{number}", session=f"s{number}")
    async with asyncio.timeout(LIMIT_S):
        while len(bench.asked) < AT_ONCE:
            bench.begun.clear()
            await bench.inbox.look()
            await bench.begun.wait()
    assert len(bench.asked) == AT_ONCE
    bench.held.set()
    await bench.look()
    await bench.look()
    assert len(bench.asked) == AT_ONCE + 2
    assert [name for name in bench.names if name.endswith(".stop.json")] == []


async def test_a_stop_that_is_taken_away_is_given_up(bench: Bench) -> None:
    bench.held.clear()
    path = bench.drop()
    await bench.inbox.look()
    await happens(bench.begun)
    path.unlink()
    await bench.look()
    assert (bench.names, bench.told) == ([], [])


async def test_a_stop_that_is_read_after_a_newer_one_of_its_session_is_superseded(bench: Bench) -> None:
    bench.held.clear()
    bench.drop("newest")
    await bench.inbox.look()
    await happens(bench.begun)
    for name, session in (("older", "s1"), ("others", "s2")):
        os.utime(bench.drop(name, session=session), (bench.clock.now() - 1,) * 2)
    bench.held.set()
    await bench.look()
    decided = {one.name: one.reason for one in bench.told}
    assert decided["older.stop.json"] == "superseded"
    assert [stop.marker.session for stop in bench.asked] == ["s1", "s2"]


async def test_of_stops_in_short_order_one_at_a_time_is_asked_about_and_the_newest_is_judged(
    bench: Bench,
) -> None:
    """Requests that are on their way together reach the sidecar in any order."""
    asking, most = 0, 0

    async def ask(stop: StopFound) -> bytes:
        nonlocal asking, most
        asking, most = asking + 1, max(most, asking + 1)
        try:
            return await bench.ask(stop)
        finally:
            asking -= 1

    bench.inbox = MarkerInbox(MarkerFolder(bench.path), ask, bench.clock, bench.hear)
    bench.held.clear()
    for number, name in enumerate("dcba"):
        os.utime(bench.drop(name, last_message=name), (bench.clock.now() - 9 + number,) * 2)
        bench.begun.clear()
        await bench.inbox.look()
        await happens(bench.begun)
    bench.held.set()
    await bench.look()
    decided = {one.name[0]: one.reason for one in bench.told}
    assert most == 1
    assert decided == {**dict.fromkeys("dcb", "superseded"), "a": REST.note}


# --- refusals ---


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"goal": "x"}, "unknown field"),
        ({"project": "shop"}, "no absolute path"),
        ({"project": "/nowhere/at/all"}, "no folder of this machine"),
        ({"project": "/etc/passwd"}, "no folder of this machine"),
        ({"project": "/" + "a" * 300}, "no folder of this machine"),
        ({"session": "../../x"}, "session id"),
        ({"version": 7}, "no marker of format 1"),
    ],
)
async def test_what_cannot_be_judged_is_refused_with_its_reason_and_kept(
    bench: Bench, fields: dict[str, Any], why: str
) -> None:
    raw = bench.drop(**fields).read_bytes()
    await bench.look()
    assert bench.names == ["a.refused.json", "a.refused.txt"]
    assert why in bench.refusal()
    assert (bench.path / "a.refused.json").read_bytes() == raw
    assert (bench.asked, bench.told[0].decision) == ([], "refused")


async def test_a_reason_is_short_and_obeys_nothing_that_stands_in_the_marker(bench: Bench) -> None:
    hostile: dict[str, Any] = {"\x1b]0;title\x07\u009b2J": 1}
    endless: dict[str, Any] = {"x" * 3_000_000: 1}
    bench.drop("a", **hostile)
    bench.drop("b", **endless)
    await bench.look()
    assert bench.refusal("a") == "it is no marker of format 1: Object contains unknown field ``\n"
    assert len(bench.refusal("b")) <= limits.WHY_LIMIT + 1
    assert {len(told.reason) for told in bench.told} == {len(bench.refusal(name)) - 1 for name in "ab"}


async def test_what_the_sidecar_refuses_is_refused(bench: Bench) -> None:
    bench.answers.append(BadInputError("not so"))
    bench.drop()
    await bench.look()
    assert bench.refusal() == "not so\n"


async def test_a_stop_from_over_an_hour_ago_is_stale_and_a_younger_one_is_judged(bench: Bench) -> None:
    for name, age in (("old", STALE_S + 1), ("young", STALE_S - 1)):
        os.utime(bench.drop(name), (bench.clock.now() - age,) * 2)
    await bench.look()
    assert bench.names == ["old.refused.json", "old.refused.txt", "young.decision.json"]
    assert "more than 60 minutes" in bench.refusal("old")


async def test_one_that_cannot_be_used_does_not_keep_the_others_waiting(bench: Bench) -> None:
    os.mkfifo(bench.path / "pipe.stop.json")
    bench.lay("deep.stop.json", b"[" * 1_000_000)
    bench.drop("good")
    await bench.look()
    assert "good.decision.json" in bench.names
    assert {one.decision for one in bench.told} == {"rest", "refused"}


# --- half a marker ---


@pytest.mark.parametrize("grows", [True, False])
async def test_half_a_marker_is_given_time_once(bench: Bench, *, grows: bool) -> None:
    whole = bench.drop().read_bytes()
    bench.lay("a.stop.json", whole[:20])
    await bench.inbox.look()
    await bench.clock.is_waited_for()
    (bench.path / "a.stop.json").write_bytes(whole if grows else whole[:40])
    bench.clock.advance(GROWS_S)
    await happens(bench.ended)
    await bench.inbox.settled()
    assert bench.names == (["a.decision.json"] if grows else ["a.refused.json", "a.refused.txt"])
    assert grows or "no whole JSON" in bench.refusal()


# --- failures ---


@pytest.mark.parametrize("error", [ConnectionResetError("the sidecar hung up"), RuntimeError("a fault")])
async def test_a_stop_that_could_not_be_judged_is_tried_again_after_a_while(
    bench: Bench, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bench.answers.append(error)
    bench.drop()
    await bench.inbox.look()
    await bench.clock.is_waited_for()
    assert bench.names == ["a.stop.json"]
    bench.clock.advance(RETRY_S)
    await bench.inbox.settled()
    await bench.look()
    assert bench.names == ["a.decision.json"]
    assert [one.id for one in bench.asked] == [bench.asked[0].id] * 2
    assert any(record.levelno >= logging.WARNING for record in caplog.records)


@pytest.mark.parametrize(("limit_s", "left"), [(LIMIT_S, "a.decision.json"), (0.0, "a.stop.json")])
async def test_the_end_of_the_sidecar_decides_what_is_answered_and_leaves_other_stops_where_they_lie(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, limit_s: float, left: str
) -> None:
    monkeypatch.setattr("sidecar.hosts.marker_inbox.ANSWER_S", limit_s)
    bench.held.clear()
    bench.drop()
    await bench.inbox.look()
    await happens(bench.begun)
    closing = asyncio.create_task(bench.inbox.close())
    if limit_s:
        asyncio.get_running_loop().call_soon(bench.held.set)
    await closing
    assert bench.names == [left]


# --- watching ---


async def test_what_lies_there_at_the_start_and_what_comes_later_is_judged(bench: Bench) -> None:
    bench.drop("early")
    running = asyncio.create_task(bench.inbox.run())
    await happens(bench.ended)
    bench.ended.clear()
    bench.drop("late")
    await happens(bench.ended)
    running.cancel()
    await asyncio.wait([running])
    assert bench.names == ["early.decision.json", "late.decision.json"]
