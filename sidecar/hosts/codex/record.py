"""Reads a session's rollout file: what Codex recorded of a turn, line by line.

Two forms are read. 0.144 writes events of its own for prompts and patches, and of commands only what the
model was told. Newer versions number their lines, and write an item for each thing that was done; these hold
exit codes and changed files also where the model's calls are programs (`exec`) that call the tools.

- A turn opens with a person's prompt; one that is typed while the agent works belongs to the running task.
- A task without a prompt is the host's own: its goal goes on by itself.
- Only a message that the host marks as a hook's shows that our continuation arrived.
- The totals of `token_count` say what was spent: requests are counted once, whatever else repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from shlex import join
from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.codex.codec import HOST, user_folder
from sidecar.hosts.ports import RecordedSession
from sidecar.hosts.record_files import RecordFormat, newest_recorded, recorded_file
from sidecar.hosts.shared import NOTHING, checked_session_id, try_decode
from sidecar.hosts.turns import PATH_LIMIT, TurnState, build_call, name_actions, result_output, tool_action
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall

OWN_GOAL: Final = "its own /goal"
"""What the host's goal is called where the record does not tell its text."""
PROGRAM: Final = "exec"
"""The tool of models that write programs; what these do is recorded as items."""
DOING: Final = name_actions(
    run="exec_command shell shell_command local_shell",
    edit="apply_patch",
    todo="update_plan",
    ask="request_user_input",
    delegate="spawn_agent send_input send_message followup_task resume_agent spawn_agents_on_csv",
    read="write_stdin view_image web_search tool_search get_goal create_goal update_goal wait wait_agent "
    "close_agent list_agents list_mcp_resources list_mcp_resource_templates read_mcp_resource goal_objective",
)
"""What a process does that `write_stdin` waits for belongs to the call that started it."""
ENDINGS: Final = {
    "completed": CallOutcome.OK,
    "failed": CallOutcome.FAILED,
    "declined": CallOutcome.INTERRUPTED,
}
EXIT_CODE: Final = re.compile(r"^(?:Process exited with|Exit) code:? (-?\d{1,5})$", re.MULTILINE)
RUNNING: Final = "Process running with session ID "
RESULT_HEAD: Final = "Output:\n"
"""What the host says of a result stands before this line, and what the command printed after it."""
SHELL_WORDS: Final = 3
"""A shell, its option, and the line."""
HOOK_PROMPT: Final = "<hook_prompt "


# --- The lines of a rollout ---------------------------------------------------------------------------------


class RolloutLine(Struct, frozen=True):
    """Any line; newer versions number them."""

    type: str
    timestamp: datetime | None = None
    ordinal: int | None = None
    payload: Raw = NOTHING


class TextPart(Struct, frozen=True):
    """A part of a message or result."""

    text: str = ""


class TurnAttribution(Struct, frozen=True):
    """What set the agent to work: user, exec, goal, ..."""

    turn_trigger: str | None = None


class Payload(Struct, frozen=True):
    """What an event or a message to or from the model holds, as far as it is read."""

    type: str
    id: str | None = None
    turn_id: str | None = None
    turn_attribution: TurnAttribution | None = None
    role: str = ""
    content: Raw = NOTHING
    message: Raw = NOTHING
    name: str = ""
    namespace: str | None = None
    call_id: str = ""
    arguments: Raw = NOTHING
    output: Raw = NOTHING
    item: Raw = NOTHING
    changes: Raw = NOTHING
    success: bool = True
    info: Raw = NOTHING
    last_agent_message: str | None = None


class CallArguments(Struct, frozen=True):
    """The arguments of a call, as far as they are used; a command is a line or its words."""

    cmd: str | tuple[str, ...] = ""
    command: str | tuple[str, ...] = ""


class Item(Struct, frozen=True):
    """Something that was done: UserMessage, CommandExecution, FileChange, McpToolCall, HookPrompt, ..."""

    type: str
    id: str = ""
    content: Raw = NOTHING
    command: tuple[str, ...] = ()
    source: str = ""
    aggregated_output: str | None = None
    exit_code: int | None = None
    status: str = ""
    changes: Raw = NOTHING
    server: str = ""
    tool: str = ""
    fragments: tuple[TextPart, ...] = ()


