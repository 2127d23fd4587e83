"""Reads a session's event log, events.jsonl: what Copilot CLI recorded of a turn, line by line.

- A turn opens with a person's prompt, which names no source; what the host prompts by itself names one. A
  prompt that a hook answered, and the hook's answer, belong to no turn of the agent.
- Only a reason that the host recorded as a hook's, and then as a prompt, shows that our continuation arrived.
- A request to the model is recorded once, with the cached tokens in those of the input. What subagents do is
  in the same file: only their tokens count.
- The last message may be written after the stop was reported.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.copilot.codec import TITLE
from sidecar.hosts.ports import RecordedSession
from sidecar.hosts.record_files import RecordFormat, newest_recorded, recorded_file
from sidecar.hosts.shared import CONTINUATION, COPILOT, NOTHING, try_decode
from sidecar.hosts.steering import copilot_user_folder
from sidecar.hosts.turns import PATH_LIMIT, TurnState, build_call, name_actions, result_output, tool_action
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.hosts.record_files import RecordState

HEAD_BYTES: Final = 64 * 1024
"""Bytes of a log in which its first line ends."""
DOING: Final = name_actions(
    run="bash powershell",
    edit="edit create apply_patch",
    ask="ask_user exit_plan_mode",
    delegate="task write_agent",
    read="view grep glob rg web_fetch web_search read_bash list_bash stop_bash read_agent list_agents skill "
    "sql session_store_sql fetch_copilot_cli_documentation report_intent task_complete",
)
"""`sql` is asked for the agent's own notes, `bash` for what `read_bash` waits for."""
AUTOPILOT: Final = "its autopilot"
"""What the host's own goal is called: the record does not tell its text."""


# --- The lines of a log -------------------------------------------------------------------------------------


class CallArguments(Struct, frozen=True):
    """The arguments of a call, as far as they are used."""

    command: str = ""
    path: str = ""


class ToolRequest(Struct, frozen=True, rename="camel"):
    """A call that the model asks for."""

    tool_call_id: str
    name: str = ""
    arguments: Raw = NOTHING


class ToolText(Struct, frozen=True):
    """What a call returned, or why it failed."""

    content: str = ""
    message: str = ""


class ShellExecution(Struct, frozen=True, rename="camel"):
    """How a command ended."""

    exit_code: int


class FileEdit(Struct, frozen=True):
    """A file that a tool wrote."""

    path: str


class Usage(Struct, frozen=True, rename="camel"):
    """Tokens of one request; those of the input include what was cached."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0

    @property
    def total(self) -> int:
        """Uncached input plus output."""
        return self.input_tokens - self.cache_read_tokens + self.output_tokens


class HookAnswer(Struct, frozen=True):
    """What a hook answered."""

    decision: str = ""
    reason: str = ""


class Context(Struct, frozen=True):
    """Where a session began."""

    cwd: str = ""


class Data(Struct, frozen=True, rename="camel"):
    """What an event of any type holds, as far as it is read."""

    context: Context | None = None
    content: str = ""
    source: str = ""
    delivery: str = ""
    message_id: str = ""
    turn_id: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    tool_call_id: str = ""
    success: bool = True
    result: ToolText | None = None
    error: ToolText | None = None
    shell_execution: ShellExecution | None = None
    file_edits: tuple[FileEdit, ...] = ()
    usage: Usage | None = None
    hook_type: str = ""
    output: HookAnswer | None = None
    new_mode: str = ""


class EventLine(Struct, frozen=True, rename="camel"):
    """Any line. `agent_id` is set for what a subagent does."""

    type: str
    data: Data = Data()
    agent_id: str = ""
    timestamp: datetime | None = None

    @property
    def prompt(self) -> str:
        """What a person or a hook asked in this line; "" if nobody did."""
        asked = self.type == "user.message" and not self.agent_id and not self.data.source
        return self.data.content if asked and self.data.turn_id else ""


def opens_turn(raw: bytes) -> bool:
    """Return whether this line is a person's prompt."""
    line = try_decode(raw, EventLine) if b'"user.message"' in raw else None
    return line is not None and bool(line.prompt) and CONTINUATION.match(line.prompt) is None


# --- The state that they give -------------------------------------------------------------------------------


