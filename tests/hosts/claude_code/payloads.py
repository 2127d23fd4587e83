"""What Claude Code writes to the standard input of a hook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sidecar.hosts.claude_code.codec import ClaudeCodeCodec

if TYPE_CHECKING:
    from sidecar.kernel.events import AnyHostEvent


def payload(event: str, **fields: Any) -> bytes:
    common = {"session_id": "s-1", "cwd": "/p", "transcript_path": "/t.jsonl", "prompt_id": "p-1"}
    return json.dumps({**common, "hook_event_name": event, **fields}).encode()


def decode(raw: bytes, **environment: str) -> AnyHostEvent:
    return ClaudeCodeCodec().decode(raw, environment, 42)
