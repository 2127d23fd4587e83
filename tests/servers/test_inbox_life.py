"""A stop in the inbox is work under way: it keeps a sidecar alive, and one that leaves finishes it first."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, Struct

from servers.bench import LIMIT_S, Bench, Caller, happens
from servers.conftest import Start
from sidecar.hosts.ports import HostTranscripts
from sidecar.hosts.unrecorded import HOST as MARKER
from sidecar.hosts.unrecorded import MarkerTurns
from sidecar.kernel.session import SessionKey
from sidecar.servers.control import LineProtocol, Methods, SidecarControl
from sidecar.servers.methods import InboxCall, InboxHandler
from sidecar.wiring.sidecar import build_methods
from support.cases import incomplete
from support.fakes import Fakes

pytestmark = pytest.mark.proves("crashes and bad input")


class Timer:
    """A timer that runs out when told, unless it was cancelled."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class House:
    """A sidecar with the real inbox and all else in memory, and a project whose goal is being judged."""

    def __init__(self, start: Start, project: Path) -> None:
        self.fakes = Fakes()
        self.project = project
        self.timers: list[Timer] = []
        self.alone = asyncio.Event()
        self.bench: Bench = start(build=self._build, later=self._later)

    def _build(self, control: SidecarControl) -> Methods:
        fakes = self.fakes
        # the manual clock stands still, and what lies in a real folder has real times
        fakes.clock.advance(self.project.stat().st_mtime - fakes.clock.now())
        record = HostTranscripts({MARKER: MarkerTurns(fakes.workspace, fakes.store)})
        return build_methods(control, dataclasses.replace(fakes.services, transcripts=record))

    def _later(self, _seconds: float, act: Callable[[], None]) -> Timer:
        self.timers.append(Timer(act))
        self.alone.set()
        return self.timers[-1]

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Ask and hang up."""
        caller = await self.bench.caller()
        answer = await caller.ask(method, params)
        caller.leave()
        return answer["result"]

    def drop(self, inbox: Path, name: str) -> None:
        marker = {"version": 1, "last_message": "Done.", "session": "s1", "project": str(self.project)}
        (inbox / f"{name}.new").write_text(json.dumps(marker), encoding="utf-8")
        (inbox / f"{name}.new").rename(inbox / f"{name}.stop.json")

    async def judging(self) -> Path:
        """Drop a stop and wait until its judge thinks; the inbox."""
        began = {"session": "s1", "project": str(self.project)}
        inbox = Path((await self.ask("inbox", began))["folder"])
        order: dict[str, Any] = {
            "who": {"session": "s1"},
            "order": {"name": "goal", "goal": {"condition": "the parser accepts comments"}},
        }
        assert not (await self.ask("order", order))["refused"]
        self.fakes.judge.hold()
        self.drop(inbox, "a")
        async with asyncio.timeout(LIMIT_S):
            await self.fakes.judge.asked.wait()
        return inbox


@pytest.fixture
async def services(start: Start, tmp_path: Path) -> House:
    return House(start, tmp_path)


async def news(caller: Caller) -> Any:
    """What the sidecar says next, but for the sign of work."""
    while (heard := await caller.hear())["method"] == "working":
        pass
    return heard["params"]


def decided(inbox: Path, name: str = "a") -> str:
    reason: str = json.loads((inbox / f"{name}.decision.json").read_text(encoding="utf-8"))["reason"]
    return reason


async def test_a_sidecar_that_makes_room_finishes_the_stop_and_writes_its_decision(services: House) -> None:
    services.fakes.judge.script(incomplete())
    inbox = await services.judging()
    services.bench.control.drain()
    services.fakes.judge.released.set()
    await services.bench.end()
    assert decided(inbox) == "incomplete"
    assert not (inbox / "a.stop.json").exists()


async def test_a_stop_that_is_judged_keeps_an_idle_sidecar_alive_and_an_inbox_alone_does_not(
    services: House,
) -> None:
    await services.judging()
    assert all(timer.cancelled for timer in services.timers)
    services.alone.clear()
    services.fakes.judge.released.set()
    await happens(services.alone)
    services.timers[-1].act()
    await services.bench.end()


async def test_a_goal_that_a_person_sets_for_such_a_session_is_compared_with_the_files_of_that_moment(
    services: House,
) -> None:
    await services.judging()
    goal = services.fakes.goal(SessionKey("marker", "s1"))
    assert goal.base.snapshot == services.fakes.workspace.kept[-1]
    assert services.fakes.workspace.compared[-1] == goal.base.snapshot


class Looker:
    """A peer that looks on, and counts what it hears."""

    pid = 0

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.opened = asyncio.Event()

    def notify(self, method: str, params: Struct | None = None) -> None:  # noqa: ARG002 - the peer's signature
        self.heard.append(method)
        self.opened.set()

    async def push(self, method: str, params: Struct) -> None:
        raise NotImplementedError

    async def ask(self, method: str, params: Struct | None = None) -> Raw:
        raise NotImplementedError

    def hand_over(self, speak: LineProtocol) -> None:
        raise NotImplementedError


async def test_who_looks_on_no_more_hears_nothing(tmp_path: Path) -> None:
    async def begin(_session: str, _project: str) -> None:
        """Nobody begins work here."""

    door, peer_ = InboxHandler(SidecarControl("1", tmp_path / "log"), lambda: tmp_path, begin), Looker()
    looking = asyncio.create_task(door.open(InboxCall(watch=True), peer_))
    await happens(peer_.opened)
    door.tell(InboxCall())
    looking.cancel()
    await asyncio.wait([looking])
    door.tell(InboxCall())
    assert peer_.heard == ["opened", "decided"]
