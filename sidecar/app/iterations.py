"""The loop of `supervisor run`: start an agent afresh, let it rest, have it judged, and again.

The laws of this file:

- The sidecar judges and keeps everything; here is only what is lost with the process.
- The agent gets its prompt, its tools' address and the session's environment, and no way to change the goal.
- Cancelling kills the agent and says so to the sidecar. What was kept is whole: the same session goes on.
- What a hook of the user's does never decides whether the run goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from sidecar.model.effects import Reply
from sidecar.model.iterations import (
    Asked,
    Completed,
    Ended,
    Happening,
    Hooked,
    Judged,
    Material,
    Opened,
    Rested,
    Ruled,
    Standing,
    Started,
    Warned,
)
from sidecar.policy import iterations as policy
from sidecar.policy.arguments import Refusal
from sidecar.policy.journal import ready
from sidecar.policy.run_prompt import quoted
from sidecar.ports import Access, AgentRest, AgentRunner, BadInputError, Clock, Environment, Errand, Mask

FAREWELL_S = 5.0
"""Seconds that the sidecar gets to hear that a run is over."""
INTERRUPTED = "interrupted"
"""The outcome of a run that was ended from outside."""
TOOLS = "supervisor"
"""The name of our MCP server in every host."""


class Overseer(Protocol):
    """The sidecar, asked about one session. Everything raises BadInputError where it refuses, OSError."""

    async def look(self, *, iterate: bool = False) -> Standing:
        """Where the session stands. `iterate`: its next iteration begins."""

    async def typed(self, name: str, arguments: str) -> Reply:
        """Carry out a command of ours, as typed by the person who started the run."""

    async def begin(self) -> None:
        """Say that an agent is set to work by a person."""

    async def stopped(self, ident: str, said: str, arrived: str) -> Ruled:
        """Have a stop judged. `arrived`: the id of the continuation that the agent was given, "" for none."""

    async def end(self, why: str) -> None:
        """Say that the run is over."""

    async def access(self) -> Access:
        """Where an agent of this session reaches its tools."""

    async def stand_by(self) -> None:
        """Keep the sidecar there while agents work, until cancelled or in vain."""


class Hooks(Protocol):
    """The commands of the user's own around sessions and iterations."""

    async def run(self, name: str, facts: Mapping[str, str], tell: Callable[[Hooked], None]) -> str:
        """Run those of this name one after the other; what they printed, bounded and masked. Never raises."""


@dataclass(frozen=True, kw_only=True)
class Crew:
    """Who takes part. `word` makes the prompt; `tell` and `hear` are for those who look on, `mask` for both.

    `longest`: seconds that one agent may take. `spec` and `extra`: see Material.
    """

    overseer: Overseer
    agent: AgentRunner
    hooks: Hooks
    clock: Clock
    word: Callable[[Material], str]
    tell: Callable[[Happening], None]
    hear: Callable[[str], None]
    mask: Mask
    environment: Environment
    longest: float
    spec: str = ""
    extra: str = ""


