"""Between the words of our OpenCode plugin and ours. Knows no session: every event is read by itself.

What this file knows of the host: one process may hold many sessions and many folders, so its process id says
nothing about which belong together. A helper of the agent has a session of its own, which names its parent.
`opencode run` hands the words of a shell on in quotes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypedDict

import msgspec
from msgspec import Struct

from sidecar.adapters.host_words import SHOWN, WORKER_MARKER, project_folder, session_id
from sidecar.adapters.opencode import hook_in, wire
from sidecar.adapters.opencode.messages import ABORTED, complaint
from sidecar.adapters.text import middle_out_utf16, plain
from sidecar.model.effects import Continue, HostAnswer, Identified, Nothing, Reason, Reply, Rest
from sidecar.model.events import (
    CommandTyped,
    Origin,
    PromptSubmitted,
    SessionDeleted,
    SessionStarted,
    Stopped,
    Told,
    ToolCalled,
    TurnFailed,
)
from sidecar.model.session import SessionKey
from sidecar.ports import BadInputError

if TYPE_CHECKING:
    from sidecar.ports import Environment

HOST: Final = "opencode"
"""The host's name in session keys."""
COMMANDS: Final = ("goal", "retry", "rubric")
READ_ONLY: Final = "plan"
"""The host's own agent that may not write."""
NOTE_LIMIT: Final = 4000
"""UTF-16 code units of a line for the user."""
SAID_LIMIT: Final = 20_000
"""UTF-16 code units of what the agent is told."""


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the plugin carries out. Empty it changes nothing.

    `notice` is for the person, shown as `variant`. `say` is what the agent is told, at a stop. At a command,
    `work` lets its prompt go on to the model, with `context`; else it ends there. `ours`: the tool that is
    called is one of ours.
    """

    notice: str = ""
    variant: Literal["info", "success", "warning", "error"] = "info"
    say: str = ""
    work: bool = False
    context: str = ""
    refused: bool = False
    ours: bool = False


class _Common(TypedDict):
    key: SessionKey
    project: str
    environment: Environment
    subagent: bool
    ours: bool


class OpenCodeCodec:
    """Implements ports.HostCodec."""

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> Told:  # noqa: ARG002 - see above
        """Read one event. Raises BadInputError for what is too big, malformed, mistyped or unknown."""
        event = hook_in.read_event(raw)
        return _told(event, _common(event.session, environment))

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:  # noqa: ARG002 - the plugin knows
        """Word the answer."""
        return msgspec.json.encode(_worded(answer, feedback))


def _common(session: hook_in.Session, environment: Environment) -> _Common:
    folder = project_folder(session.directory)
    own = {name: value for name, value in environment.items() if name != "CLAUDE_PROJECT_DIR"}
    return _Common(
        key=SessionKey(HOST, session_id(session.parent or session.id)),
        project=folder,
        environment={**own, "PWD": folder},
        subagent=bool(session.parent),
        ours=bool(environment.get(WORKER_MARKER)),
    )


def _told(event: hook_in.Told, common: _Common) -> Told:
    match event:
        case hook_in.SessionStart():
            origin = Origin.STARTUP if event.fresh else Origin.RESUME
            told: Told = SessionStarted(**common, origin=origin)
        case hook_in.Prompt():
            human = any(not part.synthetic and not part.ignored for part in event.parts)
            read_only = None if event.agent is None else event.agent == READ_ONLY
            told = PromptSubmitted(**common, prompt_id=event.message, human=human, read_only=read_only)
        case hook_in.Command():
            told = _typed(event, common)
        case hook_in.Tool():
            told = ToolCalled(**common, tool=event.tool, certain=True)
        case hook_in.Idle():
            planned = READ_ONLY in (event.last.agent, event.last.mode)
            told = Stopped(**common, transcript="", headless=event.run, read_only=planned)
        case hook_in.Failed():
            told = _failed(event, common)
        case hook_in.Deleted():
            told = SessionDeleted(**common)
    return told


def _typed(event: hook_in.Command, common: _Common) -> Told:
    if event.command not in COMMANDS:
        known = ", ".join(f"/supervisor:{name}" for name in COMMANDS)
        raise BadInputError(f"there is no command {event.command[:SHOWN]!r}; there are {known}")
    if event.nested:
        raise BadInputError("this is the user's word, and an agent's shell started this OpenCode")
    return CommandTyped(**common, name=event.command, arguments=unquoted(event.arguments), prompt_id="")


def unquoted(arguments: str) -> str:
    """What was typed, where the whole of it is one quoted word; the host escapes quotes and nothing else."""
    word = arguments.strip()
    inner = word[1:-1]
    quoted = len(word) > 1 and word[0] == word[-1] == '"' and '"' not in inner.replace(r"\"", "")
    return inner.replace(r"\"", '"') if quoted else arguments


def _failed(event: hook_in.Failed, common: _Common) -> Told:
    """The turn failed; one that the user stopped did so too, and tells it again at its rest."""
    error = wire.decoded(event.error, wire.ERROR) or wire.Error()
    return TurnFailed(**common, error="stopped by the user" if error.name == ABORTED else complaint(error))


def _worded(answer: HostAnswer, feedback: str) -> Answer:
    match answer:
        case Continue():
            if not feedback.strip():
                raise ValueError("a continuation without words")
            return Answer(notice=_note(answer.note), variant="warning", say=_said(feedback))
        case Rest():
            bad = answer.alarm or answer.reason in (Reason.UNJUDGED, Reason.WAITING)
            good = answer.reason is Reason.ACHIEVED
            variant: Literal["success", "warning", "info"] = (
                "success" if good else "warning" if bad else "info"
            )
            return Answer(notice=_note(answer.note), variant=variant)
        case Reply():
            return Answer(
                notice=_note(answer.text),
                variant="error" if answer.refused else "info",
                work=answer.work and not answer.refused,
                context=_said(answer.context),
                refused=answer.refused,
            )
        case Nothing():
            return Answer(notice=_note(answer.note))
        case Identified():
            return Answer(ours=True)  # whose call it is, the plugin knows; asking is the host's own matter


def _note(text: str) -> str:
    return middle_out_utf16(plain(text), NOTE_LIMIT)


def _said(text: str) -> str:
    """A text that UTF-8 can hold: names of files may not be any."""
    return middle_out_utf16(text, SAID_LIMIT)
