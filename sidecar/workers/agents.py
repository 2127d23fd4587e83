"""Workers that are programs: Claude Code, OpenCode, Codex, and any command of the user's.

Rules of this file:

- Nothing waits for a person: what is not allowed is refused by the host. In Claude Code, edits pass inside
  the work folder (mode acceptEdits) and the other tools by name; MCP servers are not loaded. In OpenCode,
  the worker is an agent with the permissions of the task's tools alone; folders outside are refused. Gemini
  CLI keeps edits inside the work folder, too; tools pass by name, and MCP servers are not loaded. In Codex,
  commands run in its sandbox, which lets them write in the work folder where the task may edit.
- The user's own settings, hooks and plugins stay in force, because they may guard what an agent does; but
  OpenCode's permissions are the worker's. Our hooks skip a process with WORKER_MARKER.
- A command is started as the user wrote it; which tools it may use is the user's to say there.
- The prompt is passed on standard input, which other users of the machine cannot see.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.command import (
    TELLS_CENTS,
    TRUSTED,
    AgentInvocation,
    build_invocation,
    reports_work,
    run_invocation,
)
from sidecar.hosts.opencode.link import get_session_context
from sidecar.hosts.ports import AgentTask
from sidecar.hosts.shared import WORKER_MARKER
from sidecar.hosts.streams import (
    RETRIES,
    AgentStream,
    ClaudeStream,
    CodexStream,
    GeminiStream,
    OpenCodeStream,
    find_claude,
    worker_data,
)
from sidecar.kernel.decoding import read_json
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings, resolve_model
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
from sidecar.workers.ports import (
    SELF,
    A,
    Projects,
    WorkerError,
    WorkerFailure,
    WorkerPlace,
    WorkerRun,
    WorkerTask,
)

OPENCODE_CONFIG: Final = "OPENCODE_CONFIG_CONTENT"
OPENCODE_AGENT: Final = "supervisor-worker"
TITLE: Final = "Supervisor's worker"
NO_SERVER: Final = "none"
"""The name of no MCP server, which lets Gemini CLI start none."""
HEARD_LIMIT: Final = 262_144
"""Characters of an agent's words that are passed on while it works: masking a flood holds up the sidecar."""


FromPlace = Callable[[WorkerPlace, Settings], str]


class Program(Struct, frozen=True):
    """How one kind of agent is found, started and read. `enforces`: it holds the model to the schema itself.

    `find` returns the program's path, "" if it is not there, and `absent` says so in a clause. `model` is
    what it is given, "" for the host's own. `start` takes a task with that model and the whole prompt.
    """

    name: str
    find: FromPlace
    model: FromPlace
    start: Callable[[WorkerTask[Any], str, Settings], AgentInvocation]
    stream: type[AgentStream]
    absent: str = "`{name}` is not on the session's PATH"
    enforces: bool = False


MODEL: Final = "{model}"
"""Where a command takes the name of the model."""


def _own_project(at: WorkerPlace) -> str:
    """Return the folder of which no program is started: a repository does not speak for its owner."""
    return session_project(at.environment) or at.project


def _find_claude(at: WorkerPlace, _settings: Settings) -> str:
    return find_claude(at.environment, _own_project(at))


def _find_opencode(at: WorkerPlace, _settings: Settings) -> str:
    return processes.find_program("opencode", at.environment, _own_project(at))


def _find_gemini(at: WorkerPlace, _settings: Settings) -> str:
    return processes.find_program("gemini", at.environment, _own_project(at))


def _find_codex(at: WorkerPlace, _settings: Settings) -> str:
    return processes.find_program("codex", at.environment, _own_project(at))


def _find_command(at: WorkerPlace, settings: Settings) -> str:
    """Return the program as it will be found: below the work folder where it is a relative path."""
    name, *_ = settings.workers.command or ("",)
    place = str(Path(at.project, name)) if "/" in name else name
    return shutil.which(place, path=at.environment.get("PATH", os.defpath)) or ""


def _claude_model(at: WorkerPlace, settings: Settings) -> str:
    return claude_model(at.model, settings)


def _opencode_model(at: WorkerPlace, settings: Settings) -> str:
    now = get_session_context()
    own = f"{now.model.provider}/{now.model.name}" if now is not None and now.model.name else ""
    return opencode_model(at.model, settings, own)


def _plain_model(at: WorkerPlace, settings: Settings) -> str:
    return opencode_model(at.model, settings, "")


def _command_model(at: WorkerPlace, settings: Settings) -> str:
    if not any(MODEL in word for word in settings.workers.command):
        return ""
    return claude_model(at.model, settings) or resolve_model("medium", settings)


def _start_claude(task: WorkerTask[Any], program: str, _settings: Settings) -> AgentInvocation:
    named = [tool for tool in task.tools if tool not in worker_data().claude["edits"]]
    command = (
        *(program, "-p", "--output-format", "stream-json", "--verbose"),
        *("--no-session-persistence", "--strict-mcp-config", "--permission-mode", "acceptEdits"),
        *("--json-schema", schema_text(task.answer), f"--tools={','.join(task.tools)}"),
        *((f"--allowedTools={','.join(named)}",) if named else ()),
        *(("--model", task.model) if task.model else ()),
    )
    told = {**RETRIES, **task.environment}
    return AgentInvocation(command=command, environment=told, stdin=_encode(task.prompt))


