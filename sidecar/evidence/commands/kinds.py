"""Which checks a simple command is: a table of the tools that are known by their names.

A command that is not in the tables checks nothing that we know of. What its options make of it (nothing run,
only a part) is in claims.reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sidecar.evidence.commands.tools import (
    BUILD,
    BY_NAME,
    BY_WORD,
    LINT,
    NONE,
    NOT_TARGETS,
    SECURITY,
    TARGETS,
    TESTS,
    TYPES,
    Kinds,
)
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CommandRun
from sidecar.platform.shell.wrappers import command_basename, unwrap_command

PYTHON: Final = re.compile(r"(?:python|pypy)(?:w|[\d.]*)?|py")
VARIABLE: Final = re.compile(r"\$\{?\w+\}?")
VALUED: Final = frozenset(
    (
        *("-C", "-f", "-j", "-o", "-W", "-X", "-w", "-F", "-p", "-t", "-c", "--prefix", "--filter"),
        *("--workspace", "--directory", "--cwd", "--file", "--project", "--manifest-path", "--jobs"),
        *("--target", "-d", "--working-directory"),
    )
)
"""Options of runners that take a word."""
LAUNCHERS: Final = frozenset({"hatch", "pdm", "poetry", "pixi", "rye", "pipenv", "uv"})


def kinds_of(run: CommandRun) -> frozenset[Kind]:
    """Which kinds of gate a simple command is; none where it is no check that we know."""
    argv = command(run)
    if not argv:
        return NONE
    name, words = argv[0], argv[1:]
    if name in SPECIAL:
        return SPECIAL[name](words)
    if name in BY_WORD:
        return BY_WORD[name].get(next(iter(plain_words(words)), ""), NONE)
    if name in BY_NAME:
        return BY_NAME[name]
    launched = run.argv and command_basename(run.argv[0]) in LAUNCHERS and len(argv) < len(run.argv)
    return _of_target(name) if launched else NONE


def command(run: CommandRun) -> tuple[str, ...]:
    """The command without wrappers, folders, and the interpreter before a module or a tool's own script."""
    argv = unwrap_command(run.argv)
    for _ in range(4):
        inner = unwrap_command(_without_interpreter(argv))
        if inner == argv:
            break
        argv = inner
    return (command_basename(argv[0]), *argv[1:]) if argv else ()


