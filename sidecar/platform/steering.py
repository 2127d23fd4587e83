"""The files that steer Supervisor beside rubrics: configuration, approvals, switches, instructions (law 9).

Readers ask for the path that is in force. It is the file itself; while an edit of it waits to be decided, or
is held, it is a copy of the text before the edit. Which edits count is decided in kernel/rubric.py.
"""

from __future__ import annotations

import hashlib
import json
import logging
import tomllib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.rubric import (
    AgentWrites,
    EditAuthor,
    EditedText,
    EditState,
    HeldEdit,
    accept_held_edit,
    settle_edit,
    text_digest,
)
from sidecar.platform.files import UnusableFileError, ensure_folder, read_whole, stamp_or_empty, write_whole
from sidecar.platform.held_edits import EditStateFiles, edit_author
from sidecar.platform.paths import real_project_path
from sidecar.platform.state import BrokenStateError, Incidents, read_state, read_usable_state

STEERING_FOLDER: Final = "steering"
"""Where it is kept what is in force, in the state folder."""
PROJECT_CONFIGURATION: Final = ".supervisor/config.toml"
TEXT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of a file; a longer one is refused by whoever reads it."""
STATE_LIMIT: Final = 6 * TEXT_LIMIT
VALUES_NAMED: Final = 3
"""Changed values that a summary names."""
VALUE_LENGTH: Final = 60
"""Characters of a value in a summary."""
DEPTH: Final = 8
"""Tables in tables that are looked at."""
UNREADABLE: Final = "\0 it cannot be read"
"""Stands for the text of a folder, a pipe, a link that leads nowhere."""
NAMES: Final = ("supervisor", "reflection.yaml")
"""Words by which a shell line refers to one of these files: of their folder, or of the ancestor's file."""

log = logging.getLogger(__name__)


class FilesInForce(Protocol):
    """Tells which file to read, and takes note of our own writes."""

    def path_in_force(self, path: Path) -> Path:
        """Return the path to read instead of `path`. Never raises."""

    def vouch(self, path: Path) -> None:
        """Note that what `path` contains now was ordered by the user.

        In the sidecar it never raises; beside it, it raises SidecarError where the sidecar refuses.
        """


class UnheldFiles:
    """Implements FilesInForce where every edit counts at once."""

    def path_in_force(self, path: Path) -> Path:
        return path

    def vouch(self, path: Path) -> None:
        """Do nothing, because nothing is held."""


UNHELD: Final = UnheldFiles()


class _Seen(NamedTuple):
    stamp: tuple[int, ...]
    in_force: Path