def _start_opencode(task: WorkerTask[Any], program: str, _settings: Settings) -> AgentInvocation:
    command = (
        *(program, "run", "--format", "json", "--title", TITLE, "--agent", OPENCODE_AGENT),
        *(("--model", task.model) if task.model else ()),
    )
    told = {**task.environment, OPENCODE_CONFIG: _permit(task)}
    return AgentInvocation(command=command, environment=told, stdin=_encode(task.prompt))


def _start_gemini(task: WorkerTask[Any], program: str, _settings: Settings) -> AgentInvocation:
    named = [tool for name, tool in worker_data().gemini.items() if name in task.tools]
    command = (
        *(program, "--output-format", "stream-json", "--allowed-mcp-server-names", NO_SERVER),
        *((f"--allowed-tools={','.join(named)}",) if named else ()),
        *(("--model", task.model) if task.model else ()),
    )
    told = {**task.environment, **TRUSTED}
    return AgentInvocation(command=command, environment=told, stdin=_encode(task.prompt))


def _start_codex(task: WorkerTask[Any], program: str, _settings: Settings) -> AgentInvocation:
    writes = {"Bash", *worker_data().claude["edits"]}.intersection(task.tools)
    command = (
        *(program, "exec", "--json", "--ephemeral", "--skip-git-repo-check"),
        *("--sandbox", "workspace-write" if writes else "read-only", "-c", 'approval_policy="never"'),
        *(("--model", task.model) if task.model else ()),
        "-",
    )
    return AgentInvocation(command=command, environment=task.environment, stdin=_encode(task.prompt))


def _start_command(task: WorkerTask[Any], _program: str, settings: Settings) -> AgentInvocation:
    command = tuple(word.replace(MODEL, task.model) for word in settings.workers.command)
    asked = AgentTask(
        prompt=task.prompt, project=task.project, environment=task.environment, seconds=task.seconds
    )
    return build_invocation(command, asked, "", ())


NO_COMMAND: Final = "workers.command names no program that can be run"
PROGRAMS: Final = (
    Program("claude", _find_claude, _claude_model, _start_claude, ClaudeStream, enforces=True),
    Program("opencode", _find_opencode, _opencode_model, _start_opencode, OpenCodeStream),
    Program("gemini", _find_gemini, _plain_model, _start_gemini, GeminiStream),
    Program("codex", _find_codex, _plain_model, _start_codex, CodexStream),
    Program("command", _find_command, _command_model, _start_command, AgentStream, NO_COMMAND),
)


class AgentBackend:
    """Implements `Backend` with a program."""

    def __init__(self, program: Program, closing: str, projects: Projects) -> None:
        """`closing` ends the prompt of an agent that cannot enforce a schema."""
        self._program = program
        self._closing = closing
        self._projects = projects

    def absence(self, at: WorkerPlace, settings: Settings) -> str:
        there = self._program.find(at, settings)
        return "" if there else self._program.absent.format(name=self._program.name)

    def model(self, at: WorkerPlace, settings: Settings) -> str:
        return self._program.model(at, settings) or SELF

    def tells_cost(self, settings: Settings) -> bool:
        """A command does where it starts a host that reports its work."""
        if self._program.stream is AgentStream:
            return reports_work(settings.workers.command)
        return self._program.name in TELLS_CENTS

    async def run(
        self, task: WorkerTask[A], settings: Settings, cost: WorkerCost, hear: Callable[[str], None]
    ) -> WorkerRun[A]:
        stream = self._program.stream(_hear_some(hear))
        model = self._program.model(task, settings)
        told = replace(task, prompt=self._prompt(task), model=model)
        given = self._program.start(told, self._program.find(task, settings), settings)
        cost.calls = 1

        def feed(text: str) -> None:
            stream.feed(text)
            cost.usage, cost.told = stream.usage, stream.cents

        marked = {**given.environment, WORKER_MARKER: "1", "PWD": task.project}
        with confined(given.command, task.project, task.guarded, task.environment) as held:
            stream.watched = task.guarded if held == given.command else ""
            if stream.watched:
                before = await self._projects.remember(stream.watched, task.environment)
            given = replace(given, command=held, environment=marked)
            seconds = task.seconds
            ended, printed, complaint = await run_invocation(given, task.project, seconds, feed, tied=True)
        stream.close(printed, complaint)
        cost.usage, cost.told = stream.usage, stream.cents
        if ended.ending is ProcessEnding.NOT_LAUNCHED:
            cost.calls = 0
        if stream.watched:
            now = await self._projects.since(before, stream.watched, task.environment)
            cost.meanwhile = tuple(change.path for change in now.files)
        own = [path for path in cost.meanwhile if any(Path(path).name in call for call in stream.calls)]
        if failed := self._failure(task, ended, stream, own):
            raise WorkerError(*failed, stream.output, limit=stream.limited)
        answer = stream.answer or find_answer(stream.text, stream.output)
        fit = validate_answer(answer, task.answer, stream.output)
        return WorkerRun(answer=fit, model=model or stream.model or SELF, output=stream.output)

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
            why, limit = stream.fault or "see its output", stream.limited
            advice = "go on when its service answers again" if limit else "try it by hand in this folder"
            said = f"{name} ended with exit code {ended.exit_code}: {limit.said if limit else why}; {advice}"
            other = WorkerFailure.REFUSED if stream.refused else WorkerFailure.EXITED
            return WorkerFailure.LIMITED if limit else other, said
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
