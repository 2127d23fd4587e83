"""Every AgentRunner: a prompt goes in, words come out, and every failure is one line of trouble."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from sidecar.hosts.acp.agent import AcpAgent
from sidecar.hosts.command import CommandAgent
from sidecar.hosts.ports import AgentResult, AgentRunner, AgentTask
from sidecar.platform.confine import can_close_folders
from support.acp_agent import DONE, GREETING, Scripted, says
from support.scripted_ports import ScriptedAgents

pytestmark = pytest.mark.process

LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""
HANG: Final = "import signal; signal.pause()"


class World(Protocol):
    """Makes agents of one kind."""

    def speaker(self, folder: Path, words: str) -> AgentRunner:
        """One that says these words."""

    def hanger(self, folder: Path) -> AgentRunner:
        """One that never ends."""


class Commands:
    def speaker(self, folder: Path, words: str) -> AgentRunner:
        return CommandAgent((sys.executable, "-c", f"print({words!r}, end='')"), folder / "mcp.json")

    def hanger(self, folder: Path) -> AgentRunner:
        return CommandAgent((sys.executable, "-c", HANG), folder / "mcp.json")


class Protocols:
    def speaker(self, folder: Path, words: str) -> AgentRunner:
        return AcpAgent(Scripted(folder, {**GREETING, "session/prompt": [says(words), DONE]}).command)

    def hanger(self, folder: Path) -> AgentRunner:
        return AcpAgent(Scripted(folder, {**GREETING, "session/prompt": []}).command)


class Scripts:
    def speaker(self, folder: Path, words: str) -> AgentRunner:  # noqa: ARG002 - it needs none
        async def speak(_task: AgentTask) -> AgentResult:
            return AgentResult(said=words, exit_code=0)

        return ScriptedAgents(speak)

    def hanger(self, folder: Path) -> AgentRunner:  # noqa: ARG002 - as above
        async def hang(_task: AgentTask) -> AgentResult:
            await asyncio.Event().wait()
            raise AssertionError

        return ScriptedAgents(hang)


@pytest.fixture(params=[Commands, Protocols, Scripts])
def world(request: pytest.FixtureRequest) -> World:
    kind: Callable[[], World] = request.param
    return kind()


def task(folder: Path, **fields: Any) -> AgentTask:
    usual: dict[str, Any] = {
        "prompt": "Work.",
        "project": str(folder),
        "environment": {"PATH": os.environ["PATH"]},
        "seconds": LIMIT_S,
    }
    return AgentTask(**usual | fields)


async def run(runner: AgentRunner, task: AgentTask) -> tuple[AgentResult, str]:
    """How it ended, and what was heard."""
    heard: list[str] = []
    async with asyncio.timeout(LIMIT_S):
        rest = await runner.run(task, heard.append)
    return rest, "".join(heard)


async def test_what_an_agent_says_is_heard_and_told(world: World, tmp_path: Path) -> None:
    rest, heard = await run(world.speaker(tmp_path, "I did it.\nÄll."), task(tmp_path))
    assert (rest.said, rest.trouble) == ("I did it.\nÄll.", "")
    assert rest.exit_code in (0, None)
    assert heard == rest.said


async def test_a_runner_can_be_used_again(world: World, tmp_path: Path) -> None:
    runner = world.speaker(tmp_path, "Once more.")
    assert [(await run(runner, task(tmp_path)))[0].said for _ in range(2)] == ["Once more."] * 2


async def test_an_agent_that_takes_too_long_is_ended_and_has_no_exit_code(
    world: World, tmp_path: Path
) -> None:
    rest, _ = await run(world.hanger(tmp_path), task(tmp_path, seconds=1.5))
    assert rest.exit_code is None
    assert "1.5 s" in rest.trouble
    assert "\n" not in rest.trouble


async def test_a_cancelled_run_ends_without_an_answer(world: World, tmp_path: Path) -> None:
    runner = world.hanger(tmp_path)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):  # which cancels
            await runner.run(task(tmp_path), lambda _said: None)


@pytest.mark.parametrize("kind", [CommandAgent, AcpAgent])
async def test_a_program_that_cannot_be_started_is_trouble(kind: type, tmp_path: Path) -> None:
    command = ("/no/such/agent",)
    runner = AcpAgent(command) if kind is AcpAgent else CommandAgent(command, tmp_path / "mcp.json")
    rest, heard = await run(runner, task(tmp_path))
    assert (rest.said, rest.exit_code, heard) == ("", None, "")
    assert rest.trouble.startswith("it could not be started: /no/such/agent")


@pytest.mark.parametrize("kind", ["command", "protocol"])
async def test_an_agent_in_a_worktree_cannot_write_in_the_project(tmp_path: Path, kind: str) -> None:
    """Where the system closes no folders, git refuses a merge that a file is in the way of."""
    place, guarded = tmp_path / "place", tmp_path / "guarded"
    for folder in (place, guarded):
        folder.mkdir()
    evil = ("sh", "-c", 'echo > ../guarded/evil.py; exec "$@"', "sh")
    scripted = Scripted(place, {**GREETING, "session/prompt": [says("Done."), DONE]}).command
    runner = (
        CommandAgent((*evil, "echo", "Done."), tmp_path / "mcp.json")
        if kind == "command"
        else AcpAgent((*evil, *scripted))
    )
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(place)}
    rest, _ = await run(runner, task(place, environment=environment, guarded=str(guarded)))
    assert (rest.said.strip(), rest.trouble) == ("Done.", "")
    assert (guarded / "evil.py").exists() is not can_close_folders()
