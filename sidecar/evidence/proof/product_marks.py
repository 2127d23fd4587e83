"""Reads in changed product files what running the old checks cannot show: data/product_marks.toml.

Suppressions of linters and type checkers, code that knows that it is under test, equality that is always
true, exits. Only lines count that are new; a check file is left out, because its old version is run.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.evidence.proof.check_files import bears_on_checks, is_ci_setting, is_installed
from sidecar.kernel.changes import FileChange
from sidecar.kernel.evidence import CheckChange, FindingSeverity, IntegrityFinding
from sidecar.kernel.gate import Kind
from sidecar.platform.data import load_data

LINE_LENGTH: Final = 1_000
"""Characters of a line that are examined."""
TEXT_LENGTH: Final = 300
SHOWN_IN_FILE: Final = 5


class ProductMark(Struct, frozen=True, forbid_unknown_fields=True):
    """One mark. `after`: it counts only below a line that matches this. `lost`: what is gone counts.

    `weight` and `kinds` are those of its findings.
    """

    change: CheckChange
    pattern: str
    after: str = ""
    kinds: tuple[Kind, ...] = ()
    weight: FindingSeverity = FindingSeverity.GRAVE
    lost: bool = False


class ProductMarks(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    marks: tuple[ProductMark, ...]


@cache
def _patterns() -> tuple[tuple[ProductMark, re.Pattern[str], re.Pattern[str] | None], ...]:
    return tuple(
        (mark, re.compile(mark.pattern), re.compile(mark.after) if mark.after else None)
        for mark in load_data("product_marks", ProductMarks).marks
    )


def find_product_marks(files: Iterable[FileChange]) -> tuple[IntegrityFinding, ...]:
    """Return what is new in the changed files, and programs of the environment that were replaced."""
    return tuple(finding for file in files for finding in _file_findings(file))


def _file_findings(file: FileChange) -> Iterator[IntegrityFinding]:
    if is_installed(file.path):
        yield IntegrityFinding(
            change=CheckChange.TOOL_REPLACED, weight=FindingSeverity.GRAVE, file=file.path, line=0
        )
    elif is_ci_setting(file.path):
        yield IntegrityFinding(
            change=CheckChange.CI_CHANGED, weight=FindingSeverity.SHOWN, file=file.path, line=0
        )
    elif file.link:
        if _leaves_tree(file.path, file.after or ""):
            yield IntegrityFinding(
                change=CheckChange.LINK_LEAVES_TREE,
                weight=FindingSeverity.SHOWN,
                file=file.path,
                line=0,
                after=(file.after or "")[:TEXT_LENGTH],
            )
    elif not bears_on_checks(file.path) and file.after is not None:
        for mark, pattern, above in _patterns():
            yield from _new_lines(file, mark, pattern, above)


def _leaves_tree(path: str, target: str) -> bool:
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return place.startswith(("/", "../"))


def _new_lines(
    file: FileChange, mark: ProductMark, pattern: re.Pattern[str], above: re.Pattern[str] | None
) -> Iterator[IntegrityFinding]:
    old, new = file.before or "", file.after or ""
    if mark.lost:
        old, new = new, old
    left = Counter(text for _, text in _marked_lines(old, pattern, above))
    shown = 0
    for number, text in _marked_lines(new, pattern, above):
        if left[text] > 0:
            left[text] -= 1
        elif shown < SHOWN_IN_FILE:
            shown += 1
            yield IntegrityFinding(
                change=mark.change,
                weight=mark.weight,
                file=file.path,
                line=0 if mark.lost else number,
                after=text[:TEXT_LENGTH],
                kinds=mark.kinds,
            )


def _marked_lines(
    text: str, pattern: re.Pattern[str], above: re.Pattern[str] | None
) -> Iterator[tuple[int, str]]:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if pattern.search(line[:LINE_LENGTH]) and (
            above is None or (number and above.search(lines[number - 1][:LINE_LENGTH]))
        ):
            yield number + 1, " ".join(line.split())
