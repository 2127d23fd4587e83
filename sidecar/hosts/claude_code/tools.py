"""Reads from a transcript what Claude Code's tools did and what they returned."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from sidecar.hosts.claude_code.transcript_lines import NOTHING, ContentBlock, read_content_blocks, try_decode
from sidecar.hosts.own_tools import is_harmless_tool
from sidecar.kernel.text import last_characters, strip_control_codes, truncate_middle
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall
from sidecar.platform.shell import line as shell

COMMAND_LIMIT: Final = 2000
PATH_LIMIT: Final = 1000
OUTPUT_LIMIT: Final = 2000
RESULT_LIMIT: Final = 64 * 1024
"""Characters at the end of a result that are examined, before colours are removed."""
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

DOING: Final = {
    "Bash": ToolAction.RUN,
    "PowerShell": ToolAction.RUN,
    "Monitor": ToolAction.RUN,
    "Edit": ToolAction.EDIT,
    "Write": ToolAction.EDIT,
    "MultiEdit": ToolAction.EDIT,
    "NotebookEdit": ToolAction.EDIT,
    "TodoWrite": ToolAction.TODO,
    "TaskCreate": ToolAction.TODO,
    "TaskUpdate": ToolAction.TODO,
    "AskUserQuestion": ToolAction.ASK,
    "ExitPlanMode": ToolAction.ASK,
    "Agent": ToolAction.DELEGATE,
    "Task": ToolAction.DELEGATE,
    "Workflow": ToolAction.DELEGATE,
} | dict.fromkeys(
    (
        "Read",
        "Glob",
        "Grep",
        "LS",
        "LSP",
        "NotebookRead",
        "WebFetch",
        "WebSearch",
        "ToolSearch",
        "BashOutput",
        "TaskOutput",
        "AgentOutputTool",
        "TaskList",
        "TaskGet",
        "ListAgents",
        "ListMcpResourcesTool",
        "ReadMcpResourceTool",
    ),
    ToolAction.READ,
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


CLAUDE_INPUT_DECODER: Final = msgspec.json.Decoder(ClaudeToolInput)
COMMAND_RESULT_DECODER: Final = msgspec.json.Decoder(ShellResult)
STRING_DECODER: Final = msgspec.json.Decoder(str)


def read_tool_call(block: ContentBlock) -> ToolCall:
    """Read a call that has no result yet."""
    doing = DOING.get(block.name, ToolAction.READ if is_harmless_tool(block.name) else ToolAction.OTHER)
    given = try_decode(block.input, CLAUDE_INPUT_DECODER) or ClaudeToolInput()
    paths = (given.file_path, given.notebook_path) if doing is ToolAction.EDIT else ()
    line = strip_control_codes(given.command) if doing is ToolAction.RUN else ""
    return ToolCall(
        id=block.id,
        tool=block.name[:PATH_LIMIT],
        doing=doing,
        outcome=CallOutcome.PENDING,
        command=truncate_middle(line, COMMAND_LIMIT),
        runs=() if block.name in OTHER_SHELLS else shell.parse_simple_commands(line),
        paths=tuple(path[:PATH_LIMIT] for path in paths if path),
    )


def apply_call_result(call: ToolCall, result: ContentBlock, structured: msgspec.Raw = NOTHING) -> ToolCall:
    """Return the call with its result."""
    said = "\n".join(block.text for block in read_content_blocks(result.content) if block.type == "text")
    text = strip_control_codes(last_characters(said, RESULT_LIMIT))
    outcome, exit_code = _call_outcome(call, result, said, structured)
    return msgspec.structs.replace(
        call, outcome=outcome, exit_code=exit_code, output=last_characters(text, OUTPUT_LIMIT)
    )


def parse_finish_notice(notice: str) -> tuple[str, CallOutcome, int | None]:
    """Return the call's id, outcome and exit code from a host's notice; no id for other notices."""
    found = FINISH_NOTICE.match(notice)
    if found is None or found[2] not in ENDINGS:
        return "", CallOutcome.PENDING, None
    return found[1], ENDINGS[found[2]], int(found[3]) if found[3] else None


def _call_outcome(
    call: ToolCall, result: ContentBlock, said: str, structured: msgspec.Raw
) -> tuple[CallOutcome, int | None]:
    ran = try_decode(structured, COMMAND_RESULT_DECODER) or ShellResult()
    refused = result.is_error and (
        said.startswith(REFUSED_PREFIXES)
        or try_decode(structured, STRING_DECODER) == "User rejected tool use"
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
