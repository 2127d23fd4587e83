"""What is particular about pytest: how a shell line calls it, what it reports, what its exit codes mean.

Only a line that is one simple command is known as pytest's. In a longer one the exit code may be another's,
and nothing may be added to it.
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

NOTHING_COLLECTED: Final = 5
"""Exit code of pytest for "no tests"."""
FAILING: Final = 1
INTERNAL: Final = 3
USAGE: Final = 4
CONTROL: Final = re.compile(r"[\n`#]|\$\(")
"""What makes a line more than one simple command, besides the operators."""
ASSIGNMENT: Final = re.compile(r"\w+=")
PROGRAM: Final = re.compile(r"pytest|py\.test")
PYTHON: Final = re.compile(r"python[\d.]*|coverage")
STARTERS: Final = frozenset(("hatch", "pdm", "pipenv", "poetry", "rye", "uv"))
"""Tools whose `run` starts the command that follows in the project's environment."""
NOT_INSTALLED: Final = re.compile(r"No module named '?pytest'?\s*$", re.MULTILINE)
BROKEN_CONFTEST: Final = re.compile(r"while loading conftest")
"""A usage error to pytest, but a fault of the project's."""
USAGE_LINE: Final = re.compile(r"^ERROR: (.+)$", re.MULTILINE)


def is_pytest(line: str) -> bool:
    """Whether a shell line runs pytest and nothing else."""
    words = _started(_words(line))
    if not words:
        return False
    name = PurePath(words[0]).name
    if PYTHON.fullmatch(name):
        return ("-m", "pytest") in pairwise(words)
    return PROGRAM.fullmatch(name) is not None


def reporting(line: str, report: Path) -> str:
    """The same line with a report in the xunit1 form; unchanged where nothing can be added."""
    words = _words(line)
    if "--" in words or any(word.startswith("--junit") for word in words):
        return line
    return f"{line} --junitxml={shlex.quote(str(report))} -o junit_family=xunit1"


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


def _words(line: str) -> list[str]:
    """Split one simple command; nothing where it is more than that."""
    if CONTROL.search(line):
        return []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    return [] if any(set(word) <= set("();<>|&") for word in words) else words


def _started(words: list[str]) -> list[str]:
    """The command without assignments before it and without the tool that starts it."""
    while words and ASSIGNMENT.match(words[0]):
        words = words[1:]
    if words[1:2] == ["run"] and words[0] in STARTERS:
        return words[2:]
    return words
