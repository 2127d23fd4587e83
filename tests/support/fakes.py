"""A house of fakes under the real use cases, and the events that hosts tell it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from sidecar.evidence.ports import GateContext, GateProgressCallback
from sidecar.kernel.effects import CommandReply, Continue, HostAnswer, JudgeCase, Rest
from sidecar.kernel.events import (
    AnyHostEvent,
    CommandTyped,
    JudgeAnswered,
    JudgeFailed,
    PromptSubmitted,
    SessionOrigin,
    SessionStarted,
)
from sidecar.kernel.evidence import FileBaseline, FileChange, ProjectChanges, Verdict
from sidecar.kernel.gate import Gate, GateRun
from sidecar.kernel.goal import Goal
from sidecar.kernel.log import EventFilter, LoggedEvent
from sidecar.kernel.orders import CommandName, parse_order
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.log_readings import DailySpending, StopHistory
from sidecar.platform.ports import Processes, Steering
from sidecar.platform.secrets import SecretForms
from sidecar.platform.state import Incidents
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.supervisor import Supervisor
from support.cases import KEY, PROJECT, RUBRIC, stopped
from support.memory_stores import (
    FixedConfiguration,
    FixedRubrics,
    LoggedRecord,
    ManualClock,
    MemoryEventLog,
    MemoryJournals,
    MemoryLoops,
    MemorySessionStore,
    MemorySwitches,
    NoProcesses,
    NoSteering,
    PlainMessages,
)
from support.scripted_gates import ScriptedGates
from support.scripted_ports import (
    ScriptedCatalog,
    ScriptedCheckpoints,
    ScriptedJudge,
    ScriptedOldChecks,
    ScriptedWorkspace,
)
from support.transcripts import ScriptedTranscripts

LIMIT = 60.0
"""Bound of every wait, in seconds."""
ENVIRONMENT = {"PATH": "/usr/bin"}


class HeldJudge(ScriptedJudge):
    """A judge that says when it was asked. Held, it answers when `released` is set."""

    def __init__(self, *answers: Verdict | JudgeAnswered | JudgeFailed) -> None:
        super().__init__(*answers)
        self.asked = asyncio.Event()

    def hold(self) -> None:
        self.released.clear()

    async def ask(
        self, case: JudgeCase, environment: Mapping[str, str], settings: Settings
    ) -> JudgeAnswered | JudgeFailed:
        self.asked.set()
        return await super().ask(case, environment, settings)


class HeldGates(ScriptedGates):
    """Gates that say when one was started, and with which deadline in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.started = asyncio.Event()
        self.deadlines: list[float] = []

    async def run(
        self,
        gates: Sequence[Gate],
        at: GateContext,
        seconds: float,
        progress: GateProgressCallback | None = None,
    ) -> tuple[GateRun, ...]:
        self.started.set()
        self.deadlines.append(seconds)
        return await super().run(gates, at, seconds, progress)


class WatchedWorkspace(ScriptedWorkspace):
    """A workspace that counts how often it was looked at, and tells what it keeps.

    `kept` and `returned` are the snapshots that were kept and given back. `slow`: keeping waits for it.
    """

    looks = 0

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []
        self.returned: list[str] = []
        self.compared: list[str] = []
        self.slow: asyncio.Event | None = None
        self.changes = ProjectChanges(files=(FileChange(path="a.py", before="x = 1\n", after="x = 2\n"),))

    async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:
        self.looks += 1
        return await super().fingerprint(project, environment)

    async def remember(self, project: str, environment: Mapping[str, str]) -> FileBaseline:  # noqa: ARG002 - the port's
        if self.slow is not None:
            await self.slow.wait()
        self.kept.append(f"s{len(self.kept) + 1}")
        return FileBaseline(tree=self.tree, snapshot=self.kept[-1])

    async def since(self, base: FileBaseline, project: str, environment: Mapping[str, str]) -> ProjectChanges:
        self.compared.append(base.snapshot)
        return await super().since(base, project, environment)

    def forget(self, base: FileBaseline, project: str) -> None:  # noqa: ARG002 - the port's
        self.returned.append(base.snapshot)


class FailingStore(MemorySessionStore):
    """A store on a disk that may be full or unreadable."""

    full = False
    unreadable = False

    def load(self, key: SessionKey) -> Session | None:
        if self.unreadable:
            raise OSError(errno.EACCES, "Permission denied")
        return super().load(key)

    def save(self, session: Session) -> Session:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().save(session)


