"""OpenCode in the scenes: events that our plugin sends, and messages that it is asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from contracts.hosts import adapter as seen
from hosts.opencode.writing import answer, bash, text, tool, user
from sidecar.hosts.opencode.record import OpenCodeHistory
from support.fake_opencode import FakeOpenCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from sidecar.kernel.events import AgentStopped
    from sidecar.kernel.turn import Turn

SPENT: Final = {
    "input": seen.UNCACHED,
    "output": seen.OUTPUT,
    "reasoning": 0,
    "cache": {"read": seen.CACHED, "write": 0},
}
ABORTED: Final = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
CANNOT: Final = {
    "the_relay_refuses_a_typed_command_where_no_sidecar_runs": "its plugin does, without a relay",
    "a_call_that_still_runs_is_known": "its messages are asked for when it tells of a stop, not between",
    "the_end_of_a_goal_rings": "its notices differ in colour; nothing rings",
    "a_last_message_that_is_recorded_late_is_waited_for": "it lists its messages whole when it is asked",
    "a_last_message_that_never_comes_is_told_by_the_event": "its events carry no messages",
}


class OpenCode(seen.HostAdapter):
    """Its record is what it lists when it is asked, so that nothing there is late."""

    host = "opencode"
    title = "OpenCode"
    session = "ses_6f2aB0c9dEfG"
    cannot = CANNOT

    def __init__(self, record: Path) -> None:
        super().__init__(record)
        self._at = 1000

    def report(self, report: seen.Report) -> seen.Fields | None:
        about: seen.Fields = {"id": self.session, "directory": seen.FOLDER}
        own: seen.Fields
        match report:
            case seen.Opened():
                kind, own = "session.start", {"fresh": not report.resumed}
            case seen.Asked():
                kind, own = "prompt", {"message": "msg_1", "parts": [{"type": "text"}]}
            case seen.ComesBack():
                parts = [{"type": "text", "synthetic": True}, {"type": "text", "ignored": True}]
                kind, own = "prompt", {"message": "msg_1", "parts": parts}
            case seen.Commanded(helper=True):  # the plugin refuses it by itself
                return None
            case seen.Commanded():
                kind, own = "command", {"name": report.name, "arguments": report.arguments}
            case seen.Called():
                kind, own = "tool", {"tool": report.tool}
            case seen.Stopped():
                about |= {"id": "ses_child", "parentID": self.session} if report.helper else {}
                kind, own = "session.idle", {"last": {"agent": "plan" if report.read_only else "build"}}
            case seen.Escaped():
                kind, own = "session.error", {"error": ABORTED}
            case seen.Unheard():
                kind, own = report.name, {}
        return {"type": kind, "session": about, **own}

    def write(self, step: seen.Step) -> None:
        self._at += 100
        name, at = f"msg_{self._at}", self._at
        match step:
            case seen.Prompt():
                self.append(user(name, text(step.text), at=at))
            case seen.Ran():
                part = bash(step.command, step.exit_code, step.output)
                self.append(answer(name, part, at=at, finish="tool-calls", tokens=SPENT))
            case seen.Calling():
                part = tool("bash", {"command": step.command}, "running")
                self.append(answer(name, part, at=at, finish=None, tokens=SPENT))
            case seen.Edited():
                part = tool("write", {"filePath": step.path, "content": "x"}, output="Wrote it")
                self.append(answer(name, part, at=at, finish="tool-calls", tokens=SPENT))
            case seen.Said():
                self.append(answer(name, text(step.text), at=at, tokens=SPENT))
            case seen.WasSentBack():
                shown = text("Supervisor sent the agent back", ignored=True)
                self.append(user(name, text(step.text, synthetic=True), shown, at=at))
            case seen.WasInterrupted():
                self.append(answer(name, text("I will"), at=at, finish=None, error=ABORTED))

    def result(self, report: seen.Report, answer: seen.Fields) -> seen.Result:
        known = ("notice", "variant", "say", "work", "context", "refused", "ours")
        notice, _, said, work, context, _, ours = seen.take(answer, *known)
        assert not said or isinstance(report, seen.Stopped)
        return seen.Result(
            to_agent=said or (context if work else ""),
            to_person=notice,
            ended=isinstance(report, seen.Commanded) and not work,
            session=self.session if ours else "",
        )

    def reader(self, pause: Callable[[float], Awaitable[object]]) -> seen.Reader:  # noqa: ARG002 - nothing is late
        return History(self.record)


class History(OpenCodeHistory):
    """Asks a host that lists what is recorded."""

    def __init__(self, record: Path) -> None:
        super().__init__(lambda: 0.0)
        self._record = record

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Read as while the host waits for the answer to its event."""
        host = FakeOpenCode(stop.key.id, seen.FOLDER)
        host.listed = [json.loads(line) for line in self._record.read_text().splitlines()]
        return await host.told(super().read(stop, counted_to))
