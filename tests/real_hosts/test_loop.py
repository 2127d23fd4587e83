"""The task loop on the real hosts: as workers of `supervisor loop`, and with agents that call its tools.

The model is scripted, the project's checks are real.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct

from real_hosts.agent_session import agent_session, reply_that_writes
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.worker_processes import nobody_is_left
from support.loop_projects import LOOP_PROJECTS, LoopProject
from support.model_script import (
    EndlessReply,
    ReplyRule,
    RequestMatch,
    ScriptedReply,
    reply_structured,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.tdd_projects import contents, lay_out

pytestmark = pytest.mark.proves("the loop")

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LIMIT_S: Final = 120.0
"""Bound of every wait here, in seconds."""
BRIEFED: Final = "Acceptance criteria:"
WORKER: Final = RequestMatch(tools="some", any=BRIEFED)
"""Requests of a worker: not those for a title."""


class Room(Struct, frozen=True):
    """A person's home with one host, a project, and the model that the host asks."""

    host: Host | OpenCode
    model: ScriptedModel
    project: LoopProject

    def plays(self, *turns: Mapping[str, str]) -> None:
        """In each turn the model lets a worker write these files and then answer that all is well."""
        self.model.add(*(ReplyRule(reply, WORKER) for files in turns for reply in self._turn(files)))

    def _turn(self, files: Mapping[str, str]) -> list[ScriptedReply]:
        said = {"summary": "It is there.", "files_changed": list(files), "done": True}
        return [reply_that_writes(self.host, files), self.ends(said)]

    def ends(self, said: Mapping[str, object]) -> ScriptedReply:
        """The model ends a worker with this answer."""
        return reply_structured(said) if isinstance(self.host, Host) else reply_with_text(json.dumps(said))

    @contextmanager
    def typed(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        path = os.pathsep.join((str(self.host.binary.parent), self.host.env["PATH"]))
        with subprocess.Popen(
            [str(SUPERVISOR), "loop", *arguments],
            cwd=self.host.project,
            env={**self.host.env, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def loop(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type `supervisor loop ARGUMENTS`."""
        with self.typed(*arguments) as process:
            stdout, stderr = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    @property
    def prompts(self) -> list[str]:
        """What each worker was told first, oldest first."""
        return [request.last for request in self.model.requests if BRIEFED in request.last]


def make_room(host: Host | OpenCode, model: ScriptedModel, project: LoopProject) -> Room:
    lay_out(host.project, project.files)
    return Room(host, model, project)


@pytest.fixture
def claude_room(host: Host, model: ScriptedModel) -> Room:
    return make_room(host, model, LOOP_PROJECTS["Python"])


@pytest.fixture
def opencode_room(opencode_host: OpenCode, model: ScriptedModel) -> Room:
    return make_room(opencode_host, model, LOOP_PROJECTS["Node"])


@pytest.fixture(params=["claude", pytest.param("opencode", marks=pytest.mark.long)])
def room(request: pytest.FixtureRequest, claude_room: Room, opencode_room: Room) -> Room:
    return claude_room if request.param == "claude" else opencode_room


def test_a_wrong_attempt_goes_back_and_the_right_one_completes_the_task(room: Room) -> None:
    right = room.project.with_behaviour("sub")
    room.plays(room.project.with_behaviour("sub", wrong="+"), right)
    done = room.loop("add sub(a, b)", "--done-when", "30 - 13 is 17")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    steps = [line.split()[0] for line in done.stdout.splitlines()]
    assert steps == [
        *("session", "task", "agent"),
        *("worker", "worker", "check", "check", "iterate"),
        *("worker", "worker", "check", "check", "complete"),
    ]
    first, second = room.prompts
    assert "30 - 13 is 17" in first
    assert "The report was refused" in second
    held = contents(room.host.project)
    assert {name: held[name] for name in right} == right
    assert "T1   completed" in room.loop("status").stdout


def test_after_kill_9_the_worker_is_gone_and_the_session_goes_on_where_it_was_saved(
    claude_room: Room,
) -> None:
    wrong, right = (claude_room.project.with_behaviour("sub", wrong=sign) for sign in ("+", ""))
    claude_room.plays(wrong)
    claude_room.model.add(
        ReplyRule(reply_that_writes(claude_room.host, right), WORKER), ReplyRule(EndlessReply(), WORKER, 1)
    )
    claude_room.plays(right)
    with claude_room.typed("add sub(a, b)", "--session", "shop") as process:
        claude_room.model.wait_for(lambda request: request.rule == 3, timeout=LIMIT_S)
        process.kill()
        process.wait(LIMIT_S)
    assert nobody_is_left(claude_room.host.home)
    held = contents(claude_room.host.project)
    assert {name: held[name] for name in right} == right
    killed = json.loads(claude_room.loop("status", "--json").stdout)
    assert (killed["status"], killed["task"], killed["tasks"][0]["iteration"]) == ("running", "T1", 1)
    done = json.loads(claude_room.loop("--session", "shop", "--json").stdout)
    assert (done["status"], done["tasks"][0]["iteration"]) == ("completed", 2)
    assert (done["input_tokens"], done["cents"]) == (2 * killed["input_tokens"], 2 * killed["cents"])
    told = [
        json.loads(line)["data"]["type"] for line in claude_room.loop("history", "--json").stdout.splitlines()
    ]
    assert told == ["loop-session", "loop-task", "loop-report", "loop-task", "loop-report", "loop-session"]


# --- the toolset, as the agent of a session calls it --------------------------------------------------------


@pytest.mark.parametrize("kind", ["claude", pytest.param("opencode", marks=pytest.mark.long)])
def test_an_agent_is_refused_repairs_it_completes_the_loop_stops_and_is_judged(
    kind: str, host: Host, opencode_host: OpenCode, model: ScriptedModel
) -> None:
    project = LOOP_PROJECTS["Python"]
    wrong, right = (project.with_behaviour("sub", wrong=sign) for sign in ("+", ""))
    chosen = host if kind == "claude" else opencode_host
    with agent_session(chosen, model, project.files, "loop") as session:
        session.calls("session_start", command="add sub", command_type="implement")
        session.calls(
            "task_start",
            task_id="adhoc",
            description="add sub(a, b)",
            acceptance_criteria=["30 - 13 is 17"],
            scope_files=list(right),
        )
        for files in (wrong, right):
            session.writes(files)
            session.calls("report_completion", files_changed=list(files), summary="sub is there.")
        session.calls("session_end", status="completed")
        session.says("sub is there, and tested.")
        session.goal("all tests pass --check 'python -m pytest -q'")
        _, begun, _, refused, _, done, ended = session.told
        for said in ("30 - 13 is 17", "Look up first which Python versions", "call report_completion"):
            assert said in begun
        for said in ("report 1 of 10", "test_sub", "Tried before", "Repair the cause"):
            assert said in refused
        assert "exit_signal: true" in done
        assert "completed" in ended
        assert (session.under.report().status, session.under.continuations()) == ("achieved", [])
        tasks = session.under.supervisor("loop", "status").stdout
        assert "T1   completed   implementer-python, 2 reports" in tasks