class Usage(Struct, frozen=True):
    """Tokens; those of the input include what was cached."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total(self) -> int:
        """Uncached input plus output."""
        return self.input_tokens - self.cached_input_tokens + self.output_tokens


class TokenCount(Struct, frozen=True):
    """What was spent in all, and by the newest request."""

    total_token_usage: Usage = Usage()
    last_token_usage: Usage = Usage()


class Setting(Struct, frozen=True):
    """A mode, or a policy."""

    mode: str = ""
    type: str = ""


class TurnContext(Struct, frozen=True):
    """How the agent may work in a turn."""

    collaboration_mode: Setting = Setting()
    sandbox_policy: Setting = Setting()


class SessionMeta(Struct, frozen=True):
    """What the first line says of the session; `thread_source` is user, or subagent."""

    id: str
    cwd: str
    thread_source: str = "user"


def opens_task(raw: bytes) -> bool:
    """Return whether this line sets the agent to work; a person's prompt follows where one did."""
    if b'"task_started"' not in raw:
        return False
    line = try_decode(raw, RolloutLine)
    found = try_decode(line.payload, Payload) if line is not None and line.type == "event_msg" else None
    return found is not None and found.type == "task_started"


def _texts(raw: Raw) -> str:
    """Return a text, or the texts of its parts."""
    one = try_decode(raw, str)
    return one if one is not None else "".join(part.text for part in try_decode(raw, list[TextPart]) or ())


# --- The state that they give -------------------------------------------------------------------------------


class RolloutState(TurnState):
    """Implements hosts.record_files.RecordState. What Codex queues is not in its record."""

    def __init__(self) -> None:
        """Start before the first line."""
        super().__init__()
        self._said_at = 0.0
        self._task, self._prompted = "", False
        self._spent_in_all = 0

    def feed(self, at: int, raw: bytes) -> None:
        """Process the line that begins at byte `at`."""
        line = try_decode(raw, RolloutLine)
        if line is None:
            return
        if line.type == "turn_context":
            modes = try_decode(line.payload, TurnContext) or TurnContext()
            plans, sandbox = modes.collaboration_mode.mode == "plan", modes.sandbox_policy.type
            self._read_only = plans or sandbox == "read-only"
        elif line.type in ("event_msg", "response_item"):
            found = try_decode(line.payload, Payload)
            if found is not None and line.type == "event_msg":
                self._event(at, found)
            elif found is not None:
                self._message(at, line, found)

    # --- events

    def _event(self, at: int, event: Payload) -> None:
        match event.type:
            case "task_started":
                trigger = event.turn_attribution.turn_trigger if event.turn_attribution else "goal"
                self._task, self._prompted = event.turn_id or "", False
                self._native_goal = OWN_GOAL if trigger == "goal" else ""
                self.ended_at, self._interrupted = 0.0, False
            case "task_complete" if event.last_agent_message:
                self.ended_at = self._said_at  # before the stop: the host writes this after its hooks
            case "turn_aborted":
                self._interrupted = True
            case "token_count":
                self._count(at, try_decode(event.info, TokenCount))
            case "user_message":
                self._prompt(at, _texts(event.message))
            case "patch_apply_end":
                self._changed(at, event.call_id, event.changes, "completed" if event.success else "failed")
            case "item_completed":
                self._item(at, try_decode(event.item, Item))
            case _:
                pass

    def _prompt(self, at: int, text: str) -> None:
        if not self._prompted:
            self._open(at, self._task)
            self._prompted, self._native_goal = True, ""
        self._add_prompt(text)

    def _count(self, at: int, count: TokenCount | None) -> None:
        if count is None:
            return
        total, before = count.total_token_usage.total, self._spent_in_all
        grown = total - before if 0 < before <= total else count.last_token_usage.total
        self._spent_in_all = total
        self._spend(at, grown)

    def _item(self, at: int, item: Item | None) -> None:
        if item is None:
            return
        outcome = ENDINGS.get(item.status, CallOutcome.OK)
        match item.type:
            case "UserMessage":
                self._prompt(at, _texts(item.content))
            case "HookPrompt":
                self._deliver(at, "".join(part.text for part in item.fragments))
            case "CommandExecution" if item.exit_code is not None and item.source != "user_shell":
                line = _command_line(item.command)
                call = build_call(item.id, "exec_command", ToolAction.RUN, line)
                said = result_output(item.aggregated_output or "")
                self._note(at, replace(call, outcome=outcome, exit_code=item.exit_code, output=said))
            case "FileChange":
                self._changed(at, item.id, item.changes, item.status)
            case "McpToolCall":
                tool = f"mcp__{item.server}__{item.tool}"[:PATH_LIMIT]
                doing = tool_action(tool, DOING)
                self._note(at, ToolCall(id=item.id, tool=tool, doing=doing, outcome=outcome))
            case _:
                pass

    def _changed(self, at: int, name: str, changes: Raw, status: str) -> None:
        paths = tuple(path[:PATH_LIMIT] for path in try_decode(changes, dict[str, Raw]) or ())
        outcome = ENDINGS.get(status, CallOutcome.FAILED)
        edit = ToolCall(id=name, tool="apply_patch", doing=ToolAction.EDIT, outcome=outcome, paths=paths)
        self._note(at, edit)

    # --- messages to and from the model

    def _message(self, at: int, line: RolloutLine, found: Payload) -> None:
        match found.type:
            case "message" if found.role == "assistant":
                if text := _texts(found.content).strip():
                    self.last_text, self.last_id, self.last_at = text, found.id or "", at
                    self._said_at = line.timestamp.timestamp() if line.timestamp else 0.0
            case "message" if found.role == "user" and line.ordinal is None:
                text = _texts(found.content)
                self._deliver(at, text if text.startswith(HOOK_PROMPT) else "")
            case "function_call" | "custom_tool_call":
                self._called(at, found, recorded=line.ordinal is not None)
            case "function_call_output" | "custom_tool_call_output":
                self._returned(at, found.call_id, _texts(found.output))
            case _:
                pass

    def _called(self, at: int, found: Payload, *, recorded: bool) -> None:
        """Take in a call that has no result yet. `recorded`: what a program does is recorded as items."""
        space = found.namespace or ""
        tool = f"{space}__{found.name}" if space.startswith("mcp__") else found.name
        doing = tool_action(tool, DOING)
        if tool == PROGRAM:
            doing = ToolAction.READ if recorded else ToolAction.RUN
        given = None
        if doing is ToolAction.RUN and tool != PROGRAM:
            given = try_decode(_texts(found.arguments).encode("utf-8", "replace"), CallArguments)
        line = _command_line(given.cmd or given.command) if given else ""
        self._note(at, build_call(found.call_id, tool, doing, line))

    def _returned(self, at: int, name: str, said: str) -> None:
        """Take in a result, unless an item told of the call before. A process may go on behind its call."""
        call = self._calls[name].call if name in self._calls else None
        if call is None or call.outcome is not CallOutcome.PENDING:
            return
        head = said.partition(RESULT_HEAD)[0]
        code = EXIT_CODE.search(head)
        exit_code = int(code[1]) if code else None
        judged = call.doing in (ToolAction.RUN, ToolAction.EDIT) and call.tool != PROGRAM
        failed = judged and exit_code != 0 and RUNNING not in head
        outcome = CallOutcome.FAILED if failed else CallOutcome.OK
        told = exit_code if call.doing is ToolAction.RUN and judged else None
        self._note(at, replace(call, outcome=outcome, exit_code=told, output=result_output(said)))


