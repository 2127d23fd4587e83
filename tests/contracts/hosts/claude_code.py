"""Claude Code in the scenes: hooks on standard input, a transcript in JSON lines."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from contracts.hosts import adapter as seen
from hooks.relaying import command
from hosts.claude_code.writing import Transcript
from sidecar.hosts.claude_code.record import RECORD
from sidecar.hosts.record_files import RecordFiles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

ENVIRONMENT: Final = {"CLAUDE_PROJECT_DIR": seen.FOLDER}
TOOL: Final = "mcp__plugin_supervisor_supervisor__"


class ClaudeCode(seen.HostAdapter):
    """It reports neither an interrupt nor our own words: those come back as a hook's context."""

    host = "claude-code"
    title = "Claude Code"
    said_limit = 9500
    environment = ENVIRONMENT

    def __init__(self, record: Path) -> None:
        super().__init__(record)
        self._transcript = Transcript(record)
        self._calls = 0

    def report(self, report: seen.Report) -> seen.Fields | None:
        own: seen.Fields
        match report:
            case seen.Opened():
                event, own = "SessionStart", {"source": "resume" if report.resumed else "startup"}
            case seen.Asked():
                event, own = "UserPromptSubmit", {"prompt": report.text}
            case seen.Commanded():
                event, own = "UserPromptSubmit", {"prompt": f"/supervisor:{report.name} {report.arguments}"}
                own |= {"agent_id": "a1"} if report.helper else {}
            case seen.Called():
                event, own = "PreToolUse", {"tool_name": TOOL + report.tool, "tool_input": {"id": "1"}}
            case seen.Stopped():
                event, own = "Stop", {"last_assistant_message": report.said}
                own |= {"permission_mode": "plan"} if report.read_only else {}
                own |= {"agent_id": "a1"} if report.helper else {}
            case seen.Unheard():
                event, own = report.name, {"message": "new"}
            case seen.ComesBack() | seen.Escaped():
                return None
        common = {"session_id": self.session, "cwd": seen.FOLDER, "prompt_id": "p-1"}
        return {**common, "transcript_path": str(self.record), "hook_event_name": event, **own}

    def prompt_hook(self) -> str:
        return shlex.join(command("UserPromptSubmit"))

    def write(self, step: seen.Step) -> None:
        self._calls += 1
        call = f"toolu_{self._calls}"
        match step:
            case seen.Prompt():
                self._transcript.prompt(step.text)
            case seen.Ran(exit_code=0):
                self._transcript.runs(step.command, step.output, call)
            case seen.Ran():
                said = f"Exit code {step.exit_code}\n{step.output}"
                self._transcript.runs(step.command, said, call, error=True)
            case seen.Calling():
                self._transcript.calls("Bash", call, {"command": step.command})
            case seen.Edited():
                self._transcript.calls("Write", call, {"file_path": step.path, "content": "x"})
                self._transcript.result(call, "File created successfully")
            case seen.Said():  # one line per block, each with the usage of the whole request
                whole = f"msg_{self._calls}"
                self._transcript.assistant({"type": "thinking", "thinking": "..."}, message=whole, output=3)
                self._transcript.says(step.text, message=whole)
            case seen.WasSentBack():
                self._transcript.context(step.text)
            case seen.WasInterrupted():
                self._transcript.prompt([{"type": "text", "text": "[Request interrupted by user]"}])

    def result(self, report: seen.Report, answer: seen.Fields) -> seen.Result:
        known = ("decision", "reason", "systemMessage", "terminalSequence", "hookSpecificOutput")
        decision, reason, shown, sequence, own = seen.take(answer, *known)
        event = (self.report(report) or {})["hook_event_name"]
        names = ("hookEventName", "additionalContext", "suppressOriginalPrompt", "updatedInput")
        repeated, context, _, given = seen.take(own or {"hookEventName": event}, *names)
        assert repeated == event, "an answer that does not repeat the event is refused whole"
        return seen.Result(
            to_agent=context,
            to_person=reason if decision == "block" else shown,
            ended=decision == "block",
            session=(given or {}).get("session", ""),
            rang=sequence == "\u0007",
        )

    def reader(self, pause: Callable[[float], Awaitable[object]]) -> seen.Reader:
        return RecordFiles(RECORD, pause)
