"""A night of `supervisor run --jobs` by the manual clock.

Real are the command line, git, the sidecar's own methods with their state on disk, and the project's check.
Played are the socket between the two, the clock, and the agents, who keep a ledger of what they did and
spent.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shlex
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from inspect import isawaitable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from msgspec import Raw, Struct

from sidecar.cli import run_crew, run_loop
from sidecar.hosts.ports import AgentResult, AgentTask, McpAccess
from sidecar.kernel.goal import Goal
from sidecar.kernel.journal import Task, TaskStatus
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.session import SessionKey
from sidecar.platform.files import ensure_folder
from sidecar.platform.paths import user_paths
from sidecar.platform.services import PlatformServices
from sidecar.platform.steering import FilesInForce
from sidecar.servers.control import Methods, SidecarControl
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.iteration.overseer import SidecarOverseer
from sidecar.systems.iteration.policy import journal as rules
from sidecar.wiring import platform
from sidecar.wiring.sidecar import build_methods
from sidecar.wiring.supervision import build_services
from support.git_projects import commit_all, git, repository
from support.memory_stores import ManualClock
from support.typed import typed

KEY: Final = SessionKey("run", "demo")
TASKS: Final = tuple(f"T{number}" for number in range(1, 41))
CHECK: Final = """\
import os, pathlib, sys
flaky = pathlib.Path(os.environ["HOME"], "flaky")
if flaky.exists():
    flaky.unlink()
    sys.exit("a port was taken")
sys.exit(any(one.read_text() != "whole\\n" for one in pathlib.Path(".").glob("T*.txt")))
"""
"""The project's check: no part may be half done. Once in the night it fails for no reason of the project."""
JOBS: Final = 3
KILLED: Final = 137
LIMITED_S: Final = 7200.0
BOUND_S: Final = 120.0
"""Bound of every wait in real seconds: git is slow on a busy machine."""


class Did(Struct, frozen=True):
    """What one agent did, by its own account. Who was killed never told what it spent."""

    number: int
    task: str
    how: str
    tokens: int
    cents: float


class RunClock:
    """The clock by which agents wait for a limited service: it goes on where all of them do."""

    def __init__(self, clock: ManualClock) -> None:
        self.now, self.awake, self._clock, self._paused = clock.now, clock.awake, clock, 0

    async def pause(self, seconds: float) -> None:
        self._paused += 1
        try:
            if self._paused == JOBS:
                self._clock.advance(seconds)
            await self._clock.pause(0 if self._paused == JOBS else seconds)
            await asyncio.sleep(0)  # noqa: TID251 - the others have their turn
        finally:
            self._paused -= 1