class SteeringFiles:
    """Implements FilesInForce, and decides which edits count.

    `own` are the user's files; a project's configuration is added to them. `restored` are those of them whose
    readers do not ask us: an edit of one that is held is undone.
    """

    def __init__(
        self,
        folder: Path,
        own: Sequence[Path],
        incidents: Incidents | None,
        restored: Sequence[Path] = (),
        folders: Sequence[Path] = (),
    ) -> None:
        """Keep states and copies in `folder`. Without `incidents` another process writes there.

        `folders`: those of which every Markdown file is one of the user's, too.
        """
        self._folder = folder
        self._named = tuple(own)
        self._folders = tuple(folders)
        self._restored = frozenset(restored)
        self._incidents = incidents
        self._states = EditStateFiles(folder, STATE_LIMIT, incidents)
        self._seen: dict[Path, _Seen] = {}
        self._settled = False

    def path_in_force(self, path: Path) -> Path:
        stamp, seen = stamp_or_empty(path), self._seen.get(path)
        if seen is not None and seen.stamp == stamp and seen.in_force == path:
            return path
        state, now = self._states.read(self._subject(path)), _read_text(path)
        if state is None and self._settled and path.parent in self._folders:
            return self._copy(path, "")  # it is new: it counts from the next look on
        if state is None or now == state.force.text:
            self._seen[path] = _Seen(stamp, path)
            return path
        return self._copy(path, state.force.text)

    def vouch(self, path: Path) -> None:
        self._keep(path, EditState(EditedText(str(path), _read_text(path))))

    def settle(self, project: str, writes: AgentWrites, shared: AgentWrites) -> tuple[HeldEdit, ...]:
        """Decide about every edit since the last look; return those that count now and those that wait.

        `writes`: what agents at work on the project did meanwhile; `shared`: what agents anywhere did, who
        may have edited the user's own files.
        """
        self._settled = True
        found = [self._settle(path, project, shared) for path in self._own()]
        found += [self._settle(Path(project, PROJECT_CONFIGURATION), project, writes)] if project else []
        return tuple(edit for edit in found if edit is not None)

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        """Return the edits that wait, also those that are not decided yet."""
        return tuple(_edit(path, waits, waits) for path, waits in self._waiting(project))

    def accept(self, project: str, digests: Collection[str]) -> tuple[HeldEdit, ...]:
        """Put the edits with these digests in force, where the files still say so. Raises OSError."""
        accepted = []
        for path, waits in self._waiting(project):
            if waits.held is not None and text_digest(waits.held) in digests:
                after = accept_held_edit(waits)
                self._states.write(self._subject(path), after)
                self._seen.pop(path, None)
                accepted.append(_edit(path, waits, after))
        return tuple(accepted)

    def _waiting(self, project: str) -> Iterator[tuple[Path, EditState]]:
        """Yield the files that do not contain what is in force, with what they contain as the held text."""
        for path in self._paths(project):
            state, now = self._states.read(self._subject(path)), EditedText(str(path), _read_text(path))
            if state is not None and state.force.text != now.text:
                yield path, EditState(state.force, now, unsure=state.held != now or state.unsure)

    def _settle(self, path: Path, project: str, writes: AgentWrites) -> HeldEdit | None:
        before, now = self._states.read(self._subject(path)), EditedText(str(path), _read_text(path))
        author = edit_author(writes, [path], project, NAMES)
        if before is None:
            made = author is EditAuthor.AGENT
            before = EditState(EditedText(str(path), "") if made else now)
            self._keep(path, before)
        after = settle_edit(before, now, author, writes.approved)
        if after == before:
            return None
        if after.held is not None and path in self._restored:
            self._restore(path, after)
            return None
        self._keep(path, after)
        if after.held is None and after.force.text == before.force.text:
            return None  # it was taken back
        return _edit(path, before, after)

    def _restore(self, path: Path, state: EditState) -> None:
        """Undo an edit, and report it."""
        edit = _edit(path, state, state)
        try:
            write_whole(path, state.force.text.encode())
        except OSError as error:
            log.warning("%s could not be restored: %s", path, error)
        if self._incidents is not None:
            said = f"{path} was changed while the agent worked ({edit.summary}). It is restored"
            self._incidents.report(f"Supervisor: {said}.")

    def _paths(self, project: str) -> tuple[Path, ...]:
        return (*self._own(), Path(project, PROJECT_CONFIGURATION)) if project else self._own()

    def _own(self) -> tuple[Path, ...]:
        return (*self._named, *(path for folder in self._folders for path in sorted(folder.glob("*.md"))))

    def _subject(self, path: Path) -> str:
        """Return the name under which the state of a file is kept: the role of one of the user's own files.

        A sidecar that was started in another environment may look for them elsewhere.
        """
        return str(self._folder / path.name) if path in self._named else str(path)

    def _keep(self, path: Path, state: EditState) -> None:
        self._seen.pop(path, None)
        try:
            self._states.write(self._subject(path), state)
        except OSError as error:
            log.warning("%s: what is in force could not be kept: %s", path, error)

    def _copy(self, path: Path, text: str) -> Path:
        """Return the path of a copy of the text in force; of no file where there was none."""
        copy = self._folder / f"{hashlib.sha256(str(path).encode('utf-8', 'replace')).hexdigest()[:16]}.text"
        try:
            if not text:
                copy.unlink(missing_ok=True)
            elif _read_text(copy) != text:
                ensure_folder(self._folder)
                write_whole(copy, text.encode("utf-8", "replace"))
        except OSError as error:
            log.warning("%s: the text in force could not be written: %s", path, error)
        return copy


def _edit(path: Path, before: EditState, after: EditState) -> HeldEdit:
    now = after.held or after.force
    return HeldEdit(
        path=str(path),
        digest=text_digest(now),
        summary=describe_edit(before.force.text, now.text),
        before=before.force.text,
        now=now.text,
        waits=after.held is not None,
        unsure=after.unsure,
    )


