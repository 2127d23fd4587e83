"""Translates Codex's hook events and our answers.

What this file knows of the host, each point seen in 0.144.0 and 0.171.0:

- An answer with a field that the host does not know is refused: the turn ends as if nothing had been said.
- At a stop only `decision: block` sends the agent back. A reason of more than about 10,000 characters loses
  its middle.
- `turn_id` names a turn. A prompt that is typed while the agent works has the id of the running turn, so it
  does not tell one typed command from another.
- `permission_mode` says nothing of the plan mode and the sandbox; the rollout does.
- A terminal's hooks run in a daemon, so no variable of the environment names the session.
- Esc is reported by 0.171 (Interrupt), and by no version while it kills a hook that runs.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

import msgspec

from sidecar.hosts.hooks import (
    HookEventBase,
    command_pattern,
    hook_event_fields,
    read_hook_event,
    read_hook_event_name,
    session_origin,
    typed_order,
)
from sidecar.hosts.shared import CONTINUATION, clip_note
from sidecar.kernel.effects import CommandReply, Continue, HostAnswer, NoReply, Rest, ToolCallReply
from sidecar.kernel.events import (
    AgentStopped,
    AnyHostEvent,
    CommandTyped,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    TurnFailed,
)
from sidecar.kernel.text import truncate_middle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.kernel.session import Environment

HOST: Final = "codex"
"""The host's name in session keys."""
TITLE: Final = "Codex"
TYPED_COMMAND: Final = command_pattern(r"\s*[$/]")
"""`$` completes a skill. `/` reaches us behind a blank, and in `codex exec`."""
REASON_LIMIT: Final = 9000
"""Bytes of a reason or context, as the host sends it to the model."""


def user_folder(environment: Mapping[str, str]) -> Path:
    """The user's folder of settings, plugins and rollouts."""
    return Path(environment.get("CODEX_HOME") or Path.home() / ".codex")


class SessionStart(HookEventBase, frozen=True, kw_only=True, tag="SessionStart"):
    """`source` is startup, resume, clear or compact."""

    source: str = "startup"


class UserPromptSubmit(HookEventBase, frozen=True, kw_only=True, tag="UserPromptSubmit"):
    """A prompt is about to be sent; with `agent_id` it is a subagent's task."""

    prompt: str
    turn_id: str | None = None


class Stop(HookEventBase, frozen=True, kw_only=True, tag="Stop"):
    """The agent ended its turn."""

    turn_id: str | None = None
    stop_hook_active: bool = False
    last_assistant_message: str | None = None


class Interrupt(HookEventBase, frozen=True, kw_only=True, tag="Interrupt"):
    """The person ended the turn."""


class SessionEnd(HookEventBase, frozen=True, kw_only=True, tag="SessionEnd"):
    """The session was closed."""

    reason: str = "other"


class ContextOutput(msgspec.Struct, frozen=True, rename="camel"):
    """What the model reads beside a prompt."""

    additional_context: str
    hook_event_name: str = "UserPromptSubmit"


class HookOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A whole answer; an empty one changes nothing. Only a prompt's may have `hook_specific_output`."""

    decision: Literal["block"] | None = None
    reason: str = ""
    system_message: str = ""
    hook_specific_output: ContextOutput | None = None


HookEvent = SessionStart | UserPromptSubmit | Stop | Interrupt | SessionEnd
HOOK_EVENT_NAMES: Final = tuple(str(one.__struct_config__.tag) for one in get_args(HookEvent))
HOOK_EVENT_DECODER: Final[msgspec.json.Decoder[HookEvent]] = msgspec.json.Decoder(HookEvent)


class CodexCodec:
    """Implements ports.HostCodec."""

    relayed = True

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:
        """Decode one hook event. Raises BadInputError if it is too big, malformed, mistyped or unknown."""
        event = read_hook_event(raw, HOOK_EVENT_DECODER, HOOK_EVENT_NAMES, TITLE)
        common = hook_event_fields(HOST, event, environment, host_pid)
        transcript = event.transcript_path or ""
        told: AnyHostEvent
        match event:
            case SessionStart():
                told = SessionStarted(**common, origin=session_origin(event.source))
            case UserPromptSubmit():
                human = not common["subagent"] and CONTINUATION.match(event.prompt) is None
                if human and (order := typed_order(event.prompt, TYPED_COMMAND)):
                    return CommandTyped(**common, order=order, prompt_id="", transcript=transcript)
                turn = event.turn_id or ""
                told = PromptSubmitted(**common, prompt_id=turn, human=human, transcript=transcript)
            case Stop():
                told = AgentStopped(
                    **common,
                    transcript=transcript,
                    prompt_id=event.turn_id or "",
                    last_message=event.last_assistant_message or "",
                    continued=event.stop_hook_active,
                )
            case Interrupt():
                told = TurnFailed(**common, error="interrupted")
            case SessionEnd():
                told = SessionEnded(**common, reason=event.reason)
        return told

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Encode the answer to `raw`. Raises as `decode` does, and ValueError for a misplaced answer."""
        return msgspec.json.encode(_build_output(read_hook_event_name(raw, TITLE), answer, feedback))


def _build_output(event: str, answer: HostAnswer, feedback: str) -> HookOutput:
    match answer:
        case Continue() if event == "Stop" and feedback.strip():
            said = _shown(answer.note)
            return HookOutput(decision="block", reason=_clip_reason(feedback), system_message=said)
        case CommandReply() if event == "UserPromptSubmit" and answer.work and not answer.refused:
            context = ContextOutput(_clip_reason(answer.context))
            return HookOutput(system_message=_shown(answer.text), hook_specific_output=context)
        case CommandReply() if event == "UserPromptSubmit":
            return HookOutput(decision="block", reason=_shown(answer.text))
        case Rest() | NoReply():
            return HookOutput(system_message=_shown(answer.note))
        case Continue() | CommandReply() | ToolCallReply():
            raise ValueError(f"{type(answer).__name__} cannot answer {event}")


def _shown(text: str) -> str:
    """Return a text for the user, with our commands as they are typed here."""
    return clip_note(text.replace("/supervisor:", "$supervisor:"))


def _clip_reason(text: str) -> str:
    """Cut the middle of a text, if the host would: it counts bytes, after it has escaped `<`, `>` and `&`."""
    cut, limit = text, len(text)
    while (size := len(escape(cut, quote=False).encode("utf-8", "replace"))) > REASON_LIMIT:
        limit = limit * REASON_LIMIT // (size + 1)
        cut = truncate_middle(text, limit)
    return cut
