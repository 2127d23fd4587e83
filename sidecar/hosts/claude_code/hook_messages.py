"""The JSON that Claude Code sends to a hook, as far as we read it, and the answer that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

import msgspec

from sidecar.hosts.hooks import HookEventBase
from sidecar.hosts.shared import clip_note
from sidecar.kernel.effects import CommandReply, Continue, HostAnswer, NoReply, Rest, ToolCallReply
from sidecar.kernel.text import truncate_middle_utf16


class ClaudeEventBase(HookEventBase, frozen=True, kw_only=True):
    """Fields common to all events."""

    prompt_id: str | None = None


class SessionStart(ClaudeEventBase, frozen=True, kw_only=True, tag="SessionStart"):
    """`source` is startup, resume, clear, compact; newer versions add fork."""

    source: str = "startup"


class UserPromptExpansion(ClaudeEventBase, frozen=True, kw_only=True, tag="UserPromptExpansion"):
    """A slash command is about to be expanded; `UserPromptSubmit` with the same `prompt_id` follows."""

    command_name: str
    command_args: str = ""


class UserPromptSubmit(ClaudeEventBase, frozen=True, kw_only=True, tag="UserPromptSubmit"):
    """A prompt is about to be sent. `source` exists in newer versions; user and sdk mean a person."""

    prompt: str
    source: str | None = None


class SessionTask(msgspec.Struct, frozen=True, kw_only=True):
    """A background task of the session."""

    id: str
    status: str
    type: str = ""
    description: str | None = None
    command: str | None = None


class Stop(ClaudeEventBase, frozen=True, kw_only=True, tag="Stop"):
    """The agent ended its turn."""

    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: tuple[SessionTask, ...] | None = None


class PreToolUse(ClaudeEventBase, frozen=True, kw_only=True, tag="PreToolUse"):
    """A tool is about to be called, with these arguments; tools of MCP servers are `mcp__SERVER__TOOL`."""

    tool_name: str
    tool_input: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class StopFailure(ClaudeEventBase, frozen=True, kw_only=True, tag="StopFailure"):
    """The turn ended in an error: rate_limit, server_error, authentication_failed, ..."""

    error: str = "unknown"


class FileChanged(ClaudeEventBase, frozen=True, kw_only=True, tag="FileChanged"):
    """A file changed that the answer to SessionStart asked to watch."""


class SessionEnd(ClaudeEventBase, frozen=True, kw_only=True, tag="SessionEnd"):
    """The session was closed."""

    reason: str = "other"


HookEvent = (
    SessionStart
    | UserPromptExpansion
    | UserPromptSubmit
    | PreToolUse
    | Stop
    | StopFailure
    | FileChanged
    | SessionEnd
)

HOST_TITLE: Final = "Claude Code"
HOOK_EVENT_NAMES: Final = tuple(str(one.__struct_config__.tag) for one in get_args(HookEvent))
HOOK_EVENT_DECODER: Final[msgspec.json.Decoder[HookEvent]] = msgspec.json.Decoder(HookEvent)


# --- The answer that Claude Code reads from a hook's standard output ----------------------------------------
# Rules, each observed in the real host:
#
# - `additionalContext` of a Stop makes the agent continue, without the "error" that `decision: block` shows.
# - `hookEventName` must repeat the event, or the host refuses the whole answer.
# - The host moves a context of more than about 10,000 characters into a file and shows the model only a
#   preview, so we cut it.
# - Of an answer that blocks a prompt, only `reason` is shown.
# - The host reports a file in `watchPaths` 0.6 s after it was saved, if the file's folder existed when the
#   session began. The answer to that is shown above the input for 5 s, in one line; it is dropped if another
#   one is shown or waits. With `-p` it is shown nowhere.
# - For a call that is about to be made, `updatedInput` takes effect with and without `permissionDecision`.
#   Without a decision the user's own rules apply; "allow" skips the question; "ask" would ask even if the
#   user has already given permission.
# - A typed command is reported twice. Version 2.1.197 reports the expansion first, and then the prompt unless
#   the expansion was blocked; version 2.1.330 reports the prompt first, and then the expansion unless the
#   prompt was blocked. A blocked prompt is displayed best, so a reply that ends the prompt does not block the
#   expansion.


SESSION_ARGUMENT_NAME: Final = "session"
"""The argument of our tools that names the calling session; a value from the model is overwritten."""
CONTEXT_LIMIT: Final = 9500
"""UTF-16 code units of one additional context."""
BELL: Final = "\u0007"
WATCH_EVENT: Final = "SessionStart"
"""The event whose answer may name files for the host to watch."""
CALL_EVENT: Final = "PreToolUse"
PROMPT_EVENTS: Final = ("UserPromptExpansion", "UserPromptSubmit")


class HookSpecificOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The part of an answer that is specific to one event."""

    hook_event_name: str
    additional_context: str = ""
    suppress_original_prompt: bool = False
    watch_paths: tuple[str, ...] = ()
    permission_decision: Literal["allow"] | None = None
    updated_input: dict[str, msgspec.Raw] | None = None


class HookOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A whole answer. An empty one is `{}`, which changes nothing."""

    decision: Literal["block"] | None = None
    reason: str = ""
    system_message: str = ""
    terminal_sequence: str = ""
    hook_specific_output: HookSpecificOutput | None = None


def build_hook_output(event: str, answer: HostAnswer, feedback: str) -> HookOutput:
    """Build the answer to `event`. Raises ValueError, a bug of ours, if the event allows no such answer."""
    match answer:
        case Continue():
            if event != "Stop" or not feedback.strip():
                raise ValueError(f"a continuation of {len(feedback)} characters cannot answer {event}")
            context = _context_output(event, feedback)
            return HookOutput(system_message=clip_note(answer.note), hook_specific_output=context)
        case Rest():
            return HookOutput(
                system_message=clip_note(answer.note), terminal_sequence=BELL if answer.alarm else ""
            )
        case CommandReply():
            return _reply_output(event, answer)
        case ToolCallReply():
            raise ValueError(f"a call's answer cannot answer {event}")
        case NoReply():
            watch = HookSpecificOutput(hook_event_name=event, watch_paths=answer.watch)
            return HookOutput(
                system_message=clip_note(answer.note),
                hook_specific_output=watch if answer.watch and event == WATCH_EVENT else None,
            )


def identified_call_output(answer: ToolCallReply, given: Mapping[str, msgspec.Raw]) -> HookOutput:
    """Add the calling session to the arguments of a tool call."""
    named = {**given, SESSION_ARGUMENT_NAME: msgspec.Raw(msgspec.json.encode(answer.session))}
    decision: Literal["allow"] | None = "allow" if answer.spared else None
    return HookOutput(
        hook_specific_output=HookSpecificOutput(
            hook_event_name=CALL_EVENT, permission_decision=decision, updated_input=named
        )
    )


def _reply_output(event: str, reply: CommandReply) -> HookOutput:
    if event not in PROMPT_EVENTS:
        raise ValueError(f"a reply cannot answer {event}")
    if reply.work and not reply.refused:
        return HookOutput(
            system_message=clip_note(reply.text), hook_specific_output=_context_output(event, reply.context)
        )
    if event == "UserPromptExpansion" and not reply.refused:
        return HookOutput()
    return HookOutput(
        decision="block",
        reason=clip_note(reply.text),
        hook_specific_output=HookSpecificOutput(hook_event_name=event, suppress_original_prompt=True),
    )


def _context_output(event: str, text: str) -> HookSpecificOutput:
    return HookSpecificOutput(
        hook_event_name=event, additional_context=truncate_middle_utf16(text, CONTEXT_LIMIT)
    )
