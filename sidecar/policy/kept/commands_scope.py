"""Checks that look at less than before: by their options, or by the files they are told.

Only of checks that were there before; one that was split in several is SHOWN.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import Setting
from sidecar.policy.kept import runner as runner_kept
from sidecar.policy.kept.command_pairs import counterpart
from sidecar.policy.kept.command_words import check_parts
from sidecar.policy.kept.options import arguments, options, rules_of
from sidecar.policy.kept.pairs import Pair

GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN

CHECKS = 200
"""Changed checks of one key that are compared."""
TOLD = 5
"""Findings of one kind and key that are told."""
SUBCOMMANDS = frozenset({"run", "watch", "dev", "test", "related", "list"})
ANY_WORD = re.compile(r"jest|vitest|ava|mocha|rspec|phpunit")
"""Runners that take any word for a part of a path."""
ALL_TESTS = re.compile(r"(?:\./)?(?:tests?|specs?|src|\.|\.\.\.|__tests__)?/?(?:\.\.\.)?")
"""The folder of all tests, as it is named by custom."""


class Check(Struct, frozen=True):
    """One check command: what it checks, its name, the words behind it, and where it stands."""

    category: str
    name: str
    words: tuple[str, ...]
    at: Setting


class Compared(Struct, frozen=True):
    """A new check, those that stood in its place, and whether these became several."""

    check: Check
    own: tuple[Check, ...]
    split: bool


def findings(pair: Pair, change: Change) -> Iterator[Finding]:
    """What the changed checks of one key look at."""
    compared = list(_compared(pair))
    yield from islice(dict.fromkeys(_options(pair, compared)), TOLD)
    yield from islice(dict.fromkeys(_files(pair, compared, change)), TOLD)


def _compared(pair: Pair) -> Iterator[Compared]:
    old, new = _checks(pair.removed), _checks(pair.added)
    by_name, by_category = defaultdict[str, list[Check]](list), defaultdict[str, list[Check]](list)
    for check in old:
        by_name[check.name].append(check)
        by_category[check.category].append(check)
    times = Counter(check.name for check in new)
    for check in new:
        own = by_name[check.name] or by_category[check.category]
        if own:
            yield Compared(check, tuple(own[:TOLD]), split=times[check.name] > len(own))


def _checks(settings: Iterable[Setting]) -> list[Check]:
    every = (Check(*found, setting) for setting in settings for found in check_parts([setting.value]))
    return list(islice(every, CHECKS))


def _options(pair: Pair, compared: Iterable[Compared]) -> Iterator[Finding]:
    removed = pair.removed
    for each in compared:
        check, rules = each.check, rules_of(each.check.category, each.check.name)
        before = [option for old in each.own for option in options(old.words)]
        after = list(options(check.words))
        if each.split:
            had = {option.name for option in before}
            gained = next(
                (rules[one.name] for one in after if one.name in rules and one.name not in had), None
            )
            if gained:
                yield pair.finding(gained[0], SHOWN, at=check.at)
        else:
            at = Pair(file=pair.file, key=pair.key, before=removed, after=(check.at,), weak=pair.weak)
            yield from runner_kept.compared(at, before, after, rules)


def _files(pair: Pair, compared: Iterable[Compared], change: Change) -> Iterator[Finding]:
    removed = pair.removed
    for each in compared:
        check = each.check
        own = [old for old in each.own if old.name == check.name]
        if check.category != "tests" or not own or each.split:
            continue
        named, before = _paths(check), [_paths(old) for old in own]
        was = {path for paths in before for path in paths}
        fewer = runner_kept.is_narrower(was, named) if all(before) else _is_part(named)
        if named and fewer:
            yield pair.finding(change, GRAVE, at=check.at, was=counterpart(check.at, removed))


def _paths(check: Check) -> set[str]:
    """What a test command is told to look at."""
    named = (word.rstrip(")") for word in arguments(check.words))
    kept = {word for word in named if "=" not in word and word not in SUBCOMMANDS}
    return (
        kept
        if ANY_WORD.match(check.name)
        else {word for word in kept if re.search(r"[/.]|::|^tests?$", word)}
    )


def _is_part(named: set[str]) -> bool:
    """Whether files or places deep inside are named, rather than the folder of all tests."""
    return not any(ALL_TESTS.fullmatch(word) for word in named)
