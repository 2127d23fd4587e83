"""An editor and its agent in the scenes: events of our proxy, which is the record itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from contracts.hosts import adapter as seen
from sidecar.hosts.acp.codec import CommandSent, PromptSent, SessionOpened, TurnBroken, TurnEnded
from sidecar.hosts.acp.link import SessionUpdate
from sidecar.hosts.acp.record import AcpTranscript, AcpTurns, SessionRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

WAITS_FOR_NOTHING: Final = "the proxy sees each message as it comes"
CANNOT: Final = {
    "the_relay_refuses_a_typed_command_where_no_sidecar_runs": "its proxy does, without a relay",
    "a_call_that_still_runs_is_known": "its record comes with the stop",
    "the_record_shows_that_the_user_interrupted": "a turn that was cancelled ends without a stop",
    "the_end_of_a_goal_rings": "the protocol has no alarm",
    "a_last_message_that_is_recorded_late_is_waited_for": WAITS_FOR_NOTHING,
    "a_last_message_that_never_comes_is_told_by_the_event": WAITS_FOR_NOTHING,
    "a_call_of_our_tool_is_told_its_session": "calls do not pass the proxy; OpenCode's plugin tells it",
}


class Acp(seen.HostAdapter):
    """Its agent tells of a call by two updates, and of tokens when the turn ends."""

    host = "acp"
    title = "An editor (ACP)"
    session = "ses_6f2aB0c9dEfG"
    cannot = CANNOT

    def __init__(self, record: Path) -> None:
        super().__init__(record)
        self._at = 1.0
        self._spent = 0
        self._seen = SessionRecord(self._now)

    def report(self, report: seen.Report) -> seen.Fields | None:
        about: dict[str, Any] = {"session": self.session, "directory": seen.FOLDER}
        match report:
            case seen.Opened():
                told: object = SessionOpened(**about, fresh=not report.resumed)
            case seen.Asked():
                told = PromptSent(**about, id="supervisor-1")
            case seen.Commanded(helper=False):
                told = CommandSent(**about, id="supervisor-1", name=report.name, arguments=report.arguments)
            case seen.Stopped(helper=False):
                told = TurnEnded(**about, record=self._transcript(), read_only=report.read_only)
            case seen.Escaped():
                told = TurnBroken(**about, error="stopped by the user")
            case seen.Unheard():
                return {"type": report.name, **about}
            case seen.Stopped() | seen.Commanded() | seen.Called() | seen.ComesBack():
                return None
        found: seen.Fields = msgspec.json.decode(msgspec.json.encode(told))
        return found

    def write(self, step: seen.Step) -> None:
        number = self._now()
        match step:
            case seen.Prompt():
                self._end_turn()
                self._seen.begin(step.text)
            case seen.Ran():
                given = {"rawInput": {"command": step.command}, "kind": "execute", "title": "bash"}
                output = {"output": step.output, "metadata": {"exit": step.exit_code}}
                self._call(f"call_{number}", given, rawOutput=output)
            case seen.Calling():
                given = {"rawInput": {"command": step.command}, "kind": "execute", "title": "bash"}
                self._tell(sessionUpdate="tool_call", toolCallId=f"call_{number}", **given)
            case seen.Edited():
                place = {"path": step.path}
                self._call(f"call_{number}", {"kind": "edit", "title": "write", "locations": [place]})
            case seen.Said():
                content = {"type": "text", "text": step.text}
                self._tell(sessionUpdate="agent_message_chunk", content=content, messageId=f"m{number}")
                self._spent += seen.UNCACHED + seen.OUTPUT
            case seen.WasSentBack():
                self._end_turn()
                found = re.search(r"\[supervisor (\w+)\]", step.text)
                self._seen.send_back(found[1] if found else "")
                self._seen.answered()
            case seen.WasInterrupted():
                self._end_turn()

    def result(self, report: seen.Report, answer: seen.Fields) -> seen.Result:
        notice, said, _, work, context = seen.take(answer, "notice", "say", "continuation", "work", "context")
        assert not said or isinstance(report, seen.Stopped)
        return seen.Result(
            to_agent=said or (context if work else ""),
            to_person=notice,
            ended=isinstance(report, seen.Commanded) and not work,
        )

    def reader(self, pause: Callable[[float], Awaitable[object]]) -> seen.Reader:  # noqa: ARG002 - nothing is late
        return AcpTurns(self._now)

    def _now(self) -> float:
        self._at += 1.0
        return self._at

    def _call(self, ident: str, about: seen.Fields, **done: Any) -> None:
        self._tell(sessionUpdate="tool_call", toolCallId=ident, status="pending", **about)
        self._tell(sessionUpdate="tool_call_update", toolCallId=ident, status="completed", **done)
        self._spent += seen.UNCACHED + seen.OUTPUT

    def _tell(self, **update: Any) -> None:
        self._seen.feed(msgspec.json.decode(msgspec.json.encode(update), type=SessionUpdate))

    def _end_turn(self) -> None:
        """The agent's response, which says what was spent."""
        if self._spent:
            self._seen.spend(self._spent)
        self._spent = 0

    def _transcript(self) -> AcpTranscript:
        self._end_turn()
        return self._seen.transcript()
