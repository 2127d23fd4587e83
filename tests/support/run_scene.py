"""A run on real policy, real judging and a real journal in memory; only its agents are scripted."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

import msgspec

from sidecar.adapters.agents.scripted import ScriptedAgents
from sidecar.adapters.claude_code.transcript import ClaudeTranscripts
from sidecar.adapters.markers.turns import MarkerTurns
from sidecar.adapters.memory import FixedConfiguration
from sidecar.adapters.opencode.history import OpenCodeHistory
from sidecar.adapters.runs.codec import Begins, Ends, RunCodec, RunEvent, Stops, Types
from sidecar.adapters.scripted.gates import PASSED
from sidecar.adapters.transcripts import HostTranscripts
from sidecar.app.hooks import HookDoor
from sidecar.app.iterations import Crew, Run
from sidecar.app.journals import Journals
from sidecar.app.standings import Look, Standings
from sidecar.app.supervisor import Supervisor
from sidecar.model.effects import Reply
from sidecar.model.iterations import (
    HOST,
    Asked,
    Ended,
    Happening,
    Hooked,
    Material,
    Ruled,
    Standing,
)
from sidecar.model.session import SessionKey
from sidecar.model.settings import Settings
from sidecar.ports import Access, AgentRest, Errand
from support.fakes import ENVIRONMENT, LIMIT, Fakes

KEY = SessionKey(HOST, "demo")
GOAL = "the parser accepts comments"
SECRET = "sk-of-the-user"
TOKEN = "svs.token"
Work = Callable[[Errand], Awaitable[AgentRest] | AgentRest]


class HouseOverseer:
    """The sidecar's part in this process: everything goes through the codec, as over the socket."""

    def __init__(self, fakes: Fakes, session: str = KEY.id, project: str = "/shop") -> None:
        turns = HostTranscripts(
            ClaudeTranscripts(fakes.clock.pause),
            OpenCodeHistory(fakes.clock.now),
            MarkerTurns(fakes.workspace, fakes.store),
        )
        house = dataclasses.replace(fakes.house, transcripts=turns)
        self._door = HookDoor(house, Supervisor(house), {HOST: RunCodec()})
        self._standings = Standings(house, Journals(fakes.journals))
        self._about = {"session": session, "project": project}
        self.reachable = True
        self.standing_by = asyncio.Event()

    async def look(self, *, iterate: bool = False) -> Standing:
        return self._standings.of(Look(session=self._about["session"], iterate=iterate))

    async def typed(self, name: str, arguments: str) -> Reply:
        event = Types(**self._about, name=name, arguments=arguments)
        return msgspec.json.decode(await self._tell(event), type=Reply)

    async def begin(self) -> None:
        await self._tell(Begins(**self._about))

    async def stopped(self, ident: str, said: str, arrived: str) -> Ruled:
        event = Stops(**self._about, id=ident, said=said, arrived=arrived)
        return msgspec.json.decode(await self._tell(event), type=Ruled)

    async def end(self, why: str) -> None:
        await self._tell(Ends(**self._about, why=why))

    async def access(self) -> Access:
        if not self.reachable:
            raise ConnectionError("no door")
        return Access("http://127.0.0.1:1/mcp", TOKEN)

    async def stand_by(self) -> None:
        self.standing_by.set()
        await asyncio.Event().wait()

    async def _tell(self, event: RunEvent) -> bytes:
        return await self._door.handle(HOST, msgspec.json.encode(event), ENVIRONMENT, 0)


def agents(*work: Work) -> ScriptedAgents:
    """One scripted agent after the other, coroutines or not."""

    def awaited(one: Work) -> Callable[[Errand], Awaitable[AgentRest]]:
        async def run(errand: Errand) -> AgentRest:
            done = one(errand)
            return done if isinstance(done, AgentRest) else await done

        return run

    return ScriptedAgents(*map(awaited, work))


class Hooks:
    """Hooks that print what they are called."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Mapping[str, str]]] = []

    async def run(self, name: str, facts: Mapping[str, str], tell: Callable[[Hooked], None]) -> str:
        self.ran.append((name, facts))
        tell(Hooked(name=name, command="true", exit_code=0))
        return f"printed by {name}"


class Scene:
    """A run, and all that happened in it."""

    def __init__(self, fakes: Fakes, *work: Work, **asked: Any) -> None:
        self.fakes = fakes
        self.asked = Asked(
            **{"session": KEY.id, "project": "/shop", "goal": GOAL, "checks": ("make",), **asked}
        )
        self.overseer = HouseOverseer(fakes)
        self.agents = agents(*work)
        self.hooks = Hooks()
        self.told: list[Happening] = []
        self.prompts: list[Material] = []
        self.heard: list[str] = []

    def again(self, *work: Work, **asked: Any) -> Self:
        """Another call about the same session."""
        return type(self)(self.fakes, *work, **{"goal": "", "checks": (), **asked})

    def _word(self, material: Material) -> str:
        self.prompts.append(material)
        return f"iteration {material.iteration}"

    def run(self) -> Run:
        crew = Crew(
            overseer=self.overseer,
            agent=self.agents,
            hooks=self.hooks,
            clock=self.fakes.clock,
            word=self._word,
            tell=self.told.append,
            hear=self.heard.append,
            mask=lambda text: text.replace(SECRET, "***"),
            environment={"PATH": "/bin"},
            longest=600.0,
            spec="Comments begin with #.",
        )
        return Run(crew, self.asked)

    async def play(self) -> Ended:
        async with asyncio.timeout(LIMIT):
            return await self.run().run()

    def all(self, kind: type[Happening]) -> list[Any]:
        return [each for each in self.told if isinstance(each, kind)]


UNKEPT = Settings(keep_stops=False)


def made(settings: Settings) -> Fakes:
    """A house whose check passes, so that the judge decides."""
    fakes = Fakes(configuration=FixedConfiguration(settings))
    fakes.gates.script("make", PASSED)
    return fakes


def worked(fakes: Fakes, said: str = "Done.") -> Work:
    """An agent that changes a file."""

    def work(errand: Errand) -> AgentRest:
        fakes.workspace.tree = f"after {errand.prompt} {len(fakes.judge.cases)}"
        return AgentRest(said=said, exit_code=0)

    return work
