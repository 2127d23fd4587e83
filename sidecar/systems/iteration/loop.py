"""The loop of `supervisor run`: start a fresh agent, wait until it rests, have its stop judged, repeat.

Rules of this module:

- The sidecar judges and stores everything; this process holds only what may be lost with it.
- The agent gets its prompt, the address of its tools and the session's environment, but no way to change the
  goal.
- Cancelling kills the agent and notifies the sidecar. Stored state is consistent, so the same session can be
  continued.
- A user's hook never decides whether the run continues.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal

from msgspec.structs import replace

from sidecar.hosts.ports import AgentResult, AgentTask, McpAccess
from sidecar.kernel import runs
from sidecar.kernel.errors import BadInputError, CommandRefusal
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.journal import Task, find_ready_tasks
from sidecar.kernel.log import RunIterationBegan, RunIterationEnded, WorkerRan
from sidecar.kernel.session import Limit
from sidecar.kernel.text import quote_as_code_block
from sidecar.platform.worktrees import InTheWayError
from sidecar.systems.iteration.jobs import MACHINE, Jobs
from sidecar.systems.iteration.output import AgentOutput
from sidecar.systems.iteration.policy import claims
from sidecar.systems.iteration.policy import loop as policy
from sidecar.systems.iteration.ports import RunParticipants
from sidecar.work import progress
from sidecar.work.merging import Workplace

END_NOTICE_SECONDS = 5.0
"""Seconds within which the sidecar must take the notice that a run is over."""
INTERRUPTED_OUTCOME: Final = "interrupted"
"""The outcome of a run that was ended from outside."""
NO_TASK: Final = Task(id="", content="")
"""Stands for the task of an agent that has none."""
BEAT_SECONDS = 10.0
"""Seconds between two signs of life of agents that work at once; a claim lasts several."""


@dataclass
class _Iteration:
    """One agent: its number of this goal, and what was there when it began.

    `task` is the one that is ready, without an id where there is none. `ident` is that of its stop. `end` is
    what the log will say of it, with the number 0 once it does.
    """

    number: int
    before: runs.RunStatus
    printed: str
    started: runs.StartedWorker | None
    task: Task
    ident: str
    at_work: bool = True
    end: RunIterationEnded = field(default_factory=lambda: RunIterationEnded(number=0, decided=""))

    @property
    def worker(self) -> int:
        """Its name among agents that work at once, 0 where it is alone."""
        return self.started.worker if self.started else 0


class AgentLoop:
    """One call of `supervisor run`."""

    def __init__(self, crew: RunParticipants, asked: runs.RunRequest) -> None:
        """Use `crew` for the request `asked`."""
        self._crew = crew
        self._asked = asked
        self._allowed = 0
        self._count = self._number = 0
        self._failures = 0
        self._feedback = ""
        self._printed = ""
        self._printed_after = ""
        self._access_tokens: set[str] = set()
        self._pausing = False
        self._waits_for = ""
        self._at_work: dict[asyncio.Task[progress.RunFinished | None], _Iteration] = {}
        self._over: list[_Iteration] = []
        self._judging = asyncio.Lock()
        self._task = crew.assigned.task if crew.assigned else None
        self._place = crew.assigned.place if crew.assigned else Workplace(asked.project, crew.environment)
        self._jobs = Jobs(crew, crew.worktrees, asked.session, asked.project) if crew.worktrees else None

    def pause(self) -> bool:
        """End the run after this iteration, or no longer; return which."""
        self._pausing = not self._pausing
        return self._pausing

    async def run(self) -> progress.RunFinished:
        """Run agents until the run is over. Raises BadInputError, OSError where it cannot begin."""
        await self._open()
        outcome: str = INTERRUPTED_OUTCOME
        keeping_up = asyncio.create_task(self._crew.overseer.stand_by())
        try:
            await self._take_up_earlier_work()
            self._printed = await self._hooks("before_session")
            try:
                ended = await self._work()
            except InTheWayError as error:
                ended = self._ended("waiting", str(error))
            except (OSError, BadInputError) as error:
                ended = self._ended("broken", str(error))
            outcome = ended.outcome
        finally:
            keeping_up.cancel()
            await self._close(outcome)
        self._crew.tell(ended := self._total(ended))
        return ended

    def interrupted(self) -> progress.RunFinished:
        """Return the end of a run that was ended from outside."""
        return self._total(self._ended(INTERRUPTED_OUTCOME, "it was ended from outside"))

    def _total(self, ended: progress.RunFinished) -> progress.RunFinished:
        budget = self._crew.budget
        spent = budget.obstacle(0, self._crew.settings)
        if spent and ended.outcome == GoalStatus.EXHAUSTED:
            ended = replace(ended, then=self._asked.again(*spent.way))
        return replace(ended, iterations=self._count, tokens=budget.tokens, cents=budget.cents)

    def _ended(self, outcome: policy.RunOutcome, detail: str) -> progress.RunFinished:
        return policy.run_ended(outcome, self._mask(detail), self._asked)

    async def _close(self, outcome: str) -> None:
        with suppress(OSError, BadInputError, TimeoutError):
            async with asyncio.timeout(END_NOTICE_SECONDS):
                await self._crew.overseer.end(outcome)
                for left in (*self._over, *self._at_work.values()):
                    await self._keep(left, outcome)
        if self._jobs:
            with suppress(OSError, BadInputError):  # what is left now is settled when the session goes on
                await self._jobs.recover(outcome)
        await self._hooks("after_session", outcome=outcome)

    async def _keep(self, it: _Iteration, decided: str) -> None:
        """Log how an iteration ended, unless that is there."""
        if it.end.number:
            ended, it.end = replace(it.end, decided=decided), replace(it.end, number=0)
            await self._crew.overseer.note(ended)

    async def _open(self) -> None:
        """Set the goal, or continue the existing one."""
        overseer = self._crew.overseer
        before = await overseer.look()
        asked = self._asked = policy.with_default_goal(self._asked, before)
        try:
            orders = policy.opening_orders(asked, before)
        except CommandRefusal as refusal:
            raise BadInputError(str(refusal)) from refusal
        decides = ""
        for order in orders:
            reply = await overseer.order(order)
            if reply.refused:
                raise BadInputError(reply.headline)
            decides = reply.details[0] if reply.work else decides
        await overseer.begin()
        now = await overseer.look(judge=True)
        self._allowed = policy.agent_limit(asked, now)
        self._feedback = quote_as_code_block(now.last_reason) if now.pending else ""
        self._crew.tell(
            progress.RunStarted(
                session=asked.session,
                project=asked.project,
                goal=now.condition,
                most=self._allowed,
                resumed=not policy.sets_new_goal(asked, before),
                minutes=round(now.seconds_left / 60),
                jobs=asked.jobs,
                decides=decides,
                then=asked.again(),
                tokens=self._crew.budget.tokens,
                cents=self._crew.budget.cents,
            )
        )
        if warning := policy.judge_warning(now, decides, assigned=bool(self._crew.assigned)):
            self._crew.tell(progress.RunWarning(text=warning))

    async def _take_up_earlier_work(self) -> None:
        """Go on with what was done for an assigned task; it is not part of what the goal began with."""
        if assigned := self._crew.assigned:
            self._task = replace(assigned.task, contested=await assigned.earlier())
            self._feedback = self._feedback or quote_as_code_block(assigned.feedback)

    async def _work(self) -> progress.RunFinished:
        """Keep agents at work until the run is over; those that are at work then are ended."""
        ended = await self._recover(self._jobs) if self._jobs else None
        try:
            while ended is None or (self._at_work and ended.outcome == GoalStatus.PAUSED):
                while ended is None and len(self._at_work) < max(1, self._asked.jobs):
                    at_work = sum(it.at_work for it in self._at_work.values())
                    if why := self._crew.budget.obstacle(at_work, self._crew.settings):
                        if why.waits and why.text != self._waits_for:
                            self._waits_for = why.text
                            self._crew.tell(progress.RunWarning(text=f"waits: {why.text}"))
                        waits = self._at_work or why.waits
                        ended = None if waits else self._ended("exhausted", why.text)
                        break
                    if (begun := await self._begin()) is None:
                        break
                    self._at_work[asyncio.create_task(self._iteration(begun))] = begun
                for task in await self._next_ends() if self._at_work or ended is None else ():
                    ended = task.result() or ended
                    self._over.append(self._at_work.pop(task))
        finally:
            for task in self._at_work:
                task.cancel()
            await asyncio.gather(*self._at_work, return_exceptions=True)
        return ended

    async def _recover(self, jobs: Jobs) -> progress.RunFinished | None:
        """Settle what an ended run left. Where that was the last task, nobody is started to be judged."""
        before = await self._crew.overseer.look()
        await jobs.recover()
        now = await self._crew.overseer.look()
        await self._completed(0, before, now)
        if now.journal.closed_at is None or not policy.newly_completed_tasks(before.journal, now.journal):
            return None
        left = _Iteration(0, now, "", None, NO_TASK, f"{self._crew.clock.now():.6f}-0")
        return await self._judged(left, AgentResult(), "")

    async def _next_ends(self) -> list[asyncio.Task[progress.RunFinished | None]]:
        """Wait until an agent's iteration ends; where several may work, also look around now and then."""
        seconds = BEAT_SECONDS if self._jobs else None
        if not self._at_work:  # agents of another machine hold what is left
            await self._crew.clock.pause(BEAT_SECONDS)
            return []
        await asyncio.wait(self._at_work, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._jobs:
            await self._crew.overseer.workers(self._claims_change("renew"))
        return [task for task in self._at_work if task.done()]

    def _claims_change(self, do: Literal["start", "renew"]) -> runs.WorkerChange:
        workers, planning = tuple(one.worker for one in self._at_work.values()), self._planning
        session = self._asked.session
        return runs.WorkerChange(session=session, machine=MACHINE, do=do, at_work=workers, planning=planning)

    @property
    def _planning(self) -> bool:
        """Whether an agent without a task is at work."""
        return any(one.started and not one.started.task for one in self._at_work.values())

    async def _begin(self) -> _Iteration | None:
        """Begin an iteration; None where it has to wait for those at work, or for claims to run out."""
        crew, at_work = self._crew, [one.worker for one in self._at_work.values()]
        now = await crew.overseer.look()
        number = policy.next_agent_number(now) + len(at_work)
        if self._jobs and (
            (at_work and (self._pausing or number > self._allowed))
            or not claims.start_worker(now.journal, crew.clock.now(), at_work, planning=self._planning)[1]
        ):
            return None
        self._number = number
        seconds = now.max_seconds or crew.settings.goal_max_seconds
        crew.budget.note(Limit(number - 1, self._allowed, "iterations"))
        crew.budget.note(Limit(seconds - now.seconds_left, seconds, "time"))
        printed = await self._hooks("before_iteration")  # it may add tasks
        started = await crew.overseer.workers(self._claims_change("start")) if self._jobs else None
        if self._jobs and started is None:
            return None
        before = await crew.overseer.look(iterate=not self._jobs)
        self._count += 1
        ready = (started.task,) if started else find_ready_tasks(before.journal)
        task = self._task or (ready[0] if ready else None) or NO_TASK
        crew.tell(progress.IterationStarted(iteration=number, most=self._allowed, task=task.content))
        return _Iteration(number, before, printed, started, task, f"{crew.clock.now():.6f}-{self._count}")

    async def _iteration(self, it: _Iteration) -> progress.RunFinished | None:
        """Run one agent and have its stop judged; return the end of the run, None where it continues."""
        try:
            rest = await self._agent(it)
        finally:  # also what an agent did that was ended, and before a stop is judged
            await self._commit(it)
        trouble = _agent_failure(rest)
        if trouble:
            await self._hooks("on_error", it.number, error=trouble)
        if rest.unusable:
            return self._ended("agent-failed", trouble)
        async with self._judging:
            return await self._judged(it, rest, trouble)

    async def _judged(self, it: _Iteration, rest: AgentResult, trouble: str) -> progress.RunFinished | None:
        crew, before = self._crew, it.before
        if self._jobs and it.started:
            before = await crew.overseer.look()  # what others did since it began is theirs
            await self._jobs.finish(it.started)
        ident = f"{self._asked.session}-{it.ident}"
        ruled = await crew.overseer.stopped(ident, before.pending, rest)
        now = await crew.overseer.look()
        self._feedback = ruled.say
        crew.tell(
            progress.IterationJudged(
                iteration=it.number,
                decision=ruled.decision,
                reason=ruled.reason,
                detail=ruled.detail,
                note=ruled.note,
                continuations=now.continuations,
                budget=now.budget,
            )
        )
        moved = policy.moved_tasks(before.journal, now.journal)
        it.end = replace(it.end, detail=self._mask(ruled.detail or ruled.note), moved=moved)
        await self._keep(it, ruled.reason if ruled.decision == "rest" else ruled.decision)
        await self._completed(it.number, before, now)
        self._printed_after = await self._hooks(
            "after_iteration", it.number, decision=ruled.decision, reason=ruled.reason
        )
        self._failures = self._failures + 1 if trouble else 0
        if (over := policy.run_end_after_stop(ruled, now, self._allowed, self._asked)) is not None:
            return over
        if self._failures == policy.MAX_AGENT_FAILURES:
            detail = f"{self._failures} agents in a row failed, the last one so: {trouble}"
            return self._ended("agent-failed", detail)
        return self._ended("paused", "as you wanted") if self._pausing else None

    async def _agent(self, it: _Iteration) -> AgentResult:
        """Start a fresh agent and wait until it rests."""
        crew, asked, before = self._crew, self._asked, it.before
        access = await self._access(it.worker)
        place = await self._jobs.open(it.started) if self._jobs and it.started else self._place
        material = runs.RunPromptInputs(
            session=asked.session,
            iteration=it.number,
            most=self._allowed,
            goal=before.condition,
            checks=before.checks,
            spec=crew.spec,
            feedback=self._feedback,
            before="\n".join(filter(None, (self._printed, self._printed_after, it.printed))),
            extra=crew.extra,
            subagents=crew.subagents,
            tools=runs.MCP_SERVER_NAME if access else "",
            branch=place.branch,
            task=it.started.task if it.started else self._task,
            journal=before.journal,
        )
        prompt, number = crew.word(material), it.worker or before.journal.iteration
        await crew.overseer.note(
            RunIterationBegan(
                number=number,
                iteration=it.number,
                most=self._allowed,
                prompt=self._mask(prompt),
                task=it.task.id,
            )
        )
        it.end = RunIterationEnded(number=number, decided="")
        task = AgentTask(
            prompt=prompt,
            project=place.folder,
            environment={**place.environment, "SUPERVISOR_SESSION": asked.session},
            seconds=policy.next_agent_seconds(before, crew.longest),
            access=access,
            guarded=asked.project if place.branch else "",
        )
        began, rest = crew.clock.now(), AgentResult()
        output = AgentOutput(
            self._mask,
            lambda line: crew.tell(progress.AgentPrinted(iteration=it.number, text=line)),
            lambda line: crew.hear(line, it.number),
        )
        try:
            rest = await crew.agent.run(task, output.feed)
        finally:
            rest = replace(rest, said=self._mask(rest.said), trouble=self._mask(rest.trouble))
            it.end = replace(
                it.end,
                seconds=round(crew.clock.now() - began - rest.waited, 1),
                exit_code=rest.exit_code,
                trouble=rest.trouble,
                tokens=rest.tokens,
                cents=rest.cents,
                output=output.close(),
            )
        it.at_work, end = False, it.end
        ran = WorkerRan(
            backend=runs.RUN_HOST, model="", tokens=end.tokens, cents=end.cents, calls=1, seconds=end.seconds
        )
        crew.budget.settle(ran, crew.settings)
        crew.tell(
            progress.AgentEnded(
                iteration=it.number,
                seconds=it.end.seconds,
                exit_code=rest.exit_code,
                said=rest.said,
                trouble=rest.trouble,
                tokens=rest.tokens,
                cents=rest.cents,
            )
        )
        return rest

    async def _commit(self, it: _Iteration) -> None:
        if self._crew.commit is None:
            return
        message = policy.commit_message(self._mask(it.task.content), self._asked.session, it.number)
        if told := await self._crew.commit(message):
            self._crew.tell(progress.RunWarning(text=self._mask(told)))

    async def _access(self, worker: int) -> McpAccess | None:
        try:
            access = await self._crew.overseer.access(worker)
        except (BadInputError, OSError) as error:
            self._crew.tell(progress.RunWarning(text=f"agents cannot reach their tools: {error}"))
            return None
        self._access_tokens.add(access.token)
        return access

    def _mask(self, text: str) -> str:
        """Mask secrets in a text of the agent."""
        clean = self._crew.mask(text)
        for token in self._access_tokens:
            clean = clean.replace(token, "***")
        return clean

    async def _completed(self, iteration: int, before: runs.RunStatus, now: runs.RunStatus) -> None:
        """Report the tasks that this agent completed, the first of them to the user's hooks too."""
        for number, task in enumerate(policy.newly_completed_tasks(before.journal, now.journal)):
            content = self._mask(task.content)
            self._crew.tell(progress.TaskCompleted(iteration=iteration, id=task.id, content=content))
            if number < policy.HOOKED_TASKS_LIMIT:
                await self._hooks("on_task_completed", iteration, task_id=task.id, task=content)

    async def _hooks(self, name: str, iteration: int | None = None, **facts: str) -> str:
        values = {
            "session": self._asked.session,
            "project": self._place.folder,
            "iteration": str(self._number if iteration is None else iteration),
            **facts,
        }
        return await self._crew.hooks.run(name, values, self._crew.tell)


def _agent_failure(rest: AgentResult) -> str:
    """Return why an agent failed, in one line; "" where it did not."""
    if rest.trouble or rest.exit_code in (0, None):
        return rest.trouble
    return f"the agent ended with exit code {rest.exit_code}"