def _command_line(command: str | tuple[str, ...]) -> str:
    """Return a command, which is a line or its words, as a line."""
    if isinstance(command, str):
        return command
    return command[-1] if len(command) == SHELL_WORDS and command[1].startswith("-") else join(command)


RECORD: Final = RecordFormat(state=RolloutState, opens_turn=opens_task)


# --- Sessions that were recorded, for people who have not put Supervisor into the host ----------------------


HEAD_BYTES: Final = 1 << 20
"""Bytes of the first line, which holds the host's instructions."""


def newest_session(project: str, environment: Mapping[str, str], session: str = "") -> RecordedSession | None:
    """Return Codex's newest session of a folder (its real path), or the one whose id begins so."""
    files = user_folder(environment).glob("sessions/*/*/*/rollout-*.jsonl")
    return newest_recorded(files, read_recorded, project, session)


def read_recorded(path: Path) -> RecordedSession:
    """Return the session of a rollout. Raises BadInputError, also for a subagent's, and OSError."""
    with path.open("rb") as file:
        line = try_decode(file.readline(HEAD_BYTES), RolloutLine)
    meta = try_decode(line.payload, SessionMeta) if line and line.type == "session_meta" else None
    if line is None or meta is None or meta.thread_source != "user":
        raise BadInputError(f"{path}: no rollout of a session of Codex")
    return recorded_file(path, SessionKey(HOST, checked_session_id(meta.id)), meta.cwd, line.timestamp)
