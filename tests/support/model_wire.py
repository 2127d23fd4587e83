"""The wire format of the Anthropic Messages API: requests are read leniently, replies are written exactly.

This module extracts the text of a request and encodes replies. It knows nothing of sockets, rules or threads.
For a body that is no request, `msgspec.json.decode(body, type=MessageRequest)` raises `msgspec.DecodeError`
or its subclass `ValidationError`; nothing else is raised here on purpose.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

STRUCTURED_OUTPUT: Final = "StructuredOutput"
"""The tool by which Claude Code asks for an answer that follows a JSON schema (`claude -p --json-schema`)."""


class ReplyText(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A block of text in a reply."""

    text: str


class ReplyToolCall(msgspec.Struct, frozen=True, tag_field="type", tag="tool_use"):
    """A tool call; an empty `id` is replaced by a fresh one in every reply, because hosts remember ids."""

    name: str
    input: Mapping[str, object] = {}
    id: str = ""


ReplyBlock = ReplyText | ReplyToolCall
"""Any block of a reply."""


class ReplyUsage(msgspec.Struct, frozen=True):
    """The numbers of tokens that the reply reports as used."""

    input_tokens: int = 100
    output_tokens: int = 20
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class ModelMessage(msgspec.Struct, frozen=True):
    """A complete reply; an empty `stop_reason` becomes `tool_use` or `end_turn`, as the blocks require."""

    blocks: tuple[ReplyBlock, ...]
    stop_reason: str = ""
    usage: ReplyUsage = ReplyUsage()


class TokenCount(msgspec.Struct, frozen=True):
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


class MessageRequest(msgspec.Struct):
    """The fields of a `POST /v1/messages` body that a script can use. Unknown fields are ignored."""

    model: str = ""
    stream: bool = False
    system: str | list[_Part] = ""
    messages: list[_Turn] = []
    tools: list[_Tool] = []

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools that the model may call, in the order sent."""
        return tuple(tool.name for tool in self.tools)

    @property
    def system_text(self) -> str:
        """The whole system prompt; chat completions carry it as messages."""
        own = [_content_text(turn.content) for turn in self.messages if turn.role == "system"]
        return "\n".join(filter(None, [_content_text(self.system), *own]))

    @property
    def news(self) -> str:
        """The text of all messages after the model's last one, which are not answered yet."""
        fresh: list[str] = []
        for turn in reversed(self.messages):
            if turn.role == "assistant":
                break
            fresh.append(_content_text(turn.content))
        return "\n".join(reversed(fresh))

    @property
    def text(self) -> str:
        """System prompt and all messages, tool results included."""
        said = (_content_text(turn.content) for turn in self.messages if turn.role != "system")
        return "\n".join([self.system_text, *said])


def _content_text(content: str | list[_Part] | dict[str, object] | None) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part.text or _content_text(part.content) for part in content)
    return ""


class _Sent(msgspec.Struct, tag_field="type", tag="message"):
    id: str
    model: str
    content: tuple[ReplyBlock, ...]
    stop_reason: str | None
    usage: ReplyUsage
    role: str = "assistant"
    stop_sequence: str | None = None


class _Start(msgspec.Struct, tag_field="type", tag="message_start"):
    message: _Sent


class _BlockStart(msgspec.Struct, tag_field="type", tag="content_block_start"):
    index: int
    content_block: ReplyBlock


class _TextDelta(msgspec.Struct, tag_field="type", tag="text_delta"):
    text: str


class _InputDelta(msgspec.Struct, tag_field="type", tag="input_json_delta"):
    partial_json: str


class _BlockDelta(msgspec.Struct, tag_field="type", tag="content_block_delta"):
    index: int
    delta: _TextDelta | _InputDelta


class _BlockStop(msgspec.Struct, tag_field="type", tag="content_block_stop"):
    index: int


class _Ending(msgspec.Struct):
    stop_reason: str | None
    stop_sequence: str | None = None


class _Delta(msgspec.Struct, tag_field="type", tag="message_delta"):
    delta: _Ending
    usage: ReplyUsage


