"""A machine stays in step with its team, and tells once when the database is away."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sidecar.kernel.log import EventFilter, LoggedEvent, OrderGiven, TeamLink
from sidecar.platform.paths import organisation_file
from sidecar.platform.ports import Steering
from sidecar.platform.team.exchange import Exchanged
from sidecar.platform.team.ports import Record, TeamAwayError, TeamOrder
from sidecar.platform.team.sync import PAUSE_S, TeamSync
from sidecar.wiring.platform import build_steering
from support.fakes import LIMIT, Fakes
from support.memory_stores import ManualClock
from support.team import ASKING

AWAY = TeamAwayError("the team's database is away: no route")


class Pauses(ManualClock):
    """A clock that says for how long it is waited."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: asyncio.Queue[float] = asyncio.Queue()

    async def pause(self, seconds: float) -> None:
        self.asked.put_nowait(seconds)
        await super().pause(seconds)


class Scene:
    """A sync whose exchanges find `found`; an error is raised."""

    def __init__(self, steering: Steering | None = None) -> None:
        self.clock = Pauses()
        self.fakes = Fakes(clock=self.clock)
        if steering is not None:
            self.fakes.services = dataclasses.replace(self.fakes.services, steering=steering)
        self.found: Exchanged | Exception | None = exchanged()
        self.obeyed: list[str] = []
        self.sync = TeamSync(self._exchange, self.fakes.services, self._obey)

    def _exchange(self) -> Exchanged | None:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    async def _obey(self, order: TeamOrder) -> None:
        self.obeyed.append(order.text)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.sync.run())
        try:
            async with asyncio.timeout(LIMIT):
                yield
        finally:
            task.cancel()
            await asyncio.wait((task,))

    async def next_pause(self, seconds: float | None = None) -> float:
        """Let so much time pass, and return the next pause that is asked for."""
        if seconds is not None:
            self.clock.advance(seconds)
        return await self.clock.asked.get()

    def links(self) -> list[str]:
        """What the log says of the team, oldest first."""
        told = self.fakes.log.read(EventFilter(kinds=("team-link",)))
        return [one.data.state for one in told if isinstance(one.data, TeamLink)]


def exchanged(*orders: str, records: dict[str, bytes] | None = None) -> Exchanged:
    found = [
        Record(key=f"organisation/{name}", value=text, revision=1) for name, text in (records or {}).items()
    ]
    return Exchanged(
        name="laptop",
        reached=0,
        orders=tuple(TeamOrder(machine="m1", session="s1", text=text) for text in orders),
        records=None if records is None else tuple(found),
    )


async def test_orders_are_carried_out_as_they_come() -> None:
    scene = Scene()
    async with scene.running():
        assert await scene.next_pause() == 2.0
        scene.found = exchanged("goal pause", "retry 3")
        assert await scene.next_pause(2.0) == 2.0
        assert scene.obeyed == ["goal pause", "retry 3"]


async def test_a_database_that_is_away_is_asked_less_and_less_and_told_once_and_when_it_is_back() -> None:
    scene, pauses = Scene(), list[float]()
    scene.fakes.log.append(LoggedEvent(at=1.0, system="x", data=OrderGiven(name="goal", decided="done")))
    async with scene.running():
        pauses.append(await scene.next_pause())
        scene.found = AWAY
        for _ in range(1500):  # a day
            pauses.append(await scene.next_pause(pauses[-1]))
        link = scene.sync.link()
        assert link is not None
        assert link.state == "away"
        assert "2 events to send; agents go on" in link.detail, "that it is away is one, too"
        (line,) = scene.fakes.services.incidents.take(ASKING)
        assert "team: away since" in line
        assert line.endswith("Type in a shell: supervisor team status")
        assert not scene.fakes.services.incidents.take(ASKING)
        assert scene.links() == ["away"]
        scene.found = exchanged()
        await scene.next_pause(pauses[-1])
        assert scene.links() == ["away", "reached"]
    assert pauses[:7] == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


async def test_a_short_cut_is_not_told_and_nothing_is_said_where_no_team_is_joined() -> None:
    scene = Scene()
    async with scene.running():
        assert scene.sync.link() is None
        scene.found = AWAY
        await scene.next_pause()
        scene.found = exchanged()
        await scene.next_pause(4.0)
        link = scene.sync.link()
        assert link == TeamLink(state="reached", detail="joined as laptop, 0 events to send")
        assert not scene.links()
        scene.found = None
        await scene.next_pause(2.0)
        assert scene.sync.link() is None
    assert not scene.fakes.services.incidents.take(ASKING)


async def test_a_fault_of_ours_ends_nothing_and_is_told_like_a_cut() -> None:
    scene = Scene()
    scene.found = ValueError("no number")
    async with scene.running():
        assert [await scene.next_pause(), await scene.next_pause(4.0)] == [4.0, 8.0]
        link = scene.sync.link()
        assert link is not None
        assert "internal error, no number" in link.detail
        scene.found = exchanged()
        assert await scene.next_pause(8.0) == 2.0


async def test_an_order_is_obeyed_although_the_organisations_files_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    organisation_file("config.toml").parents[2].mkdir(parents=True, exist_ok=True)
    organisation_file("config.toml").parents[1].touch()  # where the folder should be
    scene = Scene()
    scene.found = exchanged("goal pause", records={"config.toml": b"max_attempts = 3\n"})
    async with scene.running():
        assert await scene.next_pause() > PAUSE_S, "it could not do all"
    assert scene.obeyed == ["goal pause"]


async def test_the_end_does_not_wait_for_a_database_that_does_not_answer() -> None:
    scene, answered, begun = Scene(), threading.Event(), threading.Event()

    def hangs() -> Exchanged | None:
        begun.set()
        answered.wait(LIMIT)
        return None

    scene.sync = TeamSync(hangs, scene.fakes.services, scene._obey)  # noqa: SLF001 - its own
    async with scene.running():
        assert await asyncio.to_thread(begun.wait, LIMIT)
        assert all(one.daemon for one in threading.enumerate() if one.name == "team")
    assert not answered.is_set()
    answered.set()


async def test_the_organisations_files_are_in_force_as_the_team_has_them_and_go_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = organisation_file("config.toml")
    state = path.parents[1]
    state.mkdir()
    steering = build_steering(state)
    steering.decide(lambda: False)  # an agent is at work
    scene = Scene(steering)
    scene.found = exchanged(records={"config.toml": b"max_attempts = 3\n"})
    async with scene.running():
        await scene.next_pause()
        assert path.read_bytes() == b"max_attempts = 3\n"
        assert steering.path_in_force(path) == path

        path.write_text("max_attempts = 99\n")
        assert steering.path_in_force(path).read_text() == "max_attempts = 3\n"
        assert [edit.path for edit in steering.held("/project")] == [str(path)]

        scene.found = AWAY
        await scene.next_pause(2.0)
        assert steering.path_in_force(path).read_text() == "max_attempts = 3\n"

        scene.found = exchanged(records={"config.toml": b"max_attempts = 4\n"})
        await scene.next_pause(4.0)
        assert steering.path_in_force(path).read_text() == "max_attempts = 4\n"
        assert not steering.held("/project")

        scene.found = None
        await scene.next_pause(2.0)
        assert not path.exists()
        assert not steering.path_in_force(path).exists()
