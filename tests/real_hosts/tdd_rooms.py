"""What scenes of test-driven development have in common: a host with a scripted model, and what it plays.

In a `Room` a person types `supervisor tdd`; in a `Session` an agent calls the tools.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from real_hosts.agent_session import AgentSession, agent_session
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.worker_processes import LIMIT_S, worker_processes
from support.model_script import (
    EndlessReply,
    ReplyRule,
    RequestMatch,
    ScriptedReply,
    reply_structured,
    reply_with_calls,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.tdd_projects import NODE, PYTHON, SPEC, SUB, SUB_JS, SUB_TEST, SUB_TEST_JS, contents, lay_out

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LEFT: Final = (".git", ".gitignore", "__pycache__", ".pytest_cache")
DISCIPLINE: Final = "step of test-driven development"
WORKER: Final = RequestMatch(tools="some", any=DISCIPLINE)
"""Requests of a worker: not those for a title, nor of the agent that called for it."""


class Language(Struct, frozen=True, kw_only=True):
    """A project in one language, and what workers write there: well, and one test that passes at once."""

    files: Mapping[str, str]
    command: str
    test: str
    code: str
    fails: str
    passes: str
    good: str
    renamed: str

    @property
    def work(self) -> dict[str, dict[str, str]]:
        """What is done, by its name; that of a phase is what the phase asks for."""
        return {
            "red": {self.test: self.fails},
            "green": {self.code: self.good},
            "refactor": {self.code: self.renamed},
            "passes at once": {self.test: self.passes},
        }

    def before(self, phase: str) -> dict[str, str]:
        """The project when a phase begins."""
        done = {"red": (), "green": ("red",), "refactor": ("red", "green")}[phase]
        return self.after(self.files, *done)

    def after(self, files: Mapping[str, str], *work: str) -> dict[str, str]:
        """The project after such work."""
        changed = {**files}
        for name in work:
            changed |= self.work[name]
        return changed


PYTHON_PROJECT: Final = Language(
    files=PYTHON,
    command="python -m pytest -q",
    test="tests/test_sub.py",
    code="calc.py",
    fails=SUB_TEST,
    passes="def test_sub():\n    assert 30 - 13 == 17\n",
    good=SUB,
    renamed=SUB.replace("sub(a, b)", "sub(left, right)").replace("a - b", "left - right"),
)
NODE_PROJECT: Final = Language(
    files=NODE,
    command="npm test",
    test="sub.test.js",
    code="calc.js",
    fails=SUB_TEST_JS,
    passes=SUB_TEST_JS.replace("sub(30, 13)", "30 - 13").replace("{ sub }", "{ add }"),
    good=SUB_JS,
    renamed=SUB_JS.replace("(a, b) => a - b", "(left, right) => left - right"),
)


class Room(Struct, frozen=True):
    """A person's home with one host, a project, and the model that the host asks."""

    host: Host | OpenCode
    model: ScriptedModel
    language: Language

    def begin(self, phase: str = "red") -> dict[str, str]:
        """Lay out the project as it is when a phase begins, and return its files."""
        files = self.language.before(phase)
        lay_out(self.host.project, files)
        return files

    def holds(self, files: Mapping[str, str]) -> bool:
        """Whether the project holds these files and nothing else but what tools left."""
        return contents(self.host.project, but=LEFT) == files

    def plays(self, *plays: str) -> None:
        """Let workers do this, one after the other."""
        self.model.add(*(ReplyRule(reply, WORKER) for play in plays for reply in self._replies(play)))

    def _replies(self, play: str) -> list[ScriptedReply]:
        """What the model says to a worker that does this. Who gives an answer claims that all is well."""
        claude = isinstance(self.host, Host)
        said = {"status": "pass", "file_path": "", "message": "All is well."}
        answer = reply_structured(said) if claude else reply_with_text(json.dumps(said))
        line = "; ".join(
            f"mkdir -p $(dirname {name}) && printf %s {shlex.quote(text)} > {name}"
            for name, text in self.language.work[play].items()
        )
        call = ReplyToolCall("Bash" if claude else "bash", {"command": line, "description": "Write"})
        return [reply_with_calls(call), answer]

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

    def working(self, number: int = 1) -> int:
        """Wait until so many workers have asked their model, and return the process of the newest."""
        self.model.wait_for(lambda _: len(self.prompts) >= number, timeout=LIMIT_S)
        return worker_processes(self.host.home)[0]


class Session(Struct, frozen=True):
    """An agent that has a goal and calls the tools, in the project of a room."""

    room: Room
    its: AgentSession

    def calls(self, phase: str) -> None:
        language = self.room.language
        given = {"spec": SPEC} if phase == "red" else {"test_path": language.test}
        given |= {"impl_path": language.code} if phase == "refactor" else {}
        self.its.calls(f"tdd_{phase}", **given, test_cmd=language.command)

    @property
    def goal(self) -> str:
        return f"all tests pass --check '{self.room.language.command}'"

    def sidecar(self) -> int:
        """The process of the sidecar."""
        found = re.search(r"process (\d+)", self.its.under.supervisor("doctor", "--no-probe").stdout)
        assert found is not None
        return int(found[1])

    def kinds_logged(self) -> list[str]:
        """The kinds of all events, of a log that is whole and never was set aside."""
        beside = {path.name for path in self.its.under.state.glob("*events*")}
        assert beside <= {"events.sqlite3", "events.sqlite3-wal", "events.sqlite3-shm"}
        with closing(sqlite3.connect(self.its.under.state / "events.sqlite3")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return [kind for (kind,) in connection.execute("SELECT kind FROM events ORDER BY position")]


@contextmanager
def tdd_session(host: Host | OpenCode, model: ScriptedModel, language: Language) -> Iterator[Session]:
    with agent_session(host, model, language.files, "tdd") as its:
        yield Session(Room(its.under.host, model, language), its)
