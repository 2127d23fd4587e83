"""Gemini CLI in the scenes: hooks on standard input, a chat in JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from contracts.hosts import adapter as seen
from sidecar.hosts.gemini.record import RECORD
from sidecar.hosts.record_files import RecordFiles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

SPENT: Final = {
    "input": seen.UNCACHED + seen.CACHED,
    "cached": seen.CACHED,
    "output": seen.OUTPUT,
    "thoughts": 0,
    "tool": 0,
}
ORDER: Final = "supervisor:{} {}\n</supervisor>\n\nThe user has set a goal for this session.\n"
"""What the template of a command becomes."""
SERVER: Final = ["-I", "-S", "/plugin/.gemini-extension/../hooks/mcp.py"]
CANNOT: Final = {
    "a_stop_in_plan_mode_is_not_judged": "only a plan that the agent itself began shows, in the record",
    "the_end_of_a_goal_rings": "it takes no bell from a hook",
    "a_call_that_still_runs_is_known": "it records calls when they have ended",
}


class Gemini(seen.HostAdapter):
    """A stop reports all messages of its turn, joined; Esc shows in the record alone."""

    host = "gemini"
    title = "Gemini CLI"
    said_limit = 60_000
    cannot = CANNOT

    def __init__(self, record: Path) -> None:
        super().__init__(record)
        self._messages, self._said = 0, list[str]()
        self.append({"sessionId": self.session, "projectHash": "4e5c", "kind": "main"})
        self.append({"$set": {"messages": [self._message("user", content="<session_context>\nToday")]}})

    def report(self, report: seen.Report) -> seen.Fields | None:
        own: seen.Fields
        match report:
            case seen.Opened():
                event, own = "SessionStart", {"source": "resume" if report.resumed else "startup"}
            case seen.Asked() | seen.ComesBack():
                event, own = "BeforeAgent", {"prompt": report.text}
            case seen.Commanded():
                event, own = "BeforeAgent", {"prompt": ORDER.format(report.name, report.arguments)}
                own |= {"agent_id": "a1"} if report.helper else {}
            case seen.Called():
                event, own = "BeforeTool", {"tool_name": f"mcp_supervisor_{report.tool}", "tool_input": {}}
                own |= {"mcp_context": {"server_name": "supervisor", "command": "python3", "args": SERVER}}
            case seen.Stopped(helper=True):
                return None
            case seen.Stopped() | seen.Escaped():
                texts = (*self._said, *((report.said,) if self._said[-1:] != [report.said] else ()))
                event, own = "AfterAgent", {"prompt": "Repair it.", "prompt_response": "\n".join(texts)}
            case seen.Unheard():
                event, own = report.name, {"message": "new"}
        about = {"session_id": self.session, "transcript_path": str(self.record), "cwd": seen.FOLDER}
        return {**about, "hook_event_name": event, "timestamp": "2026-11-28T15:32:18.748Z", **own}

    def prompt_hook(self) -> str:
        folder = seen.ROOT / ".gemini-extension"
        hooks = json.loads((folder / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
        line: str = hooks["BeforeAgent"][0]["hooks"][0]["command"]
        return line.replace("${extensionPath}", str(folder))

    def write(self, step: seen.Step) -> None:
        match step:
            case seen.Prompt() | seen.WasSentBack():
                self._said = self._said if isinstance(step, seen.WasSentBack) else []
                self.append(self._message("user", content=[{"text": step.text}]))
            case seen.Ran():
                code = f"Exit Code: {step.exit_code}\n" if step.exit_code else ""
                said = f"Output: {step.output}\n{code}Process Group PGID: 11000"
                self._calls("run_shell_command", {"command": step.command}, said)
            case seen.Calling():
                self.append(self._message("gemini", content="", tokens=SPENT))
            case seen.Edited():
                self._calls("write_file", {"file_path": step.path, "content": "x"}, "Successfully created")
            case seen.Said():
                self._said.append(step.text)
                self.append(self._message("gemini", content=step.text, tokens=SPENT))
            case seen.WasInterrupted():
                self.append(self._message("info", content="Request cancelled."))

    def _calls(self, tool: str, given: seen.Fields, output: str) -> None:
        """Record a call: its message is written again when it has ended, and what it returned once more."""
        begun = self._message("gemini", content="", tokens=SPENT)
        said = f"<untrusted_context>\n{output}\n</untrusted_context>"
        result = [{"functionResponse": {"id": "c1", "name": tool, "response": {"output": said}}}]
        call = {"id": "c1", "name": tool, "args": given, "status": "success", "result": result}
        self.append(begun, {**begun, "toolCalls": [call]}, self._message("user", content=result))

    def _message(self, kind: str, **fields: object) -> seen.Fields:
        self._messages += 1
        return {"id": f"m{self._messages}", "timestamp": "2026-11-28T15:32:19.056Z", "type": kind, **fields}

    def result(self, report: seen.Report, answer: seen.Fields) -> seen.Result:
        known = ("decision", "reason", "systemMessage", "hookSpecificOutput")
        decision, reason, shown, own = seen.take(answer, *known)
        event = (self.report(report) or {})["hook_event_name"]
        names = ("hookEventName", "additionalContext", "tool_input")
        repeated, context, given = seen.take(own or {"hookEventName": event}, *names)
        assert repeated == event
        assert decision in ("", "deny", "block")
        return seen.Result(
            to_agent=reason if decision and event == "AfterAgent" else context,
            to_person=shown or reason,
            ended=bool(decision) and event == "BeforeAgent",
            session=(given or {}).get("session", ""),
        )

    def reader(self, pause: Callable[[float], Awaitable[object]]) -> seen.Reader:
        return RecordFiles(RECORD, pause)
