"""Determines the scope of a check: how much a run covers with its options, and whether it can fail.

A passed run that cannot fail, or runs nothing, shows nothing. A partial run shows only that part.
"""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import pairwise
from typing import Final

from sidecar.evidence.commands.kinds import command, kinds_of
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CommandRun
from sidecar.platform.tools import Tool, find_tool, known_tools


class CheckScope(StrEnum):
    """What a passed run of a command shows. COUNTED: everything, if the output says that something ran."""

    WHOLE = "whole"
    COUNTED = "counted"
    PART = "part"
    NOTHING = "nothing"
    TOOTHLESS = "toothless"


TEST_FILE_ARGUMENT: Final = re.compile(
    r"[^=]*(?:::|\.(?:py|pyi|jsx?|tsx?|mjs|cjs|rb|php|go|rs|java|kt|exs?|cs|vue|svelte)(?::\d+)?$)"
)


def find_check_scope(run: CommandRun, kind: Kind) -> CheckScope:
    """Determine what a passed run of this command shows for this kind of check."""
    argv = command(run)
    name, words = argv[0], (*argv[1:], *_options_from_variables(run))
    tool, common = find_tool(name) or Tool(), known_tools().common
    said = {*words, *map("=".join, pairwise(words))}
    flags = said | {word.partition("=")[0] for word in words}
    if flags & (common.runs_nothing | tool.runs_nothing):
        return CheckScope.NOTHING
    if name == "go" and "-c" in flags and "test" in words:
        return CheckScope.NOTHING
    if said & (common.never_fails | tool.never_fails):
        return CheckScope.TOOTHLESS
    if _is_partial_run(tool, words, kind):
        return CheckScope.PART
    return CheckScope.COUNTED if flags & (common.passes_empty | tool.passes_empty) else CheckScope.WHOLE


def names_checked_part(run: CommandRun, text: str) -> bool:
    """Whether a sentence names the part that a run covers."""
    parts = (
        word.partition("::")[0].rpartition("/")[2] for word in run.argv[1:] if TEST_FILE_ARGUMENT.match(word)
    )
    return any(part and part in text for part in parts)


def _options_from_variables(run: CommandRun) -> tuple[str, ...]:
    """Return options that a variable before the command adds."""
    pairs = (each.partition("=") for each in (*run.assignments, *run.argv))
    return tuple(
        word for name, _, value in pairs if name in known_tools().common.variables for word in value.split()
    )


def _is_partial_run(tool: Tool, words: tuple[str, ...], kind: Kind) -> bool:
    if any(TEST_FILE_ARGUMENT.match(word) for word in words if not word.startswith("--") or "::" in word):
        return True
    if kind is not Kind.TESTS:
        return False
    narrowing = tool.narrows | known_tools().common.narrows
    if any(word.partition("=")[0] in narrowing for word in words):
        return True
    return any(_narrows_tests(tool, word) for word in _part_candidates(words))


def _part_candidates(words: tuple[str, ...]) -> list[str]:
    """Return the words that may name a part: neither options nor the values that follow them."""
    found: list[str] = []
    before = ""
    for word in words:
        if not word.startswith("-") and "=" not in word and not _may_take_value(before):
            found.append(word)
        before = word
    return found


def _may_take_value(option: str) -> bool:
    """Whether an option may take the next word as its value."""
    alone = option in known_tools().common.alone
    return option.startswith("-") and "=" not in option and not alone and option != "--"


def _narrows_tests(tool: Tool, word: str) -> bool:
    """Whether a word among a test runner's arguments selects a part of the tests."""
    common = known_tools().common
    folder = word.removeprefix("./").rstrip("/") or "."
    if word in common.subcommands or folder in common.folders or word in common.folders:
        return False
    if tool.arguments == "targets":
        return bool(re.search(r"[:_-](?!ci$|all$|run$|cov$|coverage$|once$|full$)", word)) or "/" in word
    return tool.arguments == "files" or bool(re.match(r":?[\w-]+:", word))


def check_commands_of_kind(runs: tuple[CommandRun, ...], kind: Kind) -> tuple[tuple[int, CommandRun], ...]:
    """Return the commands of a line that are checks of this kind, with their positions."""
    return tuple((at, run) for at, run in enumerate(runs) if kind in kinds_of(run))
