"""Test-driven development with the real hosts as workers: `supervisor tdd`, the tools, and what is killed.

The model is scripted. What comes into the project, and what is told, is decided by our own runs of the tests.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct

from real_hosts.agent_session import agent_session, reply_that_writes
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.worker_processes import nobody_is_left, worker_processes
from sidecar.cli.scripted.model_script import (
    EndlessReply,
    ReplyRule,
    RequestMatch,
    ScriptedReply,
    reply_structured,
    reply_with_text,
)
from sidecar.cli.scripted.model_server import ScriptedModel
from support.git_projects import everything
from support.tdd_projects import NODE, PYTHON, SPEC, SUB, SUB_JS, SUB_TEST, SUB_TEST_JS, contents, lay_out

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LEFT: Final = (".git", ".gitignore", "__pycache__", ".pytest_cache")
LIMIT_S: Final = 120.0
"""Bound of every wait here, in seconds."""
RED_DONE: Final = PYTHON | {"tests/test_sub.py": SUB_TEST}
NAMED: Final = (
    SUB.replace("(a, b)", "(left, right)").replace("a + b", "left + right").replace("a - b", "left - right")
)
NAMED_JS: Final = SUB_JS.replace("(a, b) => a - b", "(left, right) => left - right")
PASSES: Final = "def test_sub():\n    assert 30 - 13 == 17\n"
TWO: Final = SUB_TEST_JS + 'test("again", () => assert.equal(sub(9, 4), 5));\n'
DISCIPLINE: Final = "step of test-driven development"
WORKER: Final = RequestMatch(tools="some", any=DISCIPLINE)
"""Requests of a worker: not those for a title, nor of the agent that called for it."""
COMMAND: Final = "python -m pytest -q"
GOAL: Final = f"sub works --check '{COMMAND}'"


class Room(Struct, frozen=True):
    """A person's home with one host, a project, and the model that the host asks."""

    host: Host | OpenCode
    model: ScriptedModel
    files: Mapping[str, str]
    """What the project holds."""

    def lay(self, files: Mapping[str, str]) -> Room:
        lay_out(self.host.project, files)
        return Room(self.host, self.model, files)

    def holds(self, files: Mapping[str, str]) -> bool:
        """Whether the project holds these files and nothing else but what tools left."""
        return contents(self.host.project, but=LEFT) == files

    def turn(self, files: Mapping[str, str], **answer: str) -> list[ScriptedReply]:
        """What the model says of which a worker writes these files and then answers that all is well."""
        said = {"status": "pass", "file_path": "", "message": "All is well.", **answer}
        claude = isinstance(self.host, Host)
        end = reply_structured(said) if claude else reply_with_text(json.dumps(said))
        return [*([reply_that_writes(self.host, files)] if files else []), end]

    def plays(self, *turns: list[ScriptedReply]) -> None:
        self.model.add(*(ReplyRule(reply, WORKER) for turn in turns for reply in turn))

    def hangs(self, times: int | None = None) -> None:
        """Let the model never come to an end."""
        self.model.add(ReplyRule(EndlessReply(), WORKER, times))

    @property
    def prompts(self) -> list[str]:
        """What each worker was told first, oldest first."""
        return [request.last for request in self.model.requests if DISCIPLINE in request.last]

    def tdd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type `supervisor tdd ARGUMENTS`."""
        with self.typed(*arguments) as process:
            stdout, stderr = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    @contextmanager
    def typed(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        path = os.pathsep.join((str(self.host.binary.parent), self.host.env["PATH"]))
        with subprocess.Popen(
            [str(SUPERVISOR), "tdd", *arguments],
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

    def working(self) -> int:
        """Wait until a worker asks its model, and return its process."""
        self.model.wait_for(lambda request: DISCIPLINE in request.last, timeout=LIMIT_S)
        return worker_processes(self.host.home)[0]


@pytest.fixture
def claude_room(host: Host, model: ScriptedModel) -> Room:
    return Room(host, model, {}).lay(PYTHON)


@pytest.fixture
def opencode_room(opencode_host: OpenCode, model: ScriptedModel) -> Room:
    return Room(opencode_host, model, {}).lay(NODE)


@pytest.fixture(params=["claude", "opencode"])
def room(request: pytest.FixtureRequest, claude_room: Room, opencode_room: Room) -> Room:
    return claude_room if request.param == "claude" else opencode_room


# --- `supervisor tdd` ---------------------------------------------------------------------------------------


def test_claude_code_writes_a_behaviour_of_a_python_project(claude_room: Room) -> None:
    claude_room.plays(
        claude_room.turn({"tests/test_sub.py": SUB_TEST}, file_path="tests/test_sub.py"),
        claude_room.turn({"calc.py": SUB}),
        claude_room.turn({"calc.py": NAMED}),
    )
    done = claude_room.tdd(SPEC)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if "verified" in line] == [
        "red       verified: A failing test is in tests/test_sub.py, and it fails for the right reason.",
        "green     verified: tests/test_sub.py passes, and every other test ends as before.",
        "refactor  verified: The structure was changed, and the tests end as before.",
    ]
    assert "red       the tests run there: python -m pytest -q" in done.stdout
    assert claude_room.holds(RED_DONE | {"calc.py": NAMED})


def test_opencode_writes_a_behaviour_of_a_node_project(opencode_room: Room) -> None:
    opencode_room.plays(
        opencode_room.turn({"sub.test.js": SUB_TEST_JS}),
        opencode_room.turn({"calc.js": SUB_JS}),
        opencode_room.turn({"calc.js": NAMED_JS}),
    )
    done = opencode_room.tdd(SPEC)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(" verified: ") == 3
    assert opencode_room.holds(NODE | {"sub.test.js": SUB_TEST_JS, "calc.js": NAMED_JS})


def test_a_worker_that_lies_is_told_why_it_is_not_believed_and_then_does_it(claude_room: Room) -> None:
    claude_room.plays(
        claude_room.turn({"tests/test_sub.py": PASSES}, message="The test fails, as it should."),
        claude_room.turn({"tests/test_sub.py": SUB_TEST}),
    )
    done = claude_room.tdd(SPEC, "--phase", "red")
    first, second = claude_room.prompts
    assert "was refused" not in first
    assert "attempt 1 of 3 was refused" in second
    assert "The new test passes at once" in second
    assert "red       refused: The new test passes at once" in done.stdout
    assert done.returncode == 0
    assert claude_room.holds(RED_DONE)


def test_two_tests_are_one_too_many(opencode_room: Room) -> None:
    opencode_room.plays(
        opencode_room.turn({"sub.test.js": TWO}), opencode_room.turn({"sub.test.js": SUB_TEST_JS})
    )
    done = opencode_room.tdd(SPEC, "--phase", "red")
    assert "Exactly one new test is wanted, and there are 2" in opencode_room.prompts[1]
    assert done.returncode == 0
    assert opencode_room.holds(NODE | {"sub.test.js": SUB_TEST_JS})


def test_who_keeps_editing_the_test_in_green_changes_nothing(claude_room: Room) -> None:
    there = claude_room.lay(RED_DONE)
    before = everything(there.host.project)
    there.plays(*[there.turn({"tests/test_sub.py": PASSES})] * 2)
    done = there.tdd("--phase", "green", "--test", "tests/test_sub.py")
    assert done.returncode == 1
    assert "green     not verified: Tests, fixtures and settings of the test runner must stay" in done.stdout
    assert "did the same twice" in done.stdout
    assert everything(there.host.project) == before


def test_a_worker_that_hangs_is_ended_at_the_deadline_and_said_so(room: Room) -> None:
    room.hangs()
    lay_out(room.host.home, {".config/supervisor/config.toml": "[workers]\nseconds = 5\n"})
    before = everything(room.host.project)
    done = room.tdd(SPEC)
    assert done.returncode == 2
    assert "not verified: the worker did not end within 5 s" in done.stdout
    assert worker_processes(room.host.home) == []
    assert everything(room.host.project) == before


# --- kill -9 ------------------------------------------------------------------------------------------------


def test_after_a_worker_is_killed_the_next_one_does_it(claude_room: Room) -> None:
    claude_room.hangs(times=1)
    claude_room.plays(claude_room.turn({"tests/test_sub.py": SUB_TEST}))
    with claude_room.typed(SPEC, "--phase", "red") as process:
        os.kill(claude_room.working(), signal.SIGKILL)
        stdout, _ = process.communicate(timeout=LIMIT_S)
    assert "claude ended with exit code -9" in claude_room.prompts[1]
    assert (process.returncode, stdout.count("an agent works")) == (0, 2)
    assert claude_room.holds(RED_DONE)


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, "Interrupted: the agent was ended, and the project is as it was.\n"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
    ids=["Ctrl-C", "kill -9"],
)
def test_whatever_ends_the_command_ends_its_worker(
    claude_room: Room, number: signal.Signals, code: int, said: str
) -> None:
    claude_room.hangs()
    before = everything(claude_room.host.project)
    with claude_room.typed(SPEC) as process:
        claude_room.working()
        process.send_signal(number)
        _, told = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, told) == (code, said)
    assert nobody_is_left(claude_room.host.home)
    assert everything(claude_room.host.project) == before


# --- the tools, called by the agent of a session ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["claude", "opencode"])
def test_an_agent_calls_for_red_and_green_stops_and_is_judged_on_the_whole(
    kind: str, host: Host, opencode_host: OpenCode, model: ScriptedModel
) -> None:
    chosen = host if kind == "claude" else opencode_host
    with agent_session(chosen, model, PYTHON, "tdd") as session:
        room = Room(session.under.host, model, PYTHON)
        session.calls("tdd_red", spec=SPEC, test_cmd=COMMAND)
        room.plays(room.turn({"tests/test_sub.py": SUB_TEST}))
        session.calls("tdd_green", test_path="tests/test_sub.py", test_cmd=COMMAND)
        room.plays(room.turn({"calc.py": SUB}))
        session.says("sub is there, and tested.")
        session.goal(GOAL)
        red, green = session.told
        assert "fails for the right reason. Next: tdd_green with test_path tests/test_sub.py" in red
        assert "tests/test_sub.py passes, and every other test ends as before" in green
        assert room.holds(RED_DONE | {"calc.py": SUB})
        assert (session.under.report().status, session.under.continuations()) == ("achieved", [])
        assert len(list(session.under.state.glob("sessions/*.json"))) == 1, "a worker became a session"


def test_a_sidecar_killed_during_a_call_is_an_error_to_the_agent_and_leaves_no_worker(
    host: Host, model: ScriptedModel
) -> None:
    with agent_session(host, model, PYTHON, "tdd") as session, ThreadPoolExecutor() as aside:
        room = Room(session.under.host, model, PYTHON)
        session.calls("tdd_red", spec=SPEC, test_cmd=COMMAND)
        session.says("I could not.")
        room.hangs()
        asked = aside.submit(session.goal, GOAL)
        room.working()
        told = re.search(r"process (\d+)", session.under.supervisor("doctor", "--no-probe").stdout)
        assert told is not None
        os.kill(int(told[1]), signal.SIGKILL)
        assert nobody_is_left(host.home)
        asked.result(LIMIT_S)
        assert "ended during this call" in session.told[0]
        assert room.holds(PYTHON)
