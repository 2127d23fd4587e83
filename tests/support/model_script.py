"""The script of a scripted model: which request gets which reply.

Only data and the one decision `request_matches`; nothing here listens, waits or counts.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from support.model_wire import (
    STRUCTURED_OUTPUT,
    ModelMessage,
    ReplyBlock,
    ReplyText,
    ReplyToolCall,
)

UNMATCHED_TEXT: Final = "OK."
"""The reply to an agent's request that no rule matches."""
ASIDE_TEXT: Final = '{"title": "Scripted session"}'
"""The reply to other requests that no rule matches; it is valid as the session title that hosts ask for."""


class HttpErrorReply(msgspec.Struct, frozen=True):
    """An error: `HttpErrorReply(429, "rate_limit_error", headers={"retry-after": "0"})`."""

    status: int
    kind: str = "api_error"
    message: str = "scripted error"
    headers: Mapping[str, str] = {}


class DroppedReply(msgspec.Struct, frozen=True):
    """No reply: the connection is closed."""


class RawReply(msgspec.Struct, frozen=True):
    """A reply of exactly these bytes, whatever the request.

    `cut`: announce more bytes than are sent before the connection is closed.
    """

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = {}
    cut: bool = False


class EndlessReply(msgspec.Struct, frozen=True):
    """A reply with status 200 that never ends: blanks, one at a time, as long as the client listens."""


ScriptedReply = ModelMessage | HttpErrorReply | DroppedReply | RawReply | EndlessReply


class RequestMatch(msgspec.Struct, frozen=True):
    """Which requests a rule answers; everything given must hold.

    `last`, `any` and `model` are regular expressions. They are searched for, not matched whole, and a dot
    also matches a line end (`re.DOTALL`).
    """

    tools: Literal["any", "some", "none"] = "any"
    """Whether the request offers tools: agents send `some`; session titles and native judges send `none`."""
    has_tool: str = ""
    lacks_tool: str = ""
    last: str = ""
    """Searched in the messages that the model has not answered yet."""
    any: str = ""
    """Searched in the system prompt and all messages."""
    model: str = ""
    n: int = 0
    """Only the n-th request for a message, from 1; 0 stands for every one."""


class ReplyRule(msgspec.Struct, frozen=True):
    """One rule of the script."""

    reply: ScriptedReply
    match: RequestMatch = RequestMatch()
    times: int | None = 1
    """How many requests it answers; `None` means no limit."""
    gate: threading.Event | None = None
    """The reply is held until this event is set, for at most `HOLD_LIMIT_S`."""


class ModelRequest(msgspec.Struct, frozen=True):
    """A request to the model as it arrived: `POST /v1/messages` or `POST /v1/chat/completions`."""

    n: int
    """Number of the request, from 1, in order of arrival."""
    path: str
    headers: Mapping[str, str]
    """The names are in lower case."""
    model: str
    tools: tuple[str, ...]
    last: str
    """Text of the messages that the model has not answered yet."""
    system: str
    text: str
    """System prompt and all messages."""
    body: msgspec.Raw
    """The whole JSON document."""
    rule: int | None
    """Index of the rule that answers it; `None` when none matched."""


def reply_with_text(*texts: str) -> ModelMessage:
    """Reply with text, one block for each of `texts`, and end the turn."""
    return ModelMessage(tuple(ReplyText(text) for text in texts))


def reply_with_calls(*calls: ReplyToolCall, before: str = "") -> ModelMessage:
    """Reply with tool calls in one message, after the text `before` if there is any."""
    words: tuple[ReplyBlock, ...] = (ReplyText(before),) if before else ()
    return ModelMessage((*words, *calls))


def reply_structured(answer: Mapping[str, object]) -> ModelMessage:
    """Reply with the answer that `claude -p --json-schema` waits for."""
    return reply_with_calls(ReplyToolCall(STRUCTURED_OUTPUT, answer))


def request_matches(match: RequestMatch, request: ModelRequest) -> bool:
    """Whether everything that `match` asks for holds for `request`."""
    return (
        match.n in (0, request.n)
        and match.tools in ("any", "some" if request.tools else "none")
        and (not match.has_tool or match.has_tool in request.tools)
        and (not match.lacks_tool or match.lacks_tool not in request.tools)
        and _pattern_found(match.last, request.last)
        and _pattern_found(match.any, request.text)
        and _pattern_found(match.model, request.model)
    )


def _pattern_found(pattern: str, text: str) -> bool:
    return not pattern or re.search(pattern, text, re.DOTALL) is not None


def default_rule(request: ModelRequest) -> ReplyRule:
    """The rule for a request that no rule matches: a harmless reply, so that a host never hangs."""
    return ReplyRule(reply_with_text(UNMATCHED_TEXT if request.tools else ASIDE_TEXT))
