"""What OpenCode's tools do, and what they returned.

What this file knows of the host: a command that fails is a completed call all the same, and only the `exit`
of its metadata tells; where that is null the command was stopped. A tool that does not exist becomes a
completed call of the tool "invalid".
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from sidecar.adapters.opencode.wire import NOTHING, RAWS, STATE, Part, State, decoded, words
from sidecar.adapters.shell import line as shell
from sidecar.adapters.text import middle_out, plain, tail
from sidecar.model.turn import CallOutcome, Doing, Todo, ToolCall
from sidecar.policy.own_tools import only_tells

COMMAND_LIMIT: Final = 2000
PATH_LIMIT: Final = 1000
PATHS_LIMIT: Final = 100
"""Files that one patch changes."""
OUTPUT_LIMIT: Final = 2000
RESULT_LIMIT: Final = 64 * 1024
"""Characters at the end of a result that are looked at, before colours are taken out."""
PATCH_LIMIT: Final = 256 * 1024
"""Characters of a patch that are searched for names of files."""
TODO_LIMIT: Final = 200
TODO_TEXT_LIMIT: Final = 500

DOING: Final = {
    "bash": Doing.RUN,
    "edit": Doing.EDIT,
    "write": Doing.EDIT,
    "multiedit": Doing.EDIT,
    "patch": Doing.EDIT,
    "apply_patch": Doing.EDIT,
    "todowrite": Doing.TODO,
    "question": Doing.ASK,
    "plan_exit": Doing.ASK,
    "task": Doing.DELEGATE,
} | dict.fromkeys(
    (
        "read",
        "list",
        "glob",
        "grep",
        "webfetch",
        "websearch",
        "codesearch",
        "lsp",
        "skill",
        "todoread",
        "list_mcp_resources",
        "list_mcp_resource_templates",
        "read_mcp_resource",
    ),
    Doing.READ,
)
"""What is not named here is OTHER, tools of MCP servers and plugins too; but for ours that only tell."""
INVALID: Final = "invalid"
STOPPED: Final = (
    "The user rejected permission",
    "Tool execution aborted",
    "Tool execution was interrupted",
    "The user dismissed this question",
)
"""How the errors of calls begin that the user stopped."""
PATCHED: Final = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\r\n]+)", re.MULTILINE)


class Input(msgspec.Struct, frozen=True, rename={"file_path": "filePath", "patch": "patchText"}):
    """The parts of a call's input that we name."""

    command: str = ""
    file_path: str = ""
    patch: str = ""


class Metadata(msgspec.Struct, frozen=True):
    """What a call returned beside its text. `exit` is null where a command was stopped."""

    exit: int | msgspec.UnsetType | None = msgspec.UNSET


class Item(msgspec.Struct, frozen=True):
    """An entry of the to-do list."""

    content: str
    status: str = "pending"


class List(msgspec.Struct, frozen=True):
    """The to-do list as a call gives it."""

    todos: msgspec.Raw = NOTHING


INPUT: Final = msgspec.json.Decoder(Input)
METADATA: Final = msgspec.json.Decoder(Metadata)
LIST: Final = msgspec.json.Decoder(List)
ITEM: Final = msgspec.json.Decoder(Item)


def call(part: Part) -> ToolCall:
    """Read a tool part."""
    state = decoded(part.state, STATE) or State()
    doing = DOING.get(part.tool, Doing.READ if only_tells(part.tool) else Doing.OTHER)
    given = decoded(state.input, INPUT) or Input()
    line = plain(given.command) if doing is Doing.RUN else ""
    outcome, exit_code = _ending(part, doing, state)
    said = words(state.error) if state.status == "error" else words(state.output)
    return ToolCall(
        id=part.call_id or part.id,
        tool=part.tool[:PATH_LIMIT],
        doing=doing,
        outcome=outcome,
        command=middle_out(line, COMMAND_LIMIT),
        runs=shell.runs(line),
        paths=_paths(given) if doing is Doing.EDIT else (),
        exit_code=exit_code,
        output=tail(plain(tail(said, RESULT_LIMIT)), OUTPUT_LIMIT),
    )


def todos(part: Part) -> tuple[Todo, ...]:
    """The list that a to-do call leaves behind; what was cancelled is on it no more."""
    state = decoded(part.state, STATE) or State()
    given = decoded(state.input, LIST) or List()
    found = (decoded(one, ITEM) for one in (decoded(given.todos, RAWS) or [])[:TODO_LIMIT])
    return tuple(
        Todo(middle_out(plain(item.content), TODO_TEXT_LIMIT), done=item.status == "completed")
        for item in found
        if item is not None and item.status != "cancelled"
    )


def _paths(given: Input) -> tuple[str, ...]:
    patched = PATCHED.findall(given.patch[:PATCH_LIMIT])
    named = dict.fromkeys(path.strip()[:PATH_LIMIT] for path in (given.file_path, *patched))
    return tuple(path for path in named if path)[:PATHS_LIMIT]


def _ending(part: Part, doing: Doing, state: State) -> tuple[CallOutcome, int | None]:
    match state.status:
        case "error":
            stopped = words(state.error).startswith(STOPPED)
            return CallOutcome.INTERRUPTED if stopped else CallOutcome.FAILED, None
        case "completed" if part.tool == INVALID:
            return CallOutcome.FAILED, None
        case "completed" if doing is Doing.RUN:
            return _ran(state)
        case "completed":
            return CallOutcome.OK, None
        case _:
            return CallOutcome.PENDING, None


def _ran(state: State) -> tuple[CallOutcome, int | None]:
    known = decoded(state.metadata, METADATA) or Metadata()
    if known.exit is msgspec.UNSET:
        return CallOutcome.OK, None
    if known.exit is None:
        aborted = "User aborted the command" in words(state.output)[-OUTPUT_LIMIT:]
        return CallOutcome.INTERRUPTED if aborted else CallOutcome.FAILED, None
    return CallOutcome.FAILED if known.exit else CallOutcome.OK, known.exit
