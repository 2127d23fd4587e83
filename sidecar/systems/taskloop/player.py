"""Plays the task loop with workers in the project itself, for `supervisor loop`.

What a worker says of its work is reported, whatever it is; the checks decide. One that failed, or says that
it is not done, has completed nothing. The loop's choice of the model is enforced here. However it ends, the
loop is saved, and the same session goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.gate import Gate, GateRun, Outcome
from sidecar.kernel.journal import Author, Journal, Task, TaskStatus, find_ready_tasks
from sidecar.kernel.loop import CommandType, CouncilMember, ExecutionMode, LoopState, LoopStatus, Tier
from sidecar.kernel.session import Environment, Session
from sidecar.kernel.text import counted
from sidecar.kernel.work import Standing
from sidecar.systems.taskloop.policy.agents import DYNAMIC
from sidecar.systems.taskloop.policy.loop import Action, start_session
from sidecar.systems.taskloop.policy.plan import PlannedTask, apply_planned, task_title
from sidecar.systems.taskloop.ports import LoopServices
from sidecar.systems.taskloop.reports import WorkerReport
from sidecar.systems.taskloop.service import Briefing, Completion, TaskLoops, TaskRequest
from sidecar.systems.taskloop.wording import list_lines
from sidecar.work.progress import Step, Tell
from sidecar.workers.ports import SELF, CountedWorkers, WorkerError, WorkerPlace, WorkerTask

TIERS: Final = tuple(tier for tier in Tier if tier is not Tier.COUNCIL)
NAMED: Final = 5
"""Tests that fail before anybody worked which a line names."""
OUTPUT_SHOWN: Final = 1_000
"""Characters of what a worker printed that a person is shown where no worker can go on."""
TOOLS: Final = ("Bash", "Read", "Write", "Edit", "Grep", "Glob")
HELD: Final = frozenset((TaskStatus.FAILED, TaskStatus.BLOCKED))
"""Tasks that wait for a person."""
UNBEGUN: Final = frozenset((LoopState.IDLE, LoopState.COMPLETED, LoopState.FAILED))
INTERRUPTED: Final = "interrupted"

log = logging.getLogger(__name__)


class PlayRequest(Struct, frozen=True, kw_only=True):
    """What is to be played. Without new `tasks` the session's own go on.

    `model` is used instead of the loop's choice. `give_back`: halted tasks go back to the agents, as failed
    ones do; `accept`: these are done, as the person says. `whole`: other open tasks are left out.
    `guarded`: a project that workers may not write, because they have a place of their own. `plan`: the file
    of the tasks, of which no worker's version counts. `branch`: what tasks are merged into, "" for the one
    that is checked out.
    """

    session: Session
    environment: Environment
    tasks: tuple[PlannedTask, ...] = ()
    whole: bool = False
    mode: ExecutionMode = "normal"
    kind: CommandType = "implement"
    model: str = ""
    give_back: bool = False
    accept: tuple[str, ...] = ()
    guarded: str = ""
    plan: str = ""
    branch: str = ""


class PlayOutcome(StrEnum):
    """How it ended, the worst last. STOPPED: it cannot go on before a person did something."""

    COMPLETED = "completed"
    JUDGED = "judged"
    """By a judge's word, or by nobody's, for a task at least."""
    FAILED = "failed"
    HALTED = "halted"
    STOPPED = "stopped"


LOST: Final = {Action.FAIL: PlayOutcome.FAILED, Action.HALT: PlayOutcome.HALTED}
"""How it ends where a task is not completed; other tasks go on first."""


class PlayEnd(Struct, frozen=True, kw_only=True):
    """How it ended, and why."""

    outcome: PlayOutcome
    message: str = ""


class EndedError(Exception):
    """It ends here, and not as completed."""

    def __init__(self, message: str, outcome: PlayOutcome = PlayOutcome.STOPPED) -> None:
        super().__init__(message)
        self.end = PlayEnd(outcome=outcome, message=message)


def _lost(ends: Iterable[PlayEnd]) -> EndedError:
    """Return the end of a session of which tasks were lost: the worst of theirs, with what each says."""
    ends = tuple(ends)
    worst = max((end.outcome for end in ends), key=tuple(PlayOutcome).index)
    return EndedError("\n".join(end.message for end in ends), worst)


class LoopPlayer:
    """Plays one session."""

    most = 1
    """Tasks that are played at once."""

    def __init__(self, loops: TaskLoops, services: LoopServices, asked: PlayRequest, tell: Tell) -> None:
        self._loops, self._tasks, self._workers = loops, services.tasks, services.workers
        self._asked, self._session, self._show = asked, asked.session, tell
        self._task = ""
        self._services, self._looked = services, False
        self._refused: WorkerError | None = None

    async def play(self) -> PlayEnd:
        """Play it to its end. Cancelling ends the worker and pauses it. Raises OSError, BadInputError."""
        try:
            self._begin()
            self._loops.models = self._models()
            await self._loops.remember_beginning(self._session)
            await self._play_tasks()
            self._loops.end_session(self._session, LoopStatus.COMPLETED, by=Author.USER)
        except ToolRuleError as error:
            end = PlayEnd(
                outcome=PlayOutcome.STOPPED, message=self._loops.words.say(error.rule, **error.values)
            )
        except EndedError as error:
            end = error.end
        except asyncio.CancelledError:
            self._pause(INTERRUPTED)
            raise
        else:
            return self._completed()
        self._pause(end.message, failed=end.outcome is PlayOutcome.FAILED)
        return end

    def _completed(self) -> PlayEnd:
        """Return the end of a session whose tasks are all done; where checks do not show each, which."""
        listed = self._tasks.of(self._session.key).tasks
        shown = {one: ", ".join(task.id for task in listed if task.shown is one) for one in Standing}
        judged, nobody = shown[Standing.JUDGED], shown[Standing.NOT_JUDGED]
        if not (judged or nobody):
            return PlayEnd(outcome=PlayOutcome.COMPLETED)
        message = self._loops.words.say("loop-unproved", judged=judged, nobody=nobody)
        return PlayEnd(outcome=PlayOutcome.JUDGED, message=message)

    def _pause(self, why: str, *, failed: bool = False) -> None:
        with suppress(ToolRuleError):  # there is nothing to pause
            self._loops.end_session(self._session, LoopStatus.FAILED if failed else LoopStatus.PAUSED, why)

    def _begin(self) -> None:
        """Begin the session or go on with it; who typed its name gives failed tasks back."""
        asked, key = self._asked, self._session.key
        for ident in map(str.upper, asked.accept):
            self._accept(self._tasks.task(key, ident))
        self._plan_tasks()
        loop, held = self._loops.of(key), [task for task in self._journal().tasks if task.status in HELD]
        back = [one for one in held if asked.give_back or one.status is not TaskStatus.BLOCKED]
        if not (asked.accept or back or find_ready_tasks(self._tasks.of(key))):
            if held:
                names = ", ".join(task.id for task in held)
                raise EndedError(self._loops.words.say("loop-open-tasks", tasks=names), PlayOutcome.HALTED)
            if loop.state in UNBEGUN and not asked.tasks:
                raise BadInputError(f"session {key.id} has no task that could be begun; give it one")
        if loop.state in UNBEGUN:
            command = "; ".join(task.title for task in asked.tasks) or loop.command
            self._loops.start_session(self._session, command, asked.kind, asked.mode)
        for task in back:
            self._give_back(task)

    def _plan_tasks(self) -> None:
        """Put what is asked for into the journal. What has the title of a task that is there is that task."""
        asked, key = {one.title: one for one in self._asked.tasks}, self._session.key
        known = {task_title(task): task for task in self._tasks.of(key).tasks}
        gone = [task for title, task in known.items() if task.open and title not in asked]
        for task in gone if self._asked.whole else ():
            self._leave(task.id)
            self._tasks.drop_task(key, task.id)
        for title in (title for title in asked if title not in known):
            task = self._tasks.add_task(key, asked[title].content, Author.USER)
            known[title] = replace(task, status=TaskStatus.REMAINING)
        ids = {title: task.id for title, task in known.items()}
        for title, one in asked.items():
            task = apply_planned(known[title], one, ids)
            if known[title].open and not task.open:
                self._leave(task.id)
            if task is not known[title]:
                self._tasks.put_task(key, task)
        if self._asked.whole:
            done = sum(not self._tasks.task(key, ids[title]).open for title in asked)
            left_out = "".join(f"; left out, not in it any more: {task_title(task)}" for task in gone)
            self._tell("plan", f"{done} of {counted(len(asked), 'task')} done{left_out}")

    def _leave(self, ident: str) -> None:
        """Let go of a task that a person takes as done or takes back. One at work is left first."""
        if (loop := self._loops.of(self._session.key)).task == ident:
            self._pause(f"{ident} is not to be done any more", failed=True)
            self._loops.start_session(self._session, loop.command, self._asked.kind, self._asked.mode)
        self._loops.check_status(self._session, ident, TaskStatus.COMPLETED, Author.USER)

    def _accept(self, task: Task) -> None:
        self._leave(task.id)
        self._tasks.put_task(self._session.key, replace(task, status=TaskStatus.COMPLETED))

    def _give_back(self, task: Task) -> None:
        self._loops.check_status(self._session, task.id, TaskStatus.REMAINING, Author.USER)
        self._tasks.put_task(self._session.key, replace(task, status=TaskStatus.REMAINING))

    async def _play_tasks(self) -> None:
        """Play all tasks, each as soon as nothing holds it back. Raises EndedError where one is lost."""
        lost, at_work = dict[str, PlayEnd](), dict[asyncio.Task[PlayEnd | None], str]()
        try:
            while True:
                taken = {*lost, *at_work.values()}
                ready = (task.id for task in find_ready_tasks(self._journal()) if task.id not in taken)
                for ident in islice(ready, self.most - len(at_work)):
                    at_work[asyncio.create_task(self._play_task(ident))] = ident
                if not at_work:
                    break
                for one in (await asyncio.wait(at_work, return_when=asyncio.FIRST_COMPLETED))[0]:
                    ident = at_work.pop(one)
                    if (end := one.result()) is not None:
                        lost[ident] = end
        finally:
            for one in at_work:
                one.cancel()
            await asyncio.gather(*at_work, return_exceptions=True)
        if lost:
            raise _lost(lost.values())

    def _journal(self) -> Journal:
        return self._tasks.of(self._session.key)

    async def play_alone(self, ident: str) -> PlayEnd | None:
        """Play a task in a session that is a part of another; return how it was lost, None if it is done."""
        loop = self._loops.of(self._session.key)
        if loop.state in UNBEGUN:
            loop = start_session(loop, loop.command, self._asked.kind, self._asked.mode)
            self._loops.states.save(self._session, loop)
        return await self._play_task(ident)

    async def _play_task(self, ident: str) -> PlayEnd | None:
        """Play a task to its end; return how it was lost, None where it is done."""
        self._task = ident
        if self._loops.of(self._session.key).state is LoopState.ACTIVATING_BUG_COUNCIL:
            await self._hold_council()  # it was interrupted
        brief = await self._loops.start_task(self._session, TaskRequest(task_id=ident), Author.USER)
        self._tell_task(brief)
        if not self._looked and not (brief.loop.goal and brief.loop.goal.baseline):
            await self._look_before()
        self._looked, answer = True, ""
        while True:
            done = await self._report(await self._work(brief, answer))
            action = done.action
            self._tell(action, f"{done.why} {self._spent()}", outcome=action, attempt=done.iteration)
            if action in {Action.COMPLETE, Action.DONE}:
                return None
            if action in LOST:
                end = PlayEnd(outcome=LOST[action], message=done.why)
                if done.status is LoopStatus.PAUSED:  # a critical finding: nothing goes on
                    raise _lost((end,))
                return end
            if action is Action.COUNCIL:
                await self._hold_council()
            answer, brief = done.text, self._loops.context(self._session)

    def _models(self) -> Mapping[str, str]:
        """Return what workers really run on. Raises EndedError where none could be started."""
        own, settings = self._asked.model, self._loops.states.settings()
        agents = {one.model for one in self._loops.agents(self._session).values()} - {DYNAMIC}
        names, project = (own,) if own else (*sorted(agents), *TIERS), self._session.project
        at = [WorkerPlace(model=name, project=project, environment=self._asked.environment) for name in names]
        try:
            return self._workers.models(at, settings, limited=settings.loop.max_cents is not None)
        except WorkerError as error:
            raise EndedError(error.message) from None

    async def _look_before(self) -> None:
        """Run the checks before the first worker, and tell what fails already."""
        for run in await self._loops.look_before(self._session, self._hear_gate):
            if run.outcome is Outcome.FAILED:
                said = f"{run.gate.id} fails before anybody worked; what fails so does not count: "
                said += "; ".join(run.failing[:NAMED] or run.failures[:NAMED])
                self._tell("check", said, gate=run.gate.id, outcome=run.outcome)

    async def _work(self, brief: Briefing, answer: str) -> WorkerReport:
        """Let a worker do the task. `answer` is the one to the report before."""
        words, own = self._loops.words, self._asked.model
        refused = words.say("loop-refused", answer=answer) if answer else ""
        task = WorkerTask(
            prompt="\n\n".join(filter(None, (brief.text, refused, words.say("loop-worker")))),
            answer=WorkerReport,
            tools=TOOLS,
            model=own or brief.model_name,
            project=self._session.project,
            environment=self._asked.environment,
            guarded=self._asked.guarded,
        )
        report = f"report {brief.loop.iteration + 1} of {brief.settings.loop.max_iterations}"
        who = "the host's own model" if brief.model == SELF else brief.model
        self._tell("worker", f"{own or who} works on {brief.task.id}, {report}")
        counted = CountedWorkers(self._workers)
        try:
            said = (await counted.run(task, brief.settings, log.debug)).answer
            self._refused = None
        except WorkerError as error:
            if error.is_final(self._refused):  # it costs no report
                raise EndedError(f"{error.message}\n{error.output[-OUTPUT_SHOWN:]}".strip()) from None
            said, self._refused = WorkerReport(summary=error.message, done=False), error
        finally:
            self._loops.record_worker(self._session, counted.tokens, counted.cents)
        self._tell("worker", said.summary)
        return said

    async def _report(self, said: WorkerReport) -> Completion:
        done = await self._loops.report_completion(self._session, said, self._hear_gate)
        if (found := done.report) is not None:
            self._refused = None if found.files else self._refused
            for gate in found.gates:
                self._tell("check", self._loops.words.gate(gate), gate=gate.id, outcome=gate.verdict)
            told = (("missing", found.missing), ("outside", found.outside), ("checks", found.weakened))
            for name, lines in told:
                if lines:
                    self._tell(name, "; ".join(lines))
        return done

    async def _hold_council(self) -> None:
        """Hold the council on the task at work, and go on with what it decides."""
        councils, model = self._loops.councils, self._asked.model
        self._tell("council", councils.estimate(self._session, model).text)
        met = await councils.meet(self._session, self._hear_member, model)
        if (decided := met.decision) is None:
            why = list_lines(f"{member}: {why}" for member, why in met.left_out)
            raise EndedError(self._loops.words.say("loop-undecided", why=why))
        self._tell("council", f"{decided.winner}: {decided.recommended_fix} {self._spent()}")

    def _hear_member(self, member: CouncilMember, what: str) -> None:
        self._tell("council", f"{member} {what}")

    def _hear_gate(self, _ended: int, _every: int, gate: Gate, run: GateRun | None) -> None:
        if run is None:
            self._tell("check", f"{gate.id} runs: {gate.command}", gate=gate.id)

    def _tell_task(self, brief: Briefing) -> None:
        task = brief.task
        self._tell("task", f"{task.id}: {task_title(task)}")
        why = "; ".join(brief.selection.reasoning) if brief.selection else "the task names it"
        self._tell("agent", f"{task.agent}; complexity {task.complexity}: tier {brief.loop.tier}; {why}")

    def _tell(self, kind: str, text: str, attempt: int = 0, gate: str = "", outcome: str = "") -> None:
        """Tell a step of the task at work; its `attempt` is the next report's where it is not given."""
        loop = self._loops.of(self._session.key)
        self._show(
            Step(
                kind=kind,
                text=text,
                task=self._task,
                attempt=attempt or loop.iteration + 1,
                gate=gate,
                outcome=outcome,
                tokens=loop.input_tokens + loop.output_tokens,
                cents=loop.spent_cents,
            )
        )

    def _spent(self) -> str:
        loop = self._loops.of(self._session.key)
        return f"({loop.input_tokens + loop.output_tokens:,} tokens, {self._loops.words.cents(loop)})"