class FailingLog(MemoryEventLog):
    """A log on a disk that may be full, or unreadable."""

    full = False
    unreadable = False

    def append(self, event: LoggedEvent) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().append(event)

    def newest(self, wanted: EventFilter, number: int, *, after: int = 0) -> tuple[LoggedEvent, ...]:
        if self.unreadable:
            raise OSError(errno.EIO, "Input/output error")
        return super().newest(wanted, number, after=after)


@dataclass
class Fakes:
    """Every port's fake, and the supervisor that lives on them."""

    clock: ManualClock = field(default_factory=ManualClock)
    catalog: ScriptedCatalog = field(default_factory=ScriptedCatalog)
    checkpoints: ScriptedCheckpoints = field(default_factory=ScriptedCheckpoints)
    configuration: FixedConfiguration = field(default_factory=FixedConfiguration)
    gates: HeldGates = field(default_factory=HeldGates)
    old_checks: ScriptedOldChecks = field(default_factory=ScriptedOldChecks)
    judge: HeldJudge = field(default_factory=HeldJudge)
    journals: MemoryJournals = field(default_factory=MemoryJournals)
    loops: MemoryLoops = field(default_factory=MemoryLoops)
    log: FailingLog = field(default_factory=FailingLog)
    kept: StopHistory | None = None
    store: FailingStore = field(default_factory=FailingStore)
    steering: Steering = field(default_factory=NoSteering)
    processes: Processes = field(default_factory=NoProcesses)
    switches: MemorySwitches = field(default_factory=MemorySwitches)
    transcripts: ScriptedTranscripts = field(default_factory=ScriptedTranscripts)
    workspace: WatchedWorkspace = field(default_factory=WatchedWorkspace)

    def __post_init__(self) -> None:
        self.record = LoggedRecord(self.log)
        self.spending = DailySpending(self.log, self.clock)
        self.stop_history = self.kept or StopHistory(self.log)
        self.services = Services(
            catalog=self.catalog,
            checkpoints=self.checkpoints,
            clock=self.clock,
            configuration=self.configuration,
            gates=self.gates,
            old_checks=self.old_checks,
            judge=self.judge,
            journals=self.journals,
            stop_history=self.stop_history,
            messages=PlainMessages(),
            spending=self.spending,
            log=self.log,
            loops=self.loops,
            incidents=Incidents(),
            processes=self.processes,
            rubrics=FixedRubrics(RUBRIC),
            steering=self.steering,
            secrets=SecretForms(),
            store=self.store,
            switches=self.switches,
            transcripts=self.transcripts,
            workspace=self.workspace,
        )
        self.supervisor = Supervisor(self.services)

    async def tell(self, event: AnyHostEvent) -> HostAnswer:
        async with asyncio.timeout(LIMIT):
            answer = await self.supervisor.tell(event)
            await asyncio.sleep(0)  # noqa: TID251 - what is done once it is answered
            return answer

    async def reply(self, event: CommandTyped) -> CommandReply:
        answer = await self.tell(event)
        assert isinstance(answer, CommandReply), answer
        return answer

    async def rest(self, **fields: Any) -> Rest:
        """Let the agent stop, and be let rest."""
        answer = await self.tell(stopped(**fields))
        assert isinstance(answer, Rest), answer
        return answer

    async def sent_back(self, **fields: Any) -> Continue:
        """Let the agent stop, and be sent back."""
        answer = await self.tell(stopped(**fields))
        assert isinstance(answer, Continue), answer
        return answer

    def state(self, key: SessionKey = KEY) -> Session:
        """What is stored, but for how often it was saved."""
        session = self.store.load(key)
        assert session is not None
        return replace(session, revision=0)

    def goal(self, key: SessionKey = KEY) -> Goal:
        goal = self.state(key).goal
        assert goal is not None
        return goal

    def story(self, key: SessionKey = KEY) -> list[str]:
        """What was decided, oldest first."""
        return [f"{entry.event}: {entry.decided}" for entry in self.record.read(key)]


def command(arguments: str, name: CommandName = "goal", **fields: Any) -> CommandTyped:
    usual: dict[str, Any] = {"key": KEY, "project": PROJECT, "environment": ENVIRONMENT, "prompt_id": ""}
    return CommandTyped(**usual | {"order": parse_order(name, arguments)} | fields)


def prompt(**fields: Any) -> PromptSubmitted:
    usual: dict[str, Any] = {"key": KEY, "project": PROJECT, "environment": ENVIRONMENT}
    return PromptSubmitted(**usual | {"prompt_id": "p1", "human": True} | fields)


def started(origin: SessionOrigin, **fields: Any) -> SessionStarted:
    usual: dict[str, Any] = {"key": KEY, "project": PROJECT}
    return SessionStarted(**usual | {"origin": origin} | fields)
