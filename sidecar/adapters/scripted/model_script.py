"""The script of a scripted model: which request is answered by what.

Only data and the one decision `matches`; nothing here listens, waits or counts.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from sidecar.adapters.scripted.model_wire import STRUCTURED_OUTPUT, Block, Message, Text, ToolCall

UNMATCHED_TEXT: Final = "OK."
"""What an agent is told when the script did not foresee its request."""
ASIDE_TEXT: Final = '{"title": "Scripted session"}'
"""What an unforeseen request without tools is told; it passes for the session title that hosts ask for."""


class HttpError(msgspec.Struct, frozen=True):
    """An error answer: `HttpError(429, "rate_limit_error", headers={"retry-after": "0"})`."""

    status: int
    kind: str = "api_error"
    message: str = "scripted error"
    headers: Mapping[str, str] = {}


class Dropped(msgspec.Struct, frozen=True):
    """No answer: the connection is closed."""


class Raw(msgspec.Struct, frozen=True):
    """An answer of exactly these bytes, whatever was asked.

    `cut`: more bytes are announced than come before the connection is closed.
    """

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = {}
    cut: bool = False


class Dripping(msgspec.Struct, frozen=True):
    """A good answer that begins and never ends: blanks, one at a time, as long as the other side listens."""


Reply = Message | HttpError | Dropped | Raw | Dripping


class Match(msgspec.Struct, frozen=True):
    """Which requests a rule answers; everything given must hold. Texts are regular expressions.

    They are searched for, not matched whole, and a dot stands for a line end too (`re.DOTALL`).
    """

    tools: Literal["any", "some", "none"] = "any"
    """Whether the model may call tools: the agent asks with `some`, titles and native judges with `none`."""
    has_tool: str = ""
    lacks_tool: str = ""
    last: str = ""
    """Searched in the messages that the model has not answered yet."""
    any: str = ""
    """Searched in the system prompt and all messages."""
    model: str = ""
    n: int = 0
    """The n-th request for a message, from 1; 0 stands for every one."""


class Rule(msgspec.Struct, frozen=True):
    """One line of the script."""

    reply: Reply
    match: Match = Match()
    times: int | None = 1
    """How many requests it answers; `None` is without end."""
    gate: threading.Event | None = None
    """The answer is held until this is set, at most `HOLD_LIMIT_S`."""


class Request(msgspec.Struct, frozen=True):
    """One question to the model as it arrived: `POST /v1/messages` or `POST /v1/chat/completions`."""

    n: int
    """From 1, in order of arrival."""
    path: str
    headers: Mapping[str, str]
    """With names in lower case."""
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


def say(*texts: str) -> Message:
    """Answer in words, one block for each of `texts`, and end the turn."""
    return Message(tuple(Text(text) for text in texts))


def call(*calls: ToolCall, before: str = "") -> Message:
    """Answer with tool calls in one message, after the words `before` if there are any."""
    words: tuple[Block, ...] = (Text(before),) if before else ()
    return Message((*words, *calls))


def structured(answer: Mapping[str, object]) -> Message:
    """Give the answer that `claude -p --json-schema` waits for."""
    return call(ToolCall(STRUCTURED_OUTPUT, answer))


def matches(match: Match, request: Request) -> bool:
    """Whether everything that `match` asks for holds for `request`."""
    return (
        match.n in (0, request.n)
        and match.tools in ("any", "some" if request.tools else "none")
        and (not match.has_tool or match.has_tool in request.tools)
        and (not match.lacks_tool or match.lacks_tool not in request.tools)
        and _found(match.last, request.last)
        and _found(match.any, request.text)
        and _found(match.model, request.model)
    )


def _found(pattern: str, text: str) -> bool:
    return not pattern or re.search(pattern, text, re.DOTALL) is not None


def default_rule(request: Request) -> Rule:
    """Answer what no rule matches: harmlessly, so that a host never hangs."""
    return Rule(say(UNMATCHED_TEXT if request.tools else ASIDE_TEXT))
