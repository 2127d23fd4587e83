"""A run on real policy, real judging and a real journal in memory; only its agents are scripted."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

import msgspec

from sidecar.cli.progress import open_budget
from sidecar.hosts.limits import PatientAgent
from sidecar.hosts.ports import AgentResult, AgentTask, HostTranscripts, McpAccess
from sidecar.hosts.unrecorded import (
    MarkerTurns,
    RunBegunEvent,
    RunCodec,
    RunEndedEvent,
    RunEvent,
    RunStoppedEvent,
    RunTypedEvent,
)
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.goal import GoalTerms
from sidecar.kernel.log import RunHistoryEvent
from sidecar.kernel.orders import Order
from sidecar.kernel.runs import (
    RUN_HOST,
    CheckRun,
    MergeChecks,
    RunPromptInputs,
    RunRequest,
    RunStatus,
    RunStatusQuery,
    StartedWorker,
    StopDecision,
    WorkerChange,
)
from sidecar.kernel.session import Environment, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.worktrees import Worktrees
from sidecar.servers.methods import read_run_status
from sidecar.systems.iteration.journals import SessionJournals, change_workers
from sidecar.systems.iteration.loop import AgentLoop
from sidecar.systems.iteration.ports import RunParticipants
from sidecar.systems.supervision.hook_events import HookHandler
from sidecar.systems.supervision.supervisor import Supervisor
from sidecar.work.progress import HookRan, Progress, RunFinished
from support.fakes import ENVIRONMENT, LIMIT, Fakes
from support.memory_stores import FixedConfiguration
from support.scripted_gates import PASSED
from support.scripted_ports import ScriptedAgents

KEY = SessionKey(RUN_HOST, "demo")
GOAL = "the parser accepts comments"
SECRET = "sk-of-the-user"
TOKEN = "svs.token"
Work = Callable[[AgentTask], Awaitable[AgentResult] | AgentResult]


class HouseOverseer:
    """The sidecar's part in this process: everything goes through the codec, as over the socket."""

    def __init__(self, fakes: Fakes, session: str = KEY.id, project: str = "/shop") -> None:
        turns = HostTranscripts({RUN_HOST: MarkerTurns(fakes.workspace, fakes.store)})
        services = dataclasses.replace(fakes.services, transcripts=turns)
        self._door = HookHandler(services, {RUN_HOST: RunCodec()}, Supervisor(services).tell)
        self.journals, self._clock = SessionJournals(fakes.journals, clock=fakes.clock), fakes.clock
        self.passes: Callable[[str, Environment], bool] = lambda _folder, _environment: True
        self.weakened: Callable[[str, str], tuple[str, ...]] = lambda _folder, _asked: ()
        self._services = services
        self._about = {"session": session, "project": project}
        self.reachable = True
        self.kept: list[RunHistoryEvent] = []
        self.standing_by = asyncio.Event()

    async def look(self, *, iterate: bool = False, judge: bool = False) -> RunStatus:
        environment = ENVIRONMENT if judge else {}
        query = RunStatusQuery(session=self._about["session"], iterate=iterate, environment=environment)
        return read_run_status(self._services, self.journals, query)

    async def order(self, order: Order) -> CommandReply:
        event = RunTypedEvent(**self._about, order=order)
        return msgspec.json.decode(await self._tell(event), type=CommandReply)

    async def begin(self) -> None:
        await self._tell(RunBegunEvent(**self._about))

    async def stopped(self, ident: str, arrived: str, rest: AgentResult) -> StopDecision:
        told: dict[str, Any] = {**self._about, "tokens": rest.tokens, "waited": rest.waited}
        event = RunStoppedEvent(id=ident, said=rest.said, arrived=arrived, **told)
        return msgspec.json.decode(await self._tell(event), type=StopDecision)

    async def note(self, event: RunHistoryEvent) -> None:
        self.kept.append(event)

    async def end(self, why: str) -> None:
        await self._tell(RunEndedEvent(**self._about, why=why))

    async def access(self, worker: int = 0) -> McpAccess:
        if not self.reachable:
            raise ConnectionError("no door")
        return McpAccess("http://127.0.0.1:1/mcp", f"{TOKEN}.{worker}" if worker else TOKEN)

    async def workers(self, change: WorkerChange) -> StartedWorker | None:
        return change_workers(self.journals, self._clock, change).started

    async def checks(
        self, folder: str, environment: Environment, only: tuple[str, ...] = (), asked: str = ""
    ) -> MergeChecks:
        ran = CheckRun(id="check:1", command="make", passed=self.passes(folder, environment))
        runs = (ran,) if not only or ran.id in only else ()
        return MergeChecks(runs=runs, weakened=self.weakened(folder, asked))

    async def stand_by(self) -> None:
        self.standing_by.set()
        await asyncio.Event().wait()

    async def _tell(self, event: RunEvent) -> bytes:
        return await self._door.handle(RUN_HOST, msgspec.json.encode(event), ENVIRONMENT, 0)


