"""A turn in the form of a host and back, through the product's own readers.

What a form cannot hold:

- Claude Code gives the exit code 1 of `grep`, `diff`, `find` and `test` as a remark, not as a code; a failing
  command's output begins with "Exit code N"; one of its calls changes one file; newer versions keep to-dos
  one call per entry.
- OpenCode knows no goal of its own, and puts words of its own before what a stopped call returned.
- Neither keeps when a turn's later prompts came: they stand behind the first call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from judge.claude_form import VERSIONS, claude_lines
from judge.opencode_form import opencode_messages
from judge.story import PROJECT, digest

from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.opencode import messages
from sidecar.hosts.record_files import RecordFiles
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn

T = TypeVar("T")
OPENCODE: Final = "opencode"


def through(turn: Turn, host: str, name: str) -> Turn:
    """The turn as the reader of this host finds it. `name` decides on what the host is free in."""
    if host == OPENCODE:
        return messages.read_last_turn(msgspec.json.encode(opencode_messages(turn, name)))
    return from_claude(claude_lines(turn, name, version(name)), turn.last_message)


def version(name: str) -> str:
    """The version of Claude Code that this turn is written by."""
    return VERSIONS[int(digest("version", name, size=8), 16) % len(VERSIONS)]


def from_claude(lines: list[dict[str, object]], last_message: str) -> Turn:
    """Read a transcript of these lines with the reader of the product."""
    with tempfile.TemporaryDirectory(prefix="transcript-") as folder:
        path = Path(folder) / "session.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        stop = AgentStopped(
            key=SessionKey(host="claude-code", id="s1"),
            project=PROJECT,
            transcript=str(path),
            last_message=last_message,
        )
        return _at_once(RecordFiles(RECORD, _never).read(stop, 0))


async def _never(seconds: float) -> None:
    raise RuntimeError(f"the reader waits {seconds} s for a message that is there")


def _at_once(reading: Coroutine[object, object, T]) -> T:
    """What a coroutine returns that waits for nothing; so this works inside a running loop, too."""
    try:
        reading.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    reading.close()
    raise RuntimeError("the reader waits, which a small transcript gives no reason for")
