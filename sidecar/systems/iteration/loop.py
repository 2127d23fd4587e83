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
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from sidecar.hosts.ports import AgentResult, AgentRunner, AgentTask, McpAccess
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import BadInputError, CommandRefusal
from sidecar.kernel.journal import find_ready_tasks
from sidecar.kernel.log import RunHistoryEvent, RunIterationBegan, RunIterationEnded
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.runs import (
    MCP_SERVER_NAME,
    AgentEnded,
    AgentPrinted,
    HookRan,
    IterationStarted,
    RunFinished,
    RunProgressEvent,
    RunPromptInputs,
    RunRequest,
    RunStarted,
    RunStatus,
    RunWarning,
    StopDecision,
    StopJudged,
    TaskCompleted,
)
from sidecar.kernel.session import Environment
from sidecar.kernel.text import quote_as_code_block
from sidecar.platform.ports import Clock
from sidecar.systems.iteration.output import AgentOutput
from sidecar.systems.iteration.policy import loop as policy

END_NOTICE_SECONDS = 5.0
"""Seconds within which the sidecar must take the notice that a run is over."""
INTERRUPTED_OUTCOME = "interrupted"
"""The outcome of a run that was ended from outside."""


class SidecarSession(Protocol):
    """The sidecar, asked about one session. Every method raises BadInputError where it refuses, OSError."""

    async def look(self, *, iterate: bool = False, judge: bool = False) -> RunStatus:
        """Return the session's status. `iterate`: its next iteration begins. `judge`: fill in `no_judge`."""

    async def typed(self, name: str, arguments: str) -> CommandReply:
        """Carry out a command of ours, as typed by the person who started the run."""

    async def begin(self) -> None:
        """Report that a person set an agent to work."""

    async def stopped(self, ident: str, said: str, arrived: str) -> StopDecision:
        """Have a stop judged. `arrived`: the id of the continuation that the agent was given, "" for none."""

    async def note(self, event: RunHistoryEvent) -> None:
        """Keep an event of the run in the log."""

    async def end(self, why: str) -> None:
        """Report that the run is over."""

    async def access(self) -> McpAccess:
        """Return where an agent of this session reaches its tools."""

    async def stand_by(self) -> None:
        """Keep the sidecar running while agents work, until cancelled or until that fails."""


class RunHookRunner(Protocol):
    """Runs the user's own commands around sessions and iterations."""

    async def run(self, name: str, facts: Mapping[str, str], tell: Callable[[HookRan], None]) -> str:
        """Run the hooks of this name in order; return their output, bounded and masked. Never raises."""


@dataclass(frozen=True, kw_only=True)
class RunParticipants:
    """What a run needs. `word` builds the prompt; `tell` informs observers; `mask` masks what they are told.

    `hear` gets the line that the agent is writing. `longest`: seconds that one agent may take. `spec`,
    `extra` and `subagents`: see RunPromptInputs. `commit` commits what an iteration changed, with a message,
    and returns why that failed.
    """

    overseer: SidecarSession
    agent: AgentRunner
    hooks: RunHookRunner
    clock: Clock
    word: Callable[[RunPromptInputs], str]
    tell: Callable[[RunProgressEvent], None]
    hear: Callable[[str], None]
    mask: SecretMask
    environment: Environment
    longest: float
    spec: str = ""
    extra: str = ""
    subagents: str = ""
    commit: Callable[[str], Awaitable[str]] | None = None


