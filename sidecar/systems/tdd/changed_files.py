"""Tells what the rules of a phase ask of a changed file: test or product code, and the tests it defines."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Final

from sidecar.evidence.proof.check_files import bears_on_checks, find_product_marks, with_old_inline_tests
from sidecar.kernel.changes import FileChange
from sidecar.kernel.evidence import FindingSeverity
from sidecar.platform.data import load_data
from sidecar.systems.tdd.policy.phases import ChangedFile, FailureReasons

LITERAL: Final = re.compile(r"\"[^\"\n]{3,200}\"|'[^'\n]{3,200}'|(?<![\w.])\d{2,}(?:\.\d+)?(?![\w.])")
"""A text of three characters or a number of two digits: shorter ones are everywhere."""


def classify_change(change: FileChange) -> ChangedFile:
    """Classify a file by its name; of a file that holds its tests itself, by the part that changed."""
    old, new = change.before or "", change.after or ""
    check = bears_on_checks(change.path)
    merged = None if check else with_old_inline_tests(change.path, old, new)
    before, after = _test_definitions(change.path, old), _test_definitions(change.path, new)
    return ChangedFile(
        path=change.path,
        check=check or merged is not None,
        product=not check and merged != old,
        added=_added_lines(old, new),
        defined=(after - before).total(),
        lost=(before - after).total(),
    )


def find_marks(changes: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the new lines by which product code gets around its checks."""
    return tuple(
        f"{mark.file}:{mark.line}: {mark.after}"
        for mark in find_product_marks(changes)
        if mark.weight is not FindingSeverity.SHOWN
    )


def _added_lines(old: str, new: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return tuple(line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))


@cache
def _definitions() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    known = load_data("tdd", FailureReasons).definitions
    return tuple((re.compile(name), re.compile(line, re.MULTILINE)) for name, line in known)


def _test_definitions(path: str, text: str) -> Counter[str]:
    """Return the lines that define a test; none where the language is unknown."""
    return Counter(
        text[hit.start() : text.find("\n", hit.end()) + 1 or len(text)].strip()
        for name, line in _definitions()
        if name.search(path)
        for hit in line.finditer(text)
    )


def repeated_values(test: str, changes: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the literals of a test that the new code repeats: it may answer nothing but this example."""
    added = "\n".join(
        line for change in changes for line in _added_lines(change.before or "", change.after or "")
    )
    expected = dict.fromkeys(hit[0] for hit in LITERAL.finditer(test))
    return tuple(value for value in expected if re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", added))
