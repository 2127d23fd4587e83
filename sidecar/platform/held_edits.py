"""Tells from what an agent did whether it wrote a file that steers Supervisor.

It did where a line names the file or its folder and is not known to only read, or where git or an unpacker
may have restored any file of the project. A program that a line merely starts (a script, a build) may have
written anything; what only such a line can have written is nobody's for sure.
"""

from __future__ import annotations

import logging
import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from sidecar.kernel.rubric import AgentWrites, EditAuthor, EditState
from sidecar.kernel.turn import FailureHandling
from sidecar.platform.files import ensure_folder, remove_stale_temporaries, write_whole
from sidecar.platform.paths import project_digest
from sidecar.platform.shell.commands import WORD_LIMIT, WORDS_LIMIT, command_basename, unwrap_command
from sidecar.platform.shell.line import parse_simple_commands
from sidecar.platform.state import BrokenStateError, Incidents, read_state, read_usable_state

if TYPE_CHECKING:
    from sidecar.platform.shell.commands import SteeringCommands

_TARGET: Final = re.compile(r">[>|&]?\s*([^\s;|&<>]*)")
_OPEN: Final = re.compile(r"[$`*?\[({~]")
_QUOTING: Final = re.compile(r"[\"'\\]")
_WILD: Final = frozenset("*?[")


def edit_author(
    writes: AgentWrites | None, files: Sequence[Path], project: str, names: Sequence[str]
) -> EditAuthor:
    """Return who may have created, changed or removed one of `files`; None: it is too early to tell.

    `names` are words by which a shell line refers to one of them.
    """
    if writes is None or writes.undecided:
        return EditAuthor.UNKNOWN
    if _names_one(writes, files, project, names):
        return EditAuthor.AGENT
    if writes.unseen or not all(map(_only_reads, writes.lines)):
        return EditAuthor.UNSURE
    return EditAuthor.USER


def _names_one(writes: AgentWrites, files: Sequence[Path], project: str, names: Sequence[str]) -> bool:
    wanted = {form for file in files for form in _path_forms(str(file), project)}
    if any(form in wanted for path in writes.paths for form in _path_forms(path, project)):
        return True
    targets = sorted({os.path.basename(form) for form in wanted} - {"rubric.md"})  # noqa: PTH119 - text
    inside = [file for file in files if file.is_relative_to(project)]
    return any(_line_may_write(line, (*names, *targets), inside, project) for line in writes.lines)


def _path_forms(path: str, project: str) -> set[str]:
    """Return a path as written and as resolved, in lower case because some systems ignore case."""
    try:
        whole = os.path.normpath(os.path.join(project, path))  # noqa: PTH118 - text, never touched
        return {whole.casefold(), os.path.realpath(whole).casefold()}
    except (OSError, ValueError):
        return set()


def _line_may_write(line: str, names: Sequence[str], inside: Sequence[Path], project: str) -> bool:
    said = _QUOTING.sub("", line).casefold()
    named = any(name in said for name in names) or _has_matching_pattern(line, inside, project)
    if named:
        targets = _TARGET.findall(said)
        elsewhere = not any(_OPEN.search(each) or any(name in each for name in names) for each in targets)
        return not (elsewhere and _only_reads(line))
    return bool(inside) and any(
        _may_replace_any_file(unwrap_command(run.argv) or run.argv) for run in parse_simple_commands(line)
    )


def _has_matching_pattern(line: str, inside: Sequence[Path], project: str) -> bool:
    """Return whether a glob in the line matches a file or the folder it is in."""
    patterns = [word.removeprefix("./").split("/") for word in line.split() if _WILD & set(word)]
    if not patterns:
        return False
    ours = [part for file in inside for part in (file, file.parent)]
    names = [each.parts for each in ours] + [each.relative_to(project).parts for each in ours]
    return any(_matches_shell_pattern(name, pattern) for name in names for pattern in patterns)


