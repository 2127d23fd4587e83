"""Failures that are hidden now and were not: in a line, in a script, in a whole makefile.

A new step of a CI may end as it likes; a command that cleans up may fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import Setting
from sidecar.policy.kept.command_pairs import counterpart, is_checking, is_ci, plain
from sidecar.policy.kept.command_words import (
    Shell,
    all_runs,
    runs,
    swallows,
)
from sidecar.policy.kept.pairs import Pair

GRAVE, SHOWN = Weight.GRAVE, Weight.SHOWN

TOLD = 3
"""Lines of one command that are told."""
UNCHECKED = re.compile(r"^\s*set \+e\b|^\s*set \+o errexit\b|\bsuccess_codes\s*=(?!\s*\[0\])")


def of_make(pair: Pair) -> Iterator[Finding]:
    """Settings of make itself, under which a recipe's failure does not count or nothing runs."""
    if any(_disarms(pair.tail, setting.value) for setting in pair.added):
        yield pair.finding(Change.COMMAND_CHANGED, GRAVE)


def _disarms(name: str, value: str) -> bool:
    if name == "shell":
        return not re.search(r"(?:sh|cmd|powershell)(?:\.exe)?$|\$\(", value.split(" ", maxsplit=1)[0])
    return name != "makeflags" or bool(
        re.search(r"(?:^|\s)-?\w*[in]\w*(?:\s|$)|--(?:ignore-errors|dry-run)", value)
    )


def swallowed(pair: Pair, change: Change) -> list[Finding]:
    """Lines that came and let a check fail unseen, where fewer did before."""
    checking = is_checking(pair) and len(pair.after) <= 1
    recipe = pair.key.startswith("target ") or (pair.tail.startswith("commands") and not is_ci(pair.file))

    shell = _shell(pair)

    def hides(line: str) -> bool:
        ignored = (
            recipe
            and line.lstrip("@+").startswith("-")
            and (bool(runs(line)) or (is_checking(pair) and _may_fail(line)))
        )
        return ignored or swallows(line, shell, in_check=checking)

    hidden = all_runs(setting.value for setting in pair.removed if hides(setting.value))
    known = {plain(setting.value) for setting in pair.before if hides(setting.value)}
    came = (setting for setting in pair.added if hides(setting.value) and plain(setting.value) not in known)
    found = (setting for setting in came if not runs(setting.value) or runs(setting.value) - hidden)
    return [
        pair.finding(change, GRAVE, at=setting, was=counterpart(setting, pair.removed))
        for setting in found
        if _was_checked(setting, pair)
    ][:TOLD]


def _shell(pair: Pair) -> Shell:
    """A CI ends a step at the first failure, most at one before a pipe too; a script does as it says."""
    if is_ci(pair.file):
        return Shell(goes_on=False, pipes=False)
    head = " ".join(setting.value for setting in pair.after[:20])
    careful = pair.key == "line" and re.search(r"set -\w*e|errexit", head)
    return Shell(goes_on=not careful, pipes="pipefail" not in head)


def _may_fail(line: str) -> bool:
    return not re.match(r"[@+-]*\s*(?:rm|mkdir|docker|kill|pkill|echo|find|include|cp|mv)\b", line)


def _was_checked(setting: Setting, pair: Pair) -> bool:
    """Whether the check that is hidden now was there before: a new step may end as it likes."""
    return not is_ci(pair.file) or bool(all_runs([setting.value]) & all_runs(s.value for s in pair.removed))


def unguarded(pair: Pair, change: Change) -> list[Finding]:
    """A script that goes on after a failure, and did not."""
    careless = (setting for setting in pair.added if UNCHECKED.search(setting.value))
    found = [pair.finding(change, GRAVE, at=setting) for setting in careless]
    gone = [s for s in pair.removed if re.match(r"set -\w*e", s.value)]
    kept = any(re.match(r"set -\w*e|set -o errexit", s.value) for s in pair.after)
    if gone and not kept and pair.after and len(pair.after) > 1 and not is_ci(pair.file):
        found.append(pair.finding(change, GRAVE, at=pair.after[0], was=gone[0]))
    if pair.key == "line" and _ends_well(pair.after) and not _ends_well(pair.before):
        found.append(pair.finding(change, GRAVE, at=pair.after[-1]))
    return found


def _ends_well(lines: tuple[Setting, ...]) -> bool:
    """A script without `set -e` that ends in `exit 0`, or one that leaves before its checks."""
    values = [setting.value for setting in lines]
    strict = any(re.match(r"set -\w*e|set -o errexit", value) for value in values)
    early = next(
        (at for at, value in enumerate(values) if re.fullmatch(r"(?:exit|return)(?: 0)?", value)), None
    )
    if early is None:
        return False
    indented = any(re.match(r"(?:if|case|while|for|\w+\(\)|function)\b", value) for value in values[:early])
    behind = any(runs(value) for value in values[early + 1 :])
    return (behind and not indented) or (
        early == len(values) - 1 and not strict and bool(all_runs(values[:early]))
    )
