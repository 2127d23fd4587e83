"""Translates the events of our proxy (proxy.py) and our answers. Each is decoded without any session state.

The proxy stands between an editor and an agent, and the host is the editor: what it sends is typed by a
person, and the agent speaks only through the proxy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.hosts.acp.record import AcpTranscript, remember_transcript
from sidecar.hosts.shared import (
    ACP,
    clip_note,
    command_order,
    decode_event,
    event_fields,
)
from sidecar.kernel.effects import CommandReply, Continue, HostAnswer, NoReply, Rest, ToolCallReply
from sidecar.kernel.events import (
    AgentStopped,
    AnyHostEvent,
    CommandTyped,
    PromptSubmitted,
    SessionOrigin,
    SessionStarted,
    TurnFailed,
)
from sidecar.kernel.text import truncate_middle_utf16

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment

SAID_LIMIT: Final = 20_000
"""UTF-16 code units of a text for the agent."""


class AcpEvent(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Fields of all events: the session, and the folder that it works in."""

    session: str
    directory: str


class SessionOpened(AcpEvent, frozen=True, kw_only=True, tag="opened"):
    """The editor opened a session. `fresh`: a new one."""

    fresh: bool = True


class PromptSent(AcpEvent, frozen=True, kw_only=True, tag="prompt"):
    """A person sent a prompt. `id` is ours, once for each prompt."""

    id: str
    read_only: bool = False


class CommandSent(AcpEvent, frozen=True, kw_only=True, tag="command"):
    """A person sent one of our commands."""

    id: str
    name: str
    arguments: str = ""


class TurnEnded(AcpEvent, frozen=True, kw_only=True, tag="stop"):
    """The agent answered a prompt with `end_turn`, and the editor does not know it yet."""

    record: AcpTranscript
    read_only: bool = False


class TurnBroken(AcpEvent, frozen=True, kw_only=True, tag="failed"):
    """A turn ended in another way."""

    error: str


_Event = SessionOpened | PromptSent | CommandSent | TurnEnded | TurnBroken
_EVENTS: Final[msgspec.json.Decoder[_Event]] = msgspec.json.Decoder(_Event)


class AcpAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the proxy carries out. An empty answer changes nothing.

    `notice` is for the person. `say` is the text for the agent at a stop, and `continuation` its id. At a
    command, `work` sets the agent to work with `context`; otherwise the prompt ends there.
    """

    notice: str = ""
    say: str = ""
    continuation: str = ""
    work: bool = False
    context: str = ""


class AcpCodec:
    """Implements ports.HostCodec."""

    relayed = False

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:  # noqa: ARG002 - one process holds many sessions
        """Decode one event. Raises BadInputError if it is too big, malformed, mistyped or unknown."""
        event: _Event = decode_event(raw, _EVENTS, "the ACP proxy")
        folder = event.directory
        about = event_fields(ACP, event.session, folder, {**environment, "PWD": folder}, subagent=False)
        match event:
            case SessionOpened():
                origin = SessionOrigin.STARTUP if event.fresh else SessionOrigin.RESUME
                return SessionStarted(**about, origin=origin)
            case PromptSent():
                return PromptSubmitted(**about, prompt_id=event.id, human=True, read_only=event.read_only)
            case CommandSent():
                order = command_order(event.name, event.arguments)
                return CommandTyped(**about, order=order, prompt_id=event.id)
            case TurnBroken():
                return TurnFailed(**about, error=event.error)
            case TurnEnded():
                remember_transcript(event.record)
                said = event.record.turn.last_message
                return AgentStopped(**about, transcript="", last_message=said, read_only=event.read_only)

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:  # noqa: ARG002 - the proxy knows
        """Encode the answer. Raises ValueError for one that the proxy has no use for."""
        match answer:
            case Continue() if feedback.strip():
                say = truncate_middle_utf16(feedback, SAID_LIMIT)
                told = AcpAnswer(notice=clip_note(answer.note), say=say, continuation=answer.feedback.id)
            case CommandReply():
                context = truncate_middle_utf16(answer.context, SAID_LIMIT)
                work = answer.work and not answer.refused
                told = AcpAnswer(notice=clip_note(answer.text), work=work, context=context)
            case Rest() | NoReply():
                told = AcpAnswer(notice=clip_note(answer.note))
            case Continue() | ToolCallReply():
                raise ValueError(f"{type(answer).__name__} cannot be carried out by the proxy")
        return msgspec.json.encode(told)
