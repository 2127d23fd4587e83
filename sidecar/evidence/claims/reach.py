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


class CheckScope(StrEnum):
    """What a passed run of a command shows. COUNTED: everything, if the output says that something ran."""

    WHOLE = "whole"
    COUNTED = "counted"
    PART = "part"
    NOTHING = "nothing"
    TOOTHLESS = "toothless"


NO_CHECK_OPTIONS: Final = frozenset(
    (
        *("--help", "--version", "--collect-only", "--co", "--collectonly", "--setup-plan", "--setup-only"),
        *("--fixtures", "--markers", "--list", "--listTests", "--list-tests", "--listtests", "--dry-run"),
        *(
            "--dryrun",
            "--just-print",
            "--recon",
            "--showConfig",
            "--show-config",
            "--no-run",
            "--list-suites",
        ),
        *("--list-groups", "--init", "--print-config", "--summary", "--trace-config", "--explain"),
    )
)
"""Options with which a tool checks nothing."""
NO_CHECK_SHORT_OPTIONS: Final[dict[str, frozenset[str]]] = {
    "pytest": frozenset({"-h", "-V"}),
    "make": frozenset({"-n", "-q", "-v", "-p"}),
    "gmake": frozenset({"-n", "-q", "-v", "-p"}),
    "just": frozenset({"-n", "-l"}),
    "ninja": frozenset({"-n"}),
    "gradle": frozenset({"-m"}),
    "gradlew": frozenset({"-m"}),
    "task": frozenset({"-n", "-l", "-a"}),
    "ctest": frozenset({"-N"}),
    "nox": frozenset({"-l"}),
    "tox": frozenset({"-l", "-a"}),
    "go": frozenset({"-n", "-list"}),
    "rake": frozenset({"-n", "-T"}),
}
NEVER_FAILS_OPTION: Final = re.compile(
    r"(?:^|\s)(?:--exit-zero|--ignore-errors|--fail-never|--soft-fail|--issues-exit-code[= ]0"
    r"|--testFailureExitCode[= ]0|--failure-exit-code[= ]0"
    r"|-Dmaven\.test\.failure\.ignore(?:=true)?|--no-fail|--exit-code[= ]0)(?:\s|$)"
)
NEVER_FAILS_SHORT_OPTIONS: Final[dict[str, frozenset[str]]] = {
    "make": frozenset({"-i"}),
    "gmake": frozenset({"-i"}),
    "mvn": frozenset({"-fn"}),
    "mvnw": frozenset({"-fn"}),
}
EMPTY_PASSES_OPTIONS: Final = frozenset(
    (
        *(
            "--passWithNoTests",
            "--pass-with-no-tests",
            "--if-present",
            "--no-tests=ignore",
            "--allow-no-tests",
        ),
        *("--suppress-no-test-exit-code",),
    )
)
PART_OPTIONS: Final = frozenset(
    (
        *("--lf", "--last-failed", "--sw", "--stepwise", "--deselect", "--ignore", "--ignore-glob"),
        *(
            "--onlyChanged",
            "--changed",
            "--related",
            "--findRelatedTests",
            "--testNamePattern",
            "--testPathPattern",
        ),
        *("--testPathPatterns", "--shard", "--grep", "--filter", "--tests", "--group", "--testsuite"),
        *("--only", "--stale", "--failed", "--only-failures", "--lib", "--doc", "--bin", "--bins"),
        *(
            "--package",
            "--affected",
            "--project",
            "--projects",
            "--skip",
            "--test-name-pattern",
            "--exclude-group",
        ),
        *("--tags", "--include", "--exclude", "-Dtest", "-Dit.test"),
    )
)
"""Options that select a part of the tests."""
PART_SHORT_OPTIONS: Final[dict[str, frozenset[str]]] = {
    "pytest": frozenset({"-k", "-m"}),
    "unittest": frozenset({"-k"}),
    "jest": frozenset({"-t", "-o"}),
    "vitest": frozenset({"-t"}),
    "mocha": frozenset({"-g", "-f"}),
    "rspec": frozenset({"-e", "-t"}),
    "cargo": frozenset({"-p"}),
    "mvn": frozenset({"-pl"}),
    "mvnw": frozenset({"-pl"}),
    "ctest": frozenset({"-R", "-E", "-L"}),
    "nox": frozenset({"-k"}),
    "go": frozenset({"-run", "-skip", "-short"}),
    "npm": frozenset({"-w", "-t"}),
    "pnpm": frozenset({"-F", "-t"}),
    "yarn": frozenset({"-t"}),
}
"""Short options that select a part of the tests, per tool: elsewhere they mean other things."""
TEST_FILE_ARGUMENT: Final = re.compile(
    r"[^=]*(?:::|\.(?:py|pyi|jsx?|tsx?|mjs|cjs|rb|php|go|rs|java|kt|exs?|cs|vue|svelte)(?::\d+)?$)"
)
ALL_FOLDERS: Final = frozenset(
    {"tests", "test", "spec", "src", "lib", "app", ".", "__tests__", "./...", "..."}
)
SUBCOMMANDS: Final = frozenset(
    (
        *("run", "test", "tests", "t", "check", "ci", "lint", "nextest", "discover", "watch", "run-script"),
        *("exec", "...", "all", "start"),
    )
)
NO_GO_TEST_PATTERNS: Final = frozenset({"^$", "^NONE$", "NONE", "XXX", "^x$", "^XXX$"})
VALUELESS_OPTIONS: Final = frozenset(
    (
        *("-q", "-v", "-vv", "-x", "-s", "-qq", "-i", "-u", "-race", "-count", "-cover", "--verbose"),
        *("--quiet", "--silent", "--coverage", "--ci", "--no-cov", "--workspace", "--all", "--release"),
        *(
            "--all-features",
            "--all-targets",
            "--locked",
            "--watch=false",
            "--run",
            "--no-watch",
            "--runInBand",
        ),
        *("--bail", "--exitfirst", "--no-header", "--no-summary", "-ra", "-rA", "-rf", "--colors"),
        *("--color", "-B", "-k8", "-a", "--no-daemon", "-f", "--stacktrace", "--test"),
    )
)
"""Options without a separate value."""
OPTION_VARIABLES: Final = frozenset(
    {"PYTEST_ADDOPTS", "GOFLAGS", "MAKEFLAGS", "NODE_OPTIONS", "RUFF_OPTIONS", "MAVEN_ARGS"}
)
"""Environment variables whose words a tool reads as options."""


