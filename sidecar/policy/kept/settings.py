"""Whether the settings of the checks are as strict as before: everything but the tests themselves.

Both versions of every changed file arrive as values, lines and marks. What moved says nothing, what is
adopted anew is no loss, and what got stricter is welcome. Each finding names the file and the line.

Rules, each in its own file: `thresholds` (numbers), `runner` (test runners), `lint` (linters
and types), `commands` (what is run), `ci` (whether it counts), `shadows` (what is run
instead), `marks` (lines in code). This file knows their order and what is too much to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import FileReading, Reading, Role
from sidecar.policy.kept import ci as ci_kept
from sidecar.policy.kept import command_pairs
from sidecar.policy.kept import commands as commands_kept
from sidecar.policy.kept import lint as lint_kept
from sidecar.policy.kept import marks as marks_kept
from sidecar.policy.kept import runner as runner_kept
from sidecar.policy.kept import shadows as shadows_kept
from sidecar.policy.kept import thresholds as thresholds_kept
from sidecar.policy.kept.pairs import Pair, base, pairs

ALIKE = 8
"""Findings of one kind and weight in one file that are told; more of them say no more."""
FIRST_READ = {
    "pytest.ini": ("pyproject.toml", "tool.pytest"),
    ".pytest.ini": ("pyproject.toml", "tool.pytest"),
    "pytest.toml": ("pyproject.toml", "tool.pytest"),
    ".coveragerc": ("pyproject.toml", "tool.coverage"),
    "ruff.toml": ("pyproject.toml", "tool.ruff"),
    ".ruff.toml": ("pyproject.toml", "tool.ruff"),
    "mypy.ini": ("pyproject.toml", "tool.mypy"),
    ".mypy.ini": ("pyproject.toml", "tool.mypy"),
}
"""Files that are read instead of a section of another one, however little they say."""


def findings(reading: Reading) -> tuple[Finding, ...]:
    """Every finding, in the order of files and lines, the grave ones first on a line."""
    found = pairs(reading)
    moved = command_pairs.moves(reading)
    successors = lint_kept.successors(reading)
    strict = lint_kept.strict_files(reading)
    every = [
        *(
            finding
            for pair in found
            if not lint_kept.is_succeeded(pair, successors)
            for finding in _of_pair(pair, strict, moved)
        ),
        *ci_kept.findings(reading, found, moved),
        *shadows_kept.findings(reading),
        *_read_instead(reading),
        *_unreadable(reading),
        *marks_kept.findings(reading),
    ]
    order = sorted(dict.fromkeys(every), key=lambda each: (each.file, each.line, each.weight, each.change))
    return tuple(_bounded(_gravest(order)))


def _of_pair(pair: Pair, strict: frozenset[str], moved: command_pairs.Moves) -> Iterator[Finding]:
    """What the rules say of one setting: the first that knows it."""
    if command_pairs.is_command(pair):
        yield from commands_kept.findings(pair, moved)
    elif not command_pairs.is_ci(pair.file):
        yield from (
            list(thresholds_kept.findings(pair))
            or list(runner_kept.findings(pair))
            or list(lint_kept.findings(pair, strict))
        )
    elif pair.tail in runner_kept.ADDOPTS:
        yield from runner_kept.findings(pair)


def _gravest(found: Iterable[Finding]) -> Iterator[Finding]:
    """Of findings that say the same in the same place, the gravest."""
    seen = set[tuple[Change, str, int, str]]()
    for finding in found:
        place = (finding.change, finding.file, finding.line, finding.after)
        if place not in seen:
            seen.add(place)
            yield finding


def _bounded(found: Iterable[Finding]) -> Iterator[Finding]:
    told = Counter[tuple[Change, Weight, str]]()
    for finding in found:
        told[finding.change, finding.weight, finding.file] += 1
        if told[finding.change, finding.weight, finding.file] <= ALIKE:
            yield finding


def _read_instead(reading: Reading) -> Iterator[Finding]:
    """A new file that hides settings which are there still."""
    old = {file.path: file for file in reading.files if file.before is not None}
    for file in reading.files:
        folder, _, name = file.path.rpartition("/")
        if file.before is not None or file.after is None or name not in FIRST_READ:
            continue
        other, section = FIRST_READ[name]
        hidden = old.get(f"{folder}/{other}" if folder else other)
        held = hidden is not None and _holds(hidden, section)
        unseen = hidden is None and "pytest" in name and bool(old) and not _moved_in(file, reading)
        if held or unseen:
            change = Change.RUNNER_LOOSENED if "pytest" in name or "cov" in name else Change.LINT_LOOSENED
            said = f"a new {name} is read instead of {section} in {other}"
            yield Finding(change=change, weight=Weight.SHOWN, file=file.path, line=1, after=said, weak=unseen)


def _holds(file: FileReading, section: str) -> bool:
    return file.after is not None and any(setting.key.startswith(section) for setting in file.after.settings)


def _moved_in(file: FileReading, reading: Reading) -> bool:
    """Whether the settings of a new file came from another file of the change set."""
    mine = {base(setting.key).rpartition(".")[2] for setting in (file.after.settings if file.after else ())}
    return any(
        base(setting.key).rpartition(".")[2] in mine and "pytest" in setting.key
        for other in reading.files
        if other.before is not None and other.path != file.path
        for setting in other.before.settings
    )


def _unreadable(reading: Reading) -> Iterator[Finding]:
    """Settings that could be read before and cannot be now."""
    for file in reading.files:
        was_read = file.before is not None and not file.before.broken
        if file.role is Role.SETTINGS and was_read and file.after is not None and file.after.broken:
            said = "it does not parse any more"
            yield Finding(change=Change.UNREADABLE, weight=Weight.SHOWN, file=file.path, line=1, after=said)
