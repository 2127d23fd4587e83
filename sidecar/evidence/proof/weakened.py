"""Finds commands of checks that end well whatever the check finds, where they did not before.

Read are the scripts of a package.json or composer.json, the recipes of a Makefile, the steps of a CI file and
shell scripts. Of each command that checks something it is parsed how far its failure reaches: hidden by
`|| true`, `; true`, a pipe or an option, or of a part of the tests only. A unit that has fewer checks of a
kind than before, or lesser ones, was weakened. A script that came, went or was renamed was not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.check_runs import CheckScope, find_check_scope
from sidecar.evidence.commands.kinds import kinds_of, target_kinds
from sidecar.evidence.detection.recipes import read_makefile
from sidecar.evidence.detection.started import list_ci_steps
from sidecar.evidence.proof.check_files import hides_failure, is_ci_setting
from sidecar.kernel.evidence import CheckChange, FileChange, FindingSeverity, IntegrityFinding
from sidecar.kernel.gate import Kind
from sidecar.kernel.turn import CommandRun, FailureHandling
from sidecar.platform.formats import parse_json_table, script_texts
from sidecar.platform.shell.commands import command_basename, known_commands
from sidecar.platform.shell.line import LINE_LIMIT, parse_simple_commands

MAKEFILE: Final = re.compile(r"(^|/)((GNUm|m|M)akefile|[^/]+\.mk)$")
SCRIPTS: Final = re.compile(r"(^|/)(package|composer)\.json$")
SHELL: Final = re.compile(r"\.(sh|bash)$")
REACHES: Final = {CheckScope.WHOLE: 3, CheckScope.COUNTED: 2, CheckScope.PART: 1}
"""How far a failure reaches; 0 for one that is hidden."""
MOST: Final = REACHES[CheckScope.WHOLE]
TEXT_LENGTH: Final = 300


class _Check(Struct, frozen=True):
    """One command of a unit that checks something."""

    kind: Kind
    text: str
    reach: int


def find_weakened_commands(files: Iterable[FileChange]) -> tuple[IntegrityFinding, ...]:
    """Return the commands of checks in the changed files that were weakened, or lost from a chain."""
    units = [
        (file, _read_units(file.path, file.before), _read_units(file.path, file.after))
        for file in files
        if file.before and file.after and not file.link
    ]
    fresh = (new[name] for _, old, new in units for name in new.keys() - old.keys())
    added = {check.text for checks in fresh for check in checks if check.reach}
    return tuple(
        finding
        for file, old, new in units
        for name in old.keys() & new.keys()
        for finding in _compare_unit(file, old[name], new[name], added)
    )


def _compare_unit(
    file: FileChange, old: list[_Check], new: list[_Check], added: set[str]
) -> Iterator[IntegrityFinding]:
    """Compare the checks of a unit kind by kind; each command is named once."""
    found = dict[str, IntegrityFinding]()
    for kind in {check.kind: None for check in old}:
        before, after = (
            sorted((one for one in checks if one.kind is kind), key=lambda one: -one.reach)
            for checks in (old, new)
        )
        reaches = [one.reach for one in after] + [0] * len(before)
        whole = reaches[0] == MOST > before[0].reach
        if whole or all(now >= one.reach for now, one in zip(reaches, before, strict=False)):
            continue
        known = {one.text: one.reach for one in before}
        worse = next((one for one in after if one.reach < known.get(one.text, before[0].reach)), None)
        gone = next((one for one in before if one.text not in {now.text for now in after}), before[0])
        if worse is None and (gone.text in added or is_ci_setting(file.path)):
            continue
        shown = worse.text if worse else f"without {gone.text}"
        found[shown] = IntegrityFinding(
            change=CheckChange.COMMAND_WEAKENED,
            weight=FindingSeverity.GRAVE,
            file=file.path,
            line=_line_of(worse.text if worse else "", file.after or ""),
            before=gone.text[:TEXT_LENGTH],
            after=shown[:TEXT_LENGTH],
            kinds=(kind,),
        )
    yield from found.values()


def _line_of(command: str, text: str) -> int:
    first = command.partition("\n")[0]
    return next((at for at, line in enumerate(text.splitlines(), 1) if first and first in line), 0)


# --- The commands of a file, by the unit that runs them -----------------------------------------------------


def _read_units(path: str, text: str) -> dict[str, list[_Check]]:
    units = dict[str, list[_Check]]()
    for unit, command, hidden in _list_commands(path, text):
        if len(command) > LINE_LIMIT:
            continue
        units.setdefault(unit, []).extend(_find_checks(unit, command, hidden=hidden))
    return units


def _list_commands(path: str, text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield unit, command, and whether whatever runs it ignores its failure."""
    if SCRIPTS.search(path):
        for name, command in script_texts(parse_json_table(text)).items():
            yield name, command, False
    elif MAKEFILE.search(path):
        yield from _recipe_lines(text)
    elif is_ci_setting(path):
        for command, hidden in list_ci_steps(text, hides_failure):
            yield "", command, hidden
    elif SHELL.search(path):
        yield path.rpartition("/")[2].partition(".")[0], text, False


def _recipe_lines(text: str) -> Iterator[tuple[str, str, bool]]:
    blocks = read_makefile(text)
    for target in sorted(blocks.recipes):
        for line in (line.strip() for line in blocks.lines[target] if line.startswith("\t")):
            command = line.lstrip("@+-")
            yield target, command, "-" in line[: len(line) - len(command)]


def _find_checks(unit: str, command: str, *, hidden: bool) -> Iterator[_Check]:
    """Yield what a command checks; in a unit whose name says that it checks, all that is run counts."""
    own, known = target_kinds(unit), known_commands()
    aside = known.printing | known.read_only | known.shell.preparing | {"set", "true", ":", "exit"}
    for run in parse_simple_commands(command):
        kinds = kinds_of(run)
        for kind in kinds or (own if command_basename(run.argv[0]) not in aside else ()):
            reach = REACHES.get(find_check_scope(run, kind), 0) if kinds else MOST
            yield _Check(kind, run.text, 0 if hidden or _is_hidden(run, command) else reach)


def _is_hidden(run: CommandRun, command: str) -> bool:
    """Whether the failure of a command is lost; in several lines, what is not followed may not be."""
    if run.fate is not FailureHandling.UNKNOWN:
        return run.fate is FailureHandling.SWALLOWED or run.background
    line = next((line for line in command.strip().splitlines() if run.text in line), "")
    return "\n" not in command.strip() or any(
        one.argv == ("exit", "0") for one in parse_simple_commands(line)
    )
