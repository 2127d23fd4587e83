"""New files that stand where a check's own program, or a module that it imports, is looked for first.

A file that hands over to the real program, as installers write them, is none of it inside an environment, and
SHOWN in the tree of the project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.model.inspection import FileReading, Reading

TOOLS = (
    r"(?:pytest|py\.test|tox|nox|mypy|pyright|ruff|flake8|pylint|coverage|jest|vitest|mocha|eslint"
    r"|tsc|biome|playwright|cypress|npm|npx"
    r"|pnpm|yarn|bun|node|deno|go|gofmt|golangci-lint|cargo|rustc|rspec|rake|rubocop|phpunit|phpstan"
    r"|mvn|gradle|make|just|python3?|sh|bash|git)"
)
MODULES = (
    r"(?:pytest|_pytest|pluggy|unittest|coverage|mypy|pyright|ruff|flake8|pylint|tox|nox|hypothesis"
    r"|pytest_cov|xdist)"
)
PROGRAM = re.compile(rf"(?:.*/)?(?:bin|\.bin|Scripts)/{TOOLS}|{TOOLS}")
MODULE = re.compile(
    rf"{MODULES}(?:\.py|/__init__\.py)|(?:src|tests?|lib)/(?:_?pytest|pluggy|unittest)(?:\.py"
    rf"|/__init__\.py)"
)
STARTS_FIRST = re.compile(r"(?:.*/)?(?:sitecustomize|usercustomize)\.py")
INSTALLED = re.compile(r"(?:^|/)(?:node_modules|\.?venv|env|vendor|\.tox|\.nox|\.direnv)/")
HANDS_OVER = re.compile(
    r"^\s*(?:exec\b|load\b|require\b|from \w|import \w|include\b)|require\(|Gem\.(?:bin"
    r"|activate_bin)_path|\$basedir|sys\.exit\(\w+\(\)\)"
)
MEASURES = re.compile(r"coverage\.process_startup|^import coverage|^(?:try|except|pass|import os)\b")


def findings(reading: Reading) -> Iterator[Finding]:
    """One finding for every new file that shadows a check."""
    for file in reading.files:
        if file.before is None and (file.after is not None or file.unread):
            yield from _of_new(file)
        elif (
            file.before is not None
            and file.after is not None
            and PROGRAM.fullmatch(file.path)
            and not _hands_over(file)
        ):
            was = FileReading(path=file.path, role=file.role, after=file.before)
            if _hands_over(was):
                yield _finding(file, Weight.GRAVE)


def _of_new(file: FileReading) -> Iterator[Finding]:
    if STARTS_FIRST.fullmatch(file.path):
        if not _only_measures(file):
            yield _finding(file, Weight.GRAVE)
    elif MODULE.fullmatch(file.path):
        yield _finding(file, Weight.GRAVE)
    elif PROGRAM.fullmatch(file.path):
        if not _hands_over(file):
            yield _finding(file, Weight.SHOWN if file.unread else Weight.GRAVE)
        elif not INSTALLED.search(file.path):
            yield _finding(file, Weight.SHOWN)


def _lines(file: FileReading) -> list[str]:
    return [setting.value for setting in (file.after.settings if file.after else ())]


def _hands_over(file: FileReading) -> bool:
    return any(HANDS_OVER.search(line) for line in _lines(file))


def _only_measures(file: FileReading) -> bool:
    lines = _lines(file)
    return bool(lines) and all(MEASURES.search(line) for line in lines)


def _finding(file: FileReading, weight: Weight) -> Finding:
    first = next(iter(_lines(file)), file.unread or "a new file of this name")
    return Finding(
        change=Change.COMMAND_SHADOWED,
        weight=weight,
        file=file.path,
        line=1,
        after=first[:300],
        weak=bool(file.unread),
    )
