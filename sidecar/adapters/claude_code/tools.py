"""What Claude Code's tools do, and what they returned."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from sidecar.adapters.claude_code.lines import NOTHING, Block, blocks, decoded
from sidecar.adapters.shell import line as shell
from sidecar.adapters.text import middle_out, plain, tail
from sidecar.model.turn import CallOutcome, Doing, ToolCall
from sidecar.policy.own_tools import only_tells

COMMAND_LIMIT: Final = 2000
PATH_LIMIT: Final = 1000
OUTPUT_LIMIT: Final = 2000
RESULT_LIMIT: Final = 64 * 1024
"""Characters at the end of a result that are looked at, before colours are taken out."""
EXIT_CODE: Final = re.compile(r"(?:Error: )?Exit code (\d{1,5})\b")
REFUSED: Final = ("The user doesn't want to", "[Request interrupted by user")
"""How the results of calls begin that the user stopped."""
BEHIND: Final = "Command running in background"
FINISHED: Final = re.compile(
    r"<task-notification>\s*(?:<[a-z-]+>[^<]*</[a-z-]+>\s*){0,5}?"
    r"<tool-use-id>([^<]+)</tool-use-id>\s*(?:<[a-z-]+>[^<]*</[a-z-]+>\s*){0,5}?"
    r"<status>([a-z]+)</status>\s*<summary>Background command "
    r"(?:[^<]*exit code (\d{1,5})(?:: [^<\"]*)?\)?|[^<]*)</summary>"
)
"""The host's notice of a command that ran in the background. What the agent named it has no `<` and stands in
quotes; the exit code comes after it."""
ENDINGS: Final = {
    "completed": CallOutcome.OK,
    "failed": CallOutcome.FAILED,
    "killed": CallOutcome.INTERRUPTED,
}

DOING: Final = {
    "Bash": Doing.RUN,
    "PowerShell": Doing.RUN,
    "Monitor": Doing.RUN,
    "Edit": Doing.EDIT,
    "Write": Doing.EDIT,
    "MultiEdit": Doing.EDIT,
    "NotebookEdit": Doing.EDIT,
    "TodoWrite": Doing.TODO,
    "TaskCreate": Doing.TODO,
    "TaskUpdate": Doing.TODO,
    "AskUserQuestion": Doing.ASK,
    "ExitPlanMode": Doing.ASK,
    "Agent": Doing.DELEGATE,
    "Task": Doing.DELEGATE,
    "Workflow": Doing.DELEGATE,
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
    Doing.READ,
)
"""What is not named here, tools of MCP servers among it, is OTHER; but for those of ours that only tell."""
OTHER_SHELLS: Final = frozenset({"PowerShell"})
"""Tools whose lines are not those of bash."""


class Input(msgspec.Struct, frozen=True):
    """The parts of a call's input that we name."""

    command: str = ""
    file_path: str = ""
    notebook_path: str = ""


class Ran(msgspec.Struct, frozen=True, rename="camel"):
    """The structured result of a command that did not fail."""

    interrupted: bool = False
    background_task_id: str | None = None
    return_code_interpretation: str | None = None


INPUTS: Final = msgspec.json.Decoder(Input)
RANS: Final = msgspec.json.Decoder(Ran)
WORDS: Final = msgspec.json.Decoder(str)


def called(block: Block) -> ToolCall:
    """Read a call that has no result yet."""
    doing = DOING.get(block.name, Doing.READ if only_tells(block.name) else Doing.OTHER)
    given = decoded(block.input, INPUTS) or Input()
    paths = (given.file_path, given.notebook_path) if doing is Doing.EDIT else ()
    line = plain(given.command) if doing is Doing.RUN else ""
    return ToolCall(
        id=block.id,
        tool=block.name[:PATH_LIMIT],
        doing=doing,
        outcome=CallOutcome.PENDING,
        command=middle_out(line, COMMAND_LIMIT),
        runs=() if block.name in OTHER_SHELLS else shell.runs(line),
        paths=tuple(path[:PATH_LIMIT] for path in paths if path),
    )


def returned(call: ToolCall, result: Block, structured: msgspec.Raw = NOTHING) -> ToolCall:
    """Read the result of a call."""
    said = "\n".join(block.text for block in blocks(result.content) if block.type == "text")
    text = plain(tail(said, RESULT_LIMIT))
    outcome, exit_code = _ending(call, result, said, structured)
    return msgspec.structs.replace(
        call, outcome=outcome, exit_code=exit_code, output=tail(text, OUTPUT_LIMIT)
    )


def finished(notice: str) -> tuple[str, CallOutcome, int | None]:
    """Read a notice of the host: the call's id, outcome and exit code; no id for notices of another kind."""
    found = FINISHED.match(notice)
    if found is None or found[2] not in ENDINGS:
        return "", CallOutcome.PENDING, None
    return found[1], ENDINGS[found[2]], int(found[3]) if found[3] else None


def _ending(
    call: ToolCall, result: Block, said: str, structured: msgspec.Raw
) -> tuple[CallOutcome, int | None]:
    ran = decoded(structured, RANS) or Ran()
    refused = result.is_error and (
        said.startswith(REFUSED) or decoded(structured, WORDS) == "User rejected tool use"
    )
    if refused or ran.interrupted:
        return CallOutcome.INTERRUPTED, None
    if result.is_error:
        code = EXIT_CODE.match(said) if call.doing is Doing.RUN else None
        return CallOutcome.FAILED, int(code[1]) if code else None
    known = not (ran.background_task_id or ran.return_code_interpretation or said.startswith(BEHIND))
    # An interpretation ("no matches found") stands for a code other than 0 that is no failure.
    return CallOutcome.OK, 0 if call.doing is Doing.RUN and call.tool != "Monitor" and known else None
