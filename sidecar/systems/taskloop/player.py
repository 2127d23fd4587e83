"""Plays the task loop with workers in the project itself, for `supervisor loop`.

What a worker says of its work is reported, whatever it is; the checks decide. One that failed, or says that
it is not done, has completed nothing. The loop's choice of the model is enforced here. However it ends, the
loop is saved, and the same session goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.gate import Gate, GateRun
from sidecar.kernel.journal import Author, TaskStatus, find_ready_tasks
from sidecar.kernel.loop import CommandType, CouncilMember, ExecutionMode, LoopState, LoopStatus
from sidecar.kernel.session import Environment, Session
from sidecar.systems.taskloop.policy.loop import Action
from sidecar.systems.taskloop.ports import LoopServices
from sidecar.systems.taskloop.reports import WorkerReport
from sidecar.systems.taskloop.service import Briefing, Completion, TaskLoops, TaskRequest
from sidecar.systems.taskloop.wording import list_lines
from sidecar.workers.ports import FINAL_FAILURES, CountedWorkers, WorkerError, WorkerTask

TOOLS: Final = ("Bash", "Read", "Write", "Edit", "Grep", "Glob")
UNBEGUN: Final = frozenset((LoopState.IDLE, LoopState.COMPLETED, LoopState.FAILED))
INTERRUPTED: Final = "interrupted"

Tell = Callable[[str, str], None]
"""Is told each step as it happens: its name ("task", "worker", "check" ...), and a line."""

log = logging.getLogger(__name__)


class PlayRequest(Struct, frozen=True, kw_only=True):
    """What is to be played. Without new `tasks` the session's own go on.

    `criteria` and `scope` are those of every new task. `model` is used instead of the loop's choice.
    `give_back`: halted tasks go back to the agents, as failed ones always do.
    """

    session: Session
    environment: Environment
    tasks: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    mode: ExecutionMode = "normal"
    kind: CommandType = "implement"
    model: str = ""
    give_back: bool = False


class PlayOutcome(StrEnum):
    """How it ended. STOPPED: it cannot go on before a person did something."""

    COMPLETED = "completed"
    FAILED = "failed"
    HALTED = "halted"
    STOPPED = "stopped"


LOST: Final = {Action.FAIL: PlayOutcome.FAILED, Action.HALT: PlayOutcome.HALTED}
"""How it ends where a task is not completed."""


class PlayEnd(Struct, frozen=True, kw_only=True):
    """How it ended, and why."""

    outcome: PlayOutcome
    message: str = ""


class _EndedError(Exception):
    """It ends here, and not as completed."""

    def __init__(self, message: str, outcome: PlayOutcome = PlayOutcome.STOPPED) -> None:
        super().__init__(message)
        self.end = PlayEnd(outcome=outcome, message=message)


class LoopPlayer:
    """Plays one session."""

    def __init__(self, loops: TaskLoops, services: LoopServices, asked: PlayRequest, tell: Tell) -> None:
        self._loops, self._tasks, self._workers = loops, services.tasks, services.workers
        self._asked, self._session, self._tell = asked, asked.session, tell

    async def play(self) -> PlayEnd:
        """Play it to its end. Cancelling ends the worker and pauses it. Raises OSError, BadInputError."""
        try:
            self._begin()
            while ready := find_ready_tasks(self._tasks.of(self._session.key)):
                await self._play_task(ready[0].id)
            self._loops.end_session(self._session, LoopStatus.COMPLETED)
        except ToolRuleError as error:
            end = PlayEnd(
                outcome=PlayOutcome.STOPPED, message=self._loops.words.say(error.rule, **error.values)
            )
        except _EndedError as error:
            end = error.end
        except asyncio.CancelledError:
            self._pause(INTERRUPTED)
            raise
        else:
            return PlayEnd(outcome=PlayOutcome.COMPLETED)
        if end.outcome is PlayOutcome.STOPPED:
            self._pause(end.message)
        return end

    def _pause(self, why: str) -> None:
        with suppress(ToolRuleError):  # there is nothing to pause
            self._loops.end_session(self._session, LoopStatus.PAUSED, why)

    def _begin(self) -> None:
        """Begin the session or go on with it; who typed its name gives failed tasks back."""
        asked, key = self._asked, self._session.key
        loop = self._loops.of(key)
        held = [self._tasks.task(key, ident) for ident in loop.held]
        back = [one for one in held if asked.give_back or one.status is not TaskStatus.BLOCKED]
        if not (asked.tasks or back or find_ready_tasks(self._tasks.of(key))):
            if held:
                raise _EndedError(self._loops.words.say("loop-halt", task=held[0].id), PlayOutcome.HALTED)
            raise BadInputError(f"session {key.id} has no task that could be begun; give it one")
        if loop.state in UNBEGUN:
            command = "; ".join(asked.tasks) or loop.command
            self._loops.start_session(self._session, command, asked.kind, asked.mode)
        for task in back:
            self._loops.check_status(self._session, task.id, TaskStatus.REMAINING, Author.USER)
            self._tasks.put_task(key, replace(task, status=TaskStatus.REMAINING))
        for content in asked.tasks:
            task = self._tasks.add_task(key, content, Author.USER)
            task = replace(task, acceptance_criteria=asked.criteria, scope_files=asked.scope)
            self._tasks.put_task(key, replace(task, status=TaskStatus.REMAINING))

    async def _play_task(self, ident: str) -> None:
        if self._loops.of(self._session.key).state is LoopState.ACTIVATING_BUG_COUNCIL:
            await self._hold_council()  # it was interrupted
        brief = await self._loops.start_task(self._session, TaskRequest(task_id=ident), Author.USER)
        self._tell_task(brief)
        answer = ""
        while True:
            done = await self._report(await self._work(brief, answer))
            action = done.action
            self._tell(action, f"{done.why} {self._spent()}")
            if action is Action.COMPLETE:
                return
            if action in LOST:
                raise _EndedError(done.why, LOST[action])
            if action is Action.COUNCIL:
                await self._hold_council()
            answer, brief = done.text, self._loops.context(self._session)

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
        )
        report = f"report {brief.loop.iteration + 1} of {brief.settings.loop.max_iterations}"
        self._tell("worker", f"{own or brief.model} works on {brief.task.id}, {report}")
        counted = CountedWorkers(self._workers)
        try:
            said = (await counted.run(task, brief.settings, log.debug)).answer
        except WorkerError as error:
            if error.failure in FINAL_FAILURES:  # it costs no report
                raise _EndedError(error.message) from None
            said = WorkerReport(summary=error.message, done=False)
        finally:
            self._loops.record_worker(self._session, counted.tokens, counted.cents)
        self._tell("worker", said.summary)
        return said

    async def _report(self, said: WorkerReport) -> Completion:
        done = await self._loops.report_completion(self._session, said, self._hear_gate)
        if (found := done.report) is not None:
            for gate in found.gates:
                self._tell("check", self._loops.words.gate(gate))
            for name, lines in (("outside", found.outside), ("weakened", found.weakened)):
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
            raise _EndedError(self._loops.words.say("loop-undecided", why=why))
        self._tell("council", f"{decided.winner}: {decided.recommended_fix} {self._spent()}")

    def _hear_member(self, member: CouncilMember, what: str) -> None:
        self._tell("council", f"{member} {what}")

    def _hear_gate(self, _ended: int, _every: int, gate: Gate, run: GateRun | None) -> None:
        if run is None:
            self._tell("check", f"{gate.id} runs: {gate.command}")

    def _tell_task(self, brief: Briefing) -> None:
        task = brief.task
        self._tell("task", f"{task.id}: {task.content}")
        why = "; ".join(brief.selection.reasoning) if brief.selection else "the task names it"
        self._tell("agent", f"{task.agent}; complexity {task.complexity}: tier {brief.loop.tier}; {why}")

    def _spent(self) -> str:
        loop = self._loops.of(self._session.key)
        return f"({loop.input_tokens + loop.output_tokens:,} tokens, {self._loops.words.cents(loop)})"
