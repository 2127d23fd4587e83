"""Writes what our plugin tells, out of the host's own words as hooks/opencode.js gathers them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sidecar.hosts.opencode.codec import OpenCodeCodec

if TYPE_CHECKING:
    from sidecar.kernel.events import AnyHostEvent

Fields = dict[str, Any]
RECORDED: Final = [
    json.loads(line)
    for line in (Path(__file__).parent / "fixtures" / "payloads-1.18.33.jsonl").read_text().splitlines()
]
SESSION: Final[Fields] = {"id": "ses_dffefc2d1ffeLQkaDpO1CDsVUZ", "directory": "/home/user/lab/p3"}
EVENTS: Final[dict[str, Fields]] = {
    "session.start": {"fresh": True},
    "prompt": {"message": "msg_1", "parts": [{"type": "text"}]},
    "command": {"name": "goal", "arguments": "all tests pass"},
    "tool": {"tool": "task_add"},
    "session.idle": {"last": {"id": "msg_2", "role": "assistant"}, "run": False},
    "session.error": {"error": {"name": "APIError", "data": {"message": "boom"}}},
    "session.deleted": {},
}
"""What comes with each event."""


def recorded(name: str, at: int = 0) -> Fields:
    """The host's own `name`: an event's properties, or the two arguments of a hook."""
    found = [one for one in RECORDED if name in (one.get("name"), one.get("event", {}).get("type"))][at]
    return {"input": found["input"], "output": found["output"]} if "input" in found else properties(found)


def properties(found: Fields) -> Fields:
    told: Fields = found["event"]["properties"]
    return told


def telling(kind: str, about: Fields | None = None, /, **fields: Any) -> bytes:
    """Write an event; `about` are other facts of the session, `fields` other ones of the event."""
    told = {"type": kind, "session": SESSION | (about or {}), **EVENTS.get(kind, {}), **fields}
    return json.dumps(told).encode()


def decode(raw: bytes, **environment: str) -> AnyHostEvent:
    return OpenCodeCodec().decode(raw, environment, 4711)
