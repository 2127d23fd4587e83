"""Translates Copilot CLI's hook events and our answers.

What this file knows of the host, each point seen in 1.0.102:

- Hooks under Claude Code's names of events get Claude Code's fields; their answers have fields of their own.
- A stop tells neither the last message nor the turn: the record does.
- Of an answer the person sees nothing but what the hook writes on standard error while it ends with 2. The
  rest of the answer counts all the same; the relay does that with `systemMessage`.
- A command of a plugin reaches us as the text of its skill, with what was typed filled in. With `-p`, and
  behind a blank, it reaches us as it was typed.
- The 9th stop in a row is let go, whatever is answered, and whatever tools were called.
- A reason comes back as a prompt, after those that the person typed while the hook ran. What is typed while
  the model works joins its turn, and no hook hears of it.
- A subagent has a session id of its own, stops of its own, and names the agent that started it.
- Esc is reported by no hook, and ignored while a hook runs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

import msgspec

from sidecar.hosts.hooks import (
    HookEventBase,
    command_pattern,
    hook_event_fields,
    read_hook_event,
    session_origin,
    typed_order,
)
from sidecar.hosts.shared import CONTINUATION, COPILOT, HOSTILE_NAME_SHOWN, TYPED, clip_note
from sidecar.hosts.steering import copilot_user_folder
from sidecar.kernel.effects import CommandReply, Continue, HostAnswer, NoReply, Rest, ToolCallReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    AnyHostEvent,
    CommandTyped,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolCalled,
)
from sidecar.kernel.orders import Order, parse_order
from sidecar.kernel.text import truncate_middle_utf16

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.kernel.session import Environment

TITLE: Final = "Copilot CLI"
TYPED_COMMAND: Final = command_pattern(r"\s*/")
SKILL: Final = re.compile(r'The user explicitly invoked the "/supervisor:(?P<name>[a-z]+)" skill\. ')
FILLED_IN: Final = re.compile(
    r"^<goal>\n(?P<goal>.*)\n</goal>$|^ARGUMENTS: (?P<given>.*)\n</skill-context>", re.DOTALL | re.MULTILINE
)
"""Where a skill's text has what was typed: in the goal's place, or at its end."""
PLAN_MODE: Final = "[[PLAN]] "
"""How prompts begin in plan mode."""
OWN_TOOL: Final = "supervisor-"
"""How the names of our server's tools begin.

Also of another one that is called so: it runs by itself in any case, so nothing is lost if it is not asked.
"""
SESSION_ARGUMENT: Final = "session"
"""The argument of our tools that names the calling session; a value from the model is overwritten."""
REASON_LIMIT: Final = 20_000
"""UTF-16 code units of a reason or context. The host takes more, and shows a reason whole."""


class CopilotHookEvent(HookEventBase, frozen=True, kw_only=True):
    """What the events have in common; a subagent names the agent that started it."""

    timestamp: str = ""
    parent_agent_id: str | None = None


class SessionStart(CopilotHookEvent, frozen=True, kw_only=True, tag="SessionStart"):
    """A session gets its first prompt; `source` is new or resume."""

    source: str = "new"


class UserPromptSubmit(CopilotHookEvent, frozen=True, kw_only=True, tag="UserPromptSubmit"):
    """A prompt is about to be sent."""

    prompt: str


class PreToolUse(CopilotHookEvent, frozen=True, kw_only=True, tag="PreToolUse"):
    """A tool is about to be called; those of MCP servers are `SERVER-TOOL`."""

    tool_name: str
    tool_input: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


class Stop(CopilotHookEvent, frozen=True, kw_only=True, tag="Stop"):
    """The agent ended its turn."""

    stop_hook_active: bool = False


class SessionEnd(CopilotHookEvent, frozen=True, kw_only=True, tag="SessionEnd"):
    """The session was closed; in autopilot this comes after each turn."""

    reason: str = "other"


class CallOutput(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The answer to a call that is about to be made."""

    hook_event_name: str
    updated_input: dict[str, msgspec.Raw]
    permission_decision: Literal["allow"] | None = None


class HookOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A whole answer; an empty one changes nothing."""

    decision: Literal["block"] | None = None
    reason: str = ""
    handled: bool = False
    response_content: str = ""
    additional_context: str = ""
    system_message: str = ""
    hook_specific_output: CallOutput | None = None


HookEvent = SessionStart | UserPromptSubmit | PreToolUse | Stop | SessionEnd
HOOK_EVENT_NAMES: Final = tuple(str(one.__struct_config__.tag) for one in get_args(HookEvent))
HOOK_EVENT_DECODER: Final[msgspec.json.Decoder[HookEvent]] = msgspec.json.Decoder(HookEvent)


class CopilotCodec:
    """Implements ports.HostCodec."""

    relayed = True

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:
        """Decode one hook event. Raises BadInputError if it is too big, malformed, mistyped or unknown."""
        event = read_hook_event(raw, HOOK_EVENT_DECODER, HOOK_EVENT_NAMES, TITLE)
        told = msgspec.structs.replace(event, session_id=event.parent_agent_id or event.session_id)
        project = environment.get("COPILOT_PROJECT_DIR", "")
        common = hook_event_fields(COPILOT, told, environment, host_pid, project)
        transcript = event.transcript_path or str(record_file(environment, told.session_id))
        match event:
            case SessionStart():
                return SessionStarted(**common, origin=session_origin(event.source))
            case UserPromptSubmit():
                back = CONTINUATION.match(event.prompt)
                human = not common["subagent"] and back is None
                filled = _filled_in_order(event.prompt) if human else None
                order = filled or (typed_order(event.prompt, TYPED_COMMAND) if human else None)
                name, plans = event.timestamp, event.prompt.startswith(PLAN_MODE)
                if order is not None:
                    known = filled is not None
                    return CommandTyped(
                        **common, order=order, prompt_id=name, transcript=transcript, expanded=known
                    )
                return PromptSubmitted(
                    **common,
                    prompt_id=name,
                    human=human,
                    continuation=back[1] if back is not None else "",
                    transcript=transcript,
                    read_only=plans,
                )
            case PreToolUse():
                if not event.tool_name.startswith(OWN_TOOL):
                    raise BadInputError(f"{event.tool_name[:HOSTILE_NAME_SHOWN]!r} is no tool of ours")
                return ToolCalled(**common, tool=event.tool_name.removeprefix(OWN_TOOL), certain=True)
            case Stop():
                return AgentStopped(
                    **common, transcript=transcript, continued=event.stop_hook_active, capped=True
                )
            case SessionEnd():
                return SessionEnded(**common, reason=event.reason)

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Encode the answer to `raw`. Raises as `decode` does, and ValueError for a misplaced answer."""
        event = read_hook_event(raw, HOOK_EVENT_DECODER, HOOK_EVENT_NAMES, TITLE)
        return msgspec.json.encode(_build_output(event, answer, feedback))


def record_file(environment: Mapping[str, str], session: str) -> Path:
    """Where the host records a session, which most events do not say."""
    return copilot_user_folder(environment) / "session-state" / session / "events.jsonl"


def _filled_in_order(prompt: str) -> Order | None:
    skill = SKILL.match(prompt)
    name = TYPED.get(skill["name"]) if skill is not None else None
    if name is None:
        return None
    typed = FILLED_IN.search(prompt)
    return parse_order(name, (typed["goal"] or typed["given"] or "") if typed is not None else "")


def _build_output(event: HookEvent, answer: HostAnswer, feedback: str) -> HookOutput:
    match event, answer:
        case Stop(), Continue() if feedback.strip():
            reason = truncate_middle_utf16(feedback, REASON_LIMIT)
            return HookOutput(decision="block", reason=reason, system_message=clip_note(answer.note))
        case UserPromptSubmit(), CommandReply(refused=True):
            return HookOutput(decision="block", reason=clip_note(answer.text))
        case UserPromptSubmit(), CommandReply(work=True):
            context = truncate_middle_utf16(answer.context, REASON_LIMIT)
            return HookOutput(additional_context=context, system_message=clip_note(answer.text))
        case UserPromptSubmit(), CommandReply():
            return HookOutput(handled=True, response_content=clip_note(answer.text))
        case PreToolUse(), ToolCallReply():
            named = {**event.tool_input, SESSION_ARGUMENT: msgspec.Raw(msgspec.json.encode(answer.session))}
            decision: Literal["allow"] | None = "allow" if answer.spared else None
            return HookOutput(hook_specific_output=CallOutput("PreToolUse", named, decision))
        case _, Rest() | NoReply():
            return HookOutput(system_message=clip_note(answer.note))
        case _:
            raise ValueError(f"{type(answer).__name__} cannot answer {type(event).__name__}")
