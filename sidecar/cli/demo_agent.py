"""What the demo plays with: a small project with a test that really fails, and a scripted agent on it.

The agent acts like one of Claude Code and replaces the host and its model, here, in tests and in benchmarks.
Its messages are scripted; its edits and commands are real; its transcript has the lines that Claude Code 2.1
writes; and its hooks are started with the command lines of hooks/hooks.json. Like the host, it goes on when a
hook says so.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from sidecar.platform.processes import run_process

BROKEN_SOURCE = '''"""Prices."""


def total(prices: list[float], discount: float) -> float:
    """The sum of the prices less a discount between 0 and 1."""
    return sum(prices) - discount
'''
REPAIRED_SOURCE = BROKEN_SOURCE.replace("sum(prices) - discount", "sum(prices) * (1 - discount)")
TEST_SOURCE = """import unittest

from shop import total


class Total(unittest.TestCase):
    def test_a_tenth_is_taken_off(self):
        self.assertEqual(total([10.0, 20.0], 0.1), 27.0)

    def test_nothing_costs_nothing(self):
        self.assertEqual(total([], 0.0), 0.0)
"""
"""Tests that need no package but Python."""
SKIPPED_TEST_SOURCE = TEST_SOURCE.replace("    def test_a", '    @unittest.skip("flaky")\n    def test_a', 1)
"""The same tests, with the failing one skipped."""


class ScriptedScene(Struct, frozen=True):
    """Where the demo is played: project, home, and the complete environment of the processes there."""

    project: Path
    home: Path
    environment: Mapping[str, str]


async def build_shop_project(root: Path, runtime: Path, tests: str = TEST_SOURCE) -> ScriptedScene:
    """Create the project below `root`. `runtime`: the `supervisor` executable that the hooks start."""
    project, home = root / "shop", root / "home"
    state = home / ".local" / "state" / "supervisor"
    for folder in (project, home, state):
        folder.mkdir(parents=True, mode=0o700)
    (project / "shop.py").write_text(BROKEN_SOURCE, encoding="utf-8")
    (project / "test_shop.py").write_text(tests, encoding="utf-8")
    (project / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n", encoding="utf-8")
    (state / "runtime").write_text(f"{runtime}\n", encoding="utf-8")
    scene = ScriptedScene(project=project, home=home, environment=_shop_environment(home))
    identity = "-c user.name=Demo -c user.email=demo@example.invalid"
    await run_process(
        f"git init -q . && git add -A && git {identity} commit -qm 'A shop'",
        cwd=str(project),
        environment=scene.environment,
        seconds=30,
    )
    return scene


def _shop_environment(home: Path) -> dict[str, str]:
    """Nothing of the user's but PATH and language; the tests run with the Python of this process."""
    own = {
        "HOME": str(home),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return own | ({"VIRTUAL_ENV": sys.prefix} if sys.prefix != sys.base_prefix else {})


COMMAND_SECONDS = 120.0


class _Specific(msgspec.Struct, frozen=True, rename="camel"):
    additional_context: str = ""


class HookAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A hook's answer to the host. `exit_code` and `output` are those of the hook process."""

    decision: str = ""
    reason: str = ""
    system_message: str = ""
    hook_specific_output: _Specific = _Specific()
    exit_code: int | None = 0
    output: str = ""

    @property
    def feedback(self) -> str:
        """The continuation, "" where the agent may stop."""
        return self.hook_specific_output.additional_context


class _Hook(msgspec.Struct, frozen=True):
    command: str
    args: tuple[str, ...] = ()


class ScriptedAgent:
    """One session of a scripted host."""

    def __init__(
        self, plugin: Path, project: Path, environment: Mapping[str, str], session: str = ""
    ) -> None:
        """`plugin`: root folder of the plugin; `environment`: complete, with HOME and PATH."""
        self.session = session or str(uuid.uuid4())
        self.project = project
        folder = Path(environment["HOME"], ".claude")
        self.transcript = folder / "projects" / "demo" / f"{self.session}.jsonl"
        self._hooks = _read_hooks(plugin)
        self._environment = {
            **environment,
            "CLAUDE_PLUGIN_ROOT": str(plugin),
            "CLAUDE_PLUGIN_DATA": str(folder / "plugins" / "data" / "supervisor"),
            "CLAUDE_PROJECT_DIR": str(project),
            "CLAUDE_CODE_ENTRYPOINT": "cli",
        }
        self._start = partial(run_process, cwd=str(project), environment=self._environment)
        self._parent: str | None = None
        self._prompt = ""
        self._said = ""
        self._continued = False

    async def start(self, source: str = "startup") -> HookAnswer:
        """Open the session, which starts the hook SessionStart."""
        return await self.hook("SessionStart", source=source)

    async def prompt(self, text: str) -> HookAnswer:
        """The user types a prompt. Returns the hooks' answer: to our slash command, else to the prompt."""
        self._prompt = str(uuid.uuid4())
        self._continued = False
        told = HookAnswer()
        name, _, arguments = text.removeprefix("/").partition(" ")
        if text.startswith("/supervisor:"):
            words = {"command_name": name, "command_args": arguments, "prompt": text}
            told = await self.hook("UserPromptExpansion", **words)
        if told.decision != "block":
            submitted = await self.hook("UserPromptSubmit", prompt=text)
            told = submitted if submitted.output.strip() not in ("", "{}") else told
        if told.decision != "block":
            self._write("user", message={"role": "user", "content": text})
        return told

    def say(self, text: str) -> None:
        """The model writes a message, which is its last one until it writes again."""
        self._said = text
        self._assistant({"type": "text", "text": text})

    def edit(self, path: str, content: str) -> None:
        """The model writes a file, which is really written."""
        target = self.project / path
        target.write_text(content, encoding="utf-8")
        call = self._call("Write", {"file_path": str(target), "content": content})
        self._result(call, f"File written: {target}", {"type": "update", "filePath": str(target)})

    async def run(self, command: str) -> int:
        """The model runs a command, which is really run. Returns its exit code, -1 where there is none."""
        call = self._call("Bash", {"command": command})
        ended = await self._start(command, seconds=COMMAND_SECONDS, keep=20_000)
        code, output = ended.exit_code, ended.output.decode("utf-8", "replace")
        if code == 0:
            self._result(call, output, {"stdout": output, "stderr": "", "interrupted": False})
        else:
            said = f"Exit code {code}\n{output}"
            self._result(call, said, f"Error: {said}", failed=True)
        return -1 if code is None else code

    async def stop(self, **more: object) -> HookAnswer:
        """The agent ends its turn. A continuation is written to the transcript, as the host does."""
        about = {"stop_hook_active": self._continued, "last_assistant_message": self._said}
        told = await self.hook("Stop", **about, background_tasks=[], **more)
        self._continued = bool(told.feedback)
        if told.feedback:
            self.deliver(told.feedback)
        return told

    def deliver(self, feedback: str) -> None:
        """Write the line by which the host shows that a continuation arrived."""
        shown = {"type": "hook_additional_context", "hookName": "Stop", "hookEvent": "Stop"}
        self._write("attachment", attachment={**shown, "content": [feedback]})

    async def hook(self, event: str, **fields: object) -> HookAnswer:
        """Start the hook of an event exactly as the host does."""
        payload = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            "prompt_id": self._prompt,
            "permission_mode": "default",
            **fields,
        }
        return await self.hook_raw(event, msgspec.json.encode(payload))

    async def hook_raw(self, event: str, payload: bytes) -> HookAnswer:
        """Start the hook of an event with any bytes on its standard input."""
        hook = self._hooks[event]
        root = self._environment["CLAUDE_PLUGIN_ROOT"]
        line = [hook.command, *(argument.replace("${CLAUDE_PLUGIN_ROOT}", root) for argument in hook.args)]
        ended = await self._start(line, seconds=900, stdin=payload, separate=True)
        text = ended.output.decode("utf-8", "replace")
        try:
            answer = msgspec.json.decode(text or "{}", type=HookAnswer)
        except msgspec.DecodeError:
            answer = HookAnswer()
        return msgspec.structs.replace(answer, exit_code=ended.exit_code, output=text)

    def _call(self, tool: str, arguments: dict[str, object]) -> str:
        number = f"toolu_{uuid.uuid4().hex[:20]}"
        self._assistant({"type": "tool_use", "id": number, "name": tool, "input": arguments})
        return number

    def _result(self, call: str, text: str, result: object, *, failed: bool = False) -> None:
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
        self._write("user", message={"role": "user", "content": [block]}, toolUseResult=result)

    def _assistant(self, block: dict[str, object]) -> None:
        usage = {"input_tokens": 100, "output_tokens": 20}
        message = {"id": f"msg_{uuid.uuid4().hex[:20]}", "role": "assistant", "model": "scripted"}
        self._write("assistant", message={**message, "content": [block], "usage": usage})

    def _write(self, kind: str, **fields: Any) -> None:  # noqa: ANN401 - lines of the host's own format
        line = {
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "parentUuid": self._parent,
            "sessionId": self.session,
            "promptId": self._prompt,
            "isSidechain": False,
            **fields,
        }
        self._parent = str(line["uuid"])
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        with self.transcript.open("ab") as file:
            file.write(msgspec.json.encode(line) + os.linesep.encode())


def _read_hooks(plugin: Path) -> dict[str, _Hook]:
    """The first hook of every event, from all hooks files that the plugin has for Claude Code."""
    hooks: dict[str, _Hook] = {}
    named = msgspec.json.decode((plugin / ".claude-plugin" / "plugin.json").read_bytes())["hooks"]
    for name in ("hooks/hooks.json", *named):
        for event, matchers in msgspec.json.decode((plugin / name).read_bytes())["hooks"].items():
            hooks[event] = msgspec.convert(matchers[0]["hooks"][0], _Hook)
    return hooks