def find_check_scope(run: CommandRun, kind: Kind) -> CheckScope:
    """Determine what a passed run of this command shows for this kind of check."""
    argv = command(run)
    name, words = argv[0], (*argv[1:], *_options_from_variables(run))
    flags = {word.partition("=")[0] for word in words} | {*words}
    text = " ".join(words)
    if (
        flags & NO_CHECK_OPTIONS
        or flags & NO_CHECK_SHORT_OPTIONS.get(name, frozenset())
        or _selects_nothing(words)
    ):
        return CheckScope.NOTHING
    if name == "go" and "-c" in flags and "test" in words:
        return CheckScope.NOTHING
    if NEVER_FAILS_OPTION.search(text) or flags & NEVER_FAILS_SHORT_OPTIONS.get(name, frozenset()):
        return CheckScope.TOOTHLESS
    if _is_partial_run(name, words, kind):
        return CheckScope.PART
    return CheckScope.COUNTED if flags & EMPTY_PASSES_OPTIONS else CheckScope.WHOLE


def names_checked_part(run: CommandRun, text: str) -> bool:
    """Whether a sentence names the part that a run covers."""
    parts = (
        word.partition("::")[0].rpartition("/")[2] for word in run.argv[1:] if TEST_FILE_ARGUMENT.match(word)
    )
    return any(part and part in text for part in parts)


def _options_from_variables(run: CommandRun) -> tuple[str, ...]:
    """Return options that a variable before the command adds."""
    pairs = (each.partition("=") for each in (*run.assignments, *run.argv))
    return tuple(word for name, _, value in pairs if name in OPTION_VARIABLES for word in value.split())


def _selects_nothing(words: tuple[str, ...]) -> bool:
    after = dict(pairwise(words))
    chosen = {after.get("-run", ""), *(word.partition("=")[2] for word in words if word.startswith("-run="))}
    return bool(chosen & NO_GO_TEST_PATTERNS) or after.get("-k", "") in {"nothing", "none", "NOTHING"}


def _is_partial_run(name: str, words: tuple[str, ...], kind: Kind) -> bool:
    if any(TEST_FILE_ARGUMENT.match(word) for word in words if not word.startswith("--") or "::" in word):
        return True
    if kind is not Kind.TESTS:
        return False
    letters = PART_SHORT_OPTIONS.get(name, frozenset())
    for word in words:
        flag = word.partition("=")[0]
        if flag in letters or flag in PART_OPTIONS or (name == "cargo" and flag == "--test"):
            return True
    return any(_narrows_tests(name, word) for word in _part_candidates(words))


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
    return option.startswith("-") and "=" not in option and option not in VALUELESS_OPTIONS and option != "--"


def _narrows_tests(name: str, word: str) -> bool:
    """Whether a word among a test runner's arguments selects a part of the tests."""
    plain = word.removeprefix("./").rstrip("/") or "."
    if word in SUBCOMMANDS or plain in ALL_FOLDERS or word in ALL_FOLDERS:
        return False
    if name in {
        "make",
        "gmake",
        "just",
        "task",
        "rake",
        "tox",
        "nox",
        "invoke",
        "inv",
        "doit",
        "npm",
        "pnpm",
        "yarn",
        "bun",
    }:
        return bool(re.search(r"[:_-](?!ci$|all$|run$|cov$|coverage$|once$|full$)", word)) or "/" in word
    if name in {"mvn", "mvnw", "gradle", "gradlew"}:
        return bool(re.match(r":?[\w-]+:", word))
    return True


def check_commands_of_kind(runs: tuple[CommandRun, ...], kind: Kind) -> tuple[tuple[int, CommandRun], ...]:
    """Return the commands of a line that are checks of this kind, with their positions."""
    return tuple((at, run) for at, run in enumerate(runs) if kind in kinds_of(run))