class AgentLoop:
    """One call of `supervisor run`."""

    def __init__(self, crew: RunParticipants, asked: RunRequest) -> None:
        """Use `crew` for the request `asked`."""
        self._crew = crew
        self._asked = asked
        self._allowed = 0
        self._count = 0
        self._number = 0
        self._failures = 0
        self._feedback = ""
        self._printed = ""
        self._printed_after = ""
        self._token = ""
        self._pausing = False
        self._at_work = RunIterationEnded(number=0, decided="")

    def pause(self) -> bool:
        """End the run after this iteration, or no longer; return which."""
        self._pausing = not self._pausing
        return self._pausing

    @property
    def count(self) -> int:
        """How many agents were started so far."""
        return self._count

    async def run(self) -> RunFinished:
        """Run agents until the run is over. Raises BadInputError, OSError where it cannot begin."""
        await self._open()
        outcome = INTERRUPTED_OUTCOME
        standing_by = asyncio.create_task(self._crew.overseer.stand_by())
        try:
            self._printed = await self._hooks("before_session")
            try:
                while (ended := await self._iteration()) is None:
                    pass
            except (OSError, BadInputError) as error:
                ended = policy.broken_run_end(self._mask(str(error)), self._count)
            outcome = ended.outcome
        finally:
            standing_by.cancel()
            await self._close(outcome)
        self._crew.tell(ended)
        return ended

    async def _close(self, outcome: str) -> None:
        with suppress(OSError, BadInputError, TimeoutError):
            async with asyncio.timeout(END_NOTICE_SECONDS):
                await self._crew.overseer.end(outcome)
                if self._at_work.number:
                    await self._crew.overseer.note(replace(self._at_work, decided=outcome))
        await self._hooks("after_session", outcome=outcome)

    async def _open(self) -> None:
        """Set the goal, or continue the existing one."""
        overseer = self._crew.overseer
        before = await overseer.look()
        asked = self._asked = policy.with_default_goal(self._asked, before)
        try:
            orders = policy.opening_commands(asked, before)
        except CommandRefusal as refusal:
            raise BadInputError(str(refusal)) from refusal
        for order in orders:
            reply = await overseer.typed(order.name, order.arguments)
            if reply.refused:
                raise BadInputError(reply.text.removeprefix("Supervisor: ").removeprefix("refused: "))
        await overseer.begin()
        now = await overseer.look(judge=True)
        self._allowed = policy.agent_limit(asked, now)
        self._feedback = quote_as_code_block(now.last_reason) if now.pending else ""
        self._crew.tell(
            RunStarted(
                session=asked.session,
                project=asked.project,
                goal=now.condition,
                most=self._allowed,
                resumed=policy.resumes_goal(asked, before),
                minutes=round(now.seconds_left / 60),
            )
        )
        if told := policy.judge_warning(now):
            self._crew.tell(RunWarning(text=told))

    async def _iteration(self) -> RunFinished | None:
        """Run one agent and have its stop judged; return the end of the run, None where it continues."""
        crew = self._crew
        self._number = policy.next_agent_number(await crew.overseer.look())
        printed = await self._hooks("before_iteration")  # it may add tasks
        before = await crew.overseer.look(iterate=True)
        self._count += 1
        ready_tasks = find_ready_tasks(before.journal)
        task = ready_tasks[0].content if ready_tasks else ""
        crew.tell(IterationStarted(iteration=self._number, most=self._allowed, task=task))
        rest = await self._agent(before, printed)
        trouble = _agent_failure(rest)
        if trouble:
            await self._hooks("on_error", error=trouble)
        if rest.unusable:
            return policy.unusable_agent_end(trouble, self._count)
        await self._commit(task)
        ruled = await crew.overseer.stopped(
            f"{self._asked.session}-{crew.clock.now():.6f}-{self._count}", rest.said, before.pending
        )
        now = await crew.overseer.look()
        self._feedback = ruled.say
        crew.tell(
            StopJudged(
                iteration=self._number,
                decision=ruled.decision,
                reason=ruled.reason,
                detail=ruled.detail,
                note=ruled.note,
                continuations=now.continuations,
                budget=now.budget,
            )
        )
        ended = replace(
            self._at_work,
            decided=ruled.reason if ruled.decision == "rest" else ruled.decision,
            detail=self._mask(ruled.detail or ruled.note),
            moved=policy.moved_tasks(before.journal, now.journal),
        )
        self._at_work = replace(ended, number=0)
        await crew.overseer.note(ended)
        await self._completed(before, now)
        self._printed_after = await self._hooks(
            "after_iteration", decision=ruled.decision, reason=ruled.reason
        )
        self._failures = self._failures + 1 if trouble else 0
        return (
            policy.run_end_after_stop(ruled, now, self._allowed, self._count)
            or policy.run_end_after_failure(trouble, self._failures, self._count)
            or (policy.paused_run_end(self._asked.session, self._count) if self._pausing else None)
        )

    async def _agent(self, standing: RunStatus, printed: str) -> AgentResult:
        """Start a fresh agent and wait until it rests."""
        crew, asked = self._crew, self._asked
        access = await self._access()
        material = RunPromptInputs(
            session=asked.session,
            iteration=self._number,
            most=self._allowed,
            goal=standing.condition,
            checks=standing.checks,
            spec=crew.spec,
            feedback=self._feedback,
            before="\n".join(filter(None, (self._printed, self._printed_after, printed))),
            extra=crew.extra,
            subagents=crew.subagents,
            tools=MCP_SERVER_NAME if access else "",
            journal=standing.journal,
        )
        prompt, number = crew.word(material), standing.journal.iteration
        await crew.overseer.note(
            RunIterationBegan(
                number=number, iteration=self._number, most=self._allowed, prompt=self._mask(prompt)
            )
        )
        self._at_work = RunIterationEnded(number=number, decided="")
        errand = AgentTask(
            prompt=prompt,
            project=asked.project,
            environment={**crew.environment, "SUPERVISOR_SESSION": asked.session},
            seconds=policy.next_agent_seconds(standing, crew.longest),
            access=access,
        )
        started, rest = crew.clock.now(), AgentResult()
        output = AgentOutput(self._mask, crew.clock.now, self._printed_line, crew.hear)
        try:
            rest = await crew.agent.run(errand, output.feed)
        finally:
            rest = replace(rest, said=self._mask(rest.said), trouble=self._mask(rest.trouble))
            self._at_work = replace(
                self._at_work,
                seconds=round(crew.clock.now() - started, 1),
                exit_code=rest.exit_code,
                trouble=rest.trouble,
                tokens=rest.tokens,
                cents=rest.cents,
                output=output.close(),
            )
        crew.tell(
            AgentEnded(
                iteration=self._number,
                seconds=self._at_work.seconds,
                exit_code=rest.exit_code,
                said=rest.said,
                trouble=rest.trouble,
                tokens=rest.tokens,
                cents=rest.cents,
            )
        )
        return rest

    def _printed_line(self, line: str) -> None:
        self._crew.tell(AgentPrinted(iteration=self._number, text=line))

    async def _commit(self, task: str) -> None:
        """Commit before the stop is judged, so that what is judged is what was committed."""
        if self._crew.commit is None:
            return
        message = policy.commit_message(self._mask(task), self._asked.session, self._number)
        if why := await self._crew.commit(message):
            self._crew.tell(RunWarning(text=f"this iteration was not committed: {self._mask(why)}"))

    async def _access(self) -> McpAccess | None:
        try:
            access = await self._crew.overseer.access()
        except (BadInputError, OSError) as error:
            self._crew.tell(RunWarning(text=f"agents cannot reach their tools: {error}"))
            return None
        self._token = access.token
        return access

    def _mask(self, text: str) -> str:
        """Mask secrets in a text of the agent."""
        clean = self._crew.mask(text)
        return clean.replace(self._token, "***") if self._token else clean

    async def _completed(self, before: RunStatus, now: RunStatus) -> None:
        """Report the tasks that this agent completed, the first of them to the user's hooks too."""
        for number, task in enumerate(policy.newly_completed_tasks(before.journal, now.journal)):
            content = self._mask(task.content)
            self._crew.tell(TaskCompleted(iteration=self._number, id=task.id, content=content))
            if number < policy.HOOKED_TASKS_LIMIT:
                await self._hooks("on_task_completed", task_id=task.id, task=content)

    async def _hooks(self, name: str, **facts: str) -> str:
        told = {
            "session": self._asked.session,
            "project": self._asked.project,
            "iteration": str(self._number),
            **facts,
        }
        return await self._crew.hooks.run(name, told, self._crew.tell)


def _agent_failure(rest: AgentResult) -> str:
    """Return why an agent failed, in one line; "" where it did not."""
    if rest.trouble or rest.exit_code in (0, None):
        return rest.trouble
    return f"the agent ended with exit code {rest.exit_code}"
