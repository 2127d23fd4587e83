"""Reads from a transcript what Claude Code's tools did and what they returned."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from sidecar.hosts.claude_code.record_lines import ContentBlock, read_content_blocks
from sidecar.hosts.shared import NOTHING, try_decode
from sidecar.hosts.turns import TODO_LIMIT, build_call, build_todo, name_actions, result_output, tool_action
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, ToolCall

EXIT_CODE: Final = re.compile(r"(?:Error: )?Exit code (\d{1,5})\b")
REFUSED_PREFIXES: Final = ("The user doesn't want to", "[Request interrupted by user")
"""How the results of calls begin that the user stopped."""
BACKGROUND_PREFIX: Final = "Command running in background"
FINISH_NOTICE: Final = re.compile(
    r"<task-notification>\s*(?:<[a-z-]+>[^<]*</[a-z-]+>\s*){0,5}?"
    r"<tool-use-id>([^<]+)</tool-use-id>\s*(?:<[a-z-]+>[^<]*</[a-z-]+>\s*){0,5}?"
    r"<status>([a-z]+)</status>\s*<summary>Background command "
    r"(?:[^<]*exit code (\d{1,5})(?:: [^<\"]*)?\)?|[^<]*)</summary>"
)
"""The host's notice about a command that ran in the background.

The agent's description of the command contains no `<` and is in quotes; the exit code comes after it.
"""
ENDINGS: Final = {
    "completed": CallOutcome.OK,
    "failed": CallOutcome.FAILED,
    "killed": CallOutcome.INTERRUPTED,
}

DOING: Final = name_actions(
    run="Bash PowerShell Monitor",
    edit="Edit Write MultiEdit NotebookEdit",
    todo="TodoWrite TaskCreate TaskUpdate",
    ask="AskUserQuestion ExitPlanMode",
    delegate="Agent Task Workflow",
    read="Read Glob Grep LS LSP NotebookRead WebFetch WebSearch ToolSearch BashOutput TaskOutput "
    "AgentOutputTool TaskList TaskGet ListAgents ListMcpResourcesTool ReadMcpResourceTool",
)
"""A tool that is not listed is OTHER, as are those of MCP servers, except our own that only report."""
OTHER_SHELLS: Final = frozenset({"PowerShell"})
"""Tools whose command lines are not in the syntax of bash."""


class ClaudeToolInput(msgspec.Struct, frozen=True):
    """The parts of a call's input that are used here."""

    command: str = ""
    file_path: str = ""
    notebook_path: str = ""


class ShellResult(msgspec.Struct, frozen=True, rename="camel"):
    """The structured result of a command that did not fail."""

    interrupted: bool = False
    background_task_id: str | None = None
    return_code_interpretation: str | None = None


def read_tool_call(block: ContentBlock) -> ToolCall:
    """Read a call that has no result yet."""
    given = try_decode(block.input, ClaudeToolInput) or ClaudeToolInput()
    paths, doing = (given.file_path, given.notebook_path), tool_action(block.name, DOING)
    call = build_call(block.id, block.name, doing, given.command, paths)
    return replace(call, runs=()) if block.name in OTHER_SHELLS else call


def apply_call_result(call: ToolCall, result: ContentBlock, structured: msgspec.Raw = NOTHING) -> ToolCall:
    """Return the call with its result."""
    said = "\n".join(block.text for block in read_content_blocks(result.content) if block.type == "text")
    outcome, exit_code = _call_outcome(call, result, said, structured)
    return replace(call, outcome=outcome, exit_code=exit_code, output=result_output(said))


def parse_finish_notice(notice: str) -> tuple[str, CallOutcome, int | None]:
    """Return the call's id, outcome and exit code from a host's notice; no id for other notices."""
    found = FINISH_NOTICE.match(notice)
    if found is None or found[2] not in ENDINGS:
        return "", CallOutcome.PENDING, None
    return found[1], ENDINGS[found[2]], int(found[3]) if found[3] else None


def _call_outcome(
    call: ToolCall, result: ContentBlock, said: str, structured: msgspec.Raw
) -> tuple[CallOutcome, int | None]:
    ran = try_decode(structured, ShellResult) or ShellResult()
    refused = result.is_error and (
        said.startswith(REFUSED_PREFIXES) or try_decode(structured, str) == "User rejected tool use"
    )
    if refused or ran.interrupted:
        return CallOutcome.INTERRUPTED, None
    if result.is_error:
        code = EXIT_CODE.match(said) if call.doing is ToolAction.RUN else None
        return CallOutcome.FAILED, int(code[1]) if code else None
    known = not (
        ran.background_task_id or ran.return_code_interpretation or said.startswith(BACKGROUND_PREFIX)
    )
    # An interpretation ("no matches found") means an exit code other than 0 that is no failure.
    return CallOutcome.OK, 0 if call.doing is ToolAction.RUN and call.tool != "Monitor" and known else None


CREATED_TASK: Final = re.compile(r"Task #(\S{1,40}) created")
TODO_TOOLS: Final = ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList")


