"""What is known of the commands of a shell, by data/commands.toml and data/tools.toml.

A wrapper is a command that runs another one, passes its exit code on if that failed, and adds nothing to what
it checks: `timeout 60 uv run pytest` runs pytest. A command that does not pass it on (find -exec, watch) is
not a wrapper here.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from sidecar.platform.data import load_data
from sidecar.platform.tools import Wrapper, known_tools

WORDS_LIMIT: Final = 200
"""Maximum words of one command that are kept."""
WORD_LIMIT: Final = 1000
"""Maximum characters of a word that are kept."""
MAX_WRAPPERS: Final = 8
"""Maximum wrappers that are removed from one command."""
ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")


class ShellCommands(Struct, frozen=True, forbid_unknown_fields=True):
    """Its section `shell`."""

    preparing: frozenset[str]
    prefixes: frozenset[str]
    unfollowed: frozenset[str]
    startup_files: frozenset[str]
    homes_of_tools: str


class KnownCommands(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    read_only: frozenset[str]
    printing: frozenset[str]
    incidental: frozenset[str]
    git_read_only: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    git_writing: frozenset[str]
    file_writing: frozenset[str]
    tooling: frozenset[str]
    interpreters: frozenset[str]
    task_runners: frozenset[str]
    inline_code: frozenset[str]
    info: frozenset[str]
    housekeeping: frozenset[str]
    foreign_modules: frozenset[str]
    git_taking_back: frozenset[str]
    git_rewriting: frozenset[str]
    git_harmless: frozenset[str]
    output: frozenset[str]
    editing_in_place: frozenset[str]
    writing_last_word: frozenset[str]
    writing_words: frozenset[str]
    blocked: str
    queued: str
    shell: ShellCommands
    starters: dict[str, frozenset[str]]


def known_commands() -> KnownCommands:
    """Return the data file, read once."""
    return load_data("commands", KnownCommands)


def command_basename(name: str) -> str:
    """The name of a command without its folder and without Windows suffixes."""
    return name.replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")


def unwrap_command(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command inside its wrappers; empty if a wrapper runs none."""
    in_shell = True
    for _ in range(MAX_WRAPPERS):
        wrapper, rest = _find_wrapper(argv)
        if wrapper is None:
            return argv
        from_shell = argv[0] == command_basename(argv[0])
        if wrapper.only_in_shell and from_shell and not in_shell:
            return argv
        in_shell = in_shell and wrapper.stays_in_shell and from_shell
        argv = () if wrapper.runs_nothing & {*rest[:1]} else _skip_wrapper_words(rest, wrapper)
    return argv


def _find_wrapper(argv: tuple[str, ...]) -> tuple[Wrapper | None, tuple[str, ...]]:
    """The wrapper that a command begins with, and the words after its name."""
    for words in (1, 2, 3) if argv else ():
        if wrapper := known_tools().wrappers.get((command_basename(argv[0]), *argv[1:words])):
            return wrapper, argv[words:]
    return None, ()


def _skip_wrapper_words(rest: tuple[str, ...], wrapper: Wrapper) -> tuple[str, ...]:
    """What follows a wrapper's options, assignments and own words."""
    own = wrapper.words
    at = 0
    while at < len(rest):
        text = rest[at]
        if text == "--":
            at += 1
            break
        if text == "-m":
            return ("python", *rest[at:])
        if text.startswith("-"):
            at += 2 if text in wrapper.takes else 1
        elif wrapper.assigns and ASSIGNMENT.match(text):
            at += 1
        elif own:
            own, at = own - 1, at + 1
        else:
            break
    return rest[at:]
