"""Translates Claude Code's hook events and our answers. Each event is decoded without any session state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.hosts.claude_code import hook_messages
from sidecar.hosts.claude_code.hook_messages import build_hook_output, identified_call_output
from sidecar.hosts.shared import (
    HOSTILE_NAME_SHOWN,
    WORKER_MARKER,
    EventFields,
    checked_project_folder,
    checked_session_id,
)
from sidecar.kernel.effects import ToolCallReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    AnyHostEvent,
    BackgroundActivity,
    CommandTyped,
    FileSaved,
    PromptSubmitted,
    SessionEnded,
    SessionOrigin,
    SessionStarted,
    ToolCalled,
    TurnFailed,
)
from sidecar.kernel.orders import COMMAND_NAMES, parse_order
from sidecar.kernel.session import SessionKey

if TYPE_CHECKING:
    from sidecar.kernel.effects import HostAnswer
    from sidecar.kernel.session import Environment

HOST: Final = "claude-code"
"""The host's name in session keys."""
TYPED_COMMAND: Final = re.compile(rf"/(supervisor:(?:{'|'.join(COMMAND_NAMES)}))(?:\s|\Z)")
COMMANDS: Final = {f"supervisor:{name}": name for name in COMMAND_NAMES}
OWN_TOOL: Final = re.compile(r"mcp__(plugin_supervisor_)?supervisor__(?P<tool>.*)", re.DOTALL)
"""Tools of the plugin's server, and of a server that somebody else configured by the same name."""
NOTICE: Final = "<task-notification>"
"""How the host's own prompts about background work begin."""
HUMAN_SOURCES: Final = (None, "user", "sdk")
"""Sources of prompts that a person wrote; None stands for older versions, which send no source."""
ENDED_STATUSES: Final = ("completed", "failed", "killed", "stopped", "cancelled")
"""Statuses of background tasks that are over; the host lists the others as in flight."""
BACKGROUND_LIMIT: Final = 50
DESCRIPTION_LIMIT: Final = 200


class _CommonFields(EventFields):
    cwd: str
    host_pid: int


class ClaudeCodeCodec:
    """Implements ports.HostCodec."""

    relayed = True

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:
        """Decode one hook event. Raises BadInputError if it is too big, malformed, mistyped or unknown."""
        event = hook_messages.read_hook_event(raw)
        return _convert_event(event, _common_fields(event, environment, host_pid), environment)

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Encode the answer to `raw`. Raises as `decode` does, and ValueError for a misplaced answer."""
        call = hook_messages.read_hook_event(raw) if isinstance(answer, ToolCallReply) else None
        if isinstance(answer, ToolCallReply) and isinstance(call, hook_messages.PreToolUse):
            output = identified_call_output(answer, call.tool_input)
        else:
            output = build_hook_output(hook_messages.read_hook_event_name(raw), answer, feedback)
        return msgspec.json.encode(output)


def _common_fields(event: hook_messages.HookEvent, environment: Environment, host_pid: int) -> _CommonFields:
    # The session's own folder; `cwd` may have moved with the agent, as into a worktree.
    project = environment.get("CLAUDE_PROJECT_DIR") or event.cwd
    return _CommonFields(
        key=SessionKey(HOST, checked_session_id(event.session_id)),
        project=checked_project_folder(project),
        cwd=checked_project_folder(event.cwd),
        host_pid=host_pid,
        environment=environment,
        subagent=bool(event.agent_id),
        ours=bool(environment.get(WORKER_MARKER)),
    )


def _convert_event(
    event: hook_messages.HookEvent, common: _CommonFields, environment: Environment
) -> AnyHostEvent:
    match event:
        case hook_messages.SessionStart():
            origin = _session_origin(event.source)
            told: AnyHostEvent = SessionStarted(**common, origin=origin, headless=_is_headless(environment))
        case hook_messages.UserPromptExpansion():
            told = _convert_expansion(event, common)
        case hook_messages.UserPromptSubmit():
            told = _convert_prompt(event, common)
        case hook_messages.PreToolUse():
            told = _convert_tool_call(event, common)
        case hook_messages.Stop():
            told = _convert_stop(event, common, environment)
        case hook_messages.StopFailure():
            told = TurnFailed(**common, error=event.error)
        case hook_messages.FileChanged():
            told = FileSaved(**common)
        case hook_messages.SessionEnd():
            told = SessionEnded(**common, reason=event.reason)
    return told


def _is_headless(environment: Environment) -> bool:
    return environment.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk")


def _session_origin(source: str) -> SessionOrigin:
    """Map a source. A session forked within a process continues the one before it, as a resumed one does."""
    if source == "fork":
        return SessionOrigin.RESUME
    return SessionOrigin(source) if source in set(SessionOrigin) else SessionOrigin.STARTUP


def _convert_expansion(event: hook_messages.UserPromptExpansion, common: _CommonFields) -> AnyHostEvent:
    name = COMMANDS.get(event.command_name)
    prompt_id, transcript = event.prompt_id or "", event.transcript_path
    if name is None:
        return PromptSubmitted(**common, prompt_id=prompt_id, human=True, transcript=transcript)
    order = parse_order(name, event.command_args)
    return CommandTyped(**common, order=order, prompt_id=prompt_id, transcript=transcript)


def _convert_prompt(event: hook_messages.UserPromptSubmit, common: _CommonFields) -> AnyHostEvent:
    human = event.source in HUMAN_SOURCES and not event.prompt.startswith(NOTICE)
    prompt_id, transcript = event.prompt_id or "", event.transcript_path
    typed = TYPED_COMMAND.match(event.prompt)
    if typed is None or not human:
        return PromptSubmitted(**common, prompt_id=prompt_id, human=human, transcript=transcript)
    order = parse_order(COMMANDS[typed[1]], event.prompt[typed.end() :])
    return CommandTyped(**common, order=order, prompt_id=prompt_id, transcript=transcript, expanded=False)


def _convert_tool_call(event: hook_messages.PreToolUse, common: _CommonFields) -> AnyHostEvent:
    found = OWN_TOOL.fullmatch(event.tool_name)
    if found is None:
        raise BadInputError(
            f"{event.tool_name[:HOSTILE_NAME_SHOWN]!r} is no tool of ours; hooks.json names which are"
        )
    return ToolCalled(
        **common,
        tool=found["tool"],
        certain=found[1] is not None,
        read_only=event.permission_mode == "plan",
    )


def _convert_stop(event: hook_messages.Stop, common: _CommonFields, environment: Environment) -> AgentStopped:
    tasks = [task for task in event.background_tasks or () if task.status not in ENDED_STATUSES]
    return AgentStopped(
        **common,
        transcript=event.transcript_path,
        prompt_id=event.prompt_id or "",
        last_message=event.last_assistant_message or "",
        background=tuple(
            BackgroundActivity(task.id, (task.description or task.command or task.type)[:DESCRIPTION_LIMIT])
            for task in tasks[:BACKGROUND_LIMIT]
        ),
        continued=event.stop_hook_active,
        headless=_is_headless(environment),
        read_only=event.permission_mode == "plan",
    )
