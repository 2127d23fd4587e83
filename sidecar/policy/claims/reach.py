"""How far a check reaches: what its options leave of it, and what its output says.

A run that cannot fail, or runs nothing, shows nothing however green it is. A run of a part shows that part.
"""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import pairwise
from typing import Final

from sidecar.model.command import Run
from sidecar.model.gate import Kind
from sidecar.policy.claims.kinds import command, kinds_of


class Reach(StrEnum):
    """What a green run of a command shows. COUNTED: all, where the output says that something ran."""

    WHOLE = "whole"
    COUNTED = "counted"
    PART = "part"
    NOTHING = "nothing"
    TOOTHLESS = "toothless"


ASKS: Final = frozenset(
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
"""Options with which nothing is checked."""
ASKS_SHORT: Final[dict[str, frozenset[str]]] = {
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
TOOTHLESS: Final = re.compile(
    r"(?:^|\s)(?:--exit-zero|--ignore-errors|--fail-never|--soft-fail|--issues-exit-code[= ]0"
    r"|--testFailureExitCode[= ]0|--failure-exit-code[= ]0"
    r"|-Dmaven\.test\.failure\.ignore(?:=true)?|--no-fail|--exit-code[= ]0)(?:\s|$)"
)
TOOTHLESS_SHORT: Final[dict[str, frozenset[str]]] = {
    "make": frozenset({"-i"}),
    "gmake": frozenset({"-i"}),
    "mvn": frozenset({"-fn"}),
    "mvnw": frozenset({"-fn"}),
}
COUNTED: Final = frozenset(
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
PART: Final = frozenset(
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
"""Options that take a part of the tests."""
PART_LETTERS: Final[dict[str, frozenset[str]]] = {
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
"""Options of one letter that mean other things elsewhere."""
FILE: Final = re.compile(
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
NO_GO_TEST: Final = frozenset({"^$", "^NONE$", "NONE", "XXX", "^x$", "^XXX$"})
FREE_FLAGS: Final = frozenset(
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
"""Options that stand alone."""
OPTIONS_IN: Final = frozenset(
    {"PYTEST_ADDOPTS", "GOFLAGS", "MAKEFLAGS", "NODE_OPTIONS", "RUFF_OPTIONS", "MAVEN_ARGS"}
)
"""Variables whose words a tool reads as options."""


def reach(run: Run, kind: Kind) -> Reach:
    """What a green run of this command shows of its kind."""
    argv = command(run)
    name, words = argv[0], (*argv[1:], *_added(run))
    flags = {word.partition("=")[0] for word in words} | {*words}
    text = " ".join(words)
    if flags & ASKS or flags & ASKS_SHORT.get(name, frozenset()) or _selects_nothing(words):
        return Reach.NOTHING
    if name == "go" and "-c" in flags and "test" in words:
        return Reach.NOTHING
    if TOOTHLESS.search(text) or flags & TOOTHLESS_SHORT.get(name, frozenset()):
        return Reach.TOOTHLESS
    if _is_part(name, words, kind):
        return Reach.PART
    return Reach.COUNTED if flags & COUNTED else Reach.WHOLE


def names_part(run: Run, text: str) -> bool:
    """Whether a sentence names the part that a run takes."""
    parts = (word.partition("::")[0].rpartition("/")[2] for word in run.argv[1:] if FILE.match(word))
    return any(part and part in text for part in parts)


def _added(run: Run) -> tuple[str, ...]:
    """Options that a variable before the command adds."""
    pairs = (each.partition("=") for each in (*run.assignments, *run.argv))
    return tuple(word for name, _, value in pairs if name in OPTIONS_IN for word in value.split())


def _selects_nothing(words: tuple[str, ...]) -> bool:
    after = dict(pairwise(words))
    chosen = {after.get("-run", ""), *(word.partition("=")[2] for word in words if word.startswith("-run="))}
    return bool(chosen & NO_GO_TEST) or after.get("-k", "") in {"nothing", "none", "NOTHING"}


def _is_part(name: str, words: tuple[str, ...], kind: Kind) -> bool:
    if any(FILE.match(word) for word in words if not word.startswith("--") or "::" in word):
        return True
    if kind is not Kind.TESTS:
        return False
    letters = PART_LETTERS.get(name, frozenset())
    for word in words:
        flag = word.partition("=")[0]
        if flag in letters or flag in PART or (name == "cargo" and flag == "--test"):
            return True
    return any(_narrows(name, word) for word in _places(words))


def _places(words: tuple[str, ...]) -> list[str]:
    """The words that may name a part: no options, nor the values that follow them."""
    found: list[str] = []
    before = ""
    for word in words:
        if not word.startswith("-") and "=" not in word and not _takes(before):
            found.append(word)
        before = word
    return found


def _takes(option: str) -> bool:
    """Whether an option may take the next word as its value."""
    return option.startswith("-") and "=" not in option and option not in FREE_FLAGS and option != "--"


def _narrows(name: str, word: str) -> bool:
    """Whether a word after a test runner takes a part of the tests."""
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


def kind_runs(runs: tuple[Run, ...], kind: Kind) -> tuple[tuple[int, Run], ...]:
    """The commands of a line that are checks of this kind, with their places."""
    return tuple((at, run) for at, run in enumerate(runs) if kind in kinds_of(run))