class Run:
    """One call of `supervisor run`."""

    def __init__(self, crew: Crew, asked: Asked) -> None:
        """Work with `crew` on what was `asked`."""
        self._crew = crew
        self._asked = asked
        self._allowed = 0
        self._count = 0
        self._number = 0
        self._failures = 0
        self._feedback = ""
        self._printed = ""
        self._token = ""

    @property
    def count(self) -> int:
        """How many agents were started so far."""
        return self._count

    async def run(self) -> Ended:
        """Let agents work until the run is over. Raises BadInputError, OSError for what cannot begin."""
        await self._open()
        outcome = INTERRUPTED
        standing_by = asyncio.create_task(self._crew.overseer.stand_by())
        try:
            self._printed = await self._hooks("before_session")
            try:
                while (ended := await self._iteration()) is None:
                    pass
            except (OSError, BadInputError) as error:
                ended = policy.broken(self._mask(str(error)), self._count)
            outcome = ended.outcome
        finally:
            standing_by.cancel()
            await self._close(outcome)
        self._crew.tell(ended)
        return ended

    async def _close(self, outcome: str) -> None:
        with suppress(OSError, BadInputError, TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._crew.overseer.end(outcome)
        await self._hooks("after_session", outcome=outcome)

    async def _open(self) -> None:
        """Set the goal, or go on with the one that is there."""
        asked, overseer = self._asked, self._crew.overseer
        before = await overseer.look()
        try:
            orders = policy.opening(asked, before)
        except Refusal as refusal:
            raise BadInputError(str(refusal)) from refusal
        for order in orders:
            reply = await overseer.typed(order.name, order.arguments)
            if reply.refused:
                raise BadInputError(reply.text.removeprefix("Supervisor: ").removeprefix("refused: "))
        await overseer.begin()
        now = await overseer.look()
        self._allowed = policy.most(asked, now)
        self._feedback = quoted(now.last_reason) if now.pending else ""
        self._crew.tell(
            Opened(
                session=asked.session,
                project=asked.project,
                goal=now.condition,
                most=self._allowed,
                resumed=policy.resumes(asked, before),
            )
        )

    async def _iteration(self) -> Ended | None:
        """One agent, from its prompt to the ruling on its stop; the end of the run, None where it goes on."""
        crew = self._crew
        self._number = policy.number(await crew.overseer.look())
        printed = await self._hooks("before_iteration")  # it may add tasks
        before = await crew.overseer.look(iterate=True)
        self._count += 1
        ready_tasks = ready(before.journal)
        task = ready_tasks[0].content if ready_tasks else ""
        crew.tell(Started(iteration=self._number, most=self._allowed, task=task))
        rest = await self._agent(before, printed)
        trouble = _failed(rest)
        if trouble:
            await self._hooks("on_error", error=trouble)
        ruled = await crew.overseer.stopped(
            f"{self._asked.session}-{crew.clock.now():.6f}-{self._count}", rest.said, before.pending
        )
        now = await crew.overseer.look()
        self._feedback = ruled.say
        crew.tell(
            Judged(
                iteration=self._number,
                decision=ruled.decision,
                reason=ruled.reason,
                detail=ruled.detail,
                note=ruled.note,
                continuations=now.continuations,
                budget=now.budget,
            )
        )
        await self._completed(before, now)
        await self._hooks("after_iteration", decision=ruled.decision, reason=ruled.reason)
        self._failures = self._failures + 1 if trouble else 0
        return policy.after(ruled, now, self._allowed, self._count) or policy.failing(
            trouble, self._failures, self._count
        )

    async def _agent(self, standing: Standing, printed: str) -> AgentRest:
        """Start an agent afresh and wait until it rests."""
        crew, asked = self._crew, self._asked
        access = await self._access()
        material = Material(
            session=asked.session,
            iteration=self._number,
            most=self._allowed,
            goal=standing.condition,
            checks=standing.checks,
            spec=crew.spec,
            feedback=self._feedback,
            before="\n".join(filter(None, (self._printed, printed))),
            extra=crew.extra,
            tools=TOOLS if access else "",
            journal=standing.journal,
        )
        errand = Errand(
            prompt=crew.word(material),
            project=asked.project,
            environment={**crew.environment, "SUPERVISOR_SESSION": asked.session},
            seconds=policy.seconds(standing, crew.longest),
            access=access,
        )
        begun = crew.clock.now()
        rest = await crew.agent.run(errand, lambda said: crew.hear(self._mask(said)))
        rest = replace(rest, said=self._mask(rest.said), trouble=self._mask(rest.trouble))
        crew.tell(
            Rested(
                iteration=self._number,
                seconds=round(crew.clock.now() - begun, 1),
                exit_code=rest.exit_code,
                said=rest.said,
                trouble=rest.trouble,
            )
        )
        return rest

    async def _access(self) -> Access | None:
        try:
            access = await self._crew.overseer.access()
        except (BadInputError, OSError) as error:
            self._crew.tell(Warned(text=f"agents cannot reach their tools: {error}"))
            return None
        self._token = access.token
        return access

    def _mask(self, text: str) -> str:
        """What may be shown of a text of the agent's."""
        clean = self._crew.mask(text)
        return clean.replace(self._token, "***") if self._token else clean

    async def _completed(self, before: Standing, now: Standing) -> None:
        """Tell of the tasks that this agent completed, and the user's hooks of the first of them."""
        for number, task in enumerate(policy.completed(before.journal, now.journal)):
            content = self._mask(task.content)
            self._crew.tell(Completed(iteration=self._number, id=task.id, content=content))
            if number < policy.HOOKED:
                await self._hooks("on_task_completed", task_id=task.id, task=content)

    async def _hooks(self, name: str, **facts: str) -> str:
        told = {
            "session": self._asked.session,
            "project": self._asked.project,
            "iteration": str(self._number),
            **facts,
        }
        return await self._crew.hooks.run(name, told, self._crew.tell)


def _failed(rest: AgentRest) -> str:
    """Why an agent did not work through, in one line; "" where it did."""
    if rest.trouble or rest.exit_code in (0, None):
        return rest.trouble
    return f"the agent ended with exit code {rest.exit_code}"
