"""Every tool of the registry, on a house of fakes with one session whose goal is active."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final
from uuid import uuid4

import msgspec

from sidecar.kernel.journal import Author, Journal
from sidecar.kernel.session import SessionKey
from sidecar.rubric.texts import Texts, read_texts
from sidecar.servers.tools.tool import Caller, RefusalError, ToolAnswer, ToolContext
from sidecar.servers.tools.toolbox import Toolbox, load_resources, load_tools
from sidecar.systems.governance import OFFER as GOVERNANCE
from sidecar.systems.iteration import OFFER as ITERATION
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision import OFFER as SUPERVISION
from sidecar.systems.supervision.clients import ToolClients
from sidecar.systems.supervision.decisions import StopExplainer
from sidecar.systems.supervision.people import CommandLineService
from sidecar.systems.taskloop import OFFER as TASKLOOP
from sidecar.systems.tdd import OFFER as TDD
from support.cases import KEY, goal, session
from support.fakes import ENVIRONMENT, Fakes, prompt
from support.governed import governance_over
from support.skills import skills_over
from support.task_loops import loops_over

CONDITION: Final = "the parser accepts comments"
DEFAULT: Final = ("core", "journal")


@cache
def real_words(**more: str) -> Texts:
    return read_texts("loop.md", "tools.md", **more)


class Desk:
    """Calls tools as an agent whose host names its session."""

    def __init__(self) -> None:
        self.fakes = Fakes()
        self.state = Path(gettempdir(), f"desk-{uuid4()}")
        self.fakes.store.save(session(goal=goal(CONDITION)))
        self.people = CommandLineService(self.fakes.services, self.fakes.supervisor)
        self.clients = ToolClients(self.fakes.services, self.fakes.supervisor, self.people)
        self.on: tuple[str, ...] = (*DEFAULT, "tdd", "loop", "governance")
        journals = SessionJournals(self.fakes.journals)
        context = ToolContext(
            checks=self.fakes.supervisor.checks,
            clock=self.fakes.clock,
            explainer=StopExplainer(self.fakes.services),
            governance=governance_over(self.fakes.services, self.state),
            journals=journals,
            loops=loops_over(self.fakes.services, self.fakes.supervisor.checks, journals),
            people=self.people,
            rubrics=self.fakes.services.rubrics,
            skills=skills_over(self.fakes.services),
            words=real_words(),
        )
        modules = (*SUPERVISION.tools, *ITERATION.tools, *TDD.tools, *TASKLOOP.tools, *GOVERNANCE.tools)
        self.tools, resources = load_tools(context, modules), load_resources(context, modules)
        self.toolbox = Toolbox(self.tools, context.words, self.clients, lambda: self.on, resources)

    @property
    def journal(self) -> Journal:
        return self.fakes.journals.load(KEY) or Journal()

    async def meet(self, **environment: str) -> None:
        """Let the host tell of the session: its environment is known then."""
        await self.fakes.tell(prompt(environment=ENVIRONMENT | environment))

    async def ask(self, name: str, **arguments: Any) -> ToolAnswer:
        return await self.toolbox.call(name, {"session": KEY.id, **arguments}, Caller())

    async def data(self, name: str, **arguments: Any) -> Any:
        """What a tool gives, as clients get it."""
        return as_json((await self.ask(name, **arguments)).data)

    async def text(self, name: str, **arguments: Any) -> str:
        return (await self.ask(name, **arguments)).text

    async def user(self, name: str, **arguments: Any) -> ToolAnswer:
        return await self.toolbox.call(name, arguments, Caller(bound=KEY, author=Author.USER))

    async def refusal(self, name: str, **arguments: Any) -> str:
        """Why a call is refused; nothing was changed by it."""
        return await self.refused(name, {"session": KEY.id, **arguments}, Caller())

    async def refused(self, name: str, arguments: dict[str, Any], caller: Caller) -> str:
        said = await self.attempt(name, arguments, caller)
        assert said, f"{name} was not refused"
        return said

    async def attempt(self, name: str, arguments: dict[str, Any], caller: Caller) -> str:
        """Why it was refused, "" where it was not; a refused call changed nothing."""
        before = self._all()
        try:
            await self.toolbox.call(name, arguments, caller)
        except RefusalError as refusal:
            assert self._all() == before
            return str(refusal)
        return ""

    def _all(self) -> tuple[object, ...]:
        fakes, other = self.fakes, SessionKey("opencode", "s2")
        return (
            [fakes.journals.load(key) for key in (KEY, other)],
            [fakes.store.load(key) for key in (KEY, other)],
            [fakes.loops.load(key) for key in (KEY, other)],
            fakes.gates.deadlines.copy(),
        )


def as_json(found: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(found))
