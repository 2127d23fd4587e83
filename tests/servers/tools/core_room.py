"""A real little project with tests of its own, and the core tools on the adapters that look at it."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from servers.tools.desk import as_json, real_words
from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.approvals import TrustFile
from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.gates.cache import GateMemory
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.proof.old_checks import ScratchChecks
from sidecar.evidence.tree.checkpoints import GitCheckpoints
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.effects import HostAnswer
from sidecar.kernel.events import AnyHostEvent
from sidecar.platform.secrets import SecretForms
from sidecar.platform.session_store import JournalFiles, LoopFiles, SessionFiles
from sidecar.servers.tools.tool import (
    AskPerson,
    Caller,
    ReportProgress,
    ToolAnswer,
    ToolContext,
    ask_nobody,
    ignore_progress,
)
from sidecar.servers.tools.toolbox import Toolbox, load_tools
from sidecar.systems.governance import OFFER as GOVERNANCE
from sidecar.systems.iteration import OFFER as ITERATION
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision import OFFER as SUPERVISION
from sidecar.systems.supervision.decisions import StopExplainer
from sidecar.systems.supervision.people import CommandLineService
from sidecar.systems.supervision.supervisor import Supervisor
from sidecar.systems.taskloop import OFFER as TASKLOOP
from sidecar.systems.tdd import OFFER as TDD
from support.cases import KEY, stopped
from support.clients import AnyClient
from support.fakes import Fakes, command, prompt
from support.git_projects import commit_all, repository
from support.governed import governance_over
from support.logs import event_log, stops_in
from support.memory_stores import ManualClock
from support.projects import lay
from support.scripted_workers import ScriptedWorkers
from support.skills import skills_over
from support.task_loops import loops_over

OFFERS: Final = (SUPERVISION, ITERATION, TDD, TASKLOOP, GOVERNANCE)
LIMIT: Final = 60.0
"""Bound of every wait, in seconds: real tests run meanwhile."""
SESSION: Final = {
    "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath)),
    "DEPLOY_TOKEN": "hunter2-and-more",
}
"""A session whose `python3` is the one that runs these tests, which has pytest."""
GOOD: Final = "def double(number):\n    return 2 * number\n"
BAD: Final = "def double(number):\n    return 3 * number\n"
PROJECT: Final = {
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["."]\n',
    "doubling.py": BAD,
    "tests/test_doubling.py": "from doubling import double\n\n\ndef test_two():\n    assert double(2) == 4\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}


async def settled(supervisor: Supervisor) -> None:
    """Wait until every judged stop is kept."""
    async with asyncio.timeout(LIMIT):
        await supervisor._stops._keeper.idle()  # noqa: SLF001 - nobody else waits for it


class CoreRoom:
    """An agent's session on a project whose only test fails."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        if not self.project.exists():
            lay(repository(self.project), PROJECT)
            commit_all(self.project, "second")
        state = folder / "state"
        self.trust, workspace, memory = TrustFile(state), GitWorkspace(state / "trees"), GateMemory()
        self.fakes = Fakes(clock=ManualClock(time.time()))  # the files are real, and have the real time
        self.services = dataclasses.replace(
            self.fakes.services,
            catalog=ProjectCatalog({"XDG_CONFIG_HOME": str(folder)}, self.trust, detect_gates),
            checkpoints=GitCheckpoints(state),
            gates=ProjectGates(memory, workspace),
            journals=JournalFiles(state),
            loops=LoopFiles(state),
            old_checks=ScratchChecks(workspace, memory),
            log=event_log(state),
            stop_history=stops_in(state),
            secrets=SecretForms(),
            store=SessionFiles(state),
            workspace=workspace,
        )
        self.workers = ScriptedWorkers(())
        self.person: AskPerson = ask_nobody
        self.supervisor = Supervisor(self.services)
        people = CommandLineService(self.services, self.supervisor)
        journals = SessionJournals(self.services.journals)
        self.loops = loops_over(self.services, self.supervisor.checks, journals)
        context = ToolContext(
            checks=self.supervisor.checks,
            clock=self.services.clock,
            explainer=StopExplainer(self.services),
            governance=governance_over(self.services, folder / "state", self.workers),
            journals=journals,
            loops=self.loops,
            people=people,
            rubrics=self.services.rubrics,
            skills=skills_over(self.services, state=folder / "state", workers=self.workers),
            words=real_words(),
        )
        self.toolbox = Toolbox(
            load_tools(context, [name for offer in OFFERS for name in offer.tools]),
            context.words,
            AnyClient(people.session),
            lambda: ("core", "journal", "tdd", "loop", "governance"),
        )

    def reopened(self) -> CoreRoom:
        """The same project and state under another sidecar."""
        return CoreRoom(self.folder)

    async def tell(self, event: AnyHostEvent) -> HostAnswer:
        async with asyncio.timeout(LIMIT):
            answer = await self.supervisor.tell(event)
            await asyncio.sleep(0)  # noqa: TID251 - what is done once it is answered
            return answer

    async def meet(self) -> None:
        await self.tell(prompt(project=str(self.project), environment=SESSION))

    async def goal(self, arguments: str) -> None:
        await self.tell(command(arguments, project=str(self.project), environment=SESSION))

    async def stop(self, **fields: Any) -> HostAnswer:
        return await self.tell(stopped(project=str(self.project), environment=SESSION, **fields))

    async def approve(self) -> None:
        """Let the user type `supervisor trust`."""
        catalog = await self.services.catalog.list(str(self.project), SESSION)
        self.trust.approve(str(self.project), catalog.gates)

    def configure(self, settings: str) -> None:
        """Write the user's settings."""
        lay(self.project.parent, {"supervisor/config.toml": settings})

    def write(self, name: str, text: str) -> None:
        (self.project / name).write_text(text)

    async def ask(self, name: str, report: ReportProgress = ignore_progress, **arguments: Any) -> ToolAnswer:
        """Call a tool; what it gives fits what it says that it gives."""
        async with asyncio.timeout(LIMIT):
            answer = await self.toolbox.call(
                name, {"session": KEY.id, **arguments}, Caller(), report, self.person
            )
        offer = next(one for one in self.toolbox.offers() if one.name == name)
        Draft202012Validator(offer.output_schema).validate(as_json(answer.data))
        return answer
