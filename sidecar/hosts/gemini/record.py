"""Reads the chats that Gemini CLI records, message by message.

Rules of this file:

- A message is written again when its tool calls end: the last line of an id counts, its tokens once.
- `$set` with `messages` replaces the list by messages that had lines of their own: it counts no tokens.
- A continuation is recorded as a plain user message: only our mark tells it from a person's prompt.
- A command's exit code stands in its output alone, and only where it is not 0.
- That the person pressed Esc shows in a line "Request cancelled." alone.
- In 0.34 the file is one JSON object that is written anew each time: a message begins and ends on lines of
  its own.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.gemini.codec import COMMAND, COMMAND_END, HOST
from sidecar.hosts.ports import RecordedSession
from sidecar.hosts.record_files import RecordFormat, RecordState, newest_recorded, recorded_file
from sidecar.hosts.shared import CALLS_LIMIT, CONTINUATION, NOTHING, try_decode
from sidecar.hosts.steering import gemini_folder
from sidecar.hosts.turns import TurnState, build_call, build_todo, name_actions, result_output, tool_action
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, ToolCall, Turn
from sidecar.platform.ports import remember_newest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MESSAGES_LIMIT: Final = 2000
"""Messages of a turn that are remembered: the newest."""
CANCELLED: Final = "Request cancelled."
ADDED: Final = ("<session_context>", "<hook_context>")
"""How texts of a user message begin that the host adds."""
DOING: Final = name_actions(
    run="run_shell_command",
    edit="replace write_file",
    todo="write_todos",
    ask="ask_user exit_plan_mode",
    delegate="invoke_agent codebase_investigator generalist",
    read="glob grep_search search_file_content list_directory read_file read_many_files web_fetch "
    "google_web_search get_internal_docs activate_skill enter_plan_mode update_topic "
    "list_mcp_resources read_mcp_resource cli_help",
)
MODES: Final = ("enter_plan_mode", "exit_plan_mode")
"""Nothing else in a chat shows the plan mode."""
OUTCOMES: Final = {
    "success": CallOutcome.OK,
    "error": CallOutcome.FAILED,
    "cancelled": CallOutcome.INTERRUPTED,
}
OUTPUT_MARK, EXIT_MARK = "Output: ", "Exit Code: "
WRAPPING: Final = ("<untrusted_context>", "</untrusted_context>")
AFTER_OUTPUT: Final = ("Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ", WRAPPING[1])
"""How lines begin that the host puts behind a command's output."""


# --- The lines ----------------------------------------------------------------------------------------------


class _Tokens(Struct, frozen=True):
    input: int = 0
    output: int = 0
    cached: int = 0
    thoughts: int = 0

    @property
    def counted(self) -> int:
        """Uncached input plus output."""
        return max(0, self.input - self.cached) + self.output + self.thoughts


class _TodoItem(Struct, frozen=True):
    description: str = ""
    status: str = ""


class _Arguments(Struct, frozen=True):
    """The parts of a call's arguments that are used here."""

    command: str = ""
    file_path: str = ""
    todos: tuple[_TodoItem, ...] = ()


class _Response(Struct, frozen=True):
    output: str = ""
    error: str = ""


class _FunctionResponse(Struct, frozen=True):
    response: _Response = _Response()


class _Part(Struct, frozen=True, rename="camel"):
    """A part of a content; others than texts and responses are passed over."""

    text: str = ""
    function_response: _FunctionResponse | None = None


class _Call(Struct, frozen=True):
    id: str
    name: str
    args: Raw = NOTHING
    status: str = ""
    result: Raw = NOTHING


class _Change(Struct, frozen=True):
    messages: tuple[Raw, ...] | None = None


class _Line(Struct, frozen=True, rename="camel"):
    """A message, or a change of the list of messages."""

    id: str = ""
    type: str = ""
    content: Raw = NOTHING
    tokens: _Tokens | None = None
    tool_calls: tuple[_Call, ...] = ()
    change: _Change = msgspec.field(name="$set", default=_Change())


