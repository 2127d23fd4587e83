"""Whatever legally happens to a loop, and wherever its process is killed, its rules hold after every call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, get_args

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.evidence import FileChange, ProjectChanges
from sidecar.kernel.gate import Gate, Kind, Outcome
from sidecar.kernel.journal import Author, Journal, TaskStatus
from sidecar.kernel.log import LoggedEvent
from sidecar.kernel.loop import CouncilMember, CouncilProposal, ExecutionMode, Loop, LoopState, LoopStatus
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import LoopSettings, ModelPrice, Settings
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.iteration.policy.journal import set_task_status
from sidecar.systems.supervision.supervisor import Supervisor
from sidecar.systems.taskloop.council import missing_members
from sidecar.systems.taskloop.reports import WorkerReport
from sidecar.systems.taskloop.service import ADHOC, TaskLoops, TaskRequest
from support.cases import KEY, session
from support.fakes import FailingLog, Fakes, prompt
from support.memory_stores import FixedConfiguration, MemoryJournals, MemoryLoops
from support.scripted_gates import FAILED, PASSED, ScriptedEnding
from support.task_loops import loops_over

pytestmark = pytest.mark.proves("the loop")

SESSION = session()
TESTS = Gate(id="tests", command="pytest", why="a test", kind=Kind.TESTS, approved=True)
SCAN = Gate(id="security", command="scan", why="a scanner", kind=Kind.SECURITY, approved=True)
UNRUN = ScriptedEnding(outcome=Outcome.COULD_NOT_RUN, exit_code=None, reason="no pytest")
ENDS = (LoopStatus.COMPLETED, LoopStatus.FAILED, LoopStatus.PAUSED)
STEPS = 25
WAITING_FOR_A_PERSON = {TaskStatus.FAILED, TaskStatus.BLOCKED}
FOUND = ("pass", "pass", "fail", "critical", "outside", "unrun")
CALLS = {
    LoopState.IDLE: ("session",),
    LoopState.SELECTING_AGENT: ("task", "task", "task", "end", "save", "restore", "set", "give"),
    LoopState.EXECUTING: ("report", "report", "report", "escalate", "task", "save", "restore", "set", "end"),
    LoopState.AWAITING_QUALITY_GATES: ("report", "report", "task", "save", "restore", "set", "end"),
    LoopState.ACTIVATING_BUG_COUNCIL: ("council", "end", "set"),
    LoopState.COMPLETED: ("session", "give"),
    LoopState.FAILED: ("session", "give"),
}
"""The calls that a state allows; those for which nothing is there yet are refused."""

Call = Callable[[], Coroutine[Any, Any, Any]]


class KilledError(BaseException):
    """The process is gone."""


class Life:
    """How many more saves a process lives to see; None for all."""

    saves: int | None = None

    def save(self) -> None:
        if self.saves is not None:
            if not self.saves:
                raise KilledError
            self.saves -= 1


class MortalLoops(MemoryLoops):
    def __init__(self, life: Life) -> None:
        super().__init__()
        self.life = life

    def save(self, loop: Loop) -> Loop:
        self.life.save()
        return super().save(loop)


class MortalJournals(MemoryJournals):
    def __init__(self, life: Life) -> None:
        super().__init__()
        self.life = life

    def save(self, key: SessionKey, journal: Journal) -> Journal:
        self.life.save()
        return super().save(key, journal)


class MortalLog(FailingLog):
    def __init__(self, life: Life) -> None:
        super().__init__()
        self.life = life

    def append(self, event: LoggedEvent) -> int:
        self.life.save()
        return super().append(event)


class History:
    """One loop, its process, and what must hold after every call."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.life = data, Life()
        settings = Settings(
            price={"haiku": ModelPrice(input=100.0, output=500.0)},
            loop=LoopSettings(
                max_iterations=self.draw(st.integers(1, 6)),
                max_cents=self.draw(st.sampled_from([None, None, 2.0])),
            ),
        )
        self.fakes = Fakes(
            configuration=FixedConfiguration(settings),
            journals=MortalJournals(self.life),
            loops=MortalLoops(self.life),
            log=MortalLog(self.life),
        )
        self.fakes.catalog.gates = (TESTS, SCAN)
        self.found = "pass"
        self.accepted: set[str] = set()
        self.iterations: dict[str, int] = {}
        self.loop = Loop(key=KEY)

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self.data.draw(strategy)

    async def begin(self) -> None:
        """Start a process over what the last one left."""
        self.life.saves = None
        supervisor = Supervisor(self.fakes.services)
        self.journals = SessionJournals(self.fakes.journals, self.fakes.log, self.fakes.clock)
        self.loops: TaskLoops = loops_over(self.fakes.services, supervisor.checks, self.journals)
        await supervisor.tell(prompt())

    # --- calls: each is drawn, and can be made again ---

    def choose(self) -> tuple[str, Call]:
        """Return a call that the state allows."""
        name = self.draw(st.sampled_from((*CALLS[self.loop.state], "tokens")))
        call: Call = getattr(self, f"a_{name}")()
        return name, call

    def task_ids(self) -> list[str]:
        return [task.id for task in self.journals.of(KEY).tasks] or ["T1"]

    def a_session(self) -> Call:
        return partial(self.start_session, self.draw(st.sampled_from(get_args(ExecutionMode))))

    def a_task(self) -> Call:
        asked = TaskRequest(
            task_id=self.draw(st.sampled_from((*self.task_ids(), ADHOC))),
            description=f"task {len(self.journals.of(KEY).tasks)}",
            acceptance_criteria=("it works",),
            scope_files=("*.py",),
        )
        return partial(self.start_task, asked)

    def a_report(self) -> Call:
        return partial(self.report, self.draw(st.sampled_from(FOUND)), self.draw(st.integers(0, 3)))

    def a_end(self) -> Call:
        return partial(self.end, self.draw(st.sampled_from(ENDS)))

    def a_set(self) -> Call:
        others = [ident for ident in self.task_ids() if ident != self.loop.task] or ["T9"]
        status = self.draw(st.sampled_from((TaskStatus.REMAINING, TaskStatus.COMPLETED)))
        return partial(self.set_status, self.draw(st.sampled_from(others)), status, Author.AGENT)

    def a_give(self) -> Call:
        ident = self.draw(st.sampled_from(self.task_ids()))
        return partial(self.set_status, ident, TaskStatus.REMAINING, Author.USER)

    def a_restore(self) -> Call:
        known = [one.id for one in self.loop.checkpoints] or ["C1"]
        return partial(self.restore, self.draw(st.sampled_from(known)))

    def a_tokens(self) -> Call:
        model = self.draw(st.sampled_from(("small", "small", "unknown")))
        return partial(self.record, model, self.draw(st.integers(0, 5_000)))

    def a_save(self) -> Call:
        return self.save

    def a_council(self) -> Call:
        return self.council

    def a_escalate(self) -> Call:
        return self.escalate

    async def save(self) -> None:
        await self.loops.checkpoints.save(SESSION)

    async def start_task(self, asked: TaskRequest) -> None:
        await self.loops.start_task(SESSION, asked)

    async def start_session(self, mode: ExecutionMode) -> None:
        self.loops.start_session(SESSION, "the parser", "bug", mode)

    async def end(self, status: LoopStatus) -> None:
        self.loops.end_session(SESSION, status)

    async def record(self, model: str, number: int) -> None:
        self.loops.record_tokens(SESSION, model, number, number)

    async def escalate(self) -> None:
        self.loops.escalate(SESSION, "it is hard")

    async def council(self) -> None:
        for member in missing_members(self.loops.councils.open_council(SESSION)):
            proposal = CouncilProposal(
                member=member, findings=("a.py:1",), hypothesis="h", suggested_fix="f", confidence=50
            )
            self.loops.councils.submit(SESSION, proposal)
        assert set(CouncilMember) == {one.member for one in self.loops.of(KEY).proposals}

    async def restore(self, ident: str) -> None:
        shown = await self.loops.checkpoints.restore(SESSION, ident)
        await self.loops.checkpoints.restore(SESSION, ident, shown.word)

    async def set_status(self, ident: str, status: TaskStatus, by: Author) -> None:
        """What the tool task_status does."""
        self.loops.check_status(SESSION, ident, status, by)
        if by is Author.USER:
            self.iterations.pop(ident, None)
        self.journals.change(KEY, lambda journal: set_task_status(journal, ident, status))
        if status is TaskStatus.COMPLETED:
            self.accepted.add(ident)  # allowed while no session is open: the journal alone

    async def report(self, found: str, number: int) -> None:
        gates, failing = self.fakes.gates, replace(FAILED, failing=(f"test_{number}",), seconds=60.0)
        gates.script("pytest", {"fail": failing, "unrun": UNRUN}.get(found, PASSED))
        critical = replace(FAILED, failures=("1 critical",), seconds=60.0)
        gates.script("scan", critical if found == "critical" else PASSED)
        changed = "deploy.sh" if found == "outside" else f"{number}.py"
        self.fakes.workspace.changes = ProjectChanges(files=(FileChange(path=changed),))
        self.fakes.workspace.tree = (
            f"{found}-{number}-{self.draw(st.integers())}"  # the same files end the same
        )
        task = self.loops.of(KEY).task
        if found == "pass":
            self.accepted.add(task)
        await self.loops.report_completion(SESSION, WorkerReport(summary="did it"))

    # --- rules ---

    def check(self, *, torn: bool) -> None:
        """Check what must hold. `torn`: a process died, and the call was not made again."""
        before, self.loop = self.loop, self.loops.of(KEY)
        loop, listed = self.loop, self.journals.of(KEY).tasks
        tasks = {task.id: task.status for task in listed}
        assert len({task.content for task in listed}) == len(listed), "an adhoc task was added twice"
        completed = {ident for ident, status in tasks.items() if status is TaskStatus.COMPLETED}
        assert completed <= self.accepted
        self.accepted &= completed
        ended = loop.state is LoopState.COMPLETED is not before.state
        assert not ended or not set(tasks) - completed
        assert loop.input_tokens >= before.input_tokens
        assert loop.spent_cents is None or loop.spent_cents >= (before.spent_cents or 0.0)
        at_work = "" if loop.state is LoopState.FAILED else loop.task
        assert at_work not in loop.held
        counted = {one.task: one.iteration for one in loop.parked} | {loop.task: loop.iteration}
        for ident, iteration in self.iterations.items():
            assert counted.get(ident, 0) >= iteration, ident
        self.iterations |= {ident: number for ident, number in counted.items() if ident}
        if not torn:
            assert {tasks[ident] for ident in loop.held} <= WAITING_FOR_A_PERSON
            assert {ident for ident, status in tasks.items() if status is TaskStatus.FAILED} <= set(loop.held)
            assert not at_work or tasks[at_work] is TaskStatus.IN_PROGRESS


async def play(history: History) -> None:
    await history.begin()
    torn = False
    for _ in range(STEPS):
        name, call = history.choose()
        note(name)
        history.life.saves = history.draw(st.sampled_from((None, None, None, 0, 1, 2, 3)))
        try:
            await call()
        except ToolRuleError:
            pass
        except KilledError:
            await history.begin()
            history.check(torn=True)
            if history.draw(st.sampled_from((True, True, True, False))):
                with suppress(ToolRuleError):
                    await call()
            else:
                torn = True
        history.life.saves = None
        history.check(torn=torn)


@given(data=st.data())
def test_no_history_breaks_a_rule_wherever_its_process_is_killed(data: st.DataObject) -> None:
    asyncio.run(play(History(data)))
