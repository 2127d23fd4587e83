"""Between the words of Claude Code's hooks and ours. Knows no session: every event is read by itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypedDict

import msgspec

from sidecar.adapters.claude_code import hook_in
from sidecar.adapters.claude_code.hook_out import identified, output
from sidecar.adapters.host_words import SHOWN, WORKER_MARKER, project_folder, session_id
from sidecar.model.effects import Identified
from sidecar.model.events import (
    Background,
    CommandTyped,
    FileSaved,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Stopped,
    Told,
    ToolCalled,
    TurnFailed,
)
from sidecar.model.session import SessionKey
from sidecar.ports import BadInputError

if TYPE_CHECKING:
    from sidecar.model.effects import HostAnswer
    from sidecar.ports import Environment

HOST: Final = "claude-code"
"""The host's name in session keys."""
TYPED: Final = re.compile(r"/supervisor:(goal|retry|rubric)(?:\s|\Z)")
COMMANDS: Final = {f"supervisor:{name}": name for name in ("goal", "retry", "rubric")}
OURS: Final = re.compile(r"mcp__(plugin_supervisor_)?supervisor__(?P<tool>.*)", re.DOTALL)
"""Tools of the plugin's server, and of one that somebody else configured by the same name."""
NOTICE: Final = "<task-notification>"
"""How the host's own prompts about background work begin."""
PEOPLE: Final = (None, "user", "sdk")
"""Sources of prompts that a person wrote; None is what older versions tell."""
ENDED: Final = ("completed", "failed", "killed", "stopped", "cancelled")
"""States of background tasks that are over; the host lists the others as in flight."""
BACKGROUND_LIMIT: Final = 50
DESCRIPTION_LIMIT: Final = 200


class _Common(TypedDict):
    key: SessionKey
    project: str
    host_pid: int
    environment: Environment
    subagent: bool
    ours: bool


class ClaudeCodeCodec:
    """Implements ports.HostCodec."""

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Told:
        """Read one hook event. Raises BadInputError for what is too big, malformed, mistyped or unknown."""
        event = hook_in.read_event(raw)
        return _told(event, _common(event, environment, host_pid), environment)

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Word the answer to `raw`. Raises as `decode` does, and ValueError for a misplaced answer."""
        if isinstance(answer, Identified):
            return msgspec.json.encode(identified(answer, hook_in.read_input(raw)))
        return msgspec.json.encode(output(hook_in.read_name(raw), answer, feedback))


def _common(event: hook_in.Event, environment: Environment, host_pid: int) -> _Common:
    return _Common(
        key=SessionKey(HOST, session_id(event.session_id)),
        project=_project(event, environment),
        host_pid=host_pid,
        environment=environment,
        subagent=bool(event.agent_id),
        ours=bool(environment.get(WORKER_MARKER)),
    )


def _project(event: hook_in.Event, environment: Environment) -> str:
    """The session's own folder. `cwd` may have moved with the agent."""
    return project_folder(environment.get("CLAUDE_PROJECT_DIR") or event.cwd)


def _told(event: hook_in.Event, common: _Common, environment: Environment) -> Told:
    match event:
        case hook_in.SessionStart():
            origin = _origin(event.source)
            told: Told = SessionStarted(**common, origin=origin, headless=_headless(environment))
        case hook_in.UserPromptExpansion():
            told = _expanded(event, common)
        case hook_in.UserPromptSubmit():
            told = _submitted(event, common)
        case hook_in.PreToolUse():
            told = _called(event, common)
        case hook_in.Stop():
            told = _stopped(event, common, environment)
        case hook_in.StopFailure():
            told = TurnFailed(**common, error=event.error)
        case hook_in.FileChanged():
            told = FileSaved(**common)
        case hook_in.SessionEnd():
            told = SessionEnded(**common, reason=event.reason)
    return told


def _headless(environment: Environment) -> bool:
    return environment.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk")


def _origin(source: str) -> Origin:
    """A session forked within a process belongs to the one before it, as a resumed one does."""
    return Origin.RESUME if source == "fork" else Origin(source) if source in set(Origin) else Origin.STARTUP


def _expanded(event: hook_in.UserPromptExpansion, common: _Common) -> Told:
    name = COMMANDS.get(event.command_name)
    prompt_id, transcript = event.prompt_id or "", event.transcript_path
    if name is None:
        return PromptSubmitted(**common, prompt_id=prompt_id, human=True, transcript=transcript)
    return CommandTyped(
        **common, name=name, arguments=event.command_args, prompt_id=prompt_id, transcript=transcript
    )


def _submitted(event: hook_in.UserPromptSubmit, common: _Common) -> Told:
    human = event.source in PEOPLE and not event.prompt.startswith(NOTICE)
    prompt_id, transcript = event.prompt_id or "", event.transcript_path
    typed = TYPED.match(event.prompt)
    if typed is None or not human:
        return PromptSubmitted(**common, prompt_id=prompt_id, human=human, transcript=transcript)
    arguments = event.prompt[typed.end() :]
    return CommandTyped(
        **common, name=typed[1], arguments=arguments, prompt_id=prompt_id, transcript=transcript
    )


def _called(event: hook_in.PreToolUse, common: _Common) -> Told:
    found = OURS.fullmatch(event.tool_name)
    if found is None:
        raise BadInputError(f"{event.tool_name[:SHOWN]!r} is no tool of ours; hooks.json names which are")
    return ToolCalled(
        **common,
        tool=found["tool"],
        certain=found[1] is not None,
        read_only=event.permission_mode == "plan",
    )


def _stopped(event: hook_in.Stop, common: _Common, environment: Environment) -> Stopped:
    tasks = [task for task in event.background_tasks or () if task.status not in ENDED]
    return Stopped(
        **common,
        transcript=event.transcript_path,
        prompt_id=event.prompt_id or "",
        last_message=event.last_assistant_message or "",
        background=tuple(_background(task) for task in tasks[:BACKGROUND_LIMIT]),
        continued=event.stop_hook_active,
        headless=_headless(environment),
        read_only=event.permission_mode == "plan",
    )


def _background(task: hook_in.Task) -> Background:
    described = task.description or task.command or task.type
    return Background(task.id, described[:DESCRIPTION_LIMIT])
