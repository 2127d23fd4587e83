"""Translates the hook events of Gemini CLI and our answers. Each event is decoded without any session state.

Rules of the host, each seen in 0.61.0:

- The reason of a denied AfterAgent is sent to the model as a plain user message, and comes back as the prompt
  of the next BeforeAgent (in 0.34.0 it does not come back).
- Esc does not end a hook. A denial that comes after it leads to an AfterAgent without a model call.
- A typed command arrives as the text of its template: commands/supervisor/*.toml.
- What a BeforeTool answers as `tool_input` is merged into the arguments; it spares no permission question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from sidecar.hosts import hooks
from sidecar.hosts.hooks import HookEventBase
from sidecar.hosts.shared import CONTINUATION, HOSTILE_NAME_SHOWN, clip_note
from sidecar.kernel import events
from sidecar.kernel.effects import CommandReply, Continue, ToolCallReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AnyHostEvent

if TYPE_CHECKING:
    from sidecar.kernel.effects import HostAnswer
    from sidecar.kernel.session import Environment

HOST: Final = "gemini"
"""The host's name in session keys."""
HOST_TITLE: Final = "Gemini CLI"
COMMAND: Final = hooks.command_pattern("/?")
"""How the templates of our commands begin; with a slash where the host does not know the command."""
COMMAND_END: Final = "\n</supervisor>"
"""What ends a command's arguments in its template."""
NO_RESPONSE: Final = "[no response text]"
"""What the host reports for a turn in which no model answered."""
OWN_TOOL: Final = "mcp_supervisor_"
"""How the names of our tools begin; the user may have another server of that name."""
OWN_SERVER: Final = "/hooks/mcp.py"
AFTER_AGENT, BEFORE_AGENT, BEFORE_TOOL = "AfterAgent", "BeforeAgent", "BeforeTool"


class SessionStart(HookEventBase, frozen=True, kw_only=True, tag="SessionStart"):
    """`source` is startup, resume or clear."""

    source: str = "startup"


class BeforeAgent(HookEventBase, frozen=True, kw_only=True, tag=BEFORE_AGENT):
    """A prompt is about to be sent: a person's, or our own continuation. `timestamp` tells it from others."""

    prompt: str
    timestamp: str = ""


class AfterAgent(HookEventBase, frozen=True, kw_only=True, tag=AFTER_AGENT):
    """The agent ended its turn. `prompt_response` joins all its messages since the person's prompt."""

    prompt_response: str = ""
    stop_hook_active: bool = False


class ToolServer(msgspec.Struct, frozen=True):
    """The MCP server of a tool, as it is started."""

    args: tuple[str, ...] = ()


class BeforeTool(HookEventBase, frozen=True, kw_only=True, tag=BEFORE_TOOL):
    """A tool is about to be called; tools of MCP servers are `mcp_SERVER_TOOL`."""

    tool_name: str
    mcp_context: ToolServer | None = None


class SessionEnd(HookEventBase, frozen=True, kw_only=True, tag="SessionEnd"):
    """The session was closed; reported up to three times."""

    reason: str = "other"


HookEvent = SessionStart | BeforeAgent | AfterAgent | BeforeTool | SessionEnd
DECODER: Final[msgspec.json.Decoder[HookEvent]] = msgspec.json.Decoder(HookEvent)
NAMES: Final = ("SessionStart", BEFORE_AGENT, AFTER_AGENT, BEFORE_TOOL, "SessionEnd")


class EventOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of an answer that is specific to one event."""

    name: str = msgspec.field(name="hookEventName")
    additional_context: str = msgspec.field(name="additionalContext", default="")
    tool_input: dict[str, str] = {}


class HookOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A whole answer. An empty one is `{}`, which changes nothing."""

    decision: Literal["deny"] | None = None
    reason: str = ""
    system_message: str = ""
    hook_specific_output: EventOutput | None = None


class GeminiCodec:
    """Implements ports.HostCodec."""

    relayed = True

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:
        """Decode one hook event. Raises BadInputError if it is too big, malformed, mistyped or unknown."""
        event = hooks.read_hook_event(raw, DECODER, NAMES, HOST_TITLE)
        project = environment.get("GEMINI_PROJECT_DIR", "")
        return _convert_event(event, hooks.hook_event_fields(HOST, event, environment, host_pid, project))

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Encode the answer to `raw`. Raises as `decode` does, and ValueError for a misplaced answer."""
        name = hooks.read_hook_event_name(raw, HOST_TITLE)
        return msgspec.json.encode(_build_output(name, answer, feedback))


def _convert_event(event: HookEvent, common: hooks.HookEventFields) -> AnyHostEvent:
    transcript = event.transcript_path or ""
    match event:
        case SessionStart():
            origin = hooks.session_origin(event.source)
            told: AnyHostEvent = events.SessionStarted(**common, origin=origin)
        case BeforeAgent():
            told = _convert_prompt(event, common, transcript)
        case AfterAgent(prompt_response=said) if said == NO_RESPONSE:
            told = events.TurnFailed(**common, error="no model answered")
        case AfterAgent(prompt_response=said):
            told = events.AgentStopped(
                **common, transcript=transcript, last_message=said, continued=event.stop_hook_active
            )
        case BeforeTool(tool_name=name) if name.startswith(OWN_TOOL):
            server = event.mcp_context or ToolServer()
            certain = any(word.endswith(OWN_SERVER) for word in server.args)
            told = events.ToolCalled(**common, tool=name.removeprefix(OWN_TOOL), certain=certain)
        case BeforeTool():
            raise BadInputError(f"{event.tool_name[:HOSTILE_NAME_SHOWN]!r} is no tool of ours")
        case SessionEnd():
            told = events.SessionEnded(**common, reason=event.reason)
    return told


def _convert_prompt(event: BeforeAgent, common: hooks.HookEventFields, transcript: str) -> AnyHostEvent:
    human, ours = not common["subagent"], CONTINUATION.match(event.prompt)
    if human and (order := hooks.typed_order(event.prompt.partition(COMMAND_END)[0], COMMAND)):
        return events.CommandTyped(**common, order=order, prompt_id=event.timestamp, transcript=transcript)
    return events.PromptSubmitted(
        **common,
        prompt_id=event.timestamp,
        human=human and ours is None,
        continuation=ours[1] if ours else "",
        transcript=transcript,
    )


def _build_output(event: str, answer: HostAnswer, feedback: str) -> HookOutput:
    match answer:
        case Continue():
            if event != AFTER_AGENT or not feedback.strip():
                raise ValueError(f"a continuation of {len(feedback)} characters cannot answer {event}")
            return HookOutput(decision="deny", reason=feedback, system_message=clip_note(answer.note))
        case CommandReply():
            if event != BEFORE_AGENT:
                raise ValueError(f"a reply cannot answer {event}")
            if not answer.work or answer.refused:
                return HookOutput(decision="deny", reason=clip_note(answer.text))
            context = EventOutput(name=event, additional_context=answer.context)
            return HookOutput(system_message=clip_note(answer.text), hook_specific_output=context)
        case ToolCallReply():
            if event != BEFORE_TOOL:
                raise ValueError(f"a call's answer cannot answer {event}")
            named = EventOutput(name=event, tool_input={"session": answer.session})
            return HookOutput(hook_specific_output=named)
        case _:
            return HookOutput(system_message=clip_note(answer.note))