def _parts(content: Raw) -> list[_Part]:
    """Decode a content: a string, or a list of parts."""
    if (text := try_decode(content, str)) is not None:
        return [_Part(text)]
    return [part for one in try_decode(content, list[Raw]) or () if (part := try_decode(one, _Part))]


def _user_text(parts: list[_Part]) -> str:
    """Return what a user message says, "" for the host's own; a command as it was typed."""
    if any(part.function_response for part in parts):
        return ""
    text = "\n".join(part.text for part in parts if not part.text.startswith(ADDED)).strip()
    typed = COMMAND.match(text)
    return f"/{text.partition(COMMAND_END)[0].lstrip('/').strip()}" if typed else text


def _opens_turn(raw: bytes) -> bool:
    """Return whether this line is a person's prompt."""
    line = try_decode(raw, _Line) if b'"user"' in raw else None
    text = _user_text(_parts(line.content)) if line is not None and line.type == "user" else ""
    return bool(text) and CONTINUATION.match(text) is None


# --- What tools did -----------------------------------------------------------------------------------------


def _read_call(call: _Call) -> ToolCall:
    """Return a call with what it returned."""
    doing, given = tool_action(call.name, DOING), try_decode(call.args, _Arguments) or _Arguments()
    asked = build_call(call.id, call.name, doing, given.command, (given.file_path,))
    responses = [part.function_response.response for part in _parts(call.result) if part.function_response]
    said = "\n".join(one.output or one.error for one in responses)
    outcome = OUTCOMES.get(call.status, CallOutcome.PENDING)
    code = _exit_code(said) if doing is ToolAction.RUN and outcome is CallOutcome.OK else None
    outcome = CallOutcome.FAILED if code else outcome
    return replace(asked, outcome=outcome, exit_code=code, output=result_output(said))


def _exit_code(said: str) -> int | None:
    """Return the exit code that a command's result tells; None for one that went on in the background."""
    if not said.removeprefix(WRAPPING[0]).lstrip().startswith(OUTPUT_MARK):
        return None
    for line in reversed(said.rstrip().split("\n")):
        if line.startswith(EXIT_MARK):
            code = line.removeprefix(EXIT_MARK).strip()
            return int(code) if code.isascii() and code.isdigit() else None
        if not line.startswith(AFTER_OUTPUT):
            break
    return 0


# --- The state of a chat ------------------------------------------------------------------------------------


