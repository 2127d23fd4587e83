"""What Claude Code writes to a hook's standard input, as far as we read it. Unknown fields are ignored.

Seen in real payloads and in the schemas of versions 2.1.197 and 2.1.330. Fields that not every version or
event carries have a default, and may be null.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from sidecar.adapters.text import mended
from sidecar.ports import BadInputError

Wanted = TypeVar("Wanted")

INPUT_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one hook event."""
ERROR_LIMIT: Final = 300
"""Characters of a decoder's complaint that are passed on."""


class Hook(msgspec.Struct, frozen=True, kw_only=True, tag_field="hook_event_name"):
    """Common to all events."""

    session_id: str
    cwd: str
    transcript_path: str = ""
    prompt_id: str | None = None
    permission_mode: str | None = None
    agent_id: str | None = None


class SessionStart(Hook, frozen=True, kw_only=True, tag="SessionStart"):
    """`source` is startup, resume, clear, compact; newer versions add fork."""

    source: str = "startup"


class UserPromptExpansion(Hook, frozen=True, kw_only=True, tag="UserPromptExpansion"):
    """A slash command is about to be expanded; `UserPromptSubmit` with the same `prompt_id` follows."""

    command_name: str
    command_args: str = ""


class UserPromptSubmit(Hook, frozen=True, kw_only=True, tag="UserPromptSubmit"):
    """A prompt is about to be sent. `source` exists in newer versions: user and sdk are people's."""

    prompt: str
    source: str | None = None


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """Background work of the session."""

    id: str
    status: str
    type: str = ""
    description: str | None = None
    command: str | None = None


class Stop(Hook, frozen=True, kw_only=True, tag="Stop"):
    """The agent ended its turn."""

    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: tuple[Task, ...] | None = None


class PreToolUse(Hook, frozen=True, kw_only=True, tag="PreToolUse"):
    """A tool is about to be called; tools of MCP servers are `mcp__SERVER__TOOL`."""

    tool_name: str


class StopFailure(Hook, frozen=True, kw_only=True, tag="StopFailure"):
    """The turn ended in an error: rate_limit, server_error, authentication_failed, ..."""

    error: str = "unknown"


class FileChanged(Hook, frozen=True, kw_only=True, tag="FileChanged"):
    """A file changed that the answer to SessionStart named."""


class SessionEnd(Hook, frozen=True, kw_only=True, tag="SessionEnd"):
    """The session was closed."""

    reason: str = "other"


class Named(msgspec.Struct, frozen=True):
    """The least that any event carries."""

    hook_event_name: str


class Called(msgspec.Struct, frozen=True):
    """What a tool is about to be called with."""

    tool_input: dict[str, msgspec.Raw] = {}


Event = (
    SessionStart
    | UserPromptExpansion
    | UserPromptSubmit
    | PreToolUse
    | Stop
    | StopFailure
    | FileChanged
    | SessionEnd
)

KNOWN: Final = (
    "SessionStart",
    "UserPromptExpansion",
    "UserPromptSubmit",
    "PreToolUse",
    "Stop",
    "StopFailure",
    "FileChanged",
    "SessionEnd",
)
EVENTS: Final[msgspec.json.Decoder[Event]] = msgspec.json.Decoder(Event)
CALLS: Final = msgspec.json.Decoder(Called)
NAMES: Final = msgspec.json.Decoder(Named)


def read_event(raw: bytes) -> Event:
    """Read a whole event; raises BadInputError."""
    name = read_name(raw)
    if name not in KNOWN:
        raise BadInputError(f"unknown hook event {name[:40]!r}; hooks.json may name only: {', '.join(KNOWN)}")
    return _read(raw, EVENTS)


def read_name(raw: bytes) -> str:
    """Read the event's name only; raises BadInputError."""
    if len(raw) > INPUT_LIMIT:
        raise BadInputError(f"hook input of {len(raw):,} bytes is over the limit of {INPUT_LIMIT:,} bytes")
    return _read(raw, NAMES).hook_event_name


def read_input(raw: bytes) -> dict[str, msgspec.Raw]:
    """Read the arguments of a PreToolUse only; raises BadInputError."""
    return _read(raw, CALLS).tool_input


def _read(raw: bytes, decoder: msgspec.json.Decoder[Wanted]) -> Wanted:
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise _unusable(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return decoder.decode(mended(raw))
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unusable(error) from error


def _unusable(error: Exception) -> BadInputError:
    said = str(error)[:ERROR_LIMIT]
    return BadInputError(f"hook input cannot be used: {said}. `supervisor doctor` checks the host's version.")