class TodoWriteItem(msgspec.Struct, frozen=True):
    """An entry of TodoWrite's list."""

    content: str
    status: str = "pending"


class TodoToolInput(msgspec.Struct, frozen=True, rename={"task_id": "taskId"}):
    """The input of any of the to-do tools."""

    todos: tuple[TodoWriteItem, ...] = ()
    task_id: str = ""
    subject: str = ""
    status: str = ""


class TaskItem(msgspec.Struct, frozen=True):
    """A task as the host returns it."""

    id: str
    subject: str = ""
    status: str = "pending"


class TaskToolResult(msgspec.Struct, frozen=True):
    """The structured result of TaskCreate or TaskList."""

    task: TaskItem | None = None
    tasks: tuple[TaskItem, ...] | None = None
    success: bool = True


class TodoList:
    """The to-do list, built from the calls that succeeded."""

    def __init__(self) -> None:
        """Start with an empty list."""
        self._tasks: dict[str, Todo] = {}

    def all(self) -> tuple[Todo, ...]:
        """Return the entries in the order of their creation."""
        return tuple(self._tasks.values())

    def succeeded(self, tool: str, given: msgspec.Raw, result: msgspec.Raw = NOTHING, said: str = "") -> None:
        """Apply a successful call; a call or result of an unknown shape changes nothing."""
        asked = try_decode(given, TodoToolInput) or TodoToolInput()
        answered = try_decode(result, TaskToolResult) or TaskToolResult()
        match tool:
            case "TodoWrite":
                self._replace(
                    TaskItem(str(n), item.content, item.status) for n, item in enumerate(asked.todos)
                )
            case "TaskCreate":
                self._create(asked, answered, said)
            case "TaskUpdate" if answered.success:
                self._update(asked)
            case "TaskList" if answered.tasks is not None:
                self._replace(answered.tasks)

    def _replace(self, tasks: Iterable[TaskItem]) -> None:
        self._tasks.clear()
        for task in tasks:
            self._put(task.id, task.subject, task.status)

    def _create(self, asked: TodoToolInput, answered: TaskToolResult, said: str) -> None:
        named = CREATED_TASK.search(said)
        if answered.task is not None:
            self._put(answered.task.id, answered.task.subject or asked.subject, "pending")
        elif named is not None:
            self._put(named[1], asked.subject, "pending")

    def _update(self, asked: TodoToolInput) -> None:
        if not asked.task_id:
            return
        known = self._tasks.get(asked.task_id, Todo(f"task {asked.task_id}", done=False))
        status = asked.status or ("completed" if known.done else "pending")
        self._put(asked.task_id, asked.subject or known.text, status)

    def _put(self, name: str, text: str, status: str) -> None:
        if status == "deleted":
            self._tasks.pop(name, None)
        elif name in self._tasks or len(self._tasks) < TODO_LIMIT:
            self._tasks[name] = build_todo(text, status)


# --- The host's queue of prompts that were typed while the agent worked -------------------------------------
# The host records these operations: `enqueue` with the text; `dequeue` without the text, mostly for the
# oldest entry, followed by the prompt itself; `remove`, in older versions without the text but then followed
# by an attachment that repeats it if the entry was given to the agent in the middle of its turn; `popAll`
# when the user took everything back.


QUEUE_LIMIT: Final = 100
QUEUED_TEXT_LIMIT: Final = 1000
"""Characters by which entries are told apart."""
NOTICE: Final = "<task-notification>"


class PromptQueue:
    """The waiting prompts, built from the recorded operations."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: list[str] = []
        self._removed = 0

    @property
    def waiting(self) -> bool:
        """Whether a person's prompt waits. A removal without text counts as removing a person's prompt."""
        return sum(1 for text in self._entries if not text.startswith(NOTICE)) > self._removed

    def operate(self, operation: str, text: str | None) -> None:
        """Apply one operation; unknown ones change nothing."""
        match operation:
            case "enqueue":
                self._entries = [*self._entries[-QUEUE_LIMIT + 1 :], (text or "")[:QUEUED_TEXT_LIMIT]]
            case "dequeue":
                del self._entries[:1]
            case "remove" if text is None:
                self._removed += 1
            case "remove":
                self._drop(text or "")
            case "popAll":
                self.clear()
            case _:
                pass

    def absorb(self, text: str) -> None:
        """Resolve a removal without text: the agent was given this entry in the middle of its turn."""
        if self._removed:
            self._removed -= 1
            self._drop(text)

    def prompted(self, text: str, source: str | None) -> None:
        """Apply a person's prompt that opened a turn: typed at an idle agent, or taken from the queue."""
        if source == "typed":
            self.clear()
        elif source == "queued":
            self._drop(text)

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self._removed = 0

    def _drop(self, text: str) -> None:
        if text[:QUEUED_TEXT_LIMIT] in self._entries:
            self._entries.remove(text[:QUEUED_TEXT_LIMIT])