def describe_edit(before: str, now: str) -> str:
    """Describe in one line what differs between two texts of a file, which may be TOML or JSON."""
    was, would = dict(_values(_parsed(before))), dict(_values(_parsed(now)))
    changed = [name for name in sorted(was.keys() | would.keys()) if was.get(name) != would.get(name)]
    if not changed:
        return "no value changes" if now and before else "removed" if before else "created"
    said = [f"{name}: {was.get(name, 'not set')} -> {would.get(name, 'not set')}" for name in changed]
    more = f"; and {len(said) - VALUES_NAMED} more" if said[VALUES_NAMED:] else ""
    return "; ".join(said[:VALUES_NAMED]) + more


def _parsed(text: str) -> object:
    for parse in (tomllib.loads, json.loads):
        try:
            return parse(text)
        except (ValueError, RecursionError):
            continue
    return {"its text": text}


def _values(table: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the values of a table by their dotted names."""
    if isinstance(table, dict) and depth < DEPTH:
        for key, value in table.items():
            yield from _values(value, f"{name}.{key}".lstrip("."), depth + 1)
    else:
        said: Any = json.dumps(table, ensure_ascii=False, default=str)
        yield name, said if len(said) <= VALUE_LENGTH else f"{said[: VALUE_LENGTH - 1]}…"


def _read_text(path: Path) -> str:
    """Return what a file contains, "" for no file. Something that is no readable file is an edit, too."""
    try:
        return read_whole(path, TEXT_LIMIT, follow=True).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return UNREADABLE if path.is_symlink() else ""
    except (OSError, UnusableFileError, ValueError):
        return UNREADABLE


# --- off switches: switches.json in the state folder --------------------------------------------------------
# The nearest listed folder decides. A file that cannot be read may have contained an "off": Supervisor counts
# as off, with the reason (law 4), until the user switches something.


VERSION: Final = 1
SWITCH_FILE: Final = "switches.json"
SWITCH_FILE_LIMIT: Final = 1024 * 1024
"""Maximum size of the file in bytes: enough for about ten thousand projects."""


class _Switches(Struct, frozen=True, kw_only=True):
    """`projects_on` are exceptions: folders below one of `projects_off`."""

    version: int = VERSION
    user_off: bool = False
    projects_off: tuple[str, ...] = ()
    projects_on: tuple[str, ...] = ()


class SwitchFile:
    """Implements `SwitchStore` in a state folder."""

    def __init__(self, folder: Path, files: FilesInForce = UNHELD) -> None:
        self._path = folder / SWITCH_FILE
        self._files = files

    def off(self, project: str) -> str:
        try:
            switches = read_state(self._files.path_in_force(self._path), _Switches, SWITCH_FILE_LIMIT)
        except (BrokenStateError, OSError) as error:
            return f"off: {self._path} cannot be used ({error}); `supervisor on` or `off` writes it anew"
        if switches.user_off:
            return "off for you"
        return (
            "off for this project"
            if _nearest_listed_folder(project, switches) in switches.projects_off
            else ""
        )

    def turn(self, *, on: bool, project: str | None) -> None:
        """Raises BadInputError for a path that cannot be a project's, OSError."""
        ensure_folder(self._path.parent)
        in_force = self._files.path_in_force(self._path)
        switches = read_usable_state(self._path, _Switches, SWITCH_FILE_LIMIT, in_force=in_force)
        changed = _apply_switch(switches, project, on=on)
        write_whole(self._path, msgspec.json.encode(changed) + b"\n", durable=True)
        self._files.vouch(self._path)


def _apply_switch(switches: _Switches, project: str | None, *, on: bool) -> _Switches:
    if project is None:
        return msgspec.structs.replace(switches, user_off=not on)
    real = real_project_path(project)
    off = tuple(place for place in switches.projects_off if place != real)
    exceptions = tuple(place for place in switches.projects_on if place != real)
    if not on:
        off = (*off, real)
    changed = msgspec.structs.replace(switches, projects_off=off, projects_on=exceptions)
    if on and _nearest_listed_folder(real, changed) in off:
        return msgspec.structs.replace(changed, projects_on=(*exceptions, real))
    return changed


def _nearest_listed_folder(project: str, switches: _Switches) -> str:
    """The closest listed folder that is the project or contains it, "" if there is none."""
    try:
        real = Path(real_project_path(project))
    except BadInputError:
        return ""
    listed = {*switches.projects_off, *switches.projects_on}
    return next((str(place) for place in (real, *real.parents) if str(place) in listed), "")