def agents(*work: Work) -> ScriptedAgents:
    """One scripted agent after the other, coroutines or not."""

    def awaited(one: Work) -> Callable[[AgentTask], Awaitable[AgentResult]]:
        async def run(errand: AgentTask) -> AgentResult:
            done = one(errand)
            return done if isinstance(done, AgentResult) else await done

        return run

    return ScriptedAgents(*map(awaited, work))


class Hooks:
    """Hooks that print what they are called."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Mapping[str, str]]] = []

    async def run(self, name: str, facts: Mapping[str, str], tell: Callable[[HookRan], None]) -> str:
        self.ran.append((name, facts))
        tell(HookRan(name=name, command="true", exit_code=0))
        return f"printed by {name}"


class Scene:
    """A run, and all that happened in it."""

    def __init__(self, fakes: Fakes, *work: Work, **asked: Any) -> None:
        self.fakes = fakes
        goal = GoalTerms(condition=GOAL, checks=("make",))
        self.asked = RunRequest(**{"session": KEY.id, "project": "/shop", "goal": goal, **asked})
        self.overseer = HouseOverseer(fakes, project=self.asked.project)
        self.worktrees: Worktrees | None = None
        self.agents = agents(*work)
        self.hooks = Hooks()
        self.told: list[Progress] = []
        self.budget = open_budget(fakes.services, self.told.append)
        self.prompts: list[RunPromptInputs] = []
        self.heard: list[str] = []
        self.words = ""
        self.commit: Callable[[str], Awaitable[str]] | None = None

    def again(self, *work: Work, **asked: Any) -> Self:
        """Another call about the same session."""
        return type(self)(self.fakes, *work, **{"goal": GoalTerms(condition=""), **asked})

    def _word(self, material: RunPromptInputs) -> str:
        self.prompts.append(material)
        return self.words or f"iteration {material.iteration}"

    def run(self) -> AgentLoop:
        crew = RunParticipants(
            overseer=self.overseer,
            agent=PatientAgent(self.agents, "claude", self.budget.limits),
            hooks=self.hooks,
            clock=self.fakes.clock,
            word=self._word,
            tell=self.told.append,
            hear=lambda line, _iteration: self.heard.append(line),
            mask=lambda text: text.replace(SECRET, "***"),
            environment={"PATH": "/bin"},
            longest=600.0,
            settings=self.fakes.configuration.load()[0],
            budget=self.budget,
            spec="Comments begin with #.",
            commit=self.commit,
            worktrees=self.worktrees,
        )
        return AgentLoop(crew, self.asked)

    async def play(self) -> RunFinished:
        async with asyncio.timeout(LIMIT):
            return await self.run().run()

    def all(self, kind: type[Progress]) -> list[Any]:
        return [each for each in self.told if isinstance(each, kind)]


UNKEPT = Settings(keep_stops=False)


def made(settings: Settings) -> Fakes:
    """A house whose check passes, so that the judge decides."""
    fakes = Fakes(configuration=FixedConfiguration(settings))
    fakes.gates.script("make", PASSED)
    return fakes


def worked(fakes: Fakes, said: str = "Done.", **spent: Any) -> Work:
    """An agent that changes a file. `spent`: more fields of its result."""

    def work(errand: AgentTask) -> AgentResult:
        fakes.workspace.tree = f"after {errand.prompt} {len(fakes.judge.cases)}"
        return AgentResult(said=said, exit_code=0, **spent)

    return work
