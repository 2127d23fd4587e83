"""Reads from OpenCode's messages what its tools did and what they returned.

What this file knows of the host: a command that fails is still a completed call, and only `exit` in its
metadata shows the failure; null there means that the command was stopped. A call of a tool that does not
exist becomes a completed call of the tool "invalid".
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec.structs import replace

from sidecar.hosts.opencode.wire import MessagePart, ToolState, decode_text
from sidecar.hosts.shared import NOTHING, decode_each, try_decode
from sidecar.hosts.turns import (
    OUTPUT_LIMIT,
    TODO_LIMIT,
    build_call,
    build_todo,
    name_actions,
    result_output,
    tool_action,
)
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, ToolCall

PATCH_LIMIT: Final = 256 * 1024
"""Characters of a patch that are searched for file names."""

DOING: Final = name_actions(
    run="bash",
    edit="edit write multiedit patch apply_patch",
    todo="todowrite",
    ask="question plan_exit",
    delegate="task",
    read="read list glob grep webfetch websearch codesearch lsp skill todoread list_mcp_resources "
    "list_mcp_resource_templates read_mcp_resource",
)
"""A tool that is not listed is OTHER, except our own that only report.

The tools of MCP servers and plugins are OTHER, too.
"""
INVALID_TOOL: Final = "invalid"
STOPPED_PREFIXES: Final = (
    "The user rejected permission",
    "Tool execution aborted",
    "Tool execution was interrupted",
    "The user dismissed this question",
)
"""How the errors of calls begin that the user stopped."""
PATCHED_PATH: Final = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\r\n]+)", re.MULTILINE)


class OpenCodeToolInput(msgspec.Struct, frozen=True, rename={"file_path": "filePath", "patch": "patchText"}):
    """The parts of a call's input that are used here."""

    command: str = ""
    file_path: str = ""
    patch: str = ""
    todos: msgspec.Raw = NOTHING


class CallMetadata(msgspec.Struct, frozen=True):
    """What a call returned besides its text. `exit` is null if the command was stopped."""

    exit: int | msgspec.UnsetType | None = msgspec.UNSET


class TodoItem(msgspec.Struct, frozen=True):
    """An entry of the to-do list."""

    content: str
    status: str = "pending"


def read_tool_part(part: MessagePart) -> ToolCall:
    """Convert a tool part into a call."""
    state = try_decode(part.state, ToolState) or ToolState()
    doing = tool_action(part.tool, DOING)
    given = try_decode(state.input, OpenCodeToolInput) or OpenCodeToolInput()
    paths = (given.file_path, *map(str.strip, PATCHED_PATH.findall(given.patch[:PATCH_LIMIT])))
    outcome, exit_code = _part_outcome(part, doing, state)
    said = decode_text(state.error) if state.status == "error" else decode_text(state.output)
    asked = build_call(part.call_id or part.id, part.tool, doing, given.command, paths)
    return replace(asked, outcome=outcome, exit_code=exit_code, output=result_output(said))


def read_todo_part(part: MessagePart) -> tuple[Todo, ...]:
    """Return the list that a to-do call leaves behind, without cancelled entries."""
    state = try_decode(part.state, ToolState) or ToolState()
    given = try_decode(state.input, OpenCodeToolInput) or OpenCodeToolInput()
    found = decode_each(given.todos, tuple[TodoItem, ...], TodoItem) or ()
    kept = [item for item in found[:TODO_LIMIT] if item is not None and item.status != "cancelled"]
    return tuple(build_todo(item.content, item.status) for item in kept)


def _part_outcome(part: MessagePart, doing: ToolAction, state: ToolState) -> tuple[CallOutcome, int | None]:
    match state.status:
        case "error":
            stopped = decode_text(state.error).startswith(STOPPED_PREFIXES)
            return CallOutcome.INTERRUPTED if stopped else CallOutcome.FAILED, None
        case "completed" if part.tool == INVALID_TOOL:
            return CallOutcome.FAILED, None
        case "completed" if doing is ToolAction.RUN:
            return _command_outcome(state)
        case "completed":
            return CallOutcome.OK, None
        case _:
            return CallOutcome.PENDING, None


def _command_outcome(state: ToolState) -> tuple[CallOutcome, int | None]:
    known = try_decode(state.metadata, CallMetadata) or CallMetadata()
    if known.exit is msgspec.UNSET:
        return CallOutcome.OK, None
    if known.exit is None:
        aborted = "User aborted the command" in decode_text(state.output)[-OUTPUT_LIMIT:]
        return CallOutcome.INTERRUPTED if aborted else CallOutcome.FAILED, None
    return CallOutcome.FAILED if known.exit else CallOutcome.OK, known.exit
