"""OpenCode with the plugin, a runtime and a project whose tests fail: what every scenario starts from."""

from __future__ import annotations

import json
import os
import re
import select
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, Self

import msgspec

from real_hosts.host import Ran
from real_hosts.opencode_host import OpenCode
from sidecar.cli.demo_agent import BROKEN_SOURCE, REPAIRED_SOURCE
from sidecar.systems.supervision.people import SessionReport
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.projects import PYTEST_SOURCE

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
AGENT: Final = RequestMatch(has_tool="bash")
"""Requests of the agent itself: not of a judge, not for a title."""
JUDGE: Final = RequestMatch(tools="none", any="independent judge of one stop")
"""Requests of the judge, which the host makes for us in a session of its own."""
SENT_BACK: Final = r"\[supervisor [0-9a-f]{6}\]"
COMMAND_LIMIT_S: Final = 120.0
"""Longest time, in seconds, of one `supervisor` command."""


class Held(msgspec.Struct, frozen=True):
    """A check that fails: until it is released it says that it begins, and waits."""

    begun: Path
    released: Path

    @classmethod
    def made(cls, folder: Path) -> Self:
        """With its files in `folder`, which is outside the project."""
        os.mkfifo(folder / "begun")
        return cls(folder / "begun", folder / "released")

    @property
    def check(self) -> str:
        """The shell line."""
        free = f"[ -e {self.released} ]"
        return f"{free} || echo > {self.begun}; until {free}; do sleep 0.1; done; false"

    def wait(self) -> None:
        """Return when the check begins; raises `TimeoutError`."""
        opened = os.open(self.begun, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if not select.select([opened], [], [], COMMAND_LIMIT_S)[0]:
                raise TimeoutError(f"no check began within {COMMAND_LIMIT_S} s")
        finally:
            os.close(opened)

    def release(self) -> None:
        self.released.touch()


class Supervised(msgspec.Struct, frozen=True):
    """An OpenCode under supervision in one project, and the model it asks."""

    host: OpenCode
    model: ScriptedModel

    @property
    def state(self) -> Path:
        """The state folder of this home."""
        return self.host.home / ".local" / "state" / "supervisor"

    def at(self, project: Path) -> Supervised:
        """The same home with another project like it, which is laid out at `project`."""
        lay_out(project)
        return Supervised(self.host.at(project), self.model)

    def ask(self, prompt: str, *arguments: str) -> Ran:
        """Run `opencode run`; the prompt is quoted once, as a shell's words are."""
        return self.host.run("run", *arguments, prompt)

    def command(self, name: str, words: str = "", *arguments: str) -> Ran:
        """Run `opencode run --command supervisor:NAME WORDS`."""
        return self.host.run("run", "--command", f"supervisor:{name}", *arguments, *filter(None, [words]))

    def script(self, *rules: ReplyRule) -> None:
        """Add to what the model answers."""
        self.model.add(*rules)

    def supervisor(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type `supervisor ARGUMENTS` in a shell of this home's user."""
        return subprocess.run(
            [str(SUPERVISOR), *arguments],
            cwd=self.host.project,
            env=dict(self.host.env),
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )

    def report(self) -> SessionReport:
        """What `supervisor status --json` says of this project."""
        done = self.supervisor("status", "--json")
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout, type=SessionReport)

    @contextmanager
    def judging(self, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Held]]:
        """Run `opencode run` with a goal whose check waits for the test; both are there when it does."""
        held = Held.made(self.host.home.parent)
        goal = f"the file is there --check '{held.check}'"
        with self.host.started("run", "--command", "supervisor:goal", *arguments, goal) as process:
            if process.stdin is not None:
                process.stdin.close()
                process.stdin = None
            try:
                held.wait()
                yield process, held
            finally:
                held.release()

    def sidecar(self) -> int:
        """The process id of the sidecar, which is started where there is none."""
        found = re.search(r"process (\d+)", self.supervisor("doctor", "--no-probe").stdout)
        assert found is not None
        return int(found[1])

    def stops(self) -> list[str]:
        """What was decided at each stop, oldest first."""
        return [entry.decided for entry in self.report().story if entry.event == "stop"]

    def sessions(self) -> list[str]:
        """The titles of all sessions that this home's OpenCode keeps."""
        kept = self.host.home / ".local" / "share" / "opencode" / "opencode.db"
        with closing(sqlite3.connect(f"file:{kept}?mode=ro", uri=True)) as database:
            return [title for (title,) in database.execute("SELECT title FROM session")]

    def continuations(self) -> list[str]:
        """What this project's agent was told when it was sent back, oldest first, each once."""
        found: dict[str, str] = {}
        for request in self.model.requests:
            marked = re.search(SENT_BACK, request.last)
            if marked and "bash" in request.tools and str(self.host.project) in request.system:
                found.setdefault(marked[0], request.last[marked.start() :])
        return list(found.values())


@contextmanager
def supervised(host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    """Lay out the project, record the runtime, install the plugin, and end the sidecar afterwards."""
    lay_out(host.project)
    path = os.pathsep.join((str(host.binary.parent), host.env["PATH"]))
    under = Supervised(host.having(PATH=path), model)
    under.state.mkdir(parents=True, mode=0o700)
    (under.state / "runtime").write_text(f"{SUPERVISOR}\n", encoding="utf-8")
    _install(under)
    try:
        yield under
    finally:
        under.supervisor("stop")


def _install(under: Supervised) -> None:
    """Install the plugin as a user does; it is the installer that keeps OpenCode from waiting for npm."""
    under.host.unsettle_packages()
    done = under.supervisor("install", "opencode")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (under.host.config / "package-lock.json").exists()


def lay_out(project: Path, *, git: bool = True) -> None:
    """A project with a failing test, in a folder that may be there already."""
    project.mkdir(parents=True, exist_ok=True)
    (project / "shop.py").write_text(BROKEN_SOURCE, encoding="utf-8")
    (project / "test_shop.py").write_text(PYTEST_SOURCE, encoding="utf-8")
    (project / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n", encoding="utf-8")
    if git:
        subprocess.run(["git", "init", "-q", "."], cwd=project, check=True, timeout=COMMAND_LIMIT_S)


def writes_shop(host: OpenCode) -> ReplyRule:
    """The agent repairs the project."""
    write = ReplyToolCall("write", {"filePath": str(host.project / "shop.py"), "content": REPAIRED_SOURCE})
    return ReplyRule(reply_with_calls(write), agent(host.project))


def reads_shop(host: OpenCode) -> ReplyRule:
    """The agent reads the file, without which the host refuses to overwrite it."""
    return ReplyRule(
        reply_with_calls(ReplyToolCall("read", {"filePath": str(host.project / "shop.py")})),
        agent(host.project),
    )


def runs(command: str, project: Path | None = None) -> ReplyRule:
    """The agent (of `project`, where one is named) runs a command."""
    return ReplyRule(
        reply_with_calls(ReplyToolCall("bash", {"command": command, "description": "Run it"})), agent(project)
    )


def says(text: str, project: Path | None = None) -> ReplyRule:
    """The agent (of `project`, where one is named) writes and stops."""
    return ReplyRule(reply_with_text(text), agent(project))


def judges(answer: Mapping[str, object]) -> ReplyRule:
    """The judge gives this verdict."""
    return ReplyRule(reply_with_text(json.dumps({"answer": answer})), JUDGE)


def agent(project: Path | None = None) -> RequestMatch:
    """Requests of the agent of `project`, which its system prompt names; of any where it is None."""
    return msgspec.structs.replace(AGENT, any=rf"{re.escape(str(project))}\s") if project else AGENT
