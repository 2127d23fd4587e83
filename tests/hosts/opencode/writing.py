"""Writes messages as OpenCode's API lists them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sidecar.hosts.opencode import messages
from sidecar.kernel.turn import ToolCall, Turn

RECORDED = (Path(__file__).parent / "fixtures" / "messages-1.18.33.json").read_bytes()
Fields = dict[str, Any]


def read(*listed: Fields, counted_to: int = -1) -> Turn:
    return messages.read_last_turn(json.dumps(listed).encode(), counted_to)


def text(words: str, **fields: Any) -> Fields:
    return {"id": "p", "type": "text", "text": words, **fields}


def tool(name: str, given: Any, status: str = "completed", **state: Any) -> Fields:
    return {
        "type": "tool",
        "callID": f"call-{name}",
        "tool": name,
        "state": {"status": status, "input": given, **state},
    }


def bash(command: str, code: int | None = 0, output: str = "", **metadata: Any) -> Fields:
    return tool("bash", {"command": command}, output=output, metadata={"exit": code, **metadata})


def user(name: str, *parts: Fields, at: int = 0) -> Fields:
    return {"info": {"id": name, "role": "user", "time": {"created": at}}, "parts": list(parts)}


def answer(name: str, *parts: Fields, at: int = 0, finish: str | None = "stop", **fields: Any) -> Fields:
    info = {"id": name, "role": "assistant", "time": {"created": at, "completed": at + 10}, **fields}
    return {"info": info | ({"finish": finish} if finish else {}), "parts": list(parts)}


def one_call(part: Fields) -> ToolCall:
    return read(user("u", text("go")), answer("a", part)).calls[0]
