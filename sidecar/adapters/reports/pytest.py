"""What is particular about pytest: what it is asked to report, and what its exit codes mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

NOTHING_COLLECTED: Final = 5
"""Exit code of pytest for "no tests"."""
FAILING: Final = 1
INTERNAL: Final = 3
USAGE: Final = 4
NOT_INSTALLED: Final = re.compile(r"No module named '?pytest'?\s*$", re.MULTILINE)
BROKEN_CONFTEST: Final = re.compile(r"while loading conftest")
"""A usage error to pytest, but a fault of the project's."""
USAGE_LINE: Final = re.compile(r"^ERROR: (.+)$", re.MULTILINE)


def flags(words: Sequence[str]) -> str:
    """A report in the xunit1 form, for it names files; the coverage where the line asks for one.

    Asked for one form of coverage, pytest-cov would no more print the usual one.
    """
    asked = "--junitxml={report} -o junit_family=xunit1"
    if any(word == "--cov" or word.startswith("--cov=") for word in words):
        named = any(word.startswith("--cov-report") for word in words)
        asked += f"{'' if named else ' --cov-report=term'} --cov-report=json:{{folder}}/coverage.json"
    return asked


def could_not_run(exit_code: int, text: str) -> str:
    """Why this end of pytest says nothing of the tests; "" where it does."""
    if exit_code == FAILING and NOT_INSTALLED.search(text):
        return "pytest is not installed"
    if exit_code == INTERNAL:
        return "pytest had an internal error"
    if exit_code == USAGE and not BROKEN_CONFTEST.search(text):
        said = USAGE_LINE.search(text)
        return f"pytest was called wrongly: {said[1] if said else 'see the output'}"
    return ""
