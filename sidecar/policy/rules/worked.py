"""What the tool calls of a turn did and how the last of them ended, whatever the message says.

A command that only looks (grep, ls, git status) changes nothing, and its failure is an answer, no failure. A
command that was cut off tells nothing.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sidecar.model.command import Fate, Run
from sidecar.model.gate import Kind
from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.claims.edits import edits
from sidecar.policy.claims.kinds import command, kinds_of
from sidecar.policy.claims.output import says_failed
from sidecar.policy.claims.proof import COULD_NOT_START, CUT_OFF, Shown, showings

CHECKS: Final = (Kind.TESTS, Kind.BUILD, Kind.TYPES, Kind.LINT)
LOOKS: Final = frozenset(
    (
        *(
            "ls",
            "cat",
            "head",
            "tail",
            "grep",
            "egrep",
            "fgrep",
            "rg",
            "ag",
            "ack",
            "find",
            "fd",
            "wc",
            "pwd",
        ),
        *("which", "type", "command", "file", "stat", "du", "df", "ps", "env", "printenv", "date", "whoami"),
        *(
            "diff",
            "cmp",
            "comm",
            "tree",
            "less",
            "more",
            "sort",
            "uniq",
            "cut",
            "tr",
            "jq",
            "nl",
            "xxd",
            "od",
        ),
        *("test", "[", "[[", "true", "false", ":", "sleep", "pgrep", "lsof", "ss", "netstat", "id", "uname"),
        *("hostname", "cd", "realpath", "dirname", "basename", "export", "set", "source", ".", "awk", "bat"),
        *("md5sum", "sha256sum", "wait", "jobs", "history", "column", "seq", "xargs", "exa", "eza", "ping"),
    )
)
"""Commands that only look, or ask a question that "no" answers."""
TIDIES: Final = frozenset(
    ("echo", "printf", "rm", "rmdir", "mkdir", "touch", "kill", "pkill", "killall", "chmod", "curl", "wget")
)
"""Commands beside the work, or probes: how they end says little of it."""
GIT_LOOKS: Final = frozenset(
    (
        *("status", "diff", "log", "show", "branch", "blame", "ls-files", "grep", "rev-parse", "remote"),
        *("describe", "config", "stash", "check-ignore", "merge-base", "cat-file", "shortlog", "reflog"),
    )
)
QUERIES: Final = frozenset(
    {("npm", "outdated"), ("npm", "ls"), ("npm", "audit"), ("pip", "show"), ("pip", "check"), ("npm", "view")}
)
CLEAN_TREE: Final = "nothing to commit"
SIGNALS: Final = frozenset({130, 141})
"""Exit codes of a line that the user or a closed pipe ended (128 + signal)."""


class Failure(Struct, frozen=True, kw_only=True):
    """The last thing that ran, and failed.

    `line` is the shell line, at most 200 characters. `check`: it is a check that we know. `sure`: the failure
    is its own and no other command's of the line. `edited`: files were edited since. `unfound`: it could not
    start.
    """

    line: str
    exit_code: int | None
    check: bool
    sure: bool
    edited: bool
    unfound: bool


def changed_nothing(turn: Turn) -> bool:
    """Whether no call of the turn can have changed the project."""
    return turn.readable and not any(_may_change(call) for call in turn.calls)


def _may_change(call: ToolCall) -> bool:
    if call.doing is Doing.EDIT:
        return call.outcome is not CallOutcome.FAILED
    if call.doing is Doing.RUN:
        return not call.runs or not all(_reads(run) and not run.silenced for run in call.runs)
    return call.doing in {Doing.DELEGATE, Doing.OTHER}


def _reads(run: Run) -> bool:
    return _only_looks(command(run)) or bool(kinds_of(run)) or command(run)[:1] == ("echo",)


def checked(turn: Turn) -> bool:
    """Whether a check passed after the last edit that bears on one."""
    code = edits(turn, documents=False)
    good = {Shown.PASSED, Shown.PART}
    shown = (each for kind in CHECKS for each in showings(turn, kind))
    return any(
        each.at >= max(code, default=(0, 0)) for each in shown if each.shown in good or each.looks_good
    )


def last_failure(turn: Turn) -> Failure | None:
    """How the last command that bears on the work failed, None where it did not."""
    for number in range(len(turn.calls) - 1, -1, -1):
        call = turn.calls[number]
        if call.doing is not Doing.RUN or call.output.startswith("<tool_use_error>"):
            continue
        if call.outcome in {CallOutcome.PENDING, CallOutcome.INTERRUPTED}:
            return None
        failed = call.outcome is CallOutcome.FAILED or call.exit_code not in {None, 0}
        blamed = tuple(run for run in _blamed(call, failed=failed) if not beside(run))
        printed = not failed and _prints_failure(call)
        if not blamed and call.runs and not printed:
            continue
        if not (failed or printed) or call.exit_code in CUT_OFF | SIGNALS or CLEAN_TREE in call.output:
            return None
        return _failure(turn, number, blamed, printed=printed)
    return None


def _failure(turn: Turn, number: int, blamed: tuple[Run, ...], *, printed: bool) -> Failure:
    call = turn.calls[number]
    return Failure(
        line=" ".join(call.command.split())[:200],
        exit_code=call.exit_code,
        check=printed or (bool(blamed) and all(kinds_of(run) for run in blamed)),
        sure=printed or any(run.blamed for run in blamed) or (bool(blamed) and len(call.runs) == 1),
        edited=any(place > (number, len(call.runs)) for place in edits(turn)),
        unfound=call.exit_code in COULD_NOT_START,
    )


def _blamed(call: ToolCall, *, failed: bool) -> tuple[Run, ...]:
    """The commands of the line that its exit code can come from."""
    if not failed:
        return call.runs
    sure = tuple(run for run in call.runs if run.blamed)
    return sure or tuple(run for run in call.runs if run.fate is not Fate.SWALLOWED)


def beside(run: Run) -> bool:
    """Whether a command only looks, or stands beside the work."""
    argv = command(run)
    return _only_looks(argv) or (bool(argv) and argv[0] in TIDIES)


def _only_looks(argv: tuple[str, ...]) -> bool:
    if not argv or argv[0] in LOOKS or argv[:2] in QUERIES:
        return True
    if argv[0] == "sed":
        return not any(word.startswith(("-i", "--in-place")) for word in argv)
    return argv[0] == "git" and any(word in GIT_LOOKS for word in argv[1:4])


def _prints_failure(call: ToolCall) -> bool:
    """A test run whose end a pipe hides, and whose summary says that it failed."""
    tests = [run for run in call.runs if Kind.TESTS in kinds_of(run)]
    piped = "|" in call.command and "||" not in call.command
    return len(tests) == 1 and piped and says_failed(Kind.TESTS, call.output)
