"""What the readers of all hosts share: checked names, limits, and which tools are our own.

A tool of ours that only reports or writes to a journal changes nothing in a project and shows nothing about
it, so a call of it must not make a turn look as if more had happened. A tool that is not listed here may do
anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar

import msgspec
from msgspec import Raw

from sidecar.kernel.decoding import UNREADABLE, decode_repaired
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.orders import COMMAND_NAMES, CommandName, Order, parse_order
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import (
    clean_line,
    clean_text,
    strip_control_codes,
    truncate_middle,
    truncate_middle_utf16,
)
from sidecar.platform.data import json_decoder

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment

T = TypeVar("T")


OPENCODE: Final = "opencode"
COPILOT: Final = "copilot"
ACP: Final = "acp"
"""The host's name in sessions of an editor that reaches its agent through our proxy."""
CLIENT: Final = "client"
"""The host's name in sessions that a person opened for a client of our tools that is no host."""
HOST_ALIASES: Final = {"claude": "claude-code"}
"""Other names that a person may type for a host."""
WORKER_MARKER: Final = "SUPERVISOR_WORKER"
"""The environment variable that is not empty for our own judges and workers."""
PROXIED_MARKER: Final = "SUPERVISOR_PROXIED"
"""The environment variable of an agent whose stops our proxy reports, so that its own hooks report none."""
AGENT_SIGNS: Final = {
    "claude-code": ("CLAUDECODE",),
    OPENCODE: ("OPENCODE",),
    "codex": ("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
    "gemini": ("GEMINI_CLI", "GEMINI_SESSION_ID"),
    COPILOT: ("COPILOT_AGENT_SESSION_ID", "COPILOT_CLI"),
}
"""The environment variables by which a host's hooks and the shells of its agent are known."""
AGENT_VARIABLES: Final = tuple(sign for signs in AGENT_SIGNS.values() for sign in signs)
SESSION_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
HOSTILE_NAME_SHOWN: Final = 40
"""Characters of an invalid name that an error message shows."""


TYPED: Final[dict[str, CommandName]] = {name: name for name in COMMAND_NAMES}


class EventFields(TypedDict):
    """The fields that all events of a host have."""

    key: SessionKey
    project: str
    environment: Environment
    subagent: bool
    ours: bool


def checked_session_id(told: str) -> str:
    """Return an id that is safe as a file name. Raises BadInputError."""
    if not SESSION_ID_PATTERN.fullmatch(told):
        shown = repr(told[:HOSTILE_NAME_SHOWN])[:HOSTILE_NAME_SHOWN]
        raise BadInputError(
            f"session id {shown} of length {len(told):,}: allowed are 1 to 128 letters, digits, -, _"
        )
    return told


def checked_project_folder(told: str) -> str:
    """Return an absolute path without a trailing slash. Raises BadInputError."""
    if not told.startswith("/") or "\0" in told:
        shown = repr(told[:HOSTILE_NAME_SHOWN])[:HOSTILE_NAME_SHOWN]
        raise BadInputError(f"{shown} is no absolute path of a project folder")
    return told.rstrip("/") or "/"


def event_fields(
    host: str, session: str, project: str, environment: Environment, *, subagent: bool
) -> EventFields:
    """Return the fields, with the id and the folder checked. Raises BadInputError."""
    return EventFields(
        key=SessionKey(host, checked_session_id(session)),
        project=checked_project_folder(project),
        environment=environment,
        subagent=subagent,
        ours=bool(environment.get(WORKER_MARKER)),
    )


def command_order(name: str, arguments: str) -> Order:
    """Return the order that a command of this name is. Raises BadInputError."""
    if (known := TYPED.get(name)) is None:
        names = ", ".join(f"/supervisor:{one}" for one in COMMAND_NAMES)
        raise BadInputError(f"there is no command {name[:HOSTILE_NAME_SHOWN]!r}; there are {names}")
    return parse_order(known, arguments)


SERVER_PREFIX: Final = r"(?:mcp__(?:plugin_supervisor_)?supervisor__|(?:mcp_)?supervisor[_-])"
"""The prefixes that hosts put before the names of our server's tools."""
HARMLESS_TOOLS: Final = re.compile(
    rf"{SERVER_PREFIX}(?:status|rubric|gates|evidence|explain|skill_list|(?:task|note)_[a-z_]+|"
    rf"iteration_summary|session_[a-z]+|scope_check|escalate|council_[a-z]+|checkpoint_(?:save|list)|agent_info|"
    rf"tokens_record)"
)


def is_harmless_tool(tool: str) -> bool:
    """Return whether this is a tool of ours that changes nothing in a project."""
    return HARMLESS_TOOLS.fullmatch(tool) is not None


# --- What hosts wrote, and what they are written ------------------------------------------------------------


INPUT_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one event."""
ERROR_LIMIT: Final = 300
"""Characters of a decoder's error that are passed on."""
NOTE_LIMIT: Final = 4000
"""UTF-16 code units of a line for the user."""
NOTHING: Final = Raw(b"null")
"""An undecoded field that is not there."""


def try_decode(raw: bytes | Raw, kind: type[T]) -> T | None:
    """Decode what a host wrote, replacing lone surrogates; None if it has another form."""
    try:
        return decode_repaired(raw, json_decoder(kind))
    except UNREADABLE:
        return None


def decode_each(raw: bytes | Raw, whole: type[tuple[T, ...]], one: type[T]) -> tuple[T | None, ...] | None:
    """Decode a list in one pass, or item by item where one of them does not decode; None if it is no list."""
    if (found := try_decode(raw, whole)) is not None:
        return found
    each = try_decode(raw, list[Raw])
    return None if each is None else tuple(try_decode(item, one) for item in each)


def decode_event(raw: bytes, decoder: msgspec.json.Decoder[T], host: str) -> T:
    """Decode an event of a host. Raises BadInputError."""
    if len(raw) > INPUT_LIMIT:
        raise BadInputError(f"an event of {len(raw):,} bytes is over the limit of {INPUT_LIMIT:,} bytes")
    try:
        return decode_repaired(raw, decoder)
    except UNREADABLE as error:
        said = clean_line(str(error)[:ERROR_LIMIT])
        raise BadInputError(
            f"an event of {host} cannot be used: {said}. `supervisor doctor` checks host and plugin."
        ) from error


def clip_note(text: str) -> str:
    """Return a note for the user, cut to its limit."""
    return clean_text(truncate_middle_utf16(text, NOTE_LIMIT))


# --- What is kept of a turn ---------------------------------------------------------------------------------


PROMPT_LIMIT: Final = 4000
"""Characters of one prompt, and of the condition of a host's own goal."""
PROMPTS_LIMIT: Final = 20
CALLS_LIMIT: Final = 400
MESSAGE_LIMIT: Final = 20_000
"""Characters of the agent's last message."""
ARRIVED_LIMIT: Final = 100
CONTINUATION: Final = re.compile(r"\[supervisor ([0-9a-f]{6})\]")
"""The mark of a continuation of ours, and its id."""


def clip_prompt(text: str) -> str:
    """Return what is kept of a prompt."""
    return truncate_middle(strip_control_codes(text), PROMPT_LIMIT)


def clip_message(text: str) -> str:
    """Return what is kept of a message of the agent."""
    return truncate_middle(strip_control_codes(text), MESSAGE_LIMIT)
