"""Reads which checks a goal names. Nothing else of its words is read.

A goal names checks by their kind ("tests"), by a command, by a test's path, or by the folder of a package.
One that holds no other words says no more than that these checks pass, and they decide it. All else that a
goal asks for is shown by what was run, or judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct, field

from sidecar.evidence.commands.kinds import command
from sidecar.kernel.gate import Gate, Kind
from sidecar.kernel.goal import Goal
from sidecar.kernel.turn import CommandRun
from sidecar.platform.data import expand_parts, load_data
from sidecar.platform.tools import find_tool, known_tools

SHORTEST_TOOL_NAME: Final = 3
"""Letters; `ty` in a goal is more often a word of thanks."""
COMMAND_SIGNS: Final = frozenset(" /")
"""What tells a command from a word."""
QUOTED: Final = re.compile(r"`([^`]+)`")
WORD: Final = re.compile(r"[^\s,;:!()\"]+")
OPTION: Final = re.compile(r"-\S*|[./]+")
"""A word that belongs to the command before it."""


class GoalWords(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains each field."""

    plain: str
    passing: str = field(name="pass")
    done: str
    tasks: str
    change_of_checks: tuple[str, ...]
    mentions: dict[Kind, str]
    subjects: dict[Kind, str]
    parts: dict[str, str]


class NamedChecks(Struct, frozen=True, kw_only=True):
    """The checks that a goal names.

    `commands` are those of the project's gates, `tests` are paths or node ids, `folders` those of packages to
    which it is limited. `alone`: it says nothing else. `tasks`: it speaks of planned tasks. `foreign`: it
    quotes a command that is no gate, which nothing runs.
    """

    kinds: frozenset[Kind] = frozenset()
    commands: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    alone: bool = False
    tasks: bool = False
    foreign: tuple[str, ...] = ()


def named_checks(condition: str, gates: Iterable[Gate] = (), checks: Iterable[str] = ()) -> NamedChecks:
    """Return the checks that a condition names. `gates` are those of the project, `checks` those typed."""
    gates = tuple(gates)
    known = tuple({*(gate.command for gate in gates if not gate.folder), *checks})
    return _read(condition, known, tuple(sorted({gate.folder for gate in gates if gate.folder})))


@lru_cache(maxsize=64)
def _read(condition: str, known: tuple[str, ...], folders: tuple[str, ...]) -> NamedChecks:
    words, rest = _goal_words(), condition
    commands = list[str]()
    for line in sorted(known, key=len, reverse=True):
        bare = rf"|(?<![\w./-]){re.escape(line)}(?![\w/-])" if COMMAND_SIGNS.intersection(line) else ""
        rest, count = re.subn(rf"`{re.escape(line)}`{bare}", " ", rest)
        commands += [line] * bool(count)
    foreign = tuple(quoted for quoted in QUOTED.findall(rest) if not _names_tool(quoted))
    for quoted in foreign:
        rest = rest.replace(f"`{quoted}`", " \N{BLACK SQUARE} ")
    rest = rest.replace("`", " ")
    tests = tuple(dict.fromkeys(_compiled(r"(?<![\w/.-])<test_path>").findall(rest)))
    rest = _compiled(r"(?<![\w/.-])<test_path>").sub(" ", rest)
    within = tuple(
        name for name in folders if re.search(rf"(?<![\w./-]){re.escape(name)}/?(?![\w./-])", rest)
    )
    for name in within:
        rest = re.sub(rf"(?<![\w./-]){re.escape(name)}/?(?![\w./-])", " ", rest)
    kinds, rest = _take_kinds(words.mentions, rest)
    more, last = _take_kinds(words.subjects, rest)
    left = {one.strip(".'").lower() for one in WORD.findall(last) if not OPTION.fullmatch(one)} - {""}
    tasks = not {*words.tasks.split()}.isdisjoint(left)
    ends = {*words.passing.split(), *(words.done.split() if tasks else ())}
    alone = not ends.isdisjoint(left) and left <= {*words.plain.split(), *words.tasks.split(), *ends}
    return NamedChecks(
        kinds=kinds | more if alone else kinds,
        commands=tuple(commands),
        tests=tests,
        folders=within,
        alone=alone,
        tasks=tasks,
        foreign=foreign,
    )


def _take_kinds(patterns: dict[Kind, str], text: str) -> tuple[frozenset[Kind], str]:
    """Return the kinds whose words a text holds, and the text without them, but with what says they pass."""
    kinds, left = list[Kind](), text
    for kind, pattern in patterns.items():
        if _compiled(pattern).search(text):
            kinds.append(kind)
            left = _compiled(pattern).sub(_what_passes, left)
    return frozenset(kinds), left


def _what_passes(found: re.Match[str]) -> str:
    passing = set(_goal_words().passing.split())
    return " pass " if passing.intersection(found[0].lower().split()) else " "


def _names_tool(quoted: str) -> bool:
    """Whether a quoted command is a tool as it stands, without words that name a part of what it checks."""
    words = command(CommandRun(argv=tuple(quoted.split()), text=quoted))
    tool = find_tool(words[0]) if words else None
    return tool is not None and not tool.kinds_from and all(map(OPTION.fullmatch, words[1:]))


def asks_only_for_tasks(goal: Goal) -> bool:
    """Whether a goal says no more than that planned tasks are done, and perhaps that checks pass."""
    named = named_checks(goal.condition, checks=goal.checks)
    return goal.tasks_alone or (named.tasks and named.alone)


def asks_for_change_of_checks(said: str) -> bool:
    """Whether a user asks for a change of checks, or of what they expect."""
    said = QUOTED.sub(" ", said)
    return any(_compiled(pattern).search(said) for pattern in _goal_words().change_of_checks)


def _goal_words() -> GoalWords:
    return load_data("goal_checks", GoalWords)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(expand_parts(pattern, _tools_by_kind() | _goal_words().parts), re.IGNORECASE)


@cache
def _tools_by_kind() -> dict[str, str]:
    """How a goal names the tools of each kind that has any, as a regular expression."""
    named: dict[str, list[str]] = {}
    for tool in known_tools().tools:
        if tool.named:
            named.setdefault(Kind.TESTS.value, []).append(tool.named)
        elif tool.gate is not None and len(tool.name) >= SHORTEST_TOOL_NAME:
            named.setdefault(tool.gate.kind.value, []).append(re.escape(tool.name))
    return {kind: "|".join(names) for kind, names in named.items()}
