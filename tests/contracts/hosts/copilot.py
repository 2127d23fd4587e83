"""Copilot CLI in the scenes: hooks on standard input, and an event log in JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from contracts.hosts import adapter as seen
from hosts.copilot.writing import EventLog, command_prompt
from sidecar.hosts.copilot.record import RECORD
from sidecar.hosts.record_files import RecordFiles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

ENVIRONMENT: Final = {"COPILOT_CLI": "1", "COPILOT_PROJECT_DIR": seen.FOLDER}
CANNOT: Final = {
    "the_end_of_a_goal_rings": "it takes no bell from a hook",
    "a_last_message_that_never_comes_is_told_by_the_event": "its events carry no message",
}
TOOL: Final = "supervisor-"
HELPER: Final = {
    "session_id": "004a43f1-1471-49f7-81f5-1b3346c67ffa",
    "agent_id": "004a43f1-1471-49f7-81f5-1b3346c67ffa",
    "agent_type": "task",
    "parent_agent_id": seen.HostAdapter.session,
}


class Copilot(seen.HostAdapter):
    """It reports no interrupt; a command reaches us as the text of its skill, our own words as a prompt."""

    host = "copilot"
    title = "Copilot CLI"
    environment = ENVIRONMENT
    cannot = CANNOT

    def __init__(self, record: Path) -> None:
        super().__init__(record)
        self._log = EventLog(record, seen.FOLDER)

    def report(self, report: seen.Report) -> seen.Fields | None:
        own: seen.Fields
        match report:
            case seen.Opened():
                event, own = "SessionStart", {"source": "resume" if report.resumed else "new"}
            case seen.Asked() | seen.ComesBack():
                event, own = "UserPromptSubmit", {"prompt": report.text}
            case seen.Commanded():
                event, own = "UserPromptSubmit", {"prompt": command_prompt(report.name, report.arguments)}
                own |= HELPER if report.helper else {}
            case seen.Called():
                event, own = "PreToolUse", {"tool_name": TOOL + report.tool, "tool_input": {"id": "1"}}
            case seen.Stopped():
                event = "Stop"
                own = {"transcript_path": str(self.record), "stop_hook_active": False}
                own |= HELPER if report.helper else {}
            case seen.Unheard():
                event, own = report.name, {"message": "new"}
            case seen.Escaped():
                return None
        common = {"session_id": self.session, "timestamp": "2026-11-28T15:06:17.909Z", "cwd": seen.FOLDER}
        return {"hook_event_name": event, **common, **own}

    def prompt_hook(self) -> str:
        hooks = json.loads((seen.ROOT / "hooks" / "copilot.json").read_text(encoding="utf-8"))["hooks"]
        line: str = hooks["UserPromptSubmit"][0]["bash"]
        return line.replace("$CLAUDE_PLUGIN_ROOT", str(seen.ROOT))

    def write(self, step: seen.Step) -> None:
        spent = {
            "inputTokens": seen.UNCACHED + seen.CACHED,
            "outputTokens": seen.OUTPUT,
            "cacheReadTokens": seen.CACHED,
        }
        match step:
            case seen.Prompt():
                self._log.mode("plan" if step.read_only else "interactive")
                self._log.prompt(step.text)
            case seen.Ran():
                call = self._log.calls("bash", {"command": step.command}, spent)
                self._log.result(call, step.output, shellExecution={"exitCode": step.exit_code})
            case seen.Calling():
                self._log.calls("bash", {"command": step.command}, spent)
            case seen.Edited():
                call = self._log.calls("create", {"path": step.path, "file_text": "x"}, spent)
                self._log.result(call, "Created", fileEdits=[{"path": step.path, "kind": "create"}])
            case seen.Said():
                self._log.says(step.text, spent)
            case seen.WasSentBack():
                self._log.sent_back(step.text)
            case seen.WasInterrupted():
                self._log.event("abort", reason="user_abort")

    def result(self, report: seen.Report, answer: seen.Fields) -> seen.Result:
        handled, said, decision, reason, context, shown, own = seen.take(
            answer,
            "handled",
            "responseContent",
            "decision",
            "reason",
            "additionalContext",
            "systemMessage",  # the relay shows it
            "hookSpecificOutput",
        )
        back = decision == "block" and isinstance(report, seen.Stopped)
        refused = decision == "block" and not back
        return seen.Result(
            to_agent=reason if back else context,
            to_person=reason if refused else said or shown,
            ended=bool(handled) or refused,
            session=own["updatedInput"]["session"] if own else "",
        )

    def reader(self, pause: Callable[[float], Awaitable[object]]) -> seen.Reader:
        return RecordFiles(RECORD, pause)
