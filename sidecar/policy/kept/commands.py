"""Commands that check: scripts, recipes, environments of a test runner, the steps of a CI.

A line that is as it was says nothing, wherever it moved. Of what changed, five things are asked: does it hide
a failure now, does it do nothing now, has a check gone that nothing in the change set starts instead, does it
look at less, and else whether it is the test command at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.policy.kept import commands_scope
from sidecar.policy.kept.command_pairs import MAKES, Moves, counterpart, is_checking, is_ci, plain
from sidecar.policy.kept.command_words import (
    all_runs,
    argv,
    delegates,
    is_trivial,
    parts,
    runs,
)
from sidecar.policy.kept.commands_hidden import of_make, swallowed, unguarded
from sidecar.policy.kept.pairs import Pair

TOLD = 3
"""Lost checks of one command that are told."""
GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN

TESTING = re.compile(r"(?i)(?:^|[^a-z])(?:tests?|specs?)(?:[^a-z]|$)")
PLACEHOLDER = re.compile(r"no tests? specified|^@?(?:echo|printf)\b[^&;|]*$")
WRAPS = re.compile(
    r"(?:tox|nox|hatch|make|just|task|pre-commit|npm|pnpm|yarn|bun|nx|turbo|lerna|poe|invoke"
    r"|\S*mvnw?|\S*gradlew?)\b"
)
"""Runners of several checks, which may well hold the one that went."""
QUIET = re.compile(
    r"-[qvsxn]+|-n=?\w+|--(?:verbose|quiet|color\S*|colour\S*|ci|runInBand|coverage|cov\S*|strict\S*"
    r"|exitfirst|bail|tb\S*|durations\S*"
    r"|reporters?\S*|silent|junit\S*|maxWorkers\S*|workers\S*|numprocesses\S*|dist\S*|race"
    r"|no-fail-fast|all-features|workspace|locked)|-W"
    r"|-race|-cover\S*|-count=1|error|auto|run|-r\w*|--?p|(?:\./)?tests?/?|\.|--watch=false"
    r"|--watchAll=false|--passWithNoTests=false"
)
"""Words that change how a check speaks, or make it stricter."""


def findings(pair: Pair, moved: Moves) -> Iterator[Finding]:
    """What changed lines say of the checks; nothing for commands that check nothing."""
    change = Change.CI_LOOSENED if is_ci(pair.file) else Change.COMMAND_CHANGED
    before, after = [s.value for s in pair.before], [s.value for s in pair.after]
    if pair.key.startswith(MAKES):
        yield from of_make(pair)
    if not before or not (all_runs(before) or is_checking(pair)):
        return
    found = [*swallowed(pair, change), *unguarded(pair, change)]
    found += _emptied(pair, change) or _lost(pair, change, moved)
    found += commands_scope.findings(pair, change)
    if (
        not found
        and change is Change.COMMAND_CHANGED
        and after
        and _is_test(pair)
        and not _is_harmless(pair, moved)
    ):
        found.append(pair.finding(change, SHOWN))
    yield from found


def _is_test(pair: Pair) -> bool:
    name = pair.file.rpartition("/")[2] if pair.key == "line" else pair.key.partition(" ")[2] or pair.key
    tested = any(category == "tests" for category, _ in all_runs(setting.value for setting in pair.removed))
    telling = pair.key != "line" or any(delegates(setting.value) for setting in pair.removed)
    return tested or (bool(TESTING.search(name)) and bool(pair.removed) and telling)


def _emptied(pair: Pair, change: Change) -> list[Finding]:
    """A command that does nothing any more."""
    now = bool(pair.after) and all(is_trivial(setting.value) for setting in pair.after)
    did = any(not is_trivial(setting.value) for setting in pair.before)
    was = next((setting for setting in pair.removed if runs(setting.value)), None)
    failed = any(re.search(r"no test specified|exit 1", setting.value) for setting in pair.before)
    return [pair.finding(change, GRAVE, was=was)] if now and did and not failed else []


def _lost(pair: Pair, change: Change, moved: Moves) -> list[Finding]:
    """Checks that no command starts any more, nor another of their kind instead."""
    here, found = all_runs(setting.value for setting in pair.after), list[Finding]()
    for setting in pair.removed:
        lost = {run for run in runs(setting.value) if moved.went[run] and _is_gone(run, here, moved)}
        if lost:
            weight = _weight_of_loss(lost, pair)
            found.append(pair.finding(change, weight, at=counterpart(setting, pair.added), was=setting))
        if len(found) == TOLD:
            break
    return found


def _is_gone(run: tuple[str, str], here: Iterable[tuple[str, str]], moved: Moves) -> bool:
    category, name = run
    if run in here or any(kind == category for kind, _ in moved.came):
        return False
    return not any(other == category and name in instead for other, instead in here)


def _weight_of_loss(lost: set[tuple[str, str]], pair: Pair) -> Weight:
    here = all_runs(setting.value for setting in pair.added)
    hands_over = any(delegates(setting.value) for setting in pair.added) or any(
        WRAPS.match(name) for _, name in here
    )
    only_build = all(category == "build" for category, _ in lost)
    return SHOWN if hands_over or only_build else GRAVE


def _is_harmless(pair: Pair, moved: Moves) -> bool:
    """Whether all that was done is still done, and only words that change no result came."""
    elsewhere = {text for line in moved.lines for text in _surely_run(line)}
    return all(
        PLACEHOLDER.search(old.value)
        or any(_says_the_same(old.value, new.value) for new in pair.added)
        or {plain(part.text) for part in parts(old.value)} <= elsewhere
        for old in pair.removed
    )


def _surely_run(line: str) -> set[str]:
    """The commands of a line that all run, one after the other, or else the line fails."""
    found = parts(line)
    if any(part.before not in ("", "&&") or part.after not in ("", "&&") for part in found):
        return set()
    return (
        set()
        if any(re.match(r"@?(?:exit|return|exec)\b", part.text) for part in found)
        else {plain(part.text) for part in found}
    )


def _says_the_same(old: str, new: str) -> bool:
    if re.match(r"set -\w*e", old) and re.match(r"set -\w*e", new):
        return True
    before, after = Counter(argv(old)), Counter(argv(new))
    strange = [
        word
        for word in (after - before) + (before - after)
        if not QUIET.fullmatch(word) and not _is_report(word)
    ]
    return not strange


def _is_report(word: str) -> bool:
    return bool(re.match(r"--?(?:cov|junit|report|output|log|html|xml|json)", word))
