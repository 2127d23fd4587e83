"""How OpenAI's chat completions are spelled, for a scripted model.

A request has the shape that model_wire.py reads: its system prompt is a message. Only answers are spelled
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.adapters.scripted.model_wire import Text

if TYPE_CHECKING:
    from sidecar.adapters.scripted.model_wire import Message

REASONS: Final = {"": "stop", "end_turn": "stop", "max_tokens": "length"}
"""How an answer ended, in the words of chat completions; what is not here stays as it is."""


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


def whole(message: Message, model: str) -> bytes:
    """Spell the words of `message` as a completion. With the reason `refusal` they are the refusal."""
    text = "".join(block.text for block in message.blocks if isinstance(block, Text))
    refused = message.stop_reason == "refusal"
    said = _Said(None, text or "no") if refused else _Said(text)
    reason = "stop" if refused else REASONS.get(message.stop_reason, message.stop_reason)
    spent = message.usage
    sent = spent.input_tokens + spent.cache_creation_input_tokens + spent.cache_read_input_tokens
    usage = _Usage(
        sent, spent.output_tokens, sent + spent.output_tokens, _Details(spent.cache_read_input_tokens)
    )
    return msgspec.json.encode(_Completion(model, (_Choice(said, reason),), usage))
