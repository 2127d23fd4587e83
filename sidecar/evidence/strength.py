"""Rates the evidence strength of one command that the agent ran.

A command is proof only if it could have failed, surely ran, and is seen to have passed.

CHECK     a run of tests, of a build or of a type check
WORK      another check, or a run of the project's own program
FILES     something was written: a file moved, a commit made
NOTHING   it only prints, reads or lists; its code is in the command line; or its end is not seen

A command that no table knows counts as the project's own only if its path says so, or if the prompts or the
changed files name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sidecar.evidence.claims.edits import NON_SOURCE_TARGET, writes_into_project
from sidecar.evidence.commands.kinds import PYTHON, is_other_target, kinds_of, plain_words
from sidecar.kernel.evidence import EvidenceStrength
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolCall
from sidecar.platform.shell.commands import command_basename, known_commands, unwrap_command
from sidecar.platform.tools import find_tool

OUTSIDE_PROJECT: Final = re.compile(r"/(?:usr|bin|sbin|opt|etc|dev|proc|tmp|var/tmp|private/tmp)/|~")
IMPORT_STATEMENT: Final = re.compile(
    r"\b(?:import|from|require|use|load|source)\b[\s('\"]{1,4}([\w./-]{1,200})"
)
PROGRAM_NAME_WORD: Final = re.compile(r"[\w-]{3,80}")
MAX_PROGRAM_NAMES: Final = 5_000
"""Words of prompts and paths that may be names of the project's programs."""


def collect_program_names(prompts: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """Collect lower-case words that may be names of the project's own programs and modules."""
    found: set[str] = set()
    for text in (*prompts, *paths):
        for word in PROGRAM_NAME_WORD.findall(text[:20_000]):
            if len(found) >= MAX_PROGRAM_NAMES:
                return frozenset(found)
            found.add(word.lower())
    return frozenset(found)


def command_evidence_strength(run: CommandRun, call: ToolCall, known: frozenset[str]) -> EvidenceStrength:
    """Rate a command that is not a known check. `known`: see `collect_program_names`."""
    if call.exit_code != 0 or call.outcome is not CallOutcome.OK:
        return EvidenceStrength.NOTHING
    if run.fate is not FailureHandling.DECIDES or not run.implied or run.shadowed or run.background:
        return EvidenceStrength.NOTHING
    if _runs_project_program(run, known):
        return EvidenceStrength.WORK
    return EvidenceStrength.FILES if _writes_files(run, call.command) else EvidenceStrength.NOTHING


def is_read_only_call(call: ToolCall) -> bool:
    """Whether a line's commands only print, read or list, so that its failure says nothing about the work."""
    return bool(call.runs) and all(_is_read_only(unwrap_command(run.argv)) for run in call.runs)


def _is_read_only(argv: tuple[str, ...]) -> bool:
    if not argv:
        return True
    if "/" in argv[0] and not OUTSIDE_PROJECT.match(argv[0]):
        return False
    if command_basename(argv[0]) == "git":
        return next(iter(plain_words(argv[1:])), "") in known_commands().git_read_only
    return command_basename(argv[0]) in (known_commands().read_only | known_commands().printing)


def _writes_files(run: CommandRun, line: str) -> bool:
    argv = unwrap_command(run.argv)
    name = command_basename(argv[0]) if argv else ""
    if name == "git":
        return (
            next(iter(plain_words(argv[1:])), "") in known_commands().git_writing and "--dry-run" not in argv
        )
    return name in known_commands().file_writing or writes_into_project(run, line)


def _runs_project_program(run: CommandRun, known: frozenset[str]) -> bool:
    argv = unwrap_command(run.argv)
    if not argv or _is_read_only(argv) or kinds_of(run) or known_commands().info.intersection(argv[1:]):
        return False
    name, words = command_basename(argv[0]), argv[1:]
    if PYTHON.fullmatch(name) or name in known_commands().interpreters:
        return _interprets_project_code(words, known)
    if (starts := known_commands().starters.get(name)) is not None:
        return not starts or _starts_program(words, starts)
    if (tool := find_tool(name)) and tool.kinds_from == "targets":
        return not any(map(_is_beside_the_program, plain_words(words)))
    return _is_project_command(argv[0], name, known)


def _is_project_command(word: str, name: str, known: frozenset[str]) -> bool:
    """Whether a command that is in no table belongs to the project."""
    if name == "git" or name in known_commands().tooling | known_commands().file_writing:
        return False
    return OUTSIDE_PROJECT.match(word) is None if "/" in word else name.lower() in known


def _starts_program(words: tuple[str, ...], by: frozenset[str]) -> bool:
    plain = plain_words(words)
    named = plain[1] if len(plain) > 1 else ""
    return plain[:1] != () and plain[0] in by and not _is_beside_the_program(named)


def _is_beside_the_program(target: str) -> bool:
    return is_other_target(target) or target in known_commands().housekeeping


def _interprets_project_code(words: tuple[str, ...], known: frozenset[str]) -> bool:
    """Whether an interpreter runs a project file or module, or inline code that loads named project code."""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in known_commands().inline_code:
            return _loads_project_code(following, known)
        if word == "-m":
            return following not in known_commands().foreign_modules
        if word in {"-jar", "-cp", "-classpath"}:
            return bool(following)
        if word == "-":
            return False
        if not word.startswith("-"):
            return not OUTSIDE_PROJECT.match(word) and not NON_SOURCE_TARGET.match(word)
    return False


def _loads_project_code(code: str, known: frozenset[str]) -> bool:
    """Whether inline code loads a module that the prompts or the changed files name."""
    loaded = {
        part.lower() for path in IMPORT_STATEMENT.findall(code[:4_000]) for part in re.split(r"[./]", path)
    }
    return bool(loaded & known)
