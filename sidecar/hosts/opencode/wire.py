"""OpenCode's messages as its API returns them, as far as we read them.

Rules of this file:

- What does not decode is left out by itself: a message, a part of it, or one of its fields that only adds to
  the rest. Hosts add types freely.
- A field for which OpenCode itself has two shapes (`summary` is true for an answer, an object for a prompt)
  stays raw until it is needed.
"""

from __future__ import annotations

from typing import Final

import msgspec

from sidecar.hosts.shared import try_decode

NOTHING: Final = msgspec.Raw(b"null")
BYTES_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a whole history; a longer one is not read."""
MESSAGES_LIMIT: Final = 10_000
"""Messages of a history that are read, the newest ones."""

COST_LIMIT: Final = 1000.0
"""Dollars of one answer; a host's number beyond that is not taken for a price."""


class MessageTime(msgspec.Struct, frozen=True):
    """Milliseconds since the epoch; `completed` is None while a message is being written."""

    created: float = 0
    completed: float | None = None


class CacheTokens(msgspec.Struct, frozen=True):
    """Tokens of a request that were read from the model service's cache, or written to it."""

    read: float | None = 0
    write: float | None = 0


class MessageTokens(msgspec.Struct, frozen=True):
    """Tokens of one request; `input` excludes those read from the cache."""

    input: float | None = 0
    output: float | None = 0
    reasoning: float | None = 0
    cache: CacheTokens = CacheTokens()

    @property
    def total(self) -> int:
        """Uncached input plus output."""
        parts = (self.input, self.output, self.reasoning, self.cache.write)
        return int(sum(part for part in parts if part and part > 0))


class ErrorData(msgspec.Struct, frozen=True):
    """The message of an error."""

    message: str = ""


class MessageError(msgspec.Struct, frozen=True):
    """Why an answer ended early."""

    name: str = ""
    data: msgspec.Raw = NOTHING


class MessageInfo(msgspec.Struct, frozen=True, rename="camel"):
    """The head of a message.

    `finish` is why the model ended ("stop", "tool-calls"), None if no model did.
    """

    id: str
    role: str
    time: msgspec.Raw = NOTHING
    finish: str | None = None
    error: msgspec.Raw = NOTHING
    tokens: msgspec.Raw = NOTHING
    cost: msgspec.Raw = NOTHING
    summary: msgspec.Raw = NOTHING


class HostMessage(msgspec.Struct, frozen=True):
    """One message with its parts, which are decoded when needed."""

    info: MessageInfo
    parts: msgspec.Raw = NOTHING


class MessagePart(msgspec.Struct, frozen=True, rename={"call_id": "callID"}):
    """A part of any type: text, reasoning, tool, file, patch, subtask, compaction, ...

    `synthetic`: the model sees it and nobody typed it. `ignored`: the user sees it and the model does not.
    `prompt` belongs to a subtask.
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


class ToolState(msgspec.Struct, frozen=True):
    """The state of a tool call: pending, running, completed or error."""

    status: str = ""
    input: msgspec.Raw = NOTHING
    output: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING
    metadata: msgspec.Raw = NOTHING


MESSAGE_DECODER: Final = msgspec.json.Decoder(HostMessage)
PART_DECODER: Final = msgspec.json.Decoder(MessagePart)
STATE_DECODER: Final = msgspec.json.Decoder(ToolState)
TIME_DECODER: Final = msgspec.json.Decoder(MessageTime)
TOKENS_DECODER: Final = msgspec.json.Decoder(MessageTokens)
ERROR_DECODER: Final = msgspec.json.Decoder(MessageError)
ERROR_DATA_DECODER: Final = msgspec.json.Decoder(ErrorData)
COST_DECODER: Final = msgspec.json.Decoder(float)
TEXT_DECODER: Final = msgspec.json.Decoder(str)
RAW_LIST_DECODER: Final = msgspec.json.Decoder(list[msgspec.Raw])


def decode_messages(raw: bytes) -> list[HostMessage] | None:
    """Return the newest messages, oldest first, without those that do not decode.

    Returns None if `raw` is not a list, or too long.
    """
    if len(raw) > BYTES_LIMIT:
        return None
    found = try_decode(raw, RAW_LIST_DECODER)
    if found is None:
        return None
    each = (try_decode(one, MESSAGE_DECODER) for one in found[-MESSAGES_LIMIT:])
    return [message for message in each if message is not None]


def decode_parts(message: HostMessage) -> list[MessagePart]:
    """Return the parts of a message, without those that do not decode."""
    each = (try_decode(one, PART_DECODER) for one in try_decode(message.parts, RAW_LIST_DECODER) or [])
    return [part for part in each if part is not None]


def message_time(message: HostMessage) -> MessageTime:
    """Return when a message was created and completed; the defaults if it does not say."""
    return try_decode(message.info.time, TIME_DECODER) or MessageTime()


def message_tokens(message: HostMessage) -> int:
    """Return uncached input plus output of the request that made this answer."""
    spent = try_decode(message.info.tokens, TOKENS_DECODER)
    return spent.total if spent is not None else 0


def message_cost(message: HostMessage) -> float | None:
    """Return what this answer cost in dollars, None if the host does not say so."""
    dollars = try_decode(message.info.cost, COST_DECODER)
    return dollars if dollars is not None and 0 <= dollars <= COST_LIMIT else None


def message_error(message: HostMessage) -> MessageError | None:
    """Return why an answer ended early, None if it did not."""
    if bytes(message.info.error) == b"null":
        return None
    return try_decode(message.info.error, ERROR_DECODER) or MessageError(name="UnknownError")


def decode_text(raw: msgspec.Raw) -> str:
    """Return a text, "" if it is none."""
    return try_decode(raw, TEXT_DECODER) or ""
