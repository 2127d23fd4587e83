"""When a turn's tool calls edited project files.

Only clear cases count as edits: edits by a tool, and commands known to write into the project. Files that a
test run writes are no edits.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from sidecar.evidence.commands.kinds import command
from sidecar.kernel.turn import CallOutcome, CommandRun, ToolAction, Turn
from sidecar.platform.shell.commands import known_commands
from sidecar.platform.tools import find_tool, known_tools

CallPlace: TypeAlias = tuple[int, int]
"""Index of a call in the turn, and of a command in its line."""
UNCHECKED_DOCUMENT: Final = re.compile(
    r".*(?:\.(?:mdx?|rst|adoc)|/?(?:LICENSE|CHANGELOG|AUTHORS)[^/]*)", re.IGNORECASE
)
"""Files whose change normally does not affect a check."""
REDIRECT_TARGET: Final = re.compile(r">>?\|?\s*[\"']?([\w./~@%+-]+)")
NON_SOURCE_TARGET: Final = re.compile(r"/dev/|/tmp/|/var/tmp/|.*\.(?:log|out|txt|tmp|err|xml|csv)$")
"""Output targets that are not in the project, or not source files."""


def edit_places(turn: Turn, *, documents: bool = True) -> tuple[CallPlace, ...]:
    """Return the places of edits, in order. Without `documents`, document-only edits are left out."""
    found: list[CallPlace] = []
    for number, call in enumerate(turn.calls):
        unwritten = call.outcome in {CallOutcome.FAILED, CallOutcome.INTERRUPTED}
        if unwritten and call.doing is ToolAction.EDIT:
            continue
        alone = bool(call.paths) and all(map(UNCHECKED_DOCUMENT.fullmatch, call.paths))
        if call.doing is ToolAction.EDIT and (documents or not alone):
            found.append((number, 0))
        if call.doing is ToolAction.RUN:
            found.extend(
                (number, at)
                for at, run in enumerate(call.runs)
                if not (unwritten and run.blamed) and writes_into_project(run, call.command)
            )
    return tuple(found)


def writes_into_project(run: CommandRun, line: str) -> bool:
    """Whether a command clearly writes into the project; `line` is the shell line that contains it."""
    argv, known = command(run) or ("",), known_commands()
    name, words = argv[0], {*argv[1:]}
    if name == "git":
        return _git_writes(argv[1:])
    if name in known.editing_in_place:
        return any(re.match(r"-\w*i|--in-place", word) for word in words)
    if name in known.writing_last_word | known.writing_words:
        named = (word for word in argv[1:] if not word.startswith("-"))
        written = named if name in known.writing_words else argv[1:][-1:]
        return any(not NON_SOURCE_TARGET.match(word) for word in written)
    if tool := find_tool(name):
        common, subcommand = known_tools().common, next(iter(argv[1:]), "")
        if "" in tool.rewrites or subcommand in tool.rewrites:
            return not words & common.checks_only
        if tool.repairs:
            return bool(words & common.repairs)
    return (
        name in known.output
        and run.silenced
        and any(not NON_SOURCE_TARGET.match(each) for each in REDIRECT_TARGET.findall(line))
    )


def _git_writes(words: tuple[str, ...]) -> bool:
    known = known_commands()
    at = next((number for number, word in enumerate(words) if word in known.git_rewriting), len(words))
    return at < len(words) and not {*words[at:]} & known.git_harmless


KNOWN_CALLS_LIMIT: Final = 400
"""Most calls that a turn holds; of a longer turn, the beginning is not known."""


def is_turn_fully_known(turn: Turn) -> bool:
    """Whether every call of the turn is recorded, ended, and of a kind whose effects are known."""
    opaque = (ToolAction.DELEGATE, ToolAction.OTHER)
    return (
        turn.readable
        and turn.current
        and len(turn.calls) < KNOWN_CALLS_LIMIT
        and not any(call.doing in opaque or call.outcome is CallOutcome.PENDING for call in turn.calls)
    )