class GeminiState(TurnState):
    """The state of one chat; implements record_files.RecordState.

    `waiting`: the person pressed Esc, so that no answer of a hook reaches the agent; prompts that wait do not
    show. When a turn ended is not known: a message whose calls run looks as the last one does.
    """

    def __init__(self) -> None:
        """Start before the first line."""
        self._held: list[bytes] = []
        super().__init__()

    def _open(self, at: int, prompt_id: str, *prompts: str) -> None:
        super()._open(at, prompt_id, *prompts)
        self._messages: OrderedDict[str, tuple[ToolCall, ...]] = OrderedDict()
        self._todos, self._after = tuple[Todo, ...](), ""

    def feed(self, at: int, raw: bytes) -> None:
        """Process the line that begins at byte `at`."""
        if raw == b"    {" or self._held:
            self._held.append(raw)
            if not raw.startswith(b"    }"):
                return
            raw, self._held = b"\n".join(self._held).rstrip(b","), []
        line = try_decode(raw, _Line)
        if line is not None and line.change.messages is not None:
            self._replace(at, line.change.messages)
        elif line is not None:
            self._take(at, line)

    @property
    def waiting(self) -> bool:
        """Whether the person pressed Esc."""
        return self._interrupted

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The turn's tool calls, in order; the last ones, if there are many."""
        return tuple(call for calls in self._messages.values() for call in calls)[-CALLS_LIMIT:]

    def turn(self, counted_to: int, position: int) -> Turn:
        """Return the turn up to byte `position`; see hosts.record_files.RecordState."""
        modes = [call.tool for call in self.calls if call.tool in MODES]
        found, plans = super().turn(counted_to, position), modes[-1:] == [MODES[0]]
        return replace(found, todos=self._todos, read_only=plans)

    def _count_calls_since_arrival(self) -> int:
        since = 0
        for name, calls in self._messages.items():
            since = 0 if name == self._after else since + len(calls)
        return min(since, CALLS_LIMIT)

    def _take(self, at: int, line: _Line, *, repeated: bool = False) -> None:
        match line.type:
            case "user":
                self._user(at, line, _user_text(_parts(line.content)))
            case "gemini":
                self._agent(at, line)
                if line.tokens is not None and not repeated:
                    self._spend(at, line.tokens.counted, line.id)
            case "info":
                self._interrupted |= try_decode(line.content, str) == CANCELLED
            case _:
                pass

    def _user(self, at: int, line: _Line, text: str) -> None:
        if (ours := CONTINUATION.match(text)) is not None:
            self._messages[line.id], self._after = (), line.id
            if ours[1] not in {name for _, name in self._arrived}:
                self._deliver(at, text)
        elif text:
            at = self._opened_at if line.id == self._prompt_id else at
            self._open(at, line.id, text)

    def _agent(self, at: int, line: _Line) -> None:
        calls = tuple(map(_read_call, line.tool_calls))
        remember_newest(self._messages, line.id, calls, MESSAGES_LIMIT)
        for call, given in zip(calls, line.tool_calls, strict=True):
            if call.doing is ToolAction.TODO and call.outcome is CallOutcome.OK:
                listed = (try_decode(given.args, _Arguments) or _Arguments()).todos
                self._todos = tuple(build_todo(item.description, item.status) for item in listed)
        text = "\n".join(part.text for part in _parts(line.content)).strip()
        if text:
            self.last_text, self.last_id, self.last_at = text, line.id, at

    def _replace(self, at: int, messages: Iterable[Raw]) -> None:
        interrupted = self._interrupted
        for raw in messages:
            if (line := try_decode(raw, _Line)) is not None:
                self._take(at, line, repeated=True)
        self._interrupted = interrupted


def _is_complete(state: RecordState, said: str, since: int) -> bool:
    """Return whether the end of the turn is written: the host reports all messages of a turn, joined."""
    written = state.last_at >= since and said.endswith(state.last_text or said + "\n")
    return state.waiting or not said or written


RECORD: Final = RecordFormat(
    state=GeminiState, opens_turn=_opens_turn, queue_marks=(b'"info"',), complete=_is_complete, joined=True
)
"""How the chats are read."""


# --- Chats as files -----------------------------------------------------------------------------------------


class _Head(Struct, frozen=True, rename="camel"):
    session_id: str
    project_hash: str
    start_time: dt.datetime


def newest_session(project: str, environment: Mapping[str, str], session: str = "") -> RecordedSession | None:
    """Return the newest chat of a folder (its real path), or the one whose session id begins so."""
    files = gemini_folder(environment).glob("tmp/*/chats/session-*.jsonl")
    return newest_recorded(files, partial(read_recorded, project=project), project, session)


def read_recorded(path: Path, project: str = "") -> RecordedSession:
    """Return the session of a chat that was held in a folder, "" for the present one. Raises BadInputError.

    The file holds only a digest of the folder.
    """
    project = project or str(Path.cwd().resolve())
    with path.open("rb") as file:
        head = try_decode(file.readline(), _Head)
    if head is None or head.project_hash != hashlib.sha256(project.encode()).hexdigest():
        raise BadInputError(f"{path}: no chat of Gemini CLI that was held in {project}")
    return recorded_file(path, SessionKey(HOST, head.session_id), project, head.start_time)
