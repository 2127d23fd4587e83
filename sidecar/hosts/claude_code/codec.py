"""Translates Claude Code's hook events and our answers. Each event is decoded without any session state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.hosts.claude_code import hook_messages
from sidecar.hosts.claude_code.hook_messages import HOST_TITLE, build_hook_output, identified_call_output
from sidecar.hosts.hooks import (
    HookEventFields,
    command_pattern,
    hook_event_fields,
    read_hook_event,
    read_hook_event_name,
    session_origin,
    typed_order,
)
from sidecar.hosts.shared import HOSTILE_NAME_SHOWN, TYPED
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
from sidecar.kernel.orders import parse_order

if TYPE_CHECKING:
    from sidecar.kernel.effects import HostAnswer
    from sidecar.kernel.session import Environment

HOST: Final = "claude-code"
"""The host's name in session keys."""
TYPED_COMMAND: Final = command_pattern("/")
COMMANDS: Final = {f"supervisor:{name}": name for name in TYPED.values()}
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


class ClaudeCodeCodec:
    """Implements ports.HostCodec."""

    relayed = True

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:
        """Decode one hook event. Raises BadInputError if it is too big, malformed, mistyped or unknown."""
        event = _read_event(raw)
        own = environment.get("CLAUDE_PROJECT_DIR", "")
        return _convert_event(event, hook_event_fields(HOST, event, environment, host_pid, own), environment)

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Encode the answer to `raw`. Raises as `decode` does, and ValueError for a misplaced answer."""
        call = _read_event(raw) if isinstance(answer, ToolCallReply) else None
        if isinstance(answer, ToolCallReply) and isinstance(call, hook_messages.PreToolUse):
            output = identified_call_output(answer, call.tool_input)
        else:
            output = build_hook_output(read_hook_event_name(raw, HOST_TITLE), answer, feedback)
        return msgspec.json.encode(output)


def _read_event(raw: bytes) -> hook_messages.HookEvent:
    return read_hook_event(raw, hook_messages.HOOK_EVENT_DECODER, hook_messages.HOOK_EVENT_NAMES, HOST_TITLE)


def _convert_event(
    event: hook_messages.HookEvent, common: HookEventFields, environment: Environment
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
    return session_origin(source)


def _convert_expansion(event: hook_messages.UserPromptExpansion, common: HookEventFields) -> AnyHostEvent:
    name = COMMANDS.get(event.command_name)
    prompt_id, transcript = event.prompt_id or "", event.transcript_path or ""
    if name is None:
        return PromptSubmitted(**common, prompt_id=prompt_id, human=True, transcript=transcript)
    order = parse_order(name, event.command_args)
    return CommandTyped(**common, order=order, prompt_id=prompt_id, transcript=transcript)


def _convert_prompt(event: hook_messages.UserPromptSubmit, common: HookEventFields) -> AnyHostEvent:
    typed = event.source in HUMAN_SOURCES and not event.prompt.startswith(NOTICE)
    human = typed and not common["subagent"]
    prompt_id, transcript = event.prompt_id or "", event.transcript_path or ""
    order = typed_order(event.prompt, TYPED_COMMAND) if human else None
    if order is None:
        return PromptSubmitted(**common, prompt_id=prompt_id, human=human, transcript=transcript)
    return CommandTyped(**common, order=order, prompt_id=prompt_id, transcript=transcript, expanded=False)


def _convert_tool_call(event: hook_messages.PreToolUse, common: HookEventFields) -> AnyHostEvent:
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


def _convert_stop(
    event: hook_messages.Stop, common: HookEventFields, environment: Environment
) -> AgentStopped:
    tasks = [task for task in event.background_tasks or () if task.status not in ENDED_STATUSES]
    return AgentStopped(
        **common,
        transcript=event.transcript_path or "",
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
