"""Which checks a simple command is, by the catalogue of tools.

A command that is not in it checks nothing that we know of. What its options make of it (nothing run, only a
part) is in claims.reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final, TypeAlias

from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CommandRun
from sidecar.platform.shell.commands import command_basename, unwrap_command
from sidecar.platform.tools import Tool, find_tool, known_tools

Kinds: TypeAlias = frozenset[Kind]
NONE: Final[Kinds] = frozenset()
PYTHON: Final = re.compile(r"(?:python|pypy)(?:w|[\d.]*)?|py")
VARIABLE: Final = re.compile(r"\$\{?\w+\}?")
TESTS_LEFT_OUT: Final = re.compile(
    r"-DskipTests(?!=false)|-Dmaven\.test\.skip(?!=false)|(?:-x|--exclude-task) \S*test"
)
OF_THE_PROJECT: Final = frozenset({"goals", "scripts", "targets"})
"""Tools whose words name what the project defines; a script with the name of such a tool may be anything."""
REMEMBERED: Final = 2048
"""Commands that are remembered: a turn's are asked about again and again, by each rule."""


@lru_cache(REMEMBERED)
def kinds_of(run: CommandRun) -> Kinds:
    """Which kinds of gate a simple command is; none where it is no check that we know."""
    argv = command(run)
    if not argv:
        return NONE
    if tool := find_tool(argv[0]):
        return READERS.get(tool.kinds_from, _listed_kinds)(tool, argv[1:])
    starts_script = run.argv and command_basename(run.argv[0]) in known_tools().script_starters
    return target_kinds(argv[0]) if starts_script and len(argv) < len(run.argv) else NONE


@lru_cache(REMEMBERED)
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
            skip = word in known_tools().common.valued
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
        return (script, *rest[1:]) if _is_tool(script) else argv
    if name in {"node", "php", "ruby"} and rest and not rest[0].startswith("-"):
        script = command_basename(rest[0]).removesuffix(".js").removesuffix(".mjs")
        return (script, *rest[1:]) if _is_tool(script) else argv
    if name == "coverage" and rest[:1] == ["run"]:
        return unwrap_command(argv)
    return argv


def _is_tool(name: str) -> bool:
    """Whether a script or module of this name is the tool, not something of the project."""
    tool = find_tool(name)
    return tool is not None and tool.kinds_from not in OF_THE_PROJECT


def is_other_target(name: str) -> bool:
    """Whether a script or target of this name watches, repairs or prepares, and so is no check."""
    return _target_patterns()[0].fullmatch(name) is not None


def target_kinds(name: str) -> Kinds:
    """Return what a script or target of this name checks."""
    other, kinds = _target_patterns()
    if other.fullmatch(name):
        return NONE
    return next((frozenset({kind}) for kind, pattern in kinds.items() if pattern.fullmatch(name)), NONE)


@cache
def _target_patterns() -> tuple[re.Pattern[str], dict[Kind, re.Pattern[str]]]:
    patterns = dict(known_tools().targets)
    other = re.compile(patterns.pop("other"))
    return other, {Kind(kind): re.compile(pattern) for kind, pattern in patterns.items()}


def _listed_kinds(tool: Tool, words: tuple[str, ...]) -> Kinds:
    """Return what the entry lists, for these words if it says so."""
    first = next(iter(plain_words(words)), "")
    return NONE.union(
        *(
            kinds
            for key, kinds in tool.kinds_by_words.items()
            if all(part in words if part.startswith("-") else part == first for part in key.split())
        )
    )


def _script_kinds(tool: Tool, words: tuple[str, ...]) -> Kinds:
    """Npm, pnpm, yarn: a script of the project, or a tool."""
    plain = plain_words(words)
    if plain[:1] and plain[0] in {"run", "run-script", "workspaces", "recursive"}:
        plain = plain[1:]
    if plain[:1] == ("workspace",):
        plain = plain[2:]
    if not plain:
        return NONE
    if plain[0] in tool.kinds_by_words:
        return frozenset(tool.kinds_by_words[plain[0]])
    if _is_tool(plain[0]):
        at = words.index(plain[0])
        return kinds_of(CommandRun(argv=words[at:], text=" ".join(words[at:])))
    # A script called "check" may check anything.
    found = target_kinds(plain[0])
    return found if not plain[0].startswith("check") or found == {Kind.TYPES} else NONE


def _all_target_kinds(tool: Tool, words: tuple[str, ...]) -> Kinds:
    """Make, just, task, rake: targets of the project, or what the entry lists where none is named."""
    plain = plain_words(words)
    return NONE.union(*map(target_kinds, plain)) if plain else _listed_kinds(tool, words)


def _tsc_kinds(_tool: Tool, words: tuple[str, ...]) -> Kinds:
    return frozenset({Kind.TYPES} if "--noEmit" in words else {Kind.BUILD, Kind.TYPES})


def _goal_kinds(tool: Tool, words: tuple[str, ...]) -> Kinds:
    """Maven and Gradle: every goal counts, and most run the tests too."""
    goals = {word.rpartition(":")[2] for word in plain_words(words)}
    found = NONE.union(*(kinds for goal, kinds in tool.kinds_by_words.items() if goal in goals))
    return found - {Kind.TESTS} if TESTS_LEFT_OUT.search(" ".join(words)) else found


def _tox_kinds(_tool: Tool, words: tuple[str, ...]) -> Kinds:
    """Tox and its environments, which are named by what they check."""
    found, tests = NONE, frozenset({Kind.TESTS})
    for option, value in zip(words, (*words[1:], ""), strict=False):
        if option in {"-e", "--env"} or option.startswith("-e"):
            names = (value if option in {"-e", "--env"} else option[2:]).split(",")
            found |= NONE.union(*(target_kinds(name) or tests for name in names if name))
    return found or tests


READERS: Final[dict[str, Callable[[Tool, tuple[str, ...]], Kinds]]] = {
    "goals": _goal_kinds,
    "scripts": _script_kinds,
    "targets": _all_target_kinds,
    "tox": _tox_kinds,
    "tsc": _tsc_kinds,
}
"""By `kinds_from` of an entry."""
