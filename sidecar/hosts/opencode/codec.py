"""Translates the events of our OpenCode plugin and our answers. Each is decoded without any session state.

What this file knows of the host: one process may hold many sessions and many folders, so its process id does
not show which belong together. A helper of the agent (a subagent) has a session of its own, which names its
parent. `opencode run` passes the words of a shell on in quotes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from sidecar.hosts.opencode import wire
from sidecar.hosts.opencode.messages import ABORTED, describe_host_error, unquote_arguments
from sidecar.hosts.shared import (
    NOTHING,
    OPENCODE,
    EventFields,
    checked_project_folder,
    clip_note,
    command_order,
    decode_event,
    event_fields,
    try_decode,
)
from sidecar.kernel.effects import (
    CommandReply,
    Continue,
    HostAnswer,
    NoReply,
    Rest,
    RestReason,
    ToolCallReply,
)
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    AnyHostEvent,
    CommandTyped,
    PromptSubmitted,
    SessionDeleted,
    SessionOrigin,
    SessionStarted,
    ToolCalled,
    TurnFailed,
)
from sidecar.kernel.text import truncate_middle_utf16

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


# --- The events that our plugin sends: the host's own data, in one object for each event --------------------
# Unknown fields are ignored. A field that the host may leave out has a default.


class PluginSession(Struct, frozen=True, rename={"parent": "parentID"}):
    """The session of an event.

    `parent` is set for a helper of the agent; `directory` is the folder that the session works in.
    """

    id: str
    directory: str
    parent: str | None = None


class PluginEventBase(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Fields common to all events."""

    session: PluginSession


class SessionStartEvent(PluginEventBase, frozen=True, kw_only=True, tag="session.start"):
    """The plugin saw the session for the first time. `fresh`: it began in this process of the host.

    `run`: the host ends with it.
    """

    fresh: bool = False
    run: bool = False


class PartFlags(Struct, frozen=True):
    """A part of a prompt, without its content."""

    type: str = ""
    synthetic: bool | None = False
    ignored: bool | None = False


class PromptEvent(PluginEventBase, frozen=True, kw_only=True, tag="prompt"):
    """A user message was added. `message` is its id, `agent` the agent that works on it."""

    message: str = ""
    agent: str | None = None
    parts: tuple[PartFlags, ...] = ()


class CommandEvent(PluginEventBase, frozen=True, kw_only=True, tag="command"):
    """A command of ours was typed.

    `nested`: into an older session, by a host that an agent's shell runs.
    """

    command: str = msgspec.field(name="name")
    arguments: str = ""
    nested: bool = False


class ToolEvent(PluginEventBase, frozen=True, kw_only=True, tag="tool"):
    """A tool of ours is about to be called; `tool` is the name by which we know it."""

    tool: str


class NewestMessageHead(Struct, frozen=True):
    """The agent and mode of the newest message."""

    agent: str | None = None
    mode: str | None = None


class SessionIdleEvent(PluginEventBase, frozen=True, kw_only=True, tag="session.idle"):
    """The session is idle. `run`: the host ends with it."""

    last: NewestMessageHead = NewestMessageHead()
    run: bool = False


class SessionErrorEvent(PluginEventBase, frozen=True, kw_only=True, tag="session.error"):
    """A turn ended early."""

    error: msgspec.Raw = NOTHING


class SessionDeletedEvent(PluginEventBase, frozen=True, kw_only=True, tag="session.deleted"):
    """The user deleted the session."""


PluginEvent = (
    SessionStartEvent
    | PromptEvent
    | CommandEvent
    | ToolEvent
    | SessionIdleEvent
    | SessionErrorEvent
    | SessionDeletedEvent
)
PLUGIN_EVENT_DECODER: Final[msgspec.json.Decoder[PluginEvent]] = msgspec.json.Decoder(PluginEvent)


# --- Translation of events and answers ----------------------------------------------------------------------


HOST: Final = OPENCODE
"""The host's name in session keys."""
READ_ONLY: Final = "plan"
"""The host's own agent that may not write files."""
SAID_LIMIT: Final = 20_000
"""UTF-16 code units of a text for the agent."""


class PluginAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the plugin carries out. An empty answer changes nothing.

    `notice` is for the person, shown as `variant`. `say` is the text for the agent at a stop. At a command,
    `work` lets its prompt go on to the model, with `context`; otherwise the prompt ends there. `ours`: the
    tool that is called is one of ours.
    """

    notice: str = ""
    variant: Literal["info", "success", "warning", "error"] = "info"
    say: str = ""
    work: bool = False
    context: str = ""
    refused: bool = False
    ours: bool = False


class OpenCodeCodec:
    """Implements ports.HostCodec."""

    relayed = False

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:  # noqa: ARG002 - see above
        """Decode one event. Raises BadInputError if it is too big, malformed, mistyped or unknown."""
        event: PluginEvent = decode_event(raw, PLUGIN_EVENT_DECODER, "OpenCode")
        return _convert_event(event, _common_fields(event.session, environment))

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:  # noqa: ARG002 - the plugin knows
        """Encode the answer."""
        return msgspec.json.encode(_build_plugin_answer(answer, feedback))


def _common_fields(session: PluginSession, environment: Environment) -> EventFields:
    folder = checked_project_folder(session.directory)
    own = {name: value for name, value in environment.items() if name != "CLAUDE_PROJECT_DIR"}
    return event_fields(
        HOST,
        session.parent or session.id,
        folder,
        {**own, "PWD": folder},
        subagent=bool(session.parent),
    )


def _convert_event(event: PluginEvent, common: EventFields) -> AnyHostEvent:
    match event:
        case SessionStartEvent():
            origin = SessionOrigin.STARTUP if event.fresh else SessionOrigin.RESUME
            told: AnyHostEvent = SessionStarted(**common, origin=origin, headless=event.run)
        case PromptEvent():
            human = any(not part.synthetic and not part.ignored for part in event.parts)
            read_only = None if event.agent is None else event.agent == READ_ONLY
            told = PromptSubmitted(**common, prompt_id=event.message, human=human, read_only=read_only)
        case CommandEvent():
            told = _convert_command(event, common)
        case ToolEvent():
            told = ToolCalled(**common, tool=event.tool, certain=True)
        case SessionIdleEvent():
            planned = READ_ONLY in (event.last.agent, event.last.mode)
            told = AgentStopped(**common, transcript="", headless=event.run, read_only=planned)
        case SessionErrorEvent():
            # A turn that the user stopped also fails; the host reports it again when the session is idle.
            error = try_decode(event.error, wire.MessageError) or wire.MessageError()
            why = "stopped by the user" if error.name == ABORTED else describe_host_error(error)
            told = TurnFailed(**common, error=why)
        case SessionDeletedEvent():
            told = SessionDeleted(**common)
    return told


def _convert_command(event: CommandEvent, common: EventFields) -> AnyHostEvent:
    order = command_order(event.command, unquote_arguments(event.arguments))
    if event.nested:
        raise BadInputError("this is the user's word, and an agent's shell started this OpenCode")
    return CommandTyped(**common, order=order, prompt_id="")


def _build_plugin_answer(answer: HostAnswer, feedback: str) -> PluginAnswer:
    match answer:
        case Continue():
            if not feedback.strip():
                raise ValueError("a continuation without words")
            return PluginAnswer(
                notice=clip_note(answer.note),
                variant="warning",
                say=truncate_middle_utf16(feedback, SAID_LIMIT),
            )
        case Rest():
            bad = answer.alarm or answer.reason in (RestReason.UNJUDGED, RestReason.WAITING)
            good = answer.reason in (RestReason.ACHIEVED, RestReason.COMPLETED)
            variant: Literal["success", "warning", "info"] = (
                "success" if good else "warning" if bad else "info"
            )
            return PluginAnswer(notice=clip_note(answer.note), variant=variant)
        case CommandReply():
            return PluginAnswer(
                notice=clip_note(answer.text),
                variant="error" if answer.refused else "info",
                work=answer.work and not answer.refused,
                context=truncate_middle_utf16(answer.context, SAID_LIMIT),
                refused=answer.refused,
            )
        case NoReply():
            return PluginAnswer(notice=clip_note(answer.note))
        case ToolCallReply():
            return PluginAnswer(
                ours=True
            )  # the plugin knows the calling session; the host itself asks for permission
