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

COMMAND_LINE_LIMIT: Final = 4_000
"""Maximum length in characters of a line that is parsed."""
COMPOUND_SYNTAX: Final = re.compile(r"[\n`#]|\$\(")
"""Syntax, besides the operators, that makes a line more than one simple command."""
SHELL_OPERATORS: Final = frozenset("();<>|&")
SHELL_WORD: Final = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")
ASSIGNMENT: Final = re.compile(r"\w+=")
MODULE_RUNNER: Final = re.compile(r"python[\d.]*|coverage")
"""Programs that take a module to run after `-m`, including `coverage run -m`."""
ENVIRONMENT_RUNNERS: Final = frozenset(("hatch", "pdm", "pipenv", "poetry", "rye", "uv"))
"""Tools whose `run` starts the command that follows in the project's environment."""
PROGRAM_STARTERS: Final[dict[str, tuple[str, ...]]] = {
    "bunx": (),
    "env": (),
    "npx": (),
    "php": (),
    "bundle": ("exec",),
    "npm": ("exec",),
    "pnpm": ("exec",),
    "yarn": ("exec",),
} | dict.fromkeys(ENVIRONMENT_RUNNERS, ("run",))
"""Programs that start another one, whose name follows after these words."""
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
        through = PROGRAM_STARTERS.get(name)
        if through is None or tuple(words[at + 1 : at + 1 + len(through)]) != through:
            return at
        at += 1 + len(through)
        while at < len(words) and HARMLESS_WORD.fullmatch(words[at]):
            at += 1
    return None


# --- package.json scripts, as run by `npm test` and the like ------------------------------------------------


PACKAGE_LIMIT: Final = 1 << 20
"""Bytes that are read of a package.json."""
PACKAGE_MANAGERS: Final = ("npm", "pnpm", "yarn", "bun")
TEST_ALIASES: Final = {"t": "test", "tst": "test"}
"""Other names of `test` in npm and pnpm."""


class PackageScript(Struct, frozen=True):
    """A script's text, the words that the caller adds, and what must precede flags that we add."""

    text: str
    more: tuple[str, ...] = ()
    before_flags: str = ""


class _Package(Struct, frozen=True):
    scripts: dict[str, object] = {}


def find_package_script(call: ToolCommand, folder: Path) -> PackageScript | None:
    """Return the script that this call runs, None if it runs none. `bun test` is a command of bun itself."""
    if call.name not in PACKAGE_MANAGERS or not call.arguments:
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
            return msgspec.json.decode(file.read(PACKAGE_LIMIT), type=_Package).scripts
    except (OSError, msgspec.DecodeError, RecursionError, ValueError):
        return {}


# --- messages of starters, package managers and tools that never got to the check ---------------------------
# Each pattern matches the beginning of a line in the tool's own wording. It counts only if the command failed
# and no test or diagnostic is named.


LINE_LENGTH: Final = 500
"""Characters of a line that are examined."""
START_LINE_LIMIT: Final = 400
"""Number of lines that are examined, from the end."""
START_FAILURES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\S*python[\d.]*: No module named \S+$",
        r"error: Failed to spawn: ",  # uv
        r"Command not found: ",  # poetry, pdm
        r"bundler: command not found: ",
        r"Could not find .* in (?:locally installed gems|any of the sources)",  # bundler
        r"npm (?:ERR!|error) (?:could not determine executable|Missing script)",
        r"npm (?:ERR!|error) code E(?:404|NOTFOUND|AI_AGAIN)",
        r"ERR_PNPM_(?:NO_SCRIPT|NO_IMPORTER|META_FETCH_FAIL|FETCH_)",
        r"ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL +Command \S+ not found",
        r"(?:error Command \S+ not found|Usage Error: Couldn't find)",  # yarn
        r"error: (?:Script not found|could not find a package\.json)",  # bun
        r"error: no such (?:sub)?command",  # cargo
        r"error: '\S+' is not installed for the toolchain",  # rustup
        r"error: (?:failed to download|failed to get `|could not find `Cargo\.toml`)",
        r"go: (?:go\.mod file not found|cannot find main module)",
        r"go: .* (?:dial tcp|i/o timeout|no such host)",
        r"The JAVA_HOME environment variable is not defined",
        r"(?:ERROR: )?JAVA_HOME is (?:not set|set to an invalid directory)",
        r"\[ERROR\] .*(?:ould not (?:transfer artifact|resolve dependencies|be resolved)|Unknown host)",
        r"> Could not (?:resolve all|GET 'http)",  # gradle
        r"g?make(?:\[\d+\])?: \*\*\* No rule to make target [^,]*\.\s+Stop",
        r"g?make(?:\[\d+\])?: \*\*\* No targets",
        r"error: Justfile does not contain recipe",
        r'task: Task "[^"]*" does not exist',
        r"\*\* \(Mix\) (?:The task|Could not find)",
        r"It was not possible to find any compatible framework version",  # dotnet
        r"Could not open input file: ",  # php
        r"ERROR:pip_audit\.\S*:",
    )
)


def find_start_failure(text: str) -> str:
    """Return the line that shows that the check never started; "" if there is none."""
    for line in text.split("\n")[-START_LINE_LIMIT:]:
        said = line[:LINE_LENGTH].strip()
        if any(pattern.match(said) for pattern in START_FAILURES):
            return said
    return ""
