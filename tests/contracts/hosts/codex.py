"""Codex in the scenes: hooks on standard input, a rollout in the form of 0.171."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any, Final

from contracts.hosts import adapter as seen
from sidecar.hosts.codex.record import RECORD
from sidecar.hosts.record_files import RecordFiles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

CANNOT: Final = {
    "the_end_of_a_goal_rings": "its hooks cannot ring",
    "a_call_of_our_tool_is_told_its_session": "it names the session itself, beside each call",
}
PARENT: Final = "01a222c8-920d-7a30-aa27-2efb25d8092c"


class Codex(seen.HostAdapter):
    """A helper of the agent stops with an event of its own, for which we have no hook."""

    host = "codex"
    title = "Codex"
    session = PARENT
    said_limit = 9000
    cannot = CANNOT

    def __init__(self, record: Path) -> None:
        super().__init__(record)
        self._lines = self._turns = self._spent = 0

    def report(self, report: seen.Report) -> seen.Fields | None:
        own: seen.Fields
        match report:
            case seen.Opened():
                event, own = "SessionStart", {"source": "resume" if report.resumed else "startup"}
            case seen.Asked() | seen.ComesBack():
                event, own = "UserPromptSubmit", {"prompt": report.text}
            case seen.Commanded():
                event, own = "UserPromptSubmit", {"prompt": f"$supervisor:{report.name} {report.arguments}"}
                own |= {"agent_id": "a1", "agent_type": "worker"} if report.helper else {}
            case seen.Stopped(helper=True) | seen.Called():
                return None
            case seen.Stopped():
                event, own = "Stop", {"stop_hook_active": False, "last_assistant_message": report.said}
            case seen.Escaped():
                event, own = "Interrupt", {}
            case seen.Unheard():
                event, own = report.name, {}
        common = {"session_id": self.session, "turn_id": "turn-1", "cwd": seen.FOLDER, "model": "gpt-5.5"}
        common |= {"transcript_path": str(self.record), "permission_mode": "bypassPermissions"}
        return {**common, "hook_event_name": event, **own}

    def prompt_hook(self) -> str:
        hooks = json.loads((seen.ROOT / ".codex-plugin" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
        line: str = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
        return line.replace("$PLUGIN_ROOT", str(seen.ROOT))

    def write(self, step: seen.Step) -> None:
        call = f"call_{self._lines}"
        match step:
            case seen.Prompt():
                self._turns += 1
                mode = {"mode": "plan" if step.read_only else "default"}
                self._event(
                    "task_started", turn_id=f"turn-{self._turns}", turn_attribution={"turn_trigger": "user"}
                )
                self._line(
                    "turn_context", collaboration_mode=mode, sandbox_policy={"type": "workspace-write"}
                )
                self._item("UserMessage", content=[{"type": "text", "text": step.text}])
            case seen.Ran():
                self._call("exec_command", call, {"cmd": step.command})
                status = "failed" if step.exit_code else "completed"
                ran = {"command": ["/bin/bash", "-lc", step.command], "aggregated_output": step.output}
                self._item("CommandExecution", id=call, exit_code=step.exit_code, status=status, **ran)
                self._returned(call, f"Process exited with code {step.exit_code}\nOutput:\n{step.output}")
            case seen.Calling():
                self._call("exec_command", call, {"cmd": step.command})
            case seen.Edited():
                self._call("apply_patch", call, {})
                changes = {step.path: {"type": "add", "content": "x"}}
                self._item("FileChange", id=call, changes=changes, status="completed")
                self._returned(call, "Exit code: 0\nOutput:\nSuccess.")
            case seen.Said():
                message = {"role": "assistant", "content": [{"type": "output_text", "text": step.text}]}
                self._line("response_item", type="message", id=f"msg_{self._lines}", **message)
                self._count()
            case seen.WasSentBack():
                fragments = [{"text": step.text, "hookRunId": "stop:0"}]
                self._item("HookPrompt", fragments=fragments)
            case seen.WasInterrupted():
                self._event("turn_aborted", reason="interrupted")

    def result(self, report: seen.Report, answer: seen.Fields) -> seen.Result:
        event = (self.report(report) or {})["hook_event_name"]
        known = ("decision", "reason", "systemMessage")
        prompt = event == "UserPromptSubmit"
        decision, reason, shown, *own = seen.take(
            answer, *known, *(("hookSpecificOutput",) if prompt else ())
        )
        assert not reason or decision == "block"
        assert len(escape(reason, quote=False).encode()) <= self.said_limit or prompt
        names = ("hookEventName", "additionalContext")
        repeated, context = seen.take((own and own[0]) or {"hookEventName": event}, *names)
        assert repeated == event
        return seen.Result(
            to_agent=context if prompt else reason,
            to_person=f"{shown}{reason}" if prompt else shown,
            ended=prompt and decision == "block",
        )

    def reader(self, pause: Callable[[float], Awaitable[object]]) -> seen.Reader:
        return RecordFiles(RECORD, pause)

    def _line(self, kind: str, **payload: Any) -> None:
        self._lines += 1
        self.append(
            {
                "timestamp": "2026-11-28T15:31:39.787Z",
                "ordinal": self._lines,
                "type": kind,
                "payload": payload,
            }
        )

    def _event(self, kind: str, **fields: Any) -> None:
        self._line("event_msg", type=kind, **fields)

    def _item(self, kind: str, **fields: Any) -> None:
        self._event("item_completed", item={"type": kind, **fields})

    def _call(self, name: str, call: str, arguments: seen.Fields) -> None:
        self._line(
            "response_item", type="function_call", name=name, call_id=call, arguments=json.dumps(arguments)
        )
        self._count()

    def _returned(self, call: str, output: str) -> None:
        self._line("response_item", type="function_call_output", call_id=call, output=output)

    def _count(self) -> None:
        """Record what was spent, twice, as the host does."""
        self._spent += 1
        used = {
            "input_tokens": seen.UNCACHED + seen.CACHED,
            "cached_input_tokens": seen.CACHED,
            "output_tokens": seen.OUTPUT,
        }
        total = {name: tokens * self._spent for name, tokens in used.items()}
        self._line("token_usage_record", usage=used, thread_token_usage=total)
        for _ in range(2):
            self._event("token_count", info={"total_token_usage": total, "last_token_usage": used})
