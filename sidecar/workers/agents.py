"""Workers that are programs: Claude Code, OpenCode, and any command of the user's.

Rules of this file:

- Nothing waits for a person: what is not allowed is refused by the host. In Claude Code, edits pass inside
  the work folder (mode acceptEdits) and the other tools by name; MCP servers are not loaded. In OpenCode,
  the worker is an agent with the permissions of the task's tools alone; folders outside are refused.
- The user's own settings, hooks and plugins stay in force, because they may guard what an agent does; but
  OpenCode's permissions are the worker's. Our hooks skip a process with WORKER_MARKER.
- A command is started as the user wrote it; which tools it may use is the user's to say there.
- The prompt is passed on standard input, which other users of the machine cannot see.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.command import AgentInvocation, build_invocation, run_invocation
from sidecar.hosts.opencode.link import get_session_context
from sidecar.hosts.ports import AgentTask
from sidecar.hosts.shared import WORKER_MARKER
from sidecar.hosts.streams import RETRIES, AgentStream, ClaudeStream, OpenCodeStream, find_claude, worker_data
from sidecar.kernel.decoding import read_json
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import fill_template
from sidecar.platform import processes
from sidecar.platform.api_keys import session_project
from sidecar.platform.confine import confined
from sidecar.platform.paths import lies_inside
from sidecar.platform.processes import ProcessEnding, ProcessResult
from sidecar.workers.backend import (
    WorkerCost,
    claude_model,
    find_answer,
    opencode_model,
    schema_text,
    validate_answer,
)
from sidecar.workers.ports import SELF, A, Projects, WorkerError, WorkerFailure, WorkerRun, WorkerTask

OPENCODE_CONFIG: Final = "OPENCODE_CONFIG_CONTENT"
OPENCODE_AGENT: Final = "supervisor-worker"
TITLE: Final = "Supervisor's worker"
HEARD_LIMIT: Final = 262_144
"""Characters of an agent's words that are passed on while it works: masking a flood holds up the sidecar."""


Start = Callable[[WorkerTask[Any], str, str, Settings], tuple[AgentInvocation, str]]
"""Takes task, program and prompt; returns what is started, and the model, "" for the host's own."""


Find = Callable[[WorkerTask[Any], Settings], str]
"""Returns the program's path, "" if it is not there."""


class Program(Struct, frozen=True):
    """How one kind of agent is found, started and read. `enforces`: it holds the model to the schema itself.

    `absent` says in a clause that it is not there, where it is not a name on the session's PATH.
    """

    name: str
    find: Find
    start: Start
    stream: type[AgentStream]
    absent: str = ""
    enforces: bool = False


def _own_project(task: WorkerTask[Any]) -> str:
    """Return the folder of which no program is started: a repository does not speak for its owner."""
    return session_project(task.environment) or task.project


def _find_claude(task: WorkerTask[Any], _settings: Settings) -> str:
    return find_claude(task.environment, _own_project(task))


def _find_opencode(task: WorkerTask[Any], _settings: Settings) -> str:
    return processes.find_program("opencode", task.environment, _own_project(task))


def _find_command(_task: WorkerTask[Any], settings: Settings) -> str:
    return next(iter(settings.workers.command), "")


def _start_claude(
    task: WorkerTask[Any], program: str, prompt: str, settings: Settings
) -> tuple[AgentInvocation, str]:
    model = claude_model(task.model, settings)
    named = [tool for tool in task.tools if tool not in worker_data().claude["edits"]]
    command = (
        *(program, "-p", "--output-format", "stream-json", "--verbose"),
        *("--no-session-persistence", "--strict-mcp-config", "--permission-mode", "acceptEdits"),
        *("--json-schema", schema_text(task.answer), f"--tools={','.join(task.tools)}"),
        *((f"--allowedTools={','.join(named)}",) if named else ()),
        *(("--model", model) if model else ()),
    )
    told = {**RETRIES, **task.environment}
    return AgentInvocation(command=command, environment=told, stdin=_encode(prompt)), model


def _start_opencode(
    task: WorkerTask[Any], program: str, prompt: str, settings: Settings
) -> tuple[AgentInvocation, str]:
    now = get_session_context()
    own = f"{now.model.provider}/{now.model.name}" if now is not None and now.model.name else ""
    model = opencode_model(task.model, settings, own)
    command = (
        *(program, "run", "--format", "json", "--title", TITLE, "--agent", OPENCODE_AGENT),
        *(("--model", model) if model else ()),
    )
    told = {**task.environment, OPENCODE_CONFIG: _permit(task)}
    given = AgentInvocation(command=command, environment=told, stdin=_encode(prompt))
    return given, model if model != own else ""


def _start_command(
    task: WorkerTask[Any], _program: str, prompt: str, settings: Settings
) -> tuple[AgentInvocation, str]:
    asked = AgentTask(prompt=prompt, project=task.project, environment=task.environment, seconds=task.seconds)
    return build_invocation(settings.workers.command, asked, "", ()), ""


PROGRAMS: Final = (
    Program("claude", _find_claude, _start_claude, ClaudeStream, enforces=True),
    Program("opencode", _find_opencode, _start_opencode, OpenCodeStream),
    Program("command", _find_command, _start_command, AgentStream, "workers.command names no program"),
)


