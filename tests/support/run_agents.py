"""Small programs as agents of `supervisor run`, on a stage with a real sidecar."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sidecar.kernel.journal import TaskStatus
from sidecar.kernel.log import EventFilter, JournalChanged, event_kind
from sidecar.kernel.session import SessionKey
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.ports import SystemClock
from support.model_script import ReplyRule, reply_with_text
from support.model_server import ScriptedModel
from support.scene import SUPERVISOR, Stage

LIMIT_S: Final = 120.0
"""Bound of every wait here, in seconds."""
CONFIG: Final = """
[judge]
backend = "rules"
[gates]
detect = false
[run]
extra = "Be brief."
[run.hooks]
before_iteration = ["echo the build is $SUPERVISOR_RUN_ITERATION"]
on_task_completed = ['echo "$SUPERVISOR_RUN_TASK_ID" >> "$HOME/completed"']
"""
AGENT: Final = """\
import json, os, pathlib, sys, time, urllib.request

prompt = sys.stdin.read()
log = pathlib.Path(os.environ["HOME"], "prompts")
number = len(list(log.iterdir()))
while True:
    try:
        (log / f"{number}.txt").open("x").write(prompt)
        break
    except FileExistsError:  # another one began at once
        number += 1


def post(message, **headers):
    token = "Bearer " + os.environ["SUPERVISOR_MCP_TOKEN"]
    usual = {"Authorization": token, "Accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    usual["Content-Type"] = "application/json"
    request = urllib.request.Request(os.environ["SUPERVISOR_MCP_URL"], body, {**usual, **headers})
    return urllib.request.urlopen(request, timeout=120)


def tool(name, **arguments):
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    with post({"id": 1, "method": "initialize", "params": about}) as opened:
        session = {"MCP-Protocol-Version": "2025-06-18"}
        if opened.headers["Mcp-Session-Id"]:
            session["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
    post({"method": "notifications/initialized"}, **session).close()
    call = {"id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    with post(call, **session) as answered:
        answer = answered.read().decode()
    assert '"isError":true' not in answer.replace(" ", ""), answer


def hang():
    wire = os.open(os.environ["HOME"] + "/wire", os.O_WRONLY)
    os.write(wire, b"up")
    os.read(os.open(os.environ["HOME"] + "/go", os.O_RDWR), 1)


"""
GOAL: Final = "all checks pass"
INCOMPLETE: Final = {
    "verdict": "incomplete",
    "missing": [{"point": "the changelog is open", "criterion": "goal", "evidence": []}],
    "next_step": "Write the changelog.",
    "confidence": 0.95,
}
COMPLETE: Final = {
    "verdict": "complete",
    "criteria": [{"criterion": "the work is complete", "evidence": ["E1"]}],
    "confidence": 0.95,
}
FINISHES: Final = 'pathlib.Path("done").touch(); print("Done.")'


class Runs:
    """A stage on which agents are run."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.home = stage.scene.home
        self.program = folder / "agent"
        (self.home / "prompts").mkdir()
        for pipe in ("wire", "go"):
            os.mkfifo(self.home / pipe)
        config = self.home / ".config" / "supervisor" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(CONFIG, encoding="utf-8")

    def agent(self, *lines: str) -> None:
        """What every agent does after it has read its prompt; `number` counts them from 0."""
        text = "\n".join((f"#!{sys.executable}", AGENT, *lines, ""))
        self.program.write_text(text, encoding="utf-8")
        self.program.chmod(0o755)

    def judged_by(self, model: ScriptedModel) -> None:
        """Let a scripted model judge what rules and checks cannot decide."""
        service = f'[judge.openai]\nendpoint = "{model.url}/v1"\nmodel = "scripted"\n[gates]'
        words = CONFIG.replace('"rules"', '"openai"').replace("[gates]", service)
        (self.home / ".config" / "supervisor" / "config.toml").write_text(words, encoding="utf-8")

    def command(self, *options: str, goal: bool = True) -> list[str]:
        wish = ("--goal", GOAL, "--check", "test -e done") if goal else ()
        return [
            str(SUPERVISOR), "run", "--session", "demo", *wish, *options, "--", str(self.program),
        ]  # fmt: skip

    def run(self, *options: str, goal: bool = True) -> subprocess.CompletedProcess[str]:
        return self.types(*self.command(*options, goal=goal))

    def types(self, _: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ours, whose first word is the program's name."""
        return subprocess.run(
            [str(SUPERVISOR), *words],
            cwd=self.stage.scene.project,
            env=dict(self.stage.scene.environment),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def started(self, *options: str, goal: bool = True) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command("--json", *options, goal=goal),
            cwd=self.stage.scene.project,
            env=dict(self.stage.scene.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def wire(self) -> Iterator[subprocess.Popen[bytes]]:
        """Says when an agent hangs, and is at its end when no agent holds it any more."""
        with subprocess.Popen(["cat", self.home / "wire"], stdout=subprocess.PIPE) as wire:
            try:
                yield wire
            finally:
                wire.kill()

    def prompts(self) -> list[str]:
        files = sorted((self.home / "prompts").iterdir(), key=lambda path: int(path.stem))
        return [path.read_text(encoding="utf-8") for path in files]


def hangs(wire: subprocess.Popen[bytes]) -> None:
    """Wait until an agent does."""
    assert wire.stdout is not None
    assert select.select([wire.stdout], [], [], LIMIT_S)[0]
    assert os.read(wire.stdout.fileno(), 2) == b"up"  # unbuffered: others may be up, too


def answer(verdict: dict[str, Any]) -> ReplyRule:
    return ReplyRule(reply_with_text(json.dumps({"answer": verdict})))


def events(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def verdicts(told: list[dict[str, Any]]) -> list[str]:
    return [event["reason"] for event in told if event["event"] == "verdict"]


def completions(state: Path) -> list[str]:
    """The id of a task of session `demo` for each time that it was completed."""
    log = EventLogFile(state, SystemClock())
    kinds = (event_kind(JournalChanged),)
    found: list[str] = []
    statuses: dict[str, TaskStatus] = {}
    for event in log.newest(EventFilter(session=SessionKey("run", "demo"), kinds=kinds), 10_000):
        assert isinstance(event.data, JournalChanged)
        for task in event.data.tasks:
            if task.status is TaskStatus.COMPLETED != statuses.get(task.id):
                found.append(task.id)
            statuses[task.id] = task.status
    return found
