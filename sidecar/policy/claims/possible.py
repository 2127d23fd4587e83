"""What a turn's calls can have done, where none of them is seen to do it.

Only what is known to do no such thing rules a deed out: a script, a package manager, another agent or a tool
of which only the name is known may have done anything.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.model.command import Fate, Run
from sidecar.model.gate import Kind
from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.claims.kinds import command, kinds_of, plain_words

OPENING_TOOL: Final = re.compile(r"create_?(?:pull_?request|merge_?request)", re.IGNORECASE)
CALLS: Final = 400
"""Calls that a turn holds at most; of a longer one the beginning is not known."""
READS_ONLY: Final = frozenset({Kind.TESTS, Kind.TYPES, Kind.LINT})
"""Checks: what they write are reports and caches."""
NAMES_WHAT_IT_WRITES: Final = frozenset(
    (
        *("cat", "cd", "cmp", "cut", "date", "diff", "du", "echo", "false", "file", "find", "grep", "head"),
        *("jq", "ls", "mkdir", "printf", "ps", "pwd", "rg", "rm", "sed", "sort", "stat", "tail", "test"),
        *("touch", "tr", "tree", "true", "uniq", "wc", "which"),
    )
)
GIT_MAKES_NOTHING: Final = frozenset(
    ("add", "branch", "commit", "diff", "fetch", "log", "ls-files", "push", "remote", "show", "status")
)
"""Commands of git that write no file of the project."""
GIT: Final = GIT_MAKES_NOTHING | {
    *(
        "checkout",
        "switch",
        "restore",
        "reset",
        "stash",
        "merge",
        "rebase",
        "pull",
        "rev-parse",
        "config",
        "tag",
    ),
    *("rm", "mv", "init", "clean", "cherry-pick", "revert"),
}
"""Commands of git itself: others are aliases or programs of their own."""
REACHES: Final = re.compile(
    r"\b(?:gh|glab|hub|tea|az|bb|curl|wget|https?|xh|ssh|git-pr|pull[-_ ]?requests?|merge[-_ ]?requests?"
    r"|merge_request\.create|refs/for|mr)\b|https?://|\bpr\b"
)
"""What a line says that may have opened a pull request, in whatever way."""


def cannot_have_written(turn: Turn, path: str) -> bool:
    """Whether all calls are known, and none can have made a file of that name.

    A command may write files that it does not name: only those that are known not to are ruled out.
    """
    name = path.rstrip("/").rpartition("/")[2]
    return (
        bool(turn.calls)
        and is_whole(turn)
        and not any(
            name in call.command
            or any(name in each for each in call.paths)
            or (call.doing is Doing.RUN and not _makes_nothing(call))
            for call in turn.calls
        )
    )


def is_whole(turn: Turn) -> bool:
    """Whether every call of the turn is known, and what it can have done."""
    opaque = (Doing.DELEGATE, Doing.OTHER)
    return (
        turn.readable
        and len(turn.calls) < CALLS
        and not any(call.doing in opaque or call.outcome is CallOutcome.PENDING for call in turn.calls)
    )


def _makes_nothing(call: ToolCall) -> bool:
    """Whether every command of a line is known to make no file that it does not name."""
    return bool(call.runs) and all(
        run.fate is not Fate.UNKNOWN
        and not run.shadowed
        and (bool(kinds_of(run) & READS_ONLY) or _named_only(command(run)))
        for run in call.runs
    )


def _named_only(argv: tuple[str, ...]) -> bool:
    if not argv or any(re.search(r"[$`*?{\[]", word) for word in argv):
        return False
    if argv[0] == "git":
        return next(iter(plain_words(argv[1:])), "") in GIT_MAKES_NOTHING
    return argv[0] in NAMES_WHAT_IT_WRITES


def may_open(call: ToolCall) -> bool:
    """Whether a call can have opened a pull request: by a forge's tool, over the web, or by a push."""
    if OPENING_TOOL.search(call.tool) or REACHES.search(call.command):
        return True
    return call.doing is Doing.RUN and (not call.runs or not all(_is_plain(run) for run in call.runs))


def _is_plain(run: Run) -> bool:
    """Whether a command is known to talk to no forge, but for git, which pushes."""
    argv = command(run)
    if argv[:1] == ("git",):
        return next(iter(plain_words(argv[1:])), "") in GIT
    return bool(kinds_of(run)) or argv[:1] in {(name,) for name in NAMES_WHAT_IT_WRITES}
