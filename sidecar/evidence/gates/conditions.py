"""Reads what a goal's condition asks of the checks, where it says no more than checks can show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.kernel.gate import Kind
from sidecar.platform.data import expand_parts, load_data
from sidecar.platform.tools import known_tools

SHORTEST_TOOL_NAME: Final = 3
"""Letters; `ty` in a goal is more often a word of thanks."""
_PARTS: Final = re.compile(r"(?:[;,.]|,? and| so that) ")
_PLEASE: Final = re.compile(r",? please(?=[.!]*$)|`")


class GoalWording(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains each field."""

    only_checks_pass: str
    only_tasks_done: str
    repair: str
    change_of_checks: tuple[str, ...]
    mentions: dict[Kind, str]
    subjects: dict[Kind, str]
    parts: dict[str, str]


class RequestedProof(Struct, frozen=True):
    """What checks must show. `repairs`: something must have failed; `names`: what it must be about."""

    repairs: bool = False
    names: tuple[str, ...] = ()


def parse_condition(condition: str, commands: Iterable[str] = ()) -> RequestedProof | None:
    """Return what checks must show for the condition to hold; None where checks cannot show all of it.

    `commands` are shell lines of checks, by which a condition may name them.
    """
    by_word = condition
    for command in sorted(commands, key=len, reverse=True):
        by_word = by_word.replace(command, "check")
    return _parse_words(condition) or _parse_words(by_word)


def _parse_words(condition: str) -> RequestedProof | None:
    condition = _PLEASE.sub("", condition.strip())
    if _compiled(_wording().only_checks_pass).fullmatch(condition):
        return RequestedProof()
    names, repairs = list[str](), False
    for part in _PARTS.split(condition):
        if _compiled(_wording().only_checks_pass).fullmatch(part.strip()):
            continue
        found = _compiled(_wording().repair).fullmatch(part.strip())
        if found is None:
            return None
        repairs = True
        names += [name.split(".")[-1] for name in (found["what"], found["that"]) if name]
    return RequestedProof(repairs=repairs, names=tuple(names))


def asks_only_for_tasks(condition: str) -> bool:
    """Whether a condition says no more than that planned tasks are done, and perhaps that checks pass."""
    condition = _PLEASE.sub("", condition.strip())
    tasks, checks = _compiled(_wording().only_tasks_done), _compiled(_wording().only_checks_pass)
    parts = [part.strip() for part in _PARTS.split(condition)]
    return tasks.fullmatch(condition) is not None or (
        any(map(tasks.fullmatch, parts))
        and all(tasks.fullmatch(one) or checks.fullmatch(one) for one in parts)
    )


def named_tests(condition: str) -> tuple[str, ...]:
    """Return the tests that a condition names by their file or node id."""
    return tuple(dict.fromkeys(_compiled(r"(?<![\w/.-])<test_path>").findall(condition)))


def gate_kinds_named(condition: str) -> frozenset[Kind]:
    """Return the kinds of gates that a condition mentions; tests that it names are a gate of their own."""
    asked, condition = parse_condition(condition), _compiled("<test_path>").sub("", condition)
    words = [_wording().mentions] + ([_wording().subjects] if asked is not None else [])
    return frozenset(
        kind for each in words for kind, said in each.items() if _compiled(said).search(condition)
    )


def asks_for_change_of_checks(said: str) -> bool:
    """Whether a user asks for a change of checks, of what they check, or of how they are started."""
    return any(_compiled(pattern).search(said) for pattern in _wording().change_of_checks)


def _wording() -> GoalWording:
    wording: GoalWording = load_data("goal_wording", GoalWording)
    return wording


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(expand_parts(pattern, _tools_by_kind() | _wording().parts), re.IGNORECASE)


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
