"""Parses shell lines that are one simple command: words, started program, and where flags can be added.

Only such a line is attributed to a tool. In a longer line the exit code may come from another command, and
nothing may be added. Also finds the package.json script that a line runs, and messages that a check never
started.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path, PurePath
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.platform.data import load_data
from sidecar.platform.tools import is_package_manager, known_tools

COMMAND_LINE_LIMIT: Final = 4_000
"""Maximum length in characters of a line that is parsed."""
COMPOUND_SYNTAX: Final = re.compile(r"[\n`#]|\$\(")
"""Syntax, besides the operators, that makes a line more than one simple command."""
SHELL_OPERATORS: Final = frozenset("();<>|&")
SHELL_WORD: Final = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")
ASSIGNMENT: Final = re.compile(r"\w+=")
MODULE_RUNNER: Final = re.compile(r"python[\d.]*|coverage")
"""Programs that take a module to run after `-m`, including `coverage run -m`."""
HARMLESS_WORD: Final = re.compile(
    r"--(?:all-extras|frozen|isolated|locked|no|no-install|no-sync|offline|quiet|yes)?|-[qy]"
)
"""Words between a starter and the program that do not matter here."""


class ToolCommand(Struct, frozen=True):
    """A simple command. `program` is the index of the tool's name in `words`; `ends` are the words' ends."""

    text: str
    words: tuple[str, ...]
    ends: tuple[int, ...]
    program: int = 0

    @property
    def name(self) -> str:
        """The tool's name: the last part of a path, or the module of a `python -m`."""
        return PurePath(self.words[self.program]).name

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[self.program + 1 :]

    def with_flags(self, flags: str, after: int = 0) -> str:
        """Return the line with flags added after the program and the first `after` of its arguments."""
        end = self.ends[self.program + after]
        return f"{self.text[:end]} {flags}{self.text[end:]}"


def parse_tool_command(line: str) -> ToolCommand | None:
    """Parse a line; None if it is more than one simple command or starts no program."""
    words = _split_command(line)
    spans = [found.span() for found in SHELL_WORD.finditer(line)] if words else []
    if not words or len(spans) != len(words):
        return None
    program = _program_index(words)
    if program is None:
        return None
    return ToolCommand(line, tuple(words), tuple(end for _, end in spans), program)


def _split_command(line: str) -> list[str]:
    """Split one simple command into words; empty if the line is more than that."""
    if len(line) > COMMAND_LINE_LIMIT or COMPOUND_SYNTAX.search(line):
        return []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []
    return [] if any(word and set(word) <= SHELL_OPERATORS for word in words) else words


def _program_index(words: list[str]) -> int | None:
    """Return the index of the tool's name, after assignments and the programs that only start the tool."""
    at = 0
    while at < len(words):
        if ASSIGNMENT.match(words[at]):
            at += 1
            continue
        name = PurePath(words[at]).name
        if MODULE_RUNNER.fullmatch(name):
            return words.index("-m", at) + 1 if "-m" in words[at:-1] else at
        started = _starter_length((name, *words[at + 1 : at + 2]))
        if not started:
            return at
        at += started
        while at < len(words) and HARMLESS_WORD.fullmatch(words[at]):
            at += 1
    return None


def _starter_length(words: tuple[str, ...]) -> int:
    """Return how many words start the program whose name follows; 0 if it is the first one."""
    wrappers = known_tools().wrappers
    starters = (length for length in (1, 2) if (found := wrappers.get(words[:length])) and found.passes_flags)
    return 1 if words[:1] == ("php",) else next(starters, 0)


# --- package.json scripts, as run by `npm test` and the like ------------------------------------------------


PACKAGE_LIMIT: Final = 1 << 20
"""Bytes that are read of a package.json."""
TEST_ALIASES: Final = {"t": "test", "tst": "test"}
"""Other names of `test` in npm and pnpm."""


class PackageScript(Struct, frozen=True):
    """A script's text, the words that the caller adds, and what must precede flags that we add."""

    text: str
    more: tuple[str, ...] = ()
    before_flags: str = ""


class _Package(Struct, frozen=True):
    scripts: dict[str, object] = {}


_PACKAGE: Final = msgspec.json.Decoder(_Package)


def find_package_script(call: ToolCommand, folder: Path) -> PackageScript | None:
    """Return the script that this call runs, None if it runs none. `bun test` is a command of bun itself."""
    if not is_package_manager(call.name) or not call.arguments:
        return None
    words = list(call.arguments)
    explicit = words[0] in ("run", "run-script")
    if explicit:
        words = words[1:]
    if not words or words[0].startswith("-"):
        return None
    name, more = words[0], tuple(words[1:])
    if not explicit and (call.name == "bun" or (call.name == "npm" and name not in ("test", *TEST_ALIASES))):
        return None
    text = _read_package_scripts(folder).get(TEST_ALIASES.get(name, name) if not explicit else name)
    if not isinstance(text, str) or not text.strip():
        return None
    return _script_with_arguments(call.name, text, more)


def _script_with_arguments(manager: str, text: str, more: tuple[str, ...]) -> PackageScript | None:
    """Return the script and its arguments: npm takes flags before `--` itself, the others pass all on."""
    if manager != "npm":
        return PackageScript(text, more)
    if "--" in more:
        return PackageScript(text, more[more.index("--") + 1 :])
    return None if any(word.startswith("-") for word in more) else PackageScript(text, more, " --")


def _read_package_scripts(folder: Path) -> dict[str, object]:
    try:
        with (folder / "package.json").open("rb") as file:
            return _PACKAGE.decode(file.read(PACKAGE_LIMIT)).scripts
    except (OSError, msgspec.DecodeError, RecursionError, ValueError):
        return {}


# --- messages that a check never started: data/start_failures.toml ------------------------------------------


LINE_LENGTH: Final = 500
"""Characters of a line that are examined."""
START_LINE_LIMIT: Final = 400
"""Number of lines that are examined, from the end."""


class StartFailures(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    lines: tuple[str, ...]


def find_start_failure(text: str) -> str:
    """Return the line that shows that the check never started; "" if there is none."""
    patterns = load_data("start_failures", StartFailures).lines
    for line in text.split("\n")[-START_LINE_LIMIT:]:
        said = line[:LINE_LENGTH].strip()
        if any(re.match(pattern, said) for pattern in patterns):
            return said
    return ""
