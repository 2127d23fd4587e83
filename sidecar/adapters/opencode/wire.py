"""OpenCode's messages as its API gives them, as far as we read them.

Rules of this file:

- What does not decode is left out by itself: a message, a part of it, or one of its fields that only adds to
  the rest. Hosts add types freely.
- A field of which OpenCode itself knows two shapes (`summary` is true of an answer, an object of a prompt)
  stays raw until somebody asks.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from sidecar.adapters.text import mended

Wanted = TypeVar("Wanted")

NOTHING: Final = msgspec.Raw(b"null")
BYTES_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a whole history; a longer one is not read."""
MESSAGES_LIMIT: Final = 10_000
"""Messages of a history that are read, the newest ones."""

COST_LIMIT: Final = 1000.0
"""Dollars of one answer; what a host claims beyond that is no price."""


class Time(msgspec.Struct, frozen=True):
    """Milliseconds since the epoch; `completed` is None while a message grows."""

    created: float = 0
    completed: float | None = None


class Cache(msgspec.Struct, frozen=True):
    """Tokens of a request that the service had kept, or was made to keep."""

    read: float | None = 0
    write: float | None = 0


class Tokens(msgspec.Struct, frozen=True):
    """Tokens of one request; `input` is without what came from the cache."""

    input: float | None = 0
    output: float | None = 0
    reasoning: float | None = 0
    cache: Cache = Cache()

    @property
    def total(self) -> int:
        """Uncached input plus output."""
        parts = (self.input, self.output, self.reasoning, self.cache.write)
        return int(sum(part for part in parts if part and part > 0))


class Said(msgspec.Struct, frozen=True):
    """What an error says."""

    message: str = ""


class Error(msgspec.Struct, frozen=True):
    """Why an answer was cut short."""

    name: str = ""
    data: msgspec.Raw = NOTHING


class Info(msgspec.Struct, frozen=True, rename="camel"):
    """The head of a message. `finish` is why the model ended ("stop", "tool-calls"), None where none did."""

    id: str
    role: str
    time: msgspec.Raw = NOTHING
    finish: str | None = None
    error: msgspec.Raw = NOTHING
    tokens: msgspec.Raw = NOTHING
    cost: msgspec.Raw = NOTHING
    summary: msgspec.Raw = NOTHING


class Message(msgspec.Struct, frozen=True):
    """One message with its parts, which are read when they are wanted."""

    info: Info
    parts: msgspec.Raw = NOTHING


class Part(msgspec.Struct, frozen=True, rename={"call_id": "callID"}):
    """A part of any type: text, reasoning, tool, file, patch, subtask, compaction, ...

    `synthetic`: the model sees it and nobody typed it. `ignored`: the user sees it and the model does not.
    `prompt` is a subtask's.
    """

    type: str
    id: str = ""
    text: str = ""
    synthetic: bool | None = False
    ignored: bool | None = False
    call_id: str = ""
    tool: str = ""
    state: msgspec.Raw = NOTHING
    prompt: str = ""


class State(msgspec.Struct, frozen=True):
    """How far a tool call is: pending, running, completed or error."""

    status: str = ""
    input: msgspec.Raw = NOTHING
    output: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING
    metadata: msgspec.Raw = NOTHING


MESSAGE: Final = msgspec.json.Decoder(Message)
PART: Final = msgspec.json.Decoder(Part)
STATE: Final = msgspec.json.Decoder(State)
TIME: Final = msgspec.json.Decoder(Time)
TOKENS: Final = msgspec.json.Decoder(Tokens)
ERROR: Final = msgspec.json.Decoder(Error)
SAID: Final = msgspec.json.Decoder(Said)
COST: Final = msgspec.json.Decoder(float)
WORDS: Final = msgspec.json.Decoder(str)
RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])


def decoded(raw: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Wanted]) -> Wanted | None:
    """Decode what a host wrote, mending half characters; None where it is something else."""
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return decoder.decode(mended(bytes(raw)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def messages(raw: bytes) -> list[Message] | None:
    """The newest messages, oldest first, without what does not decode; None where `raw` is no list of any."""
    if len(raw) > BYTES_LIMIT:
        return None
    found = decoded(raw, RAWS)
    if found is None:
        return None
    each = (decoded(one, MESSAGE) for one in found[-MESSAGES_LIMIT:])
    return [message for message in each if message is not None]


def parts(message: Message) -> list[Part]:
    """The parts of a message, without those that do not decode."""
    each = (decoded(one, PART) for one in decoded(message.parts, RAWS) or [])
    return [part for part in each if part is not None]


def time(message: Message) -> Time:
    """When a message began and ended; zero where it does not say."""
    return decoded(message.info.time, TIME) or Time()


def tokens(message: Message) -> int:
    """Uncached input plus output of the request that made this answer."""
    spent = decoded(message.info.tokens, TOKENS)
    return spent.total if spent is not None else 0


def cost(message: Message) -> float | None:
    """Dollars that this answer cost; None where the host does not say so."""
    dollars = decoded(message.info.cost, COST)
    return dollars if dollars is not None and 0 <= dollars <= COST_LIMIT else None


def error(message: Message) -> Error | None:
    """Why an answer was cut short, None where it was not."""
    if bytes(message.info.error) == b"null":
        return None
    return decoded(message.info.error, ERROR) or Error(name="UnknownError")


def words(raw: msgspec.Raw) -> str:
    """A text, "" where it is none."""
    return decoded(raw, WORDS) or ""