def plain_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that are no options and no values of options."""
    found: list[str] = []
    skip = False
    for word in words:
        if word == "--":
            break
        if skip:
            skip = False
        elif word.startswith(("-", "+")):
            skip = word in VALUED
        elif not re.match(r"\w+=", word):
            found.append(word)
    return tuple(found)


def _without_interpreter(argv: tuple[str, ...]) -> tuple[str, ...]:
    if not argv:
        return argv
    name, rest = command_basename(argv[0]), list(argv[1:])
    if PYTHON.fullmatch(name) or (VARIABLE.fullmatch(argv[0]) and "-m" in rest[:3]):
        while rest and rest[0].startswith("-") and rest[0] not in {"-m", "-c"}:
            del rest[: 2 if rest[0] in {"-W", "-X"} else 1]
        if rest[:1] == ["-m"] and rest[1:]:
            return tuple(rest[1:])
        script = command_basename(rest[0]) if rest and rest[0] != "-c" else ""
        known = script in BY_NAME or script in BY_WORD or script == "tox"
        return (script, *rest[1:]) if known else argv
    if name in {"node", "php", "ruby"} and rest and not rest[0].startswith("-"):
        script = command_basename(rest[0]).removesuffix(".js").removesuffix(".mjs")
        known = script in BY_NAME or script in BY_WORD or script == "tsc"
        return (script, *rest[1:]) if known else argv
    if name == "coverage" and rest[:1] == ["run"]:
        return unwrap_command(argv)
    return argv


def _of_target(word: str) -> Kinds:
    if NOT_TARGETS.fullmatch(word):
        return NONE
    return next((kinds for pattern, kinds in TARGETS if pattern.fullmatch(word)), NONE)


def _script(words: tuple[str, ...]) -> Kinds:
    """Npm, pnpm, yarn: a script of the project, or a tool."""
    plain = plain_words(words)
    if plain[:1] and plain[0] in {"run", "run-script", "workspaces", "recursive"}:
        plain = plain[1:]
    if plain[:1] == ("workspace",):
        plain = plain[2:]
    if plain[:1] == ("audit",):
        return SECURITY
    if not plain:
        return NONE
    if plain[0] in {"t", "tst"}:
        return TESTS
    if plain[0] in BY_NAME or plain[0] in {*BY_WORD, "tsc"}:
        at = words.index(plain[0])
        text = " ".join(words[at:])
        return kinds_of(CommandRun(argv=words[at:], text=text))
    # A script called "check" may check anything.
    found = _of_target(plain[0])
    return found if not plain[0].startswith("check") or found == TYPES else NONE


def _targets(words: tuple[str, ...]) -> Kinds:
    """Make, just, task, rake: targets of the project."""
    return NONE.union(*map(_of_target, plain_words(words)))


def _make(words: tuple[str, ...]) -> Kinds:
    return _targets(words) if plain_words(words) else BUILD


def _tsc(words: tuple[str, ...]) -> Kinds:
    return TYPES if "--noEmit" in words else BUILD | TYPES


def _jvm(words: tuple[str, ...]) -> Kinds:
    """Maven and Gradle: `package`, `verify` and `build` run the tests too."""
    plain = {word.rpartition(":")[2] for word in plain_words(words)}
    text = " ".join(words)
    left_out = re.search(
        r"-DskipTests(?!=false)|-Dmaven\.test\.skip(?!=false)|(?:-x|--exclude-task) \S*test", text
    )
    found = NONE
    if plain & {"test", "check", "verify", "package", "install", "build", "integration-test", "allTests"}:
        found |= TESTS
    if plain & {
        "package",
        "install",
        "verify",
        "build",
        "compile",
        "assemble",
        "classes",
        "jar",
        "compileJava",
    }:
        found |= BUILD
    if plain & {"checkstyle", "ktlintCheck", "detekt", "spotlessCheck", "lint"}:
        found |= LINT
    return found - TESTS if left_out else found


def _tox(words: tuple[str, ...]) -> Kinds:
    """Tox and its environments, which are named by what they check."""
    found = NONE
    for option, value in zip(words, (*words[1:], ""), strict=False):
        if option in {"-e", "--env"} or option.startswith("-e"):
            names = (value if option in {"-e", "--env"} else option[2:]).split(",")
            found |= NONE.union(*(_of_target(name) or TESTS for name in names if name))
    return found or TESTS


def _checks(*flags: str) -> Callable[[tuple[str, ...]], Kinds]:
    """Formatters: they check only when asked to."""
    return lambda words: LINT if set(flags) & set(words) else NONE


def _ruff(words: tuple[str, ...]) -> Kinds:
    first = next(iter(plain_words(words)), "")
    return LINT if first == "check" or (first == "format" and {"--check", "--diff"} & set(words)) else NONE


def _cargo(words: tuple[str, ...]) -> Kinds:
    first = next(iter(plain_words(words)), "")
    return NONE if first == "fmt" and "--check" not in words else BY_WORD["cargo"].get(first, NONE)


def _node(words: tuple[str, ...]) -> Kinds:
    return TESTS if "--test" in words else NONE


def _cmake(words: tuple[str, ...]) -> Kinds:
    return BUILD if "--build" in words else NONE


SPECIAL: Final[dict[str, Callable[[tuple[str, ...]], Kinds]]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _script),
    **dict.fromkeys(("just", "task", "rake", "invoke", "inv", "doit"), _targets),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("mvn", "mvnw", "gradle", "gradlew"), _jvm),
    **dict.fromkeys(
        ("black", "isort", "prettier", "autopep8", "yapf"), _checks("--check", "-c", "--check-only", "--diff")
    ),
    "cargo": _cargo,
    "tox": _tox,
    "tsc": _tsc,
    "ruff": _ruff,
    "node": _node,
    "cmake": _cmake,
}
