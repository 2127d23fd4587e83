"""A shell line that is one simple command: its words, the program that it starts, and a place for flags.

Only such a line is taken for a tool's own. In a longer one the exit code may be another's, and nothing may be
added to it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from typing import Final

from msgspec import Struct

LIMIT: Final = 4_000
"""Characters of a line that is looked at."""
CONTROL: Final = re.compile(r"[\n`#]|\$\(")
"""What makes a line more than one simple command, besides the operators."""
OPERATORS: Final = frozenset("();<>|&")
WORD: Final = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")
ASSIGNMENT: Final = re.compile(r"\w+=")
PYTHON: Final = re.compile(r"python[\d.]*|coverage")
"""Programs that take a module to run after `-m`. `coverage run -m` is one of them."""
RUN_BY: Final = frozenset(("hatch", "pdm", "pipenv", "poetry", "rye", "uv"))
"""Tools whose `run` starts the command that follows in the project's environment."""
STARTERS: Final[dict[str, tuple[str, ...]]] = {
    "bunx": (),
    "env": (),
    "npx": (),
    "php": (),
    "bundle": ("exec",),
    "npm": ("exec",),
    "pnpm": ("exec",),
    "yarn": ("exec",),
} | dict.fromkeys(RUN_BY, ("run",))
"""Programs that start the one named after these words."""
HARMLESS: Final = re.compile(
    r"--(?:all-extras|frozen|isolated|locked|no|no-install|no-sync|offline|quiet|yes)?|-[qy]"
)
"""Words between a starter and the program that change nothing here."""


class Call(Struct, frozen=True):
    """A simple command. `program` is the place of the tool's own name among `words`."""

    text: str
    words: tuple[str, ...]
    ends: tuple[int, ...]
    program: int = 0

    @property
    def name(self) -> str:
        """The tool: the last part of a path, the module of a `python -m`."""
        return PurePath(self.words[self.program]).name

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[self.program + 1 :]

    def with_flags(self, flags: str, after: int = 0) -> str:
        """The line with flags right behind the program, or behind so many of its arguments."""
        end = self.ends[self.program + after]
        return f"{self.text[:end]} {flags}{self.text[end:]}"


def call(line: str) -> Call | None:
    """What a line starts; None where it is more than one simple command, or starts nothing."""
    words = _words(line)
    spans = [found.span() for found in WORD.finditer(line)] if words else []
    if not words or len(spans) != len(words):
        return None
    program = _program(words)
    if program is None:
        return None
    return Call(line, tuple(words), tuple(end for _, end in spans), program)


def _words(line: str) -> list[str]:
    """Split one simple command; nothing where it is more than that."""
    if len(line) > LIMIT or CONTROL.search(line):
        return []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []
    return [] if any(word and set(word) <= OPERATORS for word in words) else words


def _program(words: list[str]) -> int | None:
    """Where the tool's name is, behind assignments and the programs that only start it."""
    at = 0
    while at < len(words):
        if ASSIGNMENT.match(words[at]):
            at += 1
            continue
        name = PurePath(words[at]).name
        if PYTHON.fullmatch(name):
            return words.index("-m", at) + 1 if "-m" in words[at:-1] else at
        through = STARTERS.get(name)
        if through is None or tuple(words[at + 1 : at + 1 + len(through)]) != through:
            return at
        at += 1 + len(through)
        while at < len(words) and HARMLESS.fullmatch(words[at]):
            at += 1
    return None
