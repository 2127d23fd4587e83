"""Writes transcripts as Claude Code does: one JSON object per line, in a tree of uuid and parentUuid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn

FIXTURES: Final = Path(__file__).parent / "fixtures"
KIB: Final = 1024
MIB: Final = 1024 * KIB


class Transcript:
    """A transcript that grows. `leaf` is the uuid that the next record names as its parent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.leaf: str | None = None
        self._records = 0
        self.path.write_bytes(b"")

    def raw(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def line(self, **fields: Any) -> None:
        self.raw(json.dumps(fields, separators=(",", ":")).encode() + b"\n")

    def record(self, kind: str, *, parent: str | None = "", **fields: Any) -> str:
        self._records += 1
        uuid = f"uuid-{self._records}"
        above = self.leaf if parent == "" else parent
        self.line(**{"parentUuid": above, "isSidechain": False, "type": kind, "uuid": uuid, **fields})
        self.leaf = uuid
        return uuid

    def prompt(self, text: Any, **fields: Any) -> str:
        fields = {"promptId": f"prompt-of-{text}", **fields}
        return self.record("user", message={"role": "user", "content": text}, **fields)

    def assistant(self, *blocks: Any, message: str = "", output: int = 20, **fields: Any) -> str:
        name = message or f"msg-{self._records + 1}"
        usage = {"input_tokens": 100, "cache_read_input_tokens": 9000, "output_tokens": output}
        content = {"id": name, "role": "assistant", "content": list(blocks), "usage": usage}
        return self.record("assistant", message=content, **fields)

    def says(self, text: str, **fields: Any) -> str:
        return self.assistant({"type": "text", "text": text}, **fields)

    def calls(self, name: str, call: str, given: Any = None, **fields: Any) -> str:
        return self.assistant({"type": "tool_use", "id": call, "name": name, "input": given or {}}, **fields)

    def result(self, call: str, text: Any, *, structured: Any = None, **fields: Any) -> str:
        above = {"parent": fields.pop("parent")} if "parent" in fields else {}
        error = {"is_error": fields.pop("is_error")} if "is_error" in fields else {}
        block = {"type": "tool_result", "tool_use_id": call, "content": text, **error}
        return self.record(
            "user", message={"role": "user", "content": [block]}, toolUseResult=structured, **above, **fields
        )

    def runs(self, command: str, text: str, call: str, *, error: bool = False, **structured: Any) -> None:
        self.calls("Bash", call, {"command": command})
        result: Any = f"Error: {text}" if error else {"stdout": text, "interrupted": False, **structured}
        self.result(call, text, structured=result, is_error=error)

    def attachment(self, **attachment: Any) -> str:
        return self.record("attachment", attachment=attachment)

    def context(self, text: str, event: str = "Stop") -> str:
        return self.attachment(type="hook_additional_context", content=[text], hookEvent=event)

    def queue(self, operation: str, text: str | None = None) -> None:
        fields = {} if text is None else {"content": text}
        self.line(type="queue-operation", operation=operation, **fields)


class Pauses:
    """Counts pauses, and does one of `deeds` in each."""

    def __init__(self, *deeds: Any) -> None:
        self.count = 0
        self._deeds = list(deeds)

    async def __call__(self, _seconds: float) -> None:
        self.count += 1
        if self._deeds:
            self._deeds.pop(0)()


def filler(transcript: Transcript, size: int, line: int = 100 * KIB) -> None:
    """Appends at least `size` bytes of answers."""
    text = "x" * line
    before = transcript.path.stat().st_size
    while transcript.path.stat().st_size - before < size:
        transcript.says(text)


def stop(path: Path | str, last_message: str = "", **fields: Any) -> AgentStopped:
    return AgentStopped(
        key=SessionKey("claude-code", "s"),
        project="/home/user/project",
        transcript=str(path),
        last_message=last_message,
        **fields,
    )


async def read(path: Path | str, last_message: str = "", counted_to: int = 0) -> Turn:
    return await RecordFiles(RECORD, Pauses()).read(stop(path, last_message), counted_to)
