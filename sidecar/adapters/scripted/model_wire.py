"""How the Anthropic Messages API is spelled: requests are read leniently, replies are written exactly.

This file decides two things: what text a request carries, and which bytes a reply is. It knows nothing of
sockets, rules or threads. A body that is no request makes `msgspec.json.decode(body, type=Asked)` raise
`msgspec.DecodeError` or its child `ValidationError`; nothing else is raised here on purpose.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

STRUCTURED_OUTPUT: Final = "StructuredOutput"
"""The tool by which Claude Code asks for an answer that follows a JSON schema (`claude -p --json-schema`)."""


class Text(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A block of text that the model says."""

    text: str


class Thinking(msgspec.Struct, frozen=True, tag_field="type", tag="thinking"):
    """A block of thinking; `signature` is opaque to the host, which only sends it back."""

    thinking: str
    signature: str = "c2lnbmVk"


class ToolCall(msgspec.Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A call of a tool; an empty `id` gets a fresh one in every reply, for hosts remember ids."""

    name: str
    input: Mapping[str, object] = {}
    id: str = ""


Block = Text | Thinking | ToolCall
"""What an answer is made of."""


class Usage(msgspec.Struct, frozen=True):
    """Tokens that the reply claims to have cost."""

    input_tokens: int = 100
    output_tokens: int = 20
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class Message(msgspec.Struct, frozen=True):
    """A complete answer of the model; an empty `stop_reason` becomes what the blocks call for."""

    blocks: tuple[Block, ...]
    stop_reason: str = ""
    usage: Usage = Usage()


class Counted(msgspec.Struct, frozen=True):
    """The answer to `POST /v1/messages/count_tokens`."""

    input_tokens: int


class _Part(msgspec.Struct):
    """Any content block of a request, as far as it carries text."""

    type: str = ""
    text: str = ""
    content: str | list[_Part] | dict[str, object] | None = None


class _Turn(msgspec.Struct):
    role: str
    content: str | list[_Part]


class _Tool(msgspec.Struct):
    name: str = ""


class Asked(msgspec.Struct):
    """The body of `POST /v1/messages`, as far as a script may look at it. Unknown fields are ignored."""

    model: str = ""
    stream: bool = False
    system: str | list[_Part] = ""
    messages: list[_Turn] = []
    tools: list[_Tool] = []

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools the model may call, in the order sent."""
        return tuple(tool.name for tool in self.tools)

    @property
    def system_text(self) -> str:
        """The whole system prompt; chat completions carry it as messages."""
        own = [_text(turn.content) for turn in self.messages if turn.role == "system"]
        return "\n".join(filter(None, [_text(self.system), *own]))

    @property
    def news(self) -> str:
        """The text of every message after the last one of the model: what it has not answered yet."""
        fresh: list[str] = []
        for turn in reversed(self.messages):
            if turn.role == "assistant":
                break
            fresh.append(_text(turn.content))
        return "\n".join(reversed(fresh))

    @property
    def text(self) -> str:
        """System prompt and all messages, tool results included."""
        said = (_text(turn.content) for turn in self.messages if turn.role != "system")
        return "\n".join([self.system_text, *said])


def _text(content: str | list[_Part] | dict[str, object] | None) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part.text or _text(part.content) for part in content)
    return ""


class _Sent(msgspec.Struct, tag_field="type", tag="message"):
    id: str
    model: str
    content: tuple[Block, ...]
    stop_reason: str | None
    usage: Usage
    role: str = "assistant"
    stop_sequence: str | None = None


class _Start(msgspec.Struct, tag_field="type", tag="message_start"):
    message: _Sent


class _BlockStart(msgspec.Struct, tag_field="type", tag="content_block_start"):
    index: int
    content_block: Block


class _TextDelta(msgspec.Struct, tag_field="type", tag="text_delta"):
    text: str


class _ThinkingDelta(msgspec.Struct, tag_field="type", tag="thinking_delta"):
    thinking: str


class _SignatureDelta(msgspec.Struct, tag_field="type", tag="signature_delta"):
    signature: str


class _InputDelta(msgspec.Struct, tag_field="type", tag="input_json_delta"):
    partial_json: str


class _BlockDelta(msgspec.Struct, tag_field="type", tag="content_block_delta"):
    index: int
    delta: _TextDelta | _ThinkingDelta | _SignatureDelta | _InputDelta


class _BlockStop(msgspec.Struct, tag_field="type", tag="content_block_stop"):
    index: int


class _Ending(msgspec.Struct):
    stop_reason: str | None
    stop_sequence: str | None = None


class _Delta(msgspec.Struct, tag_field="type", tag="message_delta"):
    delta: _Ending
    usage: Usage


class _Stop(msgspec.Struct, tag_field="type", tag="message_stop"):
    pass


class _Error(msgspec.Struct):
    type: str
    message: str


class _Refusal(msgspec.Struct, tag_field="type", tag="error"):
    error: _Error


_Event = _Start | _BlockStart | _BlockDelta | _BlockStop | _Delta | _Stop


def whole(message: Message, model: str) -> bytes:
    """Spell `message` as the JSON document that answers a request without `stream`."""
    return msgspec.json.encode(_sent(message, model))


def streamed(message: Message, model: str) -> bytes:
    """Spell `message` as the server-sent events that answer a request with `stream`."""
    return b"".join(_line(event) for event in _events(_sent(message, model)))


def refused(kind: str, message: str) -> bytes:
    """Spell the JSON document of an error answer."""
    return msgspec.json.encode(_Refusal(_Error(kind, message)))


def _line(event: _Event) -> bytes:
    name = str(event.__struct_config__.tag)
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(event))


def _sent(message: Message, model: str) -> _Sent:
    blocks = tuple(
        msgspec.structs.replace(block, id=block.id or _fresh("toolu"))
        if isinstance(block, ToolCall)
        else block
        for block in message.blocks
    )
    calls = any(isinstance(block, ToolCall) for block in blocks)
    reason = message.stop_reason or ("tool_use" if calls else "end_turn")
    return _Sent(_fresh("msg"), model, blocks, reason, message.usage)


def _fresh(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


def _events(sent: _Sent) -> Iterator[_Event]:
    yield _Start(msgspec.structs.replace(sent, content=(), stop_reason=None))
    for index, block in enumerate(sent.content):
        yield _BlockStart(index, _emptied(block))
        for delta in _deltas(block):
            yield _BlockDelta(index, delta)
        yield _BlockStop(index)
    yield _Delta(_Ending(sent.stop_reason), sent.usage)
    yield _Stop()


def _emptied(block: Block) -> Block:
    match block:
        case Text():
            return Text("")
        case Thinking():
            return Thinking("", "")
        case ToolCall():
            return ToolCall(block.name, {}, block.id)


def _deltas(block: Block) -> Iterator[_TextDelta | _ThinkingDelta | _SignatureDelta | _InputDelta]:
    match block:
        case Text():
            yield _TextDelta(block.text)
        case Thinking():
            yield _ThinkingDelta(block.thinking)
            yield _SignatureDelta(block.signature)
        case ToolCall():
            yield _InputDelta(msgspec.json.encode(block.input).decode())
