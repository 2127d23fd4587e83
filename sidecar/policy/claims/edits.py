"""When the files of the project moved in a turn, as far as its tool calls tell.

Clear cases only: an edit by a tool, and commands that are known to write into the project. What a test run
itself writes is no edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from sidecar.model.command import Run
from sidecar.model.turn import CallOutcome, Doing, ToolCall, Turn
from sidecar.policy.claims.kinds import command

Place: TypeAlias = tuple[int, int]
"""The number of a call, and of the command in its line."""
DOCUMENT: Final = re.compile(r".*(?:\.(?:md|rst|adoc)|/?(?:LICENSE|CHANGELOG|AUTHORS)[^/]*)", re.IGNORECASE)
"""Files whose change does not bear on a check, as a rule."""
GIT_WRITES: Final = frozenset(
    (
        *("checkout", "apply", "stash", "restore", "revert", "merge", "rebase", "pull", "cherry-pick"),
        *("am", "clean", "switch", "reset"),
    )
)
GIT_LEAVES: Final = frozenset(
    {"-b", "-B", "-c", "-C", "--orphan", "--staged", "--soft", "list", "show", "--check", "--abort"}
)
"""Words with which these do not touch files."""
FIXES: Final = frozenset(
    {
        "--fix",
        "--write",
        "--apply",
        "-w",
        "-a",
        "-A",
        "--autocorrect",
        "--in-place",
        "-i",
        "--fix-only",
        "--unsafe-fixes",
    }
)
FIXERS: Final = frozenset(
    (
        *("ruff", "eslint", "biome", "prettier", "gofmt", "goimports", "rubocop", "stylelint", "autopep8"),
        *("yapf", "oxlint", "ktlint", "swiftlint"),
    )
)
FORMATTERS: Final = frozenset({"black", "isort", "rustfmt", "shfmt", "dprint"})
FORMATS: Final = frozenset({("ruff", "format"), ("cargo", "fmt"), ("go", "fmt"), ("biome", "format")})
CHECKS: Final = frozenset({"--check", "--check-only", "--diff", "-c", "-d", "-l", "--list-different"})
WRITERS: Final = frozenset(
    {"cat", "echo", "printf", "sed", "awk", "jq", "tee", "head", "tail", "grep", "curl"}
)
TARGET: Final = re.compile(r">>?\|?\s*[\"']?([\w./~@%+-]+)")
AWAY: Final = re.compile(r"/dev/|/tmp/|/var/tmp/|.*\.(?:log|out|txt|tmp|err|xml|csv)$")
"""Where output is put that is no part of the project, or no source of it."""


def edits(turn: Turn, *, documents: bool = True) -> tuple[Place, ...]:
    """When files were edited, in order. Without `documents`, changes of texts for people are left out."""
    found: list[Place] = []
    for number, call in enumerate(turn.calls):
        unwritten = call.outcome in {CallOutcome.FAILED, CallOutcome.INTERRUPTED}
        if unwritten and call.doing is Doing.EDIT:
            continue
        if call.doing is Doing.EDIT and (documents or not _only_documents(call)):
            found.append((number, 0))
        if call.doing is Doing.RUN:
            found.extend(
                (number, at)
                for at, run in enumerate(call.runs)
                if not (unwritten and run.blamed) and writes(run, call.command)
            )
    return tuple(found)


def _only_documents(call: ToolCall) -> bool:
    return bool(call.paths) and all(DOCUMENT.fullmatch(path) for path in call.paths)


def writes(run: Run, line: str) -> bool:
    """Whether a command clearly writes into the project; `line` is the line that it stands in."""
    argv = command(run)
    if not argv:
        return False
    name, words = argv[0], {*argv[1:]}
    if name in RULES:
        return RULES[name](argv[1:])
    if name in FORMATTERS or argv[:2] in FORMATS:
        return not words & CHECKS
    if name in FIXERS or argv[:2] == ("cargo", "fix"):
        return bool(words & FIXES) or name == "cargo"
    return name in WRITERS and run.silenced and any(not AWAY.match(each) for each in TARGET.findall(line))


def _git(words: tuple[str, ...]) -> bool:
    at = next((number for number, word in enumerate(words) if word in GIT_WRITES), len(words))
    return at < len(words) and not {*words[at:]} & GIT_LEAVES


def _in_place(words: tuple[str, ...]) -> bool:
    return any(re.match(r"-\w*i|--in-place", word) for word in words)


def _moves(words: tuple[str, ...]) -> bool:
    return bool(words) and not AWAY.match(words[-1])


def _tee(words: tuple[str, ...]) -> bool:
    return any(not AWAY.match(word) for word in words if not word.startswith("-"))


RULES: Final[dict[str, Callable[[tuple[str, ...]], bool]]] = {
    "git": _git,
    "sed": _in_place,
    "perl": _in_place,
    "mv": _moves,
    "cp": _moves,
    "patch": _moves,
    "tee": _tee,
}
