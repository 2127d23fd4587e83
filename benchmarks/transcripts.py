"""Transcripts as Claude Code 2.1 writes them, the same ones on every run.

A line per content block with the usage repeated, results twice (for the model and structured), thinking with
its signature, system lines between.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

WORDS: Final = (
    "return",
    "value",
    "config",
    "parser.feed(token)",
    "self._offset",
    "None",
    "for",
    "in",
    "else",
    "await",
)
CORPUS: Final = 200_000
"""Characters of text that all results are cut from."""
MODEL: Final = "claude-sonnet-4-5"


class Author:
    """Writes one transcript. `said` is the last message of the last turn."""

    def __init__(self, session: str, seed: int = 1) -> None:
        """Write the same lines for the same session and seed."""
        self.said = ""
        self._session = session
        self._dice = random.Random(f"{session}-{seed}")  # noqa: S311 - sizes of made-up texts
        self._parent: str | None = None
        self._prompt = ""
        self._text = _corpus()
        self._clock = 0

    def history(self, size: int) -> Iterator[bytes]:
        """Turns of work, cut off at the end of a line: at most `size` bytes."""
        written = 0
        while True:
            for line in self.turn(self._dice.randint(2, 20)):
                if written + len(line) > size:
                    return
                written += len(line)
                yield line

    def turn(self, calls: int, room: int = 0) -> Iterator[bytes]:
        """A prompt, so many calls, a message. `room`: characters of each result, 0 for the usual mix."""
        yield self._asked("Please look at the parser and make it accept comments too.")
        for number in range(calls):
            yield self._block({"type": "thinking", "thinking": self._cut(600), "signature": self._hex(400)})
            yield from self._call(number, room)
        yield self._concluded(f"The parser of comments is in step {self._hex(6)}.")
        yield self._line("system", subtype="turn_duration", durationMs=self._dice.randint(900, 90_000))

    def talk(self) -> Iterator[bytes]:
        """A question and an answer; nothing is touched."""
        yield self._asked("What does the parser do with comments?")
        yield self._concluded(f"It reads them as text, see note {self._hex(6)}.")

    def _asked(self, text: str) -> bytes:
        self._prompt = self._uuid()
        return self._line("user", message={"role": "user", "content": text}, promptSource="typed")

    def _concluded(self, text: str) -> bytes:
        self.said = text
        return self._block({"type": "text", "text": text})

    def _call(self, number: int, room: int) -> Iterator[bytes]:
        ident, path = f"toolu_{self._hex(24)}", f"/home/user/project/src/module_{number % 7}.py"
        size = room or self._dice.choice((200, 800, 2_000, 6_000, 12_000))
        match number % 4:
            case 0 | 2:
                yield self._used(ident, "Read", {"file_path": path})
                yield self._returned(ident, size, {"type": "text", "file": {"filePath": path}}, "content")
            case 1:
                yield self._used(ident, "Bash", {"command": "ls -la src", "description": "List"})
                yield self._returned(ident, size, {"stderr": "", "interrupted": False}, "stdout")
            case _:
                edit = {"file_path": path, "old_string": self._cut(300), "new_string": self._cut(300)}
                yield self._used(ident, "Edit", edit)
                yield self._returned(ident, size, {"filePath": path, "structuredPatch": []}, "originalFile")

    def _used(self, ident: str, tool: str, given: dict[str, str]) -> bytes:
        return self._block({"type": "tool_use", "id": ident, "name": tool, "input": given})

    def _returned(self, ident: str, size: int, result: dict[str, Any], text_at: str) -> bytes:
        text = self._cut(size)
        block = {"type": "tool_result", "tool_use_id": ident, "content": text, "is_error": False}
        return self._line(
            "user", message={"role": "user", "content": [block]}, toolUseResult={**result, text_at: text}
        )

    def _block(self, block: dict[str, Any]) -> bytes:
        usage = {
            "input_tokens": self._dice.randint(3, 900),
            "cache_creation_input_tokens": self._dice.randint(0, 4_000),
            "cache_read_input_tokens": self._dice.randint(10_000, 120_000),
            "output_tokens": self._dice.randint(20, 2_000),
        }
        message = {"id": f"msg_{self._hex(24)}", "type": "message", "role": "assistant", "model": MODEL}
        return self._line("assistant", message={**message, "content": [block], "usage": usage})

    def _line(self, kind: str, **fields: object) -> bytes:
        self._clock += 1
        uuid, parent = self._uuid(), self._parent
        self._parent = uuid
        common = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/user/project",
            "sessionId": self._session,
            "version": "2.1.330",
            "gitBranch": "main",
            "type": kind,
            "uuid": uuid,
            "promptId": self._prompt,
            "timestamp": self._now(),
        }
        return msgspec.json.encode({**common, **fields}) + b"\n"

    def _now(self) -> str:
        minutes, seconds = divmod(self._clock, 60)
        hours, minutes = divmod(minutes, 60)
        return f"2026-11-{1 + hours // 24 % 30:02}T{hours % 24:02}:{minutes:02}:{seconds:02}.000Z"

    def _cut(self, size: int) -> str:
        start = self._dice.randrange(CORPUS - size)
        return self._text[start : start + size]

    def _hex(self, digits: int) -> str:
        return f"{self._dice.getrandbits(4 * digits):0{digits}x}"

    def _uuid(self) -> str:
        text = self._hex(32)
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def append(path: Path, lines: Iterable[bytes]) -> None:
    """Add lines to a transcript, as the host does."""
    with path.open("ab") as file:
        file.writelines(lines)


@cache
def _corpus() -> str:
    """Text that looks like code, with what JSON must escape in it."""
    dice = random.Random(2)  # noqa: S311 - made-up text
    parts, length = [], 0
    while length < CORPUS:
        words = dice.choices(WORDS, k=dice.randint(1, 12))
        line = (
            "    " * dice.randint(0, 4)
            + " ".join(words)
            + dice.choice(("\n", ":\n", ' = "x"\n', "\t# \u2192 \n"))
        )
        parts.append(line)
        length += len(line)
    return "".join(parts)[:CORPUS]