def _matches_shell_pattern(name: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the shell would expand the pattern to the name; it skips hidden files."""
    return len(name) == len(pattern) and all(
        fnmatchcase(part, wanted) and (wanted[:1] == "." or part[:1] != ".")
        for part, wanted in zip(name, pattern, strict=True)
    )


def _only_reads(line: str) -> bool:
    """Return whether each command of the line is known to only read, apart from redirections."""
    found = parse_simple_commands(line)
    return bool(found) and all(
        run.fate is not FailureHandling.UNKNOWN and _is_reading_command(unwrap_command(run.argv) or run.argv)
        for run in found
    )


def _known() -> SteeringCommands:
    from sidecar.platform.shell.commands import known_commands  # noqa: PLC0415 - a waiting sidecar does without

    return known_commands().steering


def _is_reading_command(argv: Sequence[str]) -> bool:
    name, known = command_basename(argv[0]), _known()
    if name == "git":
        return _git_verb(argv) in known.git_reads and not any(word.startswith("--output") for word in argv)
    if name == "supervisor":
        return known.own_orders.isdisjoint(argv)
    writing = known.writing.get(name)
    # Words at the limit were cut, so that an argument with which the command writes may be missing.
    cut = len(argv) >= WORDS_LIMIT or any(len(word) >= WORD_LIMIT for word in argv)
    writes = writing is not None and (cut or any(re.fullmatch(writing, word, re.DOTALL) for word in argv[1:]))
    return name in known.reads and not writes


def _may_replace_any_file(argv: Sequence[str]) -> bool:
    name, known = command_basename(argv[0]), _known()
    if name == "git":
        verb = _git_verb(argv)
        return verb in known.git_moves and not (verb == "stash" and {"list", "show"} & set(argv))
    return name in known.unpackers


def _git_verb(argv: Sequence[str]) -> str:
    """Return the subcommand, which follows git's own options."""
    words = iter(argv[1:])
    for word in words:
        if word in {"-C", "-c", "--git-dir", "--work-tree", "--namespace"}:
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


# --- which text of a file that steers Supervisor is in force: one JSON file per subject ---------------------
# A file is written whole or not at all. One that cannot be used is set aside, and its subject counts as never
# looked at. The process that writes remembers what it wrote: a file that says something else is written again
# and reported.


VERSION: Final = 1
FILES: Final = 500
"""Subjects that are remembered.

Beyond that, those unchanged for the longest time are removed, but none with a held edit.
"""
DROPPED: Final = 50
"""Subjects that are removed at once."""

log = logging.getLogger(__name__)


class _StateDocument(Struct, frozen=True, kw_only=True):
    """The content of one file. `project`, the subject's path, is for people who look into it."""

    version: int = VERSION
    project: str = ""
    state: EditState | None = field(default=None, name="standing")


class EditStateFiles:
    """The states in a folder, which is created when it is needed. A subject is named by an absolute path.

    `limit`: bytes of one file.
    """

    def __init__(self, folder: Path, limit: int, incidents: Incidents | None = None) -> None:
        """Without `incidents` nothing is remembered: others write here too."""
        self._folder = folder
        self._limit = limit
        self._incidents = incidents
        self._written: OrderedDict[Path, EditState] = OrderedDict()
        self._swept = False

    def read(self, subject: str) -> EditState | None:
        """Return the stored state of this subject, None if none can be read. Never raises."""
        path = self._path(subject)
        if path is None:
            return None
        found = self._read(path)
        known = self._written.get(path)
        if known is None or found == known or self._incidents is None:
            return found
        self._incidents.report(
            f"Supervisor: {path} was {'removed' if found is None else 'changed'}, and not by Supervisor. "
            "What was in force is restored."
        )
        try:
            self.write(subject, known)
        except OSError as error:
            log.warning("%s could not be restored: %s", path, error)
        return known

    def _read(self, path: Path) -> EditState | None:
        try:
            return read_usable_state(path, _StateDocument, self._limit).state
        except OSError as error:
            log.warning("%s cannot be read: %s", path, error)
            return None

    def write(self, subject: str, state: EditState) -> None:
        """Store a state. Raises OSError.

        Stores nothing for a subject whose path is not valid UTF-8.
        """
        path = self._path(subject)
        if path is None:
            return
        ensure_folder(self._folder)
        if not self._swept:
            remove_stale_temporaries(self._folder)
            self._swept = True
        if not path.exists():
            self._make_room()
        try:
            data = msgspec.json.encode(_StateDocument(project=os.path.realpath(subject), state=state))
        except UnicodeEncodeError:
            return
        write_whole(path, data + b"\n", durable=state.held is not None)
        self._written[path] = state
        while len(self._written) > FILES:
            self._written.popitem(last=False)

    def _path(self, subject: str) -> Path | None:
        """Return the subject's file, None if its path is not absolute or not valid UTF-8."""
        mark = project_digest(subject)
        return self._folder / f"{mark}.json" if mark else None

    def _make_room(self) -> None:
        files = list(self._folder.glob("*.json"))
        if len(files) < FILES:
            return
        for path in sorted(files, key=lambda file: file.stat().st_mtime)[:DROPPED]:
            if not self._holds(path):
                path.unlink(missing_ok=True)
                self._written.pop(path, None)

    def _holds(self, path: Path) -> bool:
        try:
            state = read_state(path, _StateDocument, self._limit).state
        except (BrokenStateError, OSError):
            return False
        return state is not None and state.held is not None
