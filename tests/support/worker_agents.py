"""Workers of every kind: programs that speak as their hosts do, a gateway with a scripted model, a fake."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec import Struct

from sidecar.kernel.settings import Settings, WorkerSettings
from sidecar.platform.secrets import SecretForms
from sidecar.wiring.headless import build_workers
from sidecar.workers.backend import find_answer, validate_answer
from sidecar.workers.ports import (
    SELF,
    A,
    WorkerError,
    WorkerFailure,
    WorkerPlace,
    WorkerRun,
    Workers,
    WorkerTask,
)
from support.memory_stores import MemorySpending
from support.model_script import EndlessReply, ReplyRule, reply_with_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from pathlib import Path

    from support.model_server import ScriptedModel

LIMIT_S: Final = 240.0
"""Bound of every wait here, in seconds."""


class Answer(Struct, frozen=True):
    """What workers are asked for in tests."""

    file: str
    ok: bool


GOOD: Final = {"file": "test_a.py", "ok": True}
WRONG: Final = {"file": "test_a.py", "ok": "yes"}

SPEAKS: Final = {
    "claude": """
def line(**fields): print(json.dumps(fields), flush=True)
def message(kind, *blocks):
    usage = {"input_tokens": 100, "output_tokens": 20}
    line(type=kind, message={"id": "m1", "model": "claude-4", "content": blocks, "usage": usage})