class Night:
    """What happens to whom: the first agents of some tasks meet with something, all others just work."""

    def __init__(self, folder: Path, patches: pytest.MonkeyPatch, screen: pytest.CaptureFixture[str]) -> None:
        self.clock, self.ledger, self.dead, self.patches = ManualClock(), list[Did](), False, patches
        self.screen, self.meets = screen, defaultdict[str, list[str]](list)
        self.began = defaultdict[str, asyncio.Event](asyncio.Event)
        self.project, self.state, self.agent = folder / "project", user_paths().state, folder / "agent"
        self.at_work_when_killed: set[int] = set()
        self.began_at, self.limited_until, self.limited_for = self.clock.now(), 0.0, 0.0
        repository(self.project, commit=False)
        for name in ("user.name", "user.email"):
            git(self.project, "config", name, "a@b")
        (self.project / "check.py").write_text(CHECK)
        (self.project / "shared").touch()
        commit_all(self.project, "first")
        self.agent.touch(0o755)
        (folder / "spec.md").write_text("Forty parts.")
        config = Path(os.environ["XDG_CONFIG_HOME"], "supervisor", "config.toml")
        config.parent.mkdir()
        config.write_text(
            '[judge]\nbackend = "rules"\n[gates]\ndetect = false\n[price.agent]\ninput = 1\noutput = 1\n'
        )
        patches.setattr(platform, "SystemClock", lambda: self.clock)
        for module in (run_crew, run_loop):
            patches.setattr(module, "build_platform", self.run_platform)
        patches.setattr(run_loop, "greet_sidecar", lambda: ensure_folder(user_paths().run))
        patches.setattr(run_crew, "SidecarOverseer", self.sidecar)
        patches.setattr(run_crew, "_build_agent", lambda *_: self)
        patches.setattr(run_crew, "_unprompted_tools", tuple)

    def run_platform(self, state: Path, files: FilesInForce | None = None) -> PlatformServices:
        """Build what the run itself uses; where it is killed it writes nothing any more."""
        built = platform.build_platform(state, files)
        append = built.log.append
        self.patches.setattr(built.log, "append", lambda event: 0 if self.dead else append(event))
        return dataclasses.replace(built, clock=RunClock(self.clock))

    def sidecar(self, *arguments: Any) -> SidecarOverseer:
        """Build a sidecar that lives as long as a call of `supervisor run`, and has no socket."""
        self.services = build_services()
        self.log = self.services.log
        self.journals = SessionJournals(self.services.journals, self.log, self.clock)
        methods = build_methods(SidecarControl("0", self.state / "log"), self.services)
        return _Sidecar(self, methods, *arguments)

    def types(self, command: str) -> tuple[int, str]:
        """Type a command in the project; its exit code, and what it printed."""
        self.dead = False
        self.began.clear()
        os.chdir(self.project)
        program, *words = shlex.split(command)
        assert program == "supervisor"
        code = typed(*words)
        printed = self.screen.readouterr()
        assert not printed.err
        return code, printed.out

    # --- the agents ---

    async def run(self, task: AgentTask, hear: Callable[[str], None]) -> AgentResult:
        """Be an agent; implements hosts.ports.AgentRunner."""
        assert task.access is not None
        assert self.clock.now() >= self.limited_until, "nobody begins while the account is limited"
        number = int(task.access.token.rpartition(".")[2])
        own = next((one.id for one in self.tasks() if one.claim and one.claim.worker == number), "")
        how = (self.meets[own].pop(0) if self.meets[own] else "works") if own else "plans"
        hear(f"{own} {how}\n")
        self.began[own].set()
        self.clock.advance(300)
        one = Did(number, own, how, 1000 + len(self.ledger), 10 + len(self.ledger) / 100)
        self.ledger.append(one)
        act: Callable[..., Any] = getattr(self, how)
        found = await found if isawaitable(found := act(task, one)) else found
        found = found or AgentResult(said="Done.", exit_code=0)
        return msgspec.structs.replace(found, tokens=one.tokens, cents=one.cents)

    def plans(self, *_: object) -> None:
        """Write all tasks: the first agent has none of its own."""
        tasks = [(f"part {name[1:]}", TaskStatus.REMAINING) for name in TASKS]
        self.journals.change(KEY, lambda now: rules.add_tasks(now, tasks))

    def works(self, task: AgentTask, did: Did) -> None:
        Path(task.project, f"{did.task}.txt").write_text("whole\n")
        self.journals.change(
            KEY, lambda now: rules.set_task_status(now, did.task, TaskStatus.COMPLETED, did.number)
        )

    async def shares(self, task: AgentTask, did: Did) -> None:
        """Write one file at the same time as another agent, without knowing of its line."""
        async with asyncio.timeout(BOUND_S):
            await self.began[{"T15": "T16", "T16": "T15"}[did.task]].wait()
        self._add_line(task, did)
        self.works(task, did)

    def shares_again(self, task: AgentTask, did: Did) -> None:
        self._add_line(task, did)
        self.works(task, did)

    def _add_line(self, task: AgentTask, did: Did) -> None:
        shared = Path(task.project, "shared")
        lines = [*(line for line in shared.read_text().split() if line in TASKS), did.task]
        shared.write_text("".join(f"{line}\n" for line in dict.fromkeys(lines)))

    def flaky(self, task: AgentTask, did: Did) -> None:
        Path(os.environ["HOME"], "flaky").touch()
        self.works(task, did)

    def stuck(self, task: AgentTask, did: Did) -> AgentResult:
        Path(task.project, f"{did.task}.txt").write_text("half")
        self.clock.advance(task.seconds)
        return AgentResult(trouble=f"it did not end within {task.seconds:g} s")

    def limited(self, *_: object) -> AgentResult:
        self.limited_until, self.limited_for = self.clock.now() + LIMITED_S, LIMITED_S
        limit = ServiceLimit(account="claude", until=self.limited_until, said="usage limit reached")
        return AgentResult(exit_code=1, trouble=limit.said, limit=limit)

    def overloaded(self, *_: object) -> AgentResult:
        limit = ServiceLimit(account="claude", until=0.0, said="overloaded (529)")
        return AgentResult(exit_code=1, trouble=limit.said, limit=limit)

    def logged_out(self, *_: object) -> AgentResult:
        return AgentResult(exit_code=1, trouble="Not logged in · Please run /login", unusable=True)

    async def interrupted(self, *_: object) -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()

    def killed(self, task: AgentTask, did: Did) -> None:
        """Be killed with the run that started this agent: nobody settles anything, nobody tells."""
        Path(task.project, f"{did.task}.txt").write_text("half")
        self.kill()

    def killed_done(self, task: AgentTask, did: Did) -> None:
        self.works(task, did)
        self.kill()

    def kill(self) -> None:
        self.dead = True
        self.at_work_when_killed |= {one.number for one in self.ledger[-JOBS:]}
        raise SystemExit(KILLED)

    # --- in the morning ---

    def tasks(self) -> tuple[Task, ...]:
        return self.journals.of(KEY).tasks

    def goal(self) -> Goal:
        session = self.services.store.load(KEY)
        assert session is not None
        assert session.goal is not None
        return session.goal

    def check(self) -> int:
        return subprocess.run([sys.executable, "check.py"], cwd=self.project, check=False).returncode


class _Sidecar(SidecarOverseer):
    """The client of a sidecar in this process. It is its peer, too."""

    pid = 0

    def __init__(self, night: Night, methods: Methods, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._night, self._methods = night, methods

    async def access(self, worker: int = 0) -> McpAccess:
        return McpAccess("http://127.0.0.1:1/mcp", f"svs.{worker}")

    async def stand_by(self) -> None:
        await asyncio.Event().wait()

    async def _once(self, method: str, params: Struct, seconds: float) -> bytes:
        if self._night.dead:
            raise ConnectionError("the run was killed")
        async with asyncio.timeout(max(seconds, BOUND_S)):
            peer: Any = self
            return bytes(await self._methods[method](Raw(msgspec.json.encode(params)), peer))
