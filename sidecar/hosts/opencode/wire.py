"""OpenCode's messages as its API returns them, as far as we read them.

Rules of this file:

- What does not decode is left out by itself: a message, a part of it, or one of its fields that only adds to
  the rest. Hosts add types freely.
- A field for which OpenCode itself has two shapes (`summary` is true for an answer, an object for a prompt)
  stays raw until it is needed.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sidecar.hosts.shared import NOTHING, decode_each, try_decode
from sidecar.kernel.settings import TokenUsage

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
    def usage(self) -> TokenUsage:
        """The tokens; what was written to the cache was not cached."""
        pairs = ((self.input, self.cache.write), (self.cache.read,), (self.output, self.reasoning))
        return TokenUsage(*(int(sum(part for part in parts if part and part > 0)) for parts in pairs))


class ErrorData(msgspec.Struct, frozen=True, rename={"status": "statusCode", "headers": "responseHeaders"}):
    """The message of an error, and the status with which the model service answered."""

    message: str = ""
    status: int | None = None
    headers: Any = None

    @property
    def retry_after(self) -> float:
        """Seconds after which the service answers again, as it says; 0.0 where it says nothing."""
        told = str(self.headers.get("retry-after", "")) if isinstance(self.headers, dict) else ""
        return float(told) if told.replace(".", "", 1).isdecimal() else 0.0


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


def decode_messages(raw: bytes) -> tuple[HostMessage | None, ...] | None:
    """Return the newest messages, oldest first, with None for each that does not decode.

    Returns None if `raw` is not a list, or too long.
    """
    found = None if len(raw) > BYTES_LIMIT else decode_each(raw, tuple[HostMessage, ...], HostMessage)
    return found and found[-MESSAGES_LIMIT:]


def decode_parts(message: HostMessage) -> tuple[MessagePart, ...]:
    """Return the parts of a message, without those that do not decode."""
    return tuple(filter(None, decode_each(message.parts, tuple[MessagePart, ...], MessagePart) or ()))


def message_time(message: HostMessage) -> MessageTime:
    """Return when a message was created and completed; the defaults if it does not say."""
    return try_decode(message.info.time, MessageTime) or MessageTime()


def message_tokens(message: HostMessage) -> int:
    """Return uncached input plus output of the request that made this answer."""
    return (try_decode(message.info.tokens, MessageTokens) or MessageTokens()).usage.tokens


def message_cost(message: HostMessage) -> float | None:
    """Return what this answer cost in dollars, None if the host does not say so."""
    dollars = try_decode(message.info.cost, float)
    return dollars if dollars is not None and 0 <= dollars <= COST_LIMIT else None


def message_error(message: HostMessage) -> MessageError | None:
    """Return why an answer ended early, None if it did not."""
    if bytes(message.info.error) == b"null":
        return None
    return try_decode(message.info.error, MessageError) or MessageError(name="UnknownError")


def error_data(error: MessageError) -> ErrorData:
    """Return what is known of an error."""
    return try_decode(error.data, ErrorData) or ErrorData()


def decode_text(raw: msgspec.Raw) -> str:
    """Return a text, "" if it is none."""
    return try_decode(raw, str) or ""