class EventLogState(TurnState):
    """Implements hosts.record_files.RecordState. What waits in the host's queue is not in its record."""

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._reason, self._asks = "", True

    def feed(self, at: int, raw: bytes) -> None:
        """Process the line that begins at byte `at`."""
        line = try_decode(raw, EventLine)
        if line is not None and line.data.usage is not None:
            self._spend(at, line.data.usage.total)
        elif line is not None and not line.agent_id:
            self._event(at, line, line.data)

    def _event(self, at: int, line: EventLine, data: Data) -> None:
        match line.type:
            case "user.message" if data.turn_id:
                self.ended_at, self._asks = 0.0, True
                self._prompted(at, line, data)
            case "assistant.message" if data.turn_id:
                self._said(at, data)
            case "assistant.turn_end" if not self._asks and line.timestamp:
                self.ended_at = line.timestamp.timestamp()
            case "tool.execution_complete" if noted := self._calls.get(data.tool_call_id):
                self._note(at, _with_result(noted.call, data))
            case "abort":
                self._interrupted = True
                for call in self.calls:
                    if call.outcome is CallOutcome.PENDING:
                        self._note(at, replace(call, outcome=CallOutcome.INTERRUPTED))
            case "hook.end" if data.hook_type == "agentStop":
                self._reason = data.output.reason if data.output and data.output.decision == "block" else ""
            case "session.mode_changed":
                self._native_goal = AUTOPILOT if data.new_mode == "autopilot" else ""
                self._read_only = data.new_mode == "plan"
            case _:
                pass

    def _prompted(self, at: int, line: EventLine, data: Data) -> None:
        mark = CONTINUATION.match(line.prompt)
        if mark is not None and line.prompt == self._reason:
            self._deliver(at, line.prompt)
        elif not line.prompt or mark is not None or line.prompt == self._reason:
            pass  # the host's own, words of ours that were typed, or another hook's
        elif data.delivery == "steering":
            self._add_prompt(line.prompt)
        else:
            self._open(at, data.message_id, line.prompt)

    def _said(self, at: int, data: Data) -> None:
        self.ended_at, self._asks, self._interrupted = 0.0, bool(data.tool_requests), False
        for request in data.tool_requests:
            self._note(at, _read_call(request))
        if (text := data.content.strip()) or not data.tool_requests:
            self.last_text, self.last_id, self.last_at = text, data.message_id, at


def _read_call(request: ToolRequest) -> ToolCall:
    """Read a call that has no result yet."""
    given = try_decode(request.arguments, CallArguments) or CallArguments()
    doing = tool_action(request.name, DOING)
    call = build_call(request.tool_call_id, request.name, doing, given.command, (given.path,))
    return replace(call, runs=()) if request.name == "powershell" else call


def _with_result(call: ToolCall, data: Data) -> ToolCall:
    """Return a call with what it returned. A command that fails is a call that succeeds."""
    said = data.error.message if data.error else data.result.content if data.result else ""
    exit_code = data.shell_execution.exit_code if data.shell_execution else None
    paths = tuple(edit.path[:PATH_LIMIT] for edit in data.file_edits)
    outcome = CallOutcome.FAILED if exit_code or not data.success else CallOutcome.OK
    return replace(
        call, outcome=outcome, exit_code=exit_code, output=result_output(said), paths=paths or call.paths
    )


def ends_turn(state: RecordState, said: str, since: int) -> bool:  # noqa: ARG001 - no stop tells a message
    """Return whether the turn's end is written, after a last message that was written after byte `since`."""
    return state.ended_at > 0 and state.last_at >= since


RECORD: Final = RecordFormat(state=EventLogState, opens_turn=opens_turn, complete=ends_turn)


# --- Sessions that the host recorded ------------------------------------------------------------------------


def newest_session(project: str, environment: Mapping[str, str], session: str = "") -> RecordedSession | None:
    """Return the newest session that began in a folder (its real path), or the one whose id begins so."""
    files = copilot_user_folder(environment).glob(f"session-state/{session}*/events.jsonl")
    return newest_recorded(files, read_recorded, project, session)


def read_recorded(path: Path) -> RecordedSession:
    """Return the session of a log. Raises BadInputError, OSError."""
    with path.open("rb") as file:
        line = try_decode(file.readline(HEAD_BYTES), EventLine)
    if line is None or line.type != "session.start" or line.data.context is None or line.timestamp is None:
        raise BadInputError(f"{path}: no log of {TITLE}, as its first line begins no session")
    key = SessionKey(COPILOT, path.parent.name)
    return recorded_file(path, key, line.data.context.cwd, line.timestamp)