def say(text): message("assistant", {"type": "text", "text": text})
def write(path, refused=False):
    message("assistant", {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": path}})
    message("user", {"type": "tool_result", "tool_use_id": "t1", "is_error": refused, "content": "x"})
def shell(command):
    subprocess.run(command, shell=True)
    message("assistant", {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": command}})
def end(text, **fields):
    if text: say(text)
    usage = {"input_tokens": 200, "output_tokens": 40}
    line(type="result", result=text, usage=usage, total_cost_usd=0.002, **fields)
def answer(value): end("", structured_output=value)
""",
    "opencode": """
def line(kind, **part): print(json.dumps({"type": kind, "part": {"messageID": "m1", **part}}), flush=True)
def say(text): line("text", text=text)
def write(path, refused=False):
    state = {"status": "error" if refused else "completed", "input": {"filePath": path}}
    line("tool_use", tool="write", state=state)
def shell(command):
    subprocess.run(command, shell=True)
    line("tool_use", tool="bash", state={"status": "completed", "input": {"command": command}})
def end(text):
    line("text", messageID="m2", text=text)
    line("step_finish", tokens={"input": 200, "output": 40}, cost=0.002)
def answer(value): end("Done {it}:\\n```json\\n" + json.dumps(value) + "\\n```")
""",
    "codex": """
def line(kind, **fields): print(json.dumps({"type": kind, **fields}), flush=True)
def item(event, kind, **fields): line("item." + event, item={"type": kind, **fields})
line("thread.started", thread_id="01a2")
def say(text): item("completed", "agent_message", text=text)
def write(path, refused=False):
    item("completed", "file_change", changes=[{"path": path}], status="failed" if refused else "completed")
def shell(command):
    subprocess.run(command, shell=True)
    item("started", "command_execution", command=command)
def end(text):
    say(text)
    line("turn.completed", usage={"input_tokens": 200, "cached_input_tokens": 0, "output_tokens": 40})
def answer(value): end("Done {it}:\\n```json\\n" + json.dumps(value) + "\\n```")
""",
    "gemini": """
def line(kind, **fields): print(json.dumps({"type": kind, **fields}), flush=True)
line("init", session_id="s", model="gemini-2.5-pro")
def say(text): line("message", role="assistant", content=text, delta=True)
def write(path, refused=False):
    line("tool_use", tool_name="write_file", tool_id="t1", parameters={"file_path": path})
    line("tool_result", tool_id="t1", status="error" if refused else "success")
def shell(command):
    subprocess.run(command, shell=True)
    line("tool_use", tool_name="run_shell_command", tool_id="t2", parameters={"command": command})
    line("tool_result", tool_id="t2", status="success")
def end(text):
    say(text)
    line("result", status="success", stats={"total_tokens": 240, "input_tokens": 200, "output_tokens": 40})
def answer(value): end("Done {it}:\\n```json\\n" + json.dumps(value) + "\\n```")
""",
    "command": """
def say(text): print(text, flush=True)
end = say
def answer(value): say(json.dumps(value))
""",
}
"""How each kind of agent says what a test lets it do."""
KINDS: Final = tuple(SPEAKS)


class Room:
    """A folder with an agent in it, the workers that start it, and what was heard and spent."""

    def __init__(self, folder: Path, kind: str, **settings: Any) -> None:
        self.kind = kind
        self.project = folder / "project"
        self.project.mkdir()
        self.program = folder / "bin" / kind
        self.program.parent.mkdir()
        self.spending = MemorySpending()
        self.workers: Workers = build_workers(folder / "state", self.spending, SecretForms())
        chosen = {"backend": kind, **({"command": (str(self.program),)} if kind == "command" else {})}
        self.settings = Settings(workers=WorkerSettings(**chosen | settings))
        self.heard: list[str] = []

    def plays(self, body: str) -> None:
        """Let the agent do this: Python, with `say`, `write`, `answer` and `end`."""
        head = f"#!{sys.executable}\nimport json, os, signal, subprocess, sys\nprompt = sys.stdin.read()\n"
        self.program.write_text(f"{head}{SPEAKS[self.kind]}\n{body}\n", encoding="utf-8")
        self.program.chmod(0o755)

    def task(self, **fields: Any) -> WorkerTask[Answer]:
        path = os.pathsep.join((str(self.program.parent), os.environ["PATH"]))
        usual: dict[str, Any] = {
            "prompt": "Write a test.",
            "answer": Answer,
            "tools": ("Bash", "Read", "Write"),
            "model": SELF,
            "project": str(self.project),
            "environment": {"PATH": path, "TMPDIR": str(self.project.parent / "tmp")},
            "seconds": LIMIT_S,
        }
        return WorkerTask(**usual | fields)

    async def run(self, hear: Callable[[str], None] | None = None, **fields: Any) -> WorkerRun[Answer]:
        async with asyncio.timeout(LIMIT_S):
            return await self.workers.run(self.task(**fields), self.settings, hear or self.heard.append)


class WorkerWorld(Protocol):
    """Workers of one kind, for the contract suite."""

    room: Room

    def answers(self, value: object) -> None:
        """Let it work and answer this."""

    def talks(self) -> None:
        """Let it answer in prose."""

    def hangs(self) -> None:
        """Let it never end."""


class ProgramWorld:
    """An agent that is a program."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def answers(self, value: object) -> None:
        self.room.plays(f"say('Working.')\nanswer({value!r})")

    def talks(self) -> None:
        self.room.plays("end('I would rather not.')")

    def hangs(self) -> None:
        self.room.plays("say('Working.')\nsignal.pause()")


class GatewayWorld:
    """A service that speaks chat completions."""

    def __init__(self, folder: Path, model: ScriptedModel, **settings: Any) -> None:
        self.model = model
        usual = {"gateway_url": f"{model.url}/v1", "gateway_model": "coder-1"}
        self.room = Room(folder, "gateway", **usual | settings)

    def answers(self, value: object, **files: str) -> None:
        self.names([{"path": path, "content": content} for path, content in files.items()], value)

    def names(self, files: list[dict[str, str]], value: object = GOOD) -> None:
        """Let the model answer with these files."""
        self.says(msgspec.json.encode({"files": files, "answer": value}).decode())

    def says(self, text: str) -> None:
        """Let the model say this once."""
        self.model.add(ReplyRule(reply_with_text(text)))

    def talks(self) -> None:
        self.says("I would rather not.")

    def hangs(self) -> None:
        self.model.add(ReplyRule(EndlessReply(), times=None))


class ScriptedWorkers:
    """`Workers` that start nothing: `work` does what the agent would do, and returns its answer.

    The answer is text, or what becomes JSON. `tasks` is what was asked.
    """

    def __init__(self, work: Callable[[WorkerTask[Any]], Awaitable[object]]) -> None:
        self._work = work
        self.failure: WorkerError | None = None
        self.tasks: list[WorkerTask[Any]] = []

    def models(
        self,
        wanted: Iterable[WorkerPlace],
        settings: Settings,  # noqa: ARG002 - the port's
        *,
        limited: bool,  # noqa: ARG002 - the port's
    ) -> dict[str, str]:
        return {at.model: at.model for at in wanted}

    async def run(self, task: WorkerTask[A], settings: Settings, hear: Callable[[str], None]) -> WorkerRun[A]:
        self.tasks.append(task)
        if self.failure is not None:
            raise self.failure
        seconds = task.seconds or settings.workers.seconds
        try:
            async with asyncio.timeout(seconds):
                said = await self._work(task)
        except TimeoutError:
            raise WorkerError(WorkerFailure.TIMED_OUT, f"it did not end within {seconds:g} s") from None
        text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
        hear(text)
        answer = validate_answer(find_answer(text, text), task.answer, text)
        return WorkerRun(answer=answer, model=task.model or SELF, tokens=240, cents=0.2, output=text)


class ScriptWorld:
    """The fake."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._said: object = ""
        room.workers = ScriptedWorkers(self._work)

    async def _work(self, _task: WorkerTask[Any]) -> object:
        if self._said is None:
            await asyncio.Event().wait()
        return self._said

    def answers(self, value: object) -> None:
        self._said = value

    def talks(self) -> None:
        self._said = "I would rather not."

    def hangs(self) -> None:
        self._said = None
