"""A project, a home and a scripted agent under the real hooks and sidecar, for tests that start processes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from sidecar.cli.demo_agent import ScriptedAgent, ScriptedScene, build_shop_project
from sidecar.platform.installation import plugin_root
from sidecar.systems.supervision.people import SessionReport
from support.projects import PYTEST_SOURCE

SUPERVISOR = Path(sys.executable).parent / "supervisor"
GOAL = "/supervisor:goal all tests pass"


class Stage(msgspec.Struct, frozen=True):
    """One scene, with its own runtime: a script that a test may replace."""

    scene: ScriptedScene
    runtime: Path

    @property
    def sessions(self) -> Path:
        """Where the states of sessions are kept."""
        return self.scene.home / ".local" / "state" / "supervisor" / "sessions"

    def agent(self, session: str = "") -> ScriptedAgent:
        """A session of a host."""
        return ScriptedAgent(plugin_root(), self.scene.project, self.scene.environment, session)

    async def agent_with_goal(self) -> ScriptedAgent:
        """A session whose goal is that all tests pass, which they do not."""
        agent = self.agent()
        await agent.start()
        assert "goal set" in (await agent.prompt(GOAL)).system_message
        return agent

    def supervisor(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Type `supervisor ARGUMENTS` in a shell in the project, with more environment variables."""
        return subprocess.run(
            [str(SUPERVISOR), *arguments],
            cwd=self.scene.project,
            env={**self.scene.environment, **variables},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def report(self) -> SessionReport:
        """What `supervisor status --json` says."""
        done = self.supervisor("status", "--json")
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout, type=SessionReport)

    def end_sidecar(self) -> None:
        """End a running sidecar as the system does, not by an order: we are the host of the agents here."""
        end_sidecar(self.sessions.parent)

    def run_by(self, script: str) -> None:
        """Let hooks start the sidecar by this shell script from now on; a running one is ended."""
        self.end_sidecar()
        self.runtime.write_text(f"#!/bin/sh\n# starts the sidecar\n{script}\n", encoding="utf-8")
        self.runtime.chmod(0o755)


def end_sidecar(state: Path) -> None:
    """End the sidecar of this state folder by a signal, if one runs, and wait until it is gone."""
    lock = state / "run" / "sidecar.lock"
    if not lock.exists():
        return
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.kill(int(file.read()), signal.SIGTERM)
            fcntl.flock(file, fcntl.LOCK_EX)  # the kernel releases the lock when the process is gone


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[Stage]:
    """Lay everything out below `folder`, and end the sidecar afterwards."""
    runtime = folder / "supervisor"
    stage = Stage(await build_shop_project(folder, runtime, PYTEST_SOURCE), runtime)
    stage.run_by(f'exec "{SUPERVISOR}" "$@"')
    try:
        yield stage
    finally:
        stage.end_sidecar()
