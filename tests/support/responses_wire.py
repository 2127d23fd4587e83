"""OpenAI's Responses API, as far as Codex speaks it: requests in the fields of ours, replies as a stream.

A tool whose input is free text is called with `ReplyToolCall(name, {"input": text})`, one of a namespace as
`NAMESPACE/NAME`.
"""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from support.model_wire import MessageRequest, ModelMessage, ReplyText, ReplyToolCall

FREE_FORM: Final = ("apply_patch", "exec")
"""Tools of Codex whose input is a text."""
CALLS: Final = ("function_call", "custom_tool_call")


class ResponsesRequest(msgspec.Struct):
    """The fields of a `POST /v1/responses` body that a script can use."""

    model: str = ""
    instructions: str = ""
    input: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []


def read_responses_request(body: bytes) -> MessageRequest:
    """Return a request in the fields of the Messages API. Raises msgspec.DecodeError."""
    asked = msgspec.json.decode(body, type=ResponsesRequest)
    whole = {
        "model": asked.model,
        "stream": True,
        "system": asked.instructions,
        "messages": [_message(item) for item in asked.input],
        "tools": [{"name": tool.get("name") or tool.get("type", "")} for tool in asked.tools],
    }
    return msgspec.convert(whole, MessageRequest)


def _message(item: dict[str, Any]) -> dict[str, Any]:
    kind = item.get("type", "message")
    if kind in CALLS:
        return {"role": "assistant", "content": ""}
    content = item.get("output" if kind.endswith("_output") else "content", "")
    return {"role": item.get("role", "tool"), "content": content if isinstance(content, str | list) else ""}


def encode_responses_stream(message: ModelMessage, model: str) -> bytes:
    """Encode `message` as the server-sent events that answer a request."""
    numbers = itertools.count()
    events = _events(message, model)
    told = ({"type": kind, "sequence_number": next(numbers), **fields} for kind, fields in events)
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in told
    )


def _events(message: ModelMessage, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    about = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "model": model, "output": []}
    yield "response.created", {"response": {**about, "status": "in_progress"}}
    items = [_item(block) for block in message.blocks]
    for index, item in enumerate(items):
        bare = {**item, "content": []} if item["type"] == "message" else item
        yield "response.output_item.added", {"output_index": index, "item": bare}
        yield "response.output_item.done", {"output_index": index, "item": item}
    spent = message.usage
    read = spent.input_tokens + spent.cache_creation_input_tokens + spent.cache_read_input_tokens
    usage = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": spent.cache_read_input_tokens},
        "output_tokens": spent.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + spent.output_tokens,
    }
    done = {**about, "status": "completed", "output": items, "usage": usage}
    yield "response.completed", {"response": {**done, "end_turn": items[-1]["type"] == "message"}}


def _item(block: ReplyText | ReplyToolCall) -> dict[str, Any]:
    name = uuid.uuid4().hex[:20]
    if isinstance(block, ReplyText):
        part = {"type": "output_text", "text": block.text, "annotations": []}
        kind = {"type": "message", "role": "assistant", "content": [part]}
        return {"id": f"msg_{name}", "status": "completed", **kind}
    space, _, tool = block.name.rpartition("/")
    called = {"id": f"fc_{name}", "status": "completed", "call_id": f"call_{name}", "name": tool}
    if tool in FREE_FORM:
        return {**called, "type": "custom_tool_call", "input": block.input["input"]}
    named = {"namespace": space} if space else {}
    return {**called, "type": "function_call", "arguments": json.dumps(block.input), **named}