class _Stop(msgspec.Struct, tag_field="type", tag="message_stop"):
    pass


class _Error(msgspec.Struct):
    type: str
    message: str


class _Refusal(msgspec.Struct, tag_field="type", tag="error"):
    error: _Error


_Event = _Start | _BlockStart | _BlockDelta | _BlockStop | _Delta | _Stop


def encode_model_message(message: ModelMessage, model: str) -> bytes:
    """Encode `message` as the JSON document that answers a request without `stream`."""
    return msgspec.json.encode(_build_reply(message, model))


def encode_message_stream(message: ModelMessage, model: str) -> bytes:
    """Encode `message` as the server-sent events that answer a request with `stream`."""
    return b"".join(_encode_event(event) for event in _stream_events(_build_reply(message, model)))


def encode_model_error(kind: str, message: str) -> bytes:
    """Encode an error reply as a JSON document."""
    return msgspec.json.encode(_Refusal(_Error(kind, message)))


def _encode_event(event: _Event) -> bytes:
    name = str(event.__struct_config__.tag)
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(event))


def _build_reply(message: ModelMessage, model: str) -> _Sent:
    blocks = tuple(
        msgspec.structs.replace(block, id=block.id or _fresh_id("toolu"))
        if isinstance(block, ReplyToolCall)
        else block
        for block in message.blocks
    )
    calls = any(isinstance(block, ReplyToolCall) for block in blocks)
    reason = message.stop_reason or ("tool_use" if calls else "end_turn")
    return _Sent(_fresh_id("msg"), model, blocks, reason, message.usage)


def _fresh_id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


def _stream_events(sent: _Sent) -> Iterator[_Event]:
    yield _Start(msgspec.structs.replace(sent, content=(), stop_reason=None))
    for index, block in enumerate(sent.content):
        yield _BlockStart(index, _empty_block(block))
        for delta in _block_deltas(block):
            yield _BlockDelta(index, delta)
        yield _BlockStop(index)
    yield _Delta(_Ending(sent.stop_reason), sent.usage)
    yield _Stop()


def _empty_block(block: ReplyBlock) -> ReplyBlock:
    match block:
        case ReplyText():
            return ReplyText("")
        case ReplyToolCall():
            return ReplyToolCall(block.name, {}, block.id)


def _block_deltas(block: ReplyBlock) -> Iterator[_TextDelta | _InputDelta]:
    match block:
        case ReplyText():
            yield _TextDelta(block.text)
        case ReplyToolCall():
            yield _InputDelta(msgspec.json.encode(block.input).decode())


REASONS: Final = {"": "stop", "end_turn": "stop", "max_tokens": "length"}
"""Stop reasons in the terms of chat completions; other reasons stay as they are."""


class _Said(msgspec.Struct):
    content: str | None
    refusal: str | None = None
    role: str = "assistant"


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: str
    index: int = 0


class _Details(msgspec.Struct):
    cached_tokens: int


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: _Details


class _Completion(msgspec.Struct):
    model: str
    choices: tuple[_Choice, ...]
    usage: _Usage
    id: str = "chatcmpl-scripted"
    object: str = "chat.completion"


def encode_chat_completion(message: ModelMessage, model: str) -> bytes:
    """Encode the text of `message` as a completion. With the stop reason `refusal` it is the refusal."""
    text = "".join(block.text for block in message.blocks if isinstance(block, ReplyText))
    refused = message.stop_reason == "refusal"
    said = _Said(None, text or "no") if refused else _Said(text)
    reason = "stop" if refused else REASONS.get(message.stop_reason, message.stop_reason)
    spent = message.usage
    sent = spent.input_tokens + spent.cache_creation_input_tokens + spent.cache_read_input_tokens
    usage = _Usage(
        sent, spent.output_tokens, sent + spent.output_tokens, _Details(spent.cache_read_input_tokens)
    )
    return msgspec.json.encode(_Completion(model, (_Choice(said, reason),), usage))