class AgentBackend:
    """Implements `Backend` with a program."""

    def __init__(self, program: Program, closing: str, projects: Projects) -> None:
        """`closing` ends the prompt of an agent that cannot enforce a schema."""
        self._program = program
        self._closing = closing
        self._projects = projects

    def absence(self, task: WorkerTask[A], settings: Settings) -> str:
        absent = self._program.absent or f"`{self._program.name}` is not on the session's PATH"
        return "" if self._program.find(task, settings) else absent

    async def run(
        self, task: WorkerTask[A], settings: Settings, cost: WorkerCost, hear: Callable[[str], None]
    ) -> WorkerRun[A]:
        stream = self._program.stream(_hear_some(hear))
        program = self._program.find(task, settings)
        given, model = self._program.start(task, program, self._prompt(task), settings)
        cost.calls = 1

        def feed(text: str) -> None:
            stream.feed(text)
            cost.tokens, cost.cents = stream.tokens, stream.cents

        marked = {**given.environment, WORKER_MARKER: "1", "PWD": task.project}
        with confined(given.command, task.project, task.guarded, task.environment) as held:
            stream.watched = task.guarded if held == given.command else ""
            if stream.watched:
                before = await self._projects.remember(stream.watched, task.environment)
            given = replace(given, command=held, environment=marked)
            seconds = task.seconds
            ended, printed, complaint = await run_invocation(given, task.project, seconds, feed, tied=True)
        stream.close(printed, complaint)
        cost.tokens, cost.cents = stream.tokens, stream.cents
        if ended.ending is ProcessEnding.NOT_LAUNCHED:
            cost.calls = 0
        if stream.watched:
            now = await self._projects.since(before, stream.watched, task.environment)
            cost.meanwhile = tuple(change.path for change in now.files)
        own = [path for path in cost.meanwhile if any(Path(path).name in call for call in stream.calls)]
        if failed := self._failure(task, ended, stream, own):
            raise WorkerError(*failed, stream.output)
        answer = stream.answer or find_answer(stream.text, stream.output)
        fit = validate_answer(answer, task.answer, stream.output)
        return WorkerRun(answer=fit, model=model or SELF, output=stream.output)

    def _prompt(self, task: WorkerTask[A]) -> str:
        if self._program.enforces:
            return task.prompt
        return f"{task.prompt}\n\n{fill_template(self._closing, {'schema': schema_text(task.answer)})}"

    def _failure(
        self, task: WorkerTask[A], ended: ProcessResult, stream: AgentStream, own: list[str]
    ) -> tuple[WorkerFailure, str] | None:
        """Return how the agent failed, None if it ended as it should. What it wrote outside comes first.

        `own`: files that changed in the project meanwhile and that its calls name. A person may work there,
        so what no call names is not said to be the worker's.
        """
        name, written = self._program.name, stream.written
        if outside := ", ".join((*find_outside_paths(written, task.project, task.environment), *own)):
            said = f"the worker wrote outside its folder: {outside}; look there, and undo what is not wanted"
            return WorkerFailure.WROTE_OUTSIDE, said
        if ended.ending is ProcessEnding.NOT_LAUNCHED:
            said = f"{name} could not be started: {ended.reason}; see [workers] in the settings"
            return WorkerFailure.NOT_STARTED, said
        if ended.ending is ProcessEnding.TIMED_OUT:
            advice = "give it a smaller task, or raise workers.seconds"
            return WorkerFailure.TIMED_OUT, f"the worker did not end within {task.seconds:g} s: {advice}"
        if stream.unfit:
            said = f"the worker's answer does not fit its schema: {stream.unfit}; name another model"
            return WorkerFailure.INVALID, said
        if ended.exit_code or stream.fault:
            why = stream.fault or "see its output"
            said = f"{name} ended with exit code {ended.exit_code}: {why}; try it by hand in this folder"
            return WorkerFailure.EXITED, said
        return None


def _hear_some(hear: Callable[[str], None]) -> Callable[[str], None]:
    """Pass on text up to HEARD_LIMIT."""
    received = 0

    def hear_next(said: str) -> None:
        nonlocal received
        received += len(said)
        if received <= HEARD_LIMIT:
            hear(said)

    return hear_next


def find_outside_paths(written: list[str], project: str, environment: Environment) -> list[str]:
    """Return the paths that lead outside of the work folder and of the temporary folder, links resolved."""
    folders = Path(project), Path(environment.get("TMPDIR") or tempfile.gettempdir())
    return [path for path in dict.fromkeys(written) if not lies_inside(Path(project, path), *folders)]


def _permit(task: WorkerTask[A]) -> str:
    """Return the user's inline configuration with an agent that has the permissions of this task.

    The last rule that matches counts, and those of an agent come after all others. In `permission` itself,
    the order would depend on which keys the user's own configuration has.
    """
    content = read_json(task.environment.get(OPENCODE_CONFIG, ""), dict[str, Any]) or {}
    known = worker_data().permissions
    allowed = {known[tool]: "allow" for tool in task.tools if tool in known}
    permission = {"*": "deny", **allowed, "external_directory": "deny"}
    told = content.get("agent")
    worker = {"mode": "primary", "description": TITLE, "permission": permission}
    content["agent"] = {**(told if isinstance(told, dict) else {}), OPENCODE_AGENT: worker}
    return msgspec.json.encode(content).decode()


def _encode(prompt: str) -> bytes:
    return prompt.encode("utf-8", "replace")
