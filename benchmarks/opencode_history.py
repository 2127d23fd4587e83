"""Messages as OpenCode 1.18 lists them, the same ones on every run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import msgspec

Message = dict[str, Any]

SESSION: Final = "ses_1fff9c547001ET1JuyOfZKcUs9"
BEGUN: Final = 1_795_295_921_000
"""Milliseconds since the epoch at which a history begins."""
STEP: Final = 1000
"""Milliseconds between two messages."""
MODEL: Final = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
SIZES: Final = (200, 800, 2_000, 6_000)
"""Characters of a tool's output."""
EDIT_EVERY: Final = 4
"""One of so many calls edits a file."""
FILES: Final = 7
WORDS: Final = ("return", "value", "config", "parser.feed(token)", "self._offset", "for", "in", "else")


class Author:
    """Writes one history."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.messages: list[Message] = []
        self._dice = random.Random(1)  # noqa: S311 - sizes of made-up texts
        self._prompt = ""

    def talk(self) -> None:
        """A question and an answer; nothing is touched."""
        self._asked("What does the parser do with comments?")
        self.concluded("It reads them as text.")

    def turn(self, requests: int) -> None:
        """A prompt, and so many answers of which all but the last call tools."""
        self._asked("Please make the parser accept comments.")
        for number in range(requests - 1):
            self._worked(number)
        self.concluded("The parser accepts comments now.")

    def tested(self, code: int, said: str) -> None:
        """A prompt, an edit of a test, a test run that ends with `code`, a message."""
        self._asked("Please make the parser accept comments.")
        self._answered([self._edit("tests/test_parser.py")])
        self._answered([self._bash("python -m pytest -q", code, f"{1 - code} passed, {code} failed")])
        self.concluded(said)

    def concluded(self, said: str) -> None:
        """The message that ends a turn."""
        self._answered([{"type": "text", "text": said, "time": self._span()}], "stop")

    def save(self, file: Path) -> Path:
        """Write the history as the host's API gives it."""
        file.write_bytes(msgspec.json.encode(self.messages))
        return file

    def _asked(self, text: str) -> None:
        self._prompt = self._name("msg")
        info = {"role": "user", "time": {"created": self._now()}, "agent": "build", "model": MODEL}
        self._add(self._prompt, info, [{"type": "text", "text": text}])

    def _worked(self, number: int) -> None:
        part = (
            self._edit(f"src/module_{number % FILES}.py")
            if number % EDIT_EVERY == 0
            else self._bash(f"ls -la src/part_{number}", 0, self._text())
        )
        self._answered([{"type": "reasoning", "text": self._text()[:600], "time": self._span()}, part])

    def _answered(self, parts: list[Message], finish: str = "tool-calls") -> None:
        cache = {"read": self._dice.randint(10_000, 120_000), "write": 0}
        tokens = {"input": self._dice.randint(3, 900), "output": self._dice.randint(20, 2_000)}
        spent = {"cost": 0.0126, "tokens": {**tokens, "reasoning": 0, "cache": cache}}
        info = {
            "role": "assistant",
            "time": {"created": self._now(), "completed": self._now() + STEP // 2},
            "parentID": self._prompt,
            **MODEL,
            "mode": "build",
            "agent": "build",
            "path": {"cwd": "/home/user/project", "root": "/home/user/project"},
            **spent,
            "finish": finish,
        }
        begun, ended = {"type": "step-start"}, {"type": "step-finish", "reason": finish, **spent}
        self._add(self._name("msg"), info, [begun, *parts, ended])

    def _bash(self, command: str, code: int, output: str) -> Message:
        metadata = {"output": output, "exit": code, "truncated": False}
        return self._called("bash", {"command": command, "description": "Run it"}, output, metadata)

    def _edit(self, path: str) -> Message:
        given = {
            "filePath": f"/home/user/project/{path}",
            "oldString": self._text()[:300],
            "newString": self._text()[:300],
        }
        return self._called("edit", given, "Edit applied successfully.", {"diff": self._text()})

    def _called(self, tool: str, given: Message, output: str, metadata: Message) -> Message:
        state = {"status": "completed", "input": given, "output": output, "title": tool, "metadata": metadata}
        return {
            "type": "tool",
            "callID": self._name("call"),
            "tool": tool,
            "state": {**state, "time": self._span()},
        }

    def _add(self, name: str, info: Message, parts: list[Message]) -> None:
        own = {"sessionID": SESSION, "messageID": name}
        known = [{"id": self._name("prt"), **own, **part} for part in parts]
        self.messages.append({"info": {"id": name, "sessionID": SESSION, **info}, "parts": known})

    def _text(self) -> str:
        size = self._dice.choice(SIZES)
        return " ".join(self._dice.choices(WORDS, k=size // 6))

    def _name(self, kind: str) -> str:
        return f"{kind}_{self._dice.getrandbits(120):030x}"

    def _now(self) -> int:
        return BEGUN + STEP * len(self.messages)

    def _span(self) -> Message:
        return {"start": self._now(), "end": self._now() + STEP // 4}
