"""Machines of a team on one shared file and one remote; judging is real, and their agents are scripted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from sidecar.cli.progress import open_budget
from sidecar.evidence.tree.checkout import place_ignored_files
from sidecar.hosts.ports import AgentResult, AgentTask
from sidecar.kernel.goal import GoalTerms
from sidecar.kernel.runs import RunPromptInputs, RunRequest
from sidecar.platform.lane import MergeLane, find_lane
from sidecar.platform.team.ports import Claim, Machine, Member, TeamAwayError, TeamTask
from sidecar.platform.team.store import TeamStore
from sidecar.systems.iteration.ports import AssignedTask, RunParticipants
from sidecar.systems.iteration.team import TeamParticipants, TeamPlayer, TellAll
from sidecar.work.progress import Progress, RunFinished, RunWarning
from support.cases import complete
from support.fakes import LIMIT
from support.git_projects import commit_all, git, repository
from support.run_scene import UNKEPT, HouseOverseer, agents, made
from support.team_sqlite import SqliteDatabase

LIST: Final = "sprint"
STOPS: Final = 40
"""Stops that are judged as complete."""
Agent = Callable[[str, Path], Awaitable[str | None] | str | None]
"""Takes the id of its task and its folder, and works there; what it returns is its trouble."""


class AwayStore(TeamStore):
    """A database that can be away."""

    away = False

    def tasks(self, list_name: str) -> tuple[TeamTask, ...]:
        self._reach()
        return super().tasks(list_name)

    def extend(self, claim: Claim, lease: float = 90.0) -> bool:
        self._reach()
        return super().extend(claim, lease)

    def extend_all(self, claims: Sequence[Claim], lease: float = 90.0) -> set[str]:
        self._reach()
        return super().extend_all(claims, lease)

    def _reach(self) -> None:
        if self.away:
            raise TeamAwayError("the team's database is away: cut")


def remote_of(folder: Path) -> Path:
    """A repository with one commit on `main`, and a bare copy of it for all machines."""
    project, remote = repository(folder / "seed", commit=False), folder / "remote.git"
    (project / "shared").touch()
    commit_all(project, "first")
    git(folder, "clone", "--quiet", "--bare", str(project), str(remote))
    return remote


def merged_tasks(remote: Path) -> list[str]:
    """The trailers on the remote's branch, the first one first."""
    form = "--format=%(trailers:key=Supervisor-Task,valueonly)"
    return [one.removeprefix(f"{LIST}/") for one in git(remote, "log", "--reverse", form, "main").split()]


class TeamMachine:
    """A machine: a clone, its lane, and one call of `supervisor run --team`."""

    def __init__(self, folder: Path, name: str, agent: Agent, **asked: Any) -> None:
        self.name, self.agent, self._asked = name, agent, asked
        self.project = folder / name
        if not self.project.exists():
            git(folder, "clone", "--quiet", str(folder / "remote.git"), name)
            for setting in ("user.name", "user.email"):
                git(self.project, "config", setting, f"{name}@b")
        self.team = AwayStore(
            SqliteDatabase(folder / "team.sqlite3"), Member(machine=name, person=f"of {name}")
        )
        self.team.join(Machine(id=name, name=name.upper(), person="", fingerprint=name, version="1"))
        self.fakes = made(UNKEPT)
        self.fakes.judge.script(*(complete("E1") for _ in range(STOPS)))
        self.passes: Callable[[str], bool] = lambda _folder: True
        self.told: list[Progress] = []
        self.prompts: list[RunPromptInputs] = []
        self.when_told: Callable[[Progress], object] = lambda _: None

    def tasks(self, *needs: Sequence[str], **more: Any) -> None:
        """Add tasks T1, T2, ... which need these others."""
        for number, needed in enumerate(needs, 1):
            task = TeamTask(list=LIST, id=f"T{number}", content=f"part {number}", needs=tuple(needed), **more)
            assert self.team.add(task)

    def task(self, ident: str) -> TeamTask:
        return next(one for one in self.team.tasks(LIST) if one.id == ident)

    def states(self) -> dict[str, str]:
        return {one.id: one.state.value for one in self.team.tasks(LIST)}

    def warnings(self) -> str:
        return "\n".join(one.text for one in self.told if isinstance(one, RunWarning))

    def moves_on(self) -> None:
        """Let it look again when it waits, which it says before it does."""
        loop = asyncio.get_running_loop()

        def advance(turns: int) -> None:
            if turns:
                loop.call_soon(advance, turns - 1)
            else:
                self.fakes.clock.advance(6.0)

        advance(10)

    async def lane(self) -> MergeLane:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.project.parent)}
        furnish, folder = partial(place_ignored_files, since=2e10), self.project.parent / f"{self.name}-trees"
        return await find_lane(str(self.project), environment, LIST, folder, furnish, remote="origin")

    async def player(self) -> TeamPlayer:
        terms = GoalTerms(condition="", checks=("make",))
        asked = RunRequest(
            **{
                "session": f"team-{LIST}",
                "project": str(self.project),
                "goal": terms,
                "team": LIST,
                "jobs": 2,
                **self._asked,
            }
        )
        settings = self.fakes.configuration.load()[0]
        self.budget = open_budget(self.fakes.services, self.told.append)
        crew = TeamParticipants(
            team=self.team,
            lane=await self.lane(),
            build=self._build,
            clock=self.fakes.clock,
            tell=self._tell,
            mask=str,
            environment={"PATH": "/bin"},
            settings=settings,
            budget=self.budget,
            accepted=lambda code: code,
            lease=90.0,
        )
        return TeamPlayer(crew, asked)

    async def play(self) -> RunFinished:
        async with asyncio.timeout(LIMIT):
            return await (await self.player()).run()

    def _tell(self, what: Progress) -> None:
        self.told.append(what)
        self.when_told(what)

    async def _build(self, request: RunRequest, assigned: AssignedTask, tell: TellAll) -> RunParticipants:
        overseer = HouseOverseer(self.fakes, request.session, request.project)
        overseer.passes = lambda folder, _: self.passes(folder)

        async def work(task: AgentTask) -> AgentResult:
            self.fakes.workspace.tree = f"after {request.session} {len(self.fakes.judge.cases)}"
            done = self.agent(assigned.task.id, Path(task.project))
            trouble = done if done is None or isinstance(done, str) else await done
            return AgentResult(said="Done.", exit_code=0, trouble=trouble or "", unusable=bool(trouble))

        def word(material: RunPromptInputs) -> str:
            self.prompts.append(material)
            return "work"

        return RunParticipants(
            overseer=overseer,
            agent=agents(work),
            hooks=_NoHooks(),
            clock=self.fakes.clock,
            word=word,
            tell=tell,
            hear=lambda *_: None,
            mask=str,
            environment={"PATH": "/bin"},
            longest=600.0,
            settings=self.fakes.configuration.load()[0],
            budget=self.budget,
            assigned=assigned,
        )


class _NoHooks:
    async def run(self, *_: object) -> str:
        return ""


def writes(ident: str, folder: Path) -> None:
    """An agent that writes one file of its own."""
    (folder / f"{ident}.txt").write_text("whole\n")
