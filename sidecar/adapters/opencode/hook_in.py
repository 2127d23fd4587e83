"""What our plugin tells of OpenCode: the host's own words, gathered into one object for each event.

Unknown fields are ignored. A field that the host may leave out has a default.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from sidecar.adapters.opencode import wire
from sidecar.adapters.text import mended, plain
from sidecar.ports import BadInputError

INPUT_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one event."""
ERROR_LIMIT: Final = 300
"""Characters of a decoder's complaint that are passed on."""


class Session(Struct, frozen=True, rename={"parent": "parentID"}):
    """`parent` is set for a helper of the agent; `directory` is the folder that the session works in."""

    id: str
    directory: str
    parent: str | None = None


class Event(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Common to all."""

    session: Session


class SessionStart(Event, frozen=True, kw_only=True, tag="session.start"):
    """The plugin met the session. `fresh`: it began in this process of the host."""

    fresh: bool = False


class Flags(Struct, frozen=True):
    """A part of a prompt without its content."""

    type: str = ""
    synthetic: bool | None = False
    ignored: bool | None = False


class Prompt(Event, frozen=True, kw_only=True, tag="prompt"):
    """A message of the user's side went in; `message` is its id, `agent` the one that works on it."""

    message: str = ""
    agent: str | None = None
    parts: tuple[Flags, ...] = ()


class Command(Event, frozen=True, kw_only=True, tag="command"):
    """A command of ours was typed. `nested`: into an older session, by a host that an agent's shell runs."""

    command: str = msgspec.field(name="name")
    arguments: str = ""
    nested: bool = False


class Tool(Event, frozen=True, kw_only=True, tag="tool"):
    """A tool of ours is about to be called, by the name that we know it by."""

    tool: str


class Last(Struct, frozen=True):
    """The head of the newest message."""

    agent: str | None = None
    mode: str | None = None


class Idle(Event, frozen=True, kw_only=True, tag="session.idle"):
    """The session rests. `run`: the host ends with it."""

    last: Last = Last()
    run: bool = False


class Failed(Event, frozen=True, kw_only=True, tag="session.error"):
    """A turn was cut short."""

    error: msgspec.Raw = wire.NOTHING


class Deleted(Event, frozen=True, kw_only=True, tag="session.deleted"):
    """The user deleted the session."""


Told = SessionStart | Prompt | Command | Tool | Idle | Failed | Deleted
EVENTS: Final[msgspec.json.Decoder[Told]] = msgspec.json.Decoder(Told)


def read_event(raw: bytes) -> Told:
    """Read a whole event; raises BadInputError."""
    if len(raw) > INPUT_LIMIT:
        raise BadInputError(f"an event of {len(raw):,} bytes is over the limit of {INPUT_LIMIT:,} bytes")
    try:
        return EVENTS.decode(raw)
    except msgspec.ValidationError as error:
        raise _unusable(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return EVENTS.decode(mended(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unusable(error) from error


def _unusable(error: Exception) -> BadInputError:
    said = " ".join(plain(str(error)[:ERROR_LIMIT]).split())
    return BadInputError(
        f"an event of OpenCode cannot be used: {said}. `supervisor doctor` checks the plugin."
    )
