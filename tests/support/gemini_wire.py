"""The Gemini API, as Gemini CLI speaks it: requests in the fields of ours, replies whole or as a stream."""

from __future__ import annotations

import uuid
from typing import Any, Final

import msgspec

from support.model_wire import MessageRequest, ModelMessage, ReplyText, ReplyToolCall

WHOLE: Final = ":generateContent"
STREAM: Final = ":streamGenerateContent"
COUNT: Final = ":countTokens"
ROLES: Final = {"model": "assistant"}


class GeminiRequest(msgspec.Struct, rename="camel"):
    """The fields of a request for content that a script can use."""

    contents: list[dict[str, Any]] = []
    system_instruction: dict[str, Any] = {}
    tools: list[dict[str, Any]] = []


def read_gemini_request(body: bytes, path: str) -> MessageRequest:
    """Return a request in the fields of the Messages API. Raises msgspec.DecodeError."""
    asked = msgspec.json.decode(body, type=GeminiRequest)
    declared = (one for tool in asked.tools for one in tool.get("functionDeclarations", ()))
    whole = {
        "model": path.rpartition("/")[2].partition(":")[0],
        "stream": path.endswith(STREAM),
        "system": _text(asked.system_instruction),
        "messages": [
            {"role": ROLES.get(one.get("role", ""), "user"), "content": _text(one)} for one in asked.contents
        ],
        "tools": [{"name": one["name"]} for one in declared],
    }
    return msgspec.convert(whole, MessageRequest)


def _text(content: dict[str, Any]) -> str:
    parts = content.get("parts", ())
    said = (part.get("text") or part.get("functionResponse", {}).get("response", {}) for part in parts)
    return "\n".join(one if isinstance(one, str) else str(one.get("output", "")) for one in said)


def encode_gemini_reply(message: ModelMessage, path: str) -> bytes:
    """Encode `message` as the answer to a request at this path."""
    parts = [_part(block) for block in message.blocks]
    spent = message.usage
    read = spent.input_tokens + spent.cache_creation_input_tokens + spent.cache_read_input_tokens
    usage = {
        "promptTokenCount": read,
        "cachedContentTokenCount": spent.cache_read_input_tokens,
        "candidatesTokenCount": spent.output_tokens,
        "totalTokenCount": read + spent.output_tokens,
    }
    content = {"role": "model", "parts": parts}
    candidate = {"content": content, "index": 0, "finishReason": "STOP"}
    whole = msgspec.json.encode(
        {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    )
    return b"data: %s\r\n\r\n" % whole if path.endswith(STREAM) else whole


def _part(block: ReplyText | ReplyToolCall) -> dict[str, Any]:
    if isinstance(block, ReplyText):
        return {"text": block.text}
    called = {"name": block.name, "args": block.input, "id": block.id or f"fc_{uuid.uuid4().hex[:20]}"}
    return {"functionCall": called}
