"""Finds when a turn's tool calls edited project files, and what those calls could have done.

Only clear cases count as edits: edits by a tool, and commands known to write into the project. Files that a
test run writes are no edits. Conversely, an action is ruled out only if all calls are known not to do it.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from sidecar.evidence.commands.kinds import command, kinds_of, plain_words
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn
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
        if call.doing is ToolAction.EDIT and (documents or not _only_documents(call)):
            found.append((number, 0))
        if call.doing is ToolAction.RUN:
            found.extend(
                (number, at)
                for at, run in enumerate(call.runs)
                if not (unwritten and run.blamed) and writes_into_project(run, call.command)
            )
    return tuple(found)


def _only_documents(call: ToolCall) -> bool:
    return bool(call.paths) and all(UNCHECKED_DOCUMENT.fullmatch(path) for path in call.paths)


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


# --- What the calls of a turn could have done without showing it --------------------------------------------
# An action is ruled out only by calls that are known not to do it: a script, a package manager, another agent
# or a tool of which only the name is known may have done anything.


OPENING_TOOL: Final = re.compile(r"create_?(?:pull_?request|merge_?request)", re.IGNORECASE)
KNOWN_CALLS_LIMIT: Final = 400
"""Most calls that a turn holds; of a longer turn, the beginning is not known."""
REPORTING_CHECKS: Final = frozenset({Kind.TESTS, Kind.TYPES, Kind.LINT})
"""Checks that write only reports and caches."""


def cannot_have_written(turn: Turn, path: str) -> bool:
    """Whether all calls are known, and none can have created a file of that name.

    A command may write files that it does not name, so only commands known not to do so are ruled out.
    """
    name = path.rstrip("/").rpartition("/")[2]
    return (
        bool(turn.calls)
        and is_turn_fully_known(turn)
        and not any(
            name in call.command
            or any(name in each for each in call.paths)
            or (call.doing is ToolAction.RUN and not _makes_no_unnamed_file(call))
            for call in turn.calls
        )
    )


def is_turn_fully_known(turn: Turn) -> bool:
    """Whether every call of the turn is recorded, ended, and of a kind whose effects are known."""
    opaque = (ToolAction.DELEGATE, ToolAction.OTHER)
    return (
        turn.readable
        and len(turn.calls) < KNOWN_CALLS_LIMIT
        and not any(call.doing in opaque or call.outcome is CallOutcome.PENDING for call in turn.calls)
    )


def _makes_no_unnamed_file(call: ToolCall) -> bool:
    """Whether every command of a line is known to create no file that it does not name."""
    return bool(call.runs) and all(
        run.fate is not FailureHandling.UNKNOWN
        and not run.shadowed
        and (bool(kinds_of(run) & REPORTING_CHECKS) or _writes_only_named_files(command(run)))
        for run in call.runs
    )


def _writes_only_named_files(argv: tuple[str, ...]) -> bool:
    if not argv or any(re.search(r"[$`*?{\[]", word) for word in argv):
        return False
    if argv[0] == "git":
        return next(iter(plain_words(argv[1:])), "") in known_commands().git_making_nothing
    return argv[0] in known_commands().naming_what_they_write


def may_open_pull_request(call: ToolCall) -> bool:
    """Whether a call can have opened a pull request: by a tool of a code host, over the web, or by a push."""
    if OPENING_TOOL.search(call.tool) or re.search(known_commands().opening_request, call.command):
        return True
    return call.doing is ToolAction.RUN and (
        not call.runs or not all(_talks_to_no_code_host(run) for run in call.runs)
    )


def _talks_to_no_code_host(run: CommandRun) -> bool:
    """Whether a command is known not to contact a code host. Git's own subcommands pass, even push."""
    argv = command(run)
    if argv[:1] == ("git",):
        return next(iter(plain_words(argv[1:])), "") in known_commands().git_own
    return bool(kinds_of(run)) or next(iter(argv), "") in known_commands().naming_what_they_write
