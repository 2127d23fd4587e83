"""Writes what Copilot CLI writes: its event log, and a typed command as the text of its skill."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

SKILL: Final = """The user explicitly invoked the "/supervisor:{name}" skill. Follow its instructions now.

<skill-context name="{name}">
Base directory for this skill: /opt/supervisor/commands

Related files (use view tool to read):
  - /opt/supervisor/commands/goal.md
  - /opt/supervisor/commands/retry.md

{text}
</skill-context>"""
GOAL: Final = "The user has set a goal.\n\n<goal>\n{arguments}\n</goal>\n\nBegin to work.\n\n- See </goal>.\n"
OTHER: Final = "Supervisor is not running, so this changed nothing.\n"


def command_prompt(name: str, arguments: str) -> str:
    """A typed command as a hook gets it: what was typed is in the goal's place, or at the end."""
    if name == "goal":
        return SKILL.format(name=name, text=GOAL.format(arguments=arguments))
    return SKILL.format(name=name, text=OTHER + f"\n\nARGUMENTS: {arguments}" * bool(arguments))


class EventLog:
    """One session's events.jsonl. `agent` makes the lines those of a subagent."""

    def __init__(self, path: Path, folder: str = "/home/user/project") -> None:
        self.path = path
        self._numbers = itertools.count()
        if not path.exists() or not path.stat().st_size:
            self.event("session.start", sessionId="s-1", context={"cwd": folder})

    def event(self, kind: str, *, agent: str = "", **data: Any) -> None:
        number = next(self._numbers)
        line = {"type": kind, "data": data, **({"agentId": agent} if agent else {})}
        line |= {"id": f"e-{number}", "timestamp": f"2026-11-28T15:{number // 60:02}:{number % 60:02}.000Z"}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def mode(self, mode: str) -> None:
        self.event("session.mode_changed", previousMode="interactive", newMode=mode)

    def prompt(self, text: str, **data: Any) -> None:
        number = next(self._numbers)
        told = {"content": text, "messageId": f"u-{number}", "delivery": "idle", "turnId": "0"}
        self.event("user.message", **{**told, **data})

    def calls(self, tool: str, arguments: dict[str, Any], usage: dict[str, int] | None = None) -> str:
        number = next(self._numbers)
        asked = {"toolCallId": f"call-{number}", "name": tool, "arguments": arguments, "type": "function"}
        self._answer("", usage, [asked])
        self.event("tool.execution_start", toolCallId=f"call-{number}", toolName=tool, arguments=arguments)
        return f"call-{number}"

    def result(self, call: str, said: str, **data: Any) -> None:
        self.event("tool.execution_complete", toolCallId=call, success=True, result={"content": said}, **data)
        self.event("assistant.turn_end", turnId="0")

    def says(self, text: str, usage: dict[str, int] | None = None) -> None:
        self._answer(text, usage, [])
        self.event("assistant.turn_end", turnId="0")

    def sent_back(self, text: str) -> None:
        block = {"decision": "block", "reason": text}
        self.event("hook.end", hookType="agentStop", success=True, output=block)
        self.prompt(text, delivery="queued")

    def _answer(self, text: str, usage: dict[str, int] | None, requests: list[dict[str, Any]]) -> None:
        number = next(self._numbers)
        self.event("assistant.turn_start", turnId="0")
        if usage:
            self.event("session.usage_record", usage=usage)
        said: dict[str, Any] = {
            "messageId": f"a-{number}",
            "content": text,
            "toolRequests": requests,
            "turnId": "0",
        }
        self.event("assistant.message", agent="", **said)
