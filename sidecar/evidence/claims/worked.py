"""What the tool calls of a turn did and how the last command ended, regardless of the message.

A read-only command (grep, ls, git status) changes nothing, and its failing exit code is an answer rather than
a failure. A command that was cut off shows nothing.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.check_runs import (
    CUT_OFF_CODES,
    NOT_STARTED_CODES,
    CheckRunOutcome,
    find_check_runs,
    summary_says_failed,
)
from sidecar.evidence.claims.turn_effects import edit_places
from sidecar.evidence.commands.kinds import command, kinds_of
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolAction, ToolCall, Turn
from sidecar.platform.shell.commands import known_commands

STANDARD_CHECK_KINDS: Final = (Kind.TESTS, Kind.BUILD, Kind.TYPES, Kind.LINT)
RECENT_CALLS: Final = 60
"""Number of the last calls that are searched for a block from outside."""
CLEAN_TREE_MESSAGE: Final = "nothing to commit"
UNTELLING_CODES: Final = CUT_OFF_CODES | {130, 141}
"""Exit codes of a line that a timeout, the user or a closed pipe ended (128 + signal)."""


class CommandFailure(Struct, frozen=True, kw_only=True):
    """The failure of the last command that ran.

    `line` is the shell line, at most 200 characters. `check`: it is a known check. `sure`: the failure is
    certainly its own and not that of another command in the line. `edited`: files were edited since.
    `unfound`: it could not start. `output` is the end of what it printed.
    """

    line: str
    output: str
    exit_code: int | None
    check: bool
    sure: bool
    edited: bool
    unfound: bool


def changed_nothing(turn: Turn) -> bool:
    """Whether no call of the turn can have changed the project."""
    return turn.readable and not any(_may_change_project(call) for call in turn.calls)


def _may_change_project(call: ToolCall) -> bool:
    if call.doing is ToolAction.EDIT:
        return call.outcome is not CallOutcome.FAILED
    if call.doing is ToolAction.RUN:
        return not call.runs or not all(_run_changes_nothing(run) and not run.silenced for run in call.runs)
    return call.doing in {ToolAction.DELEGATE, ToolAction.OTHER}


def _run_changes_nothing(run: CommandRun) -> bool:
    return _is_read_only_command(command(run)) or bool(kinds_of(run)) or command(run)[:1] == ("echo",)


def is_blocked_externally(turn: Turn) -> bool:
    """Whether a call of the turn failed for a cause outside of the project."""
    blocked = re.compile(known_commands().blocked, re.IGNORECASE)
    failed = (
        call
        for call in turn.calls[-RECENT_CALLS:]
        if call.outcome is CallOutcome.FAILED or call.exit_code not in {None, 0}
    )
    return any(blocked.search(call.output) for call in failed)


def is_queued_externally(turn: Turn) -> bool:
    """Whether a call after the last edit shows that the work waits in a queue."""
    queued = re.compile(known_commands().queued)
    since = max(edit_places(turn), default=(-1, 0))[0] + 1
    return any(queued.search(call.output) for call in turn.calls[since:])


def took_edits_back(turn: Turn) -> bool:
    """Whether the last of several edits is a command of git that puts a file back to what it was."""
    number, at = max(edit_places(turn), default=(0, 0))
    calls = turn.calls[:number]
    edited = {
        path.rpartition("/")[2] for call in calls if call.doing is ToolAction.EDIT for path in call.paths
    }
    if not edited or turn.calls[number].doing is not ToolAction.RUN:
        return False
    words = command(turn.calls[number].runs[at])
    return words[:1] == ("git",) and any(
        word == "." or word.rpartition("/")[2] in edited or word in known_commands().git_taking_back
        for word in words[1:]
    )


def check_passed_after_edits(turn: Turn) -> bool:
    """Whether a check passed after the last edit that can affect one."""
    code = edit_places(turn, documents=False)
    good = {CheckRunOutcome.PASSED, CheckRunOutcome.PART}
    shown = (each for kind in STANDARD_CHECK_KINDS for each in find_check_runs(turn, kind))
    return any(
        each.at >= max(code, default=(0, 0)) for each in shown if each.shown in good or each.looks_good
    )


def last_command_failure(turn: Turn) -> CommandFailure | None:
    """Return the failure of the last command relevant to the work; None if it did not fail."""
    for number in range(len(turn.calls) - 1, -1, -1):
        call = turn.calls[number]
        if call.doing is not ToolAction.RUN or call.output.startswith("<tool_use_error>"):
            continue
        if call.outcome in {CallOutcome.PENDING, CallOutcome.INTERRUPTED}:
            return None
        failed = call.outcome is CallOutcome.FAILED or call.exit_code not in {None, 0}
        blamed = tuple(run for run in blamed_commands(call, failed=failed) if not is_incidental_command(run))
        hidden = not failed and _has_hidden_test_failure(call)
        if not blamed and call.runs and not hidden:
            continue
        if not (failed or hidden) or call.exit_code in UNTELLING_CODES or CLEAN_TREE_MESSAGE in call.output:
            return None
        return CommandFailure(
            line=" ".join(call.command.split())[:200],
            output=call.output,
            exit_code=call.exit_code,
            check=hidden or (bool(blamed) and all(map(kinds_of, blamed))),
            sure=hidden or any(run.blamed for run in blamed) or 0 < len(call.runs) == len(blamed),
            edited=any(place > (number, len(call.runs)) for place in edit_places(turn)),
            unfound=call.exit_code in NOT_STARTED_CODES,
        )
    return None


def blamed_commands(call: ToolCall, *, failed: bool) -> tuple[CommandRun, ...]:
    """The commands of the line that can have caused its exit code: the only one did, in a loop, too."""
    if not failed or len(call.runs) == 1:
        return call.runs
    sure = tuple(run for run in call.runs if run.blamed)
    return sure or tuple(run for run in call.runs if run.fate is not FailureHandling.SWALLOWED)


def is_incidental_command(run: CommandRun) -> bool:
    """Whether a command is read-only, or not part of the work."""
    argv = command(run)
    return _is_read_only_command(argv) or (bool(argv) and argv[0] in known_commands().incidental)


def _is_read_only_command(argv: tuple[str, ...]) -> bool:
    if not argv or argv[0] in known_commands().read_only or argv[:2] in known_commands().pairs:
        return True
    if argv[0] == "sed":
        return not any(word.startswith(("-i", "--in-place")) for word in argv)
    return argv[0] == "git" and any(word in known_commands().git_read_only for word in argv[1:4])


def _has_hidden_test_failure(call: ToolCall) -> bool:
    """Whether a pipe hides the exit code of a test run whose summary says that it failed."""
    tests = [run for run in call.runs if Kind.TESTS in kinds_of(run)]
    piped = "|" in call.command and "||" not in call.command
    return len(tests) == 1 and piped and summary_says_failed(Kind.TESTS, call.output)
