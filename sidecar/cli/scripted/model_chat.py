"""The wire format of OpenAI's chat completions, for a scripted model.

Only replies are encoded here. model_wire.py reads the requests too: their system prompt is a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.cli.scripted.model_wire import ReplyText

if TYPE_CHECKING:
    from sidecar.cli.scripted.model_wire import ModelMessage


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
