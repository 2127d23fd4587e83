"""Keeps which text of each file that steers Supervisor is in force, and looks whether an edit counts.

Readers ask for the path that is in force: the file itself, or a copy of its text from before the edit. A
file without a text in force is as if it was not there. Where a file is met for the first time, its present
text counts; in a folder whose files are known, none was there before.

All is kept in one state file, which is written whole. The process that decides remembers what it wrote: a
state file that says something else is written again and reported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import Environment
from sidecar.platform.files import SeenFiles, UnusableFileError, ensure_folder, stamp_or_empty, write_whole
from sidecar.platform.older_edits import read_older_edits, remove_older_edits
from sidecar.platform.state import Incidents, read_usable_state
from sidecar.platform.steering import (
    PLAIN,
    TEXT_LIMIT,
    Kept,
    Places,
    SteeringKind,
    read_text,
    settle_edit,
    text_digest,
)

STATE_FILE: Final = "held-edits.json"
"""What is in force, in the state folder."""
COPIES: Final = "in-force"
"""The folder of the copies for readers, beside it."""
STATE_LIMIT: Final = 16 * TEXT_LIMIT
MAX_FILES: Final = 500
"""Files that are remembered; beyond that the projects met first are forgotten, but nothing that waits."""
UNREADABLE: Final = "\0 it cannot be read"
"""Stands for the text of a folder, a pipe, a link that leads nowhere."""

log = logging.getLogger(__name__)


class _Document(Struct, frozen=True, kw_only=True):
    """The state file: what is known of each file by its key, the files met first first."""

    version: int = 1
    files: dict[str, Kept] = {}


class HeldEdits:
    """Implements FilesInForce; the process that is told to `decide` settles which edits count.

    `own` are the user's files by short names, which stay theirs wherever an environment puts the file;
    `places` finds those of a project; `kinds` are by file name, or by folder and file name.
    """

    def __init__(
        self,
        state: Path,
        own: Mapping[str, Path],
        places: Places,
        kinds: Mapping[str, SteeringKind],
        incidents: Incidents,
    ) -> None:
        self._path, self._copies = state / STATE_FILE, state / COPIES
        self._own, self._places, self._kinds = tuple(own.values()), places, kinds
        self._paths, self._keys = dict(own), {path: key for key, path in own.items()}
        self._edited = tuple(path for path in own.values() if path.parent != state)
        self._incidents = incidents
        self._at_rest: Callable[[], bool] | None = None
        self._files: dict[str, Kept] = {}
        self._dirty = False
        self._stamp: tuple[int, ...] | None = None
        self._seen = SeenFiles()
        self._watched: dict[str, tuple[Path, ...]] = {}
        self._probes: dict[str, Path] = {}
        self._news: dict[str, HeldEdit] = {}

    def decide(self, at_rest: Callable[[], bool]) -> None:
        """Settle edits from now on. `at_rest`: whether certainly no agent of this user is at work."""
        self._at_rest = self._stamp = None
        self._load()
        self._at_rest = at_rest
        self._meet(self._own, "")
        if self._stamp:
            remove_older_edits(self._path.parent)

    def watch(self, project: str, environment: Environment) -> tuple[Path, ...]:
        """Look at the files of a project from now on; return where people edit them, or the user's own."""
        found = tuple(self._places(project, environment))
        if self._at_rest is not None and self._watched.get(project) != found:
            self._watched[project] = found
            self._meet(found, project)
        return (*found, *self._edited)

    def settle(self) -> tuple[HeldEdit, ...]:
        """Look at every file; return the edits since the last call: those that wait now and those that count.

        Never raises.
        """
        if self._at_rest is None:
            return ()
        self._load()
        if not self._seen.same(self._probes.get(key) or self._file(key) for key in self._files):
            for key in [key for key in self._files if key.rpartition("/")[2].startswith("*")]:
                self._meet_new_files(key)
            for key in list(self._files):
                self._look(key)
        self._save()
        news, self._news = tuple(self._news.values()), {}
        return news

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        self._load()
        return tuple(edit for _, edit in self._waiting(project))

    def accept(self, project: str, digests: Collection[str]) -> tuple[HeldEdit, ...]:
        """Put the edits with these digests in force, where the files still say so. Raises OSError."""
        before = dict(self._files)
        accepted = [(key, edit) for key, edit in self._waiting(project) if edit.digest in digests]
        for key, edit in accepted:
            self._put_in_force(key, edit.now)
        try:
            if accepted:
                self._write()
        except OSError:
            self._files = before
            raise
        return tuple(edit for _, edit in accepted)

    def path_in_force(self, path: Path) -> Path:
        key = self._key(path)
        if self._at_rest is None:
            self._load()
        if key not in self._files and f"{key.rpartition('/')[0]}/*{path.suffix}" not in self._files:
            return path
        if self._at_rest is None:
            force = self._files.get(key, Kept()).force
            return path if self._read(path) == force else self._copy(key, force)
        self._set(key, self._files.get(key, Kept()))
        self._look(key)
        self._save()
        return self._copy(key, self._files[key].force) if self._files[key].seen else path

    def vouch(self, path: Path) -> None:
        if self._at_rest is not None:  # else whoever writes asks the process that decides
            self._put_in_force(self._key(path), self._read(path))
            self._save()

    # --- one file ---

    def _look(self, key: str) -> None:
        """Settle whether what changed in a file counts."""
        path, at_rest = self._file(key), self._at_rest
        if at_rest is None or path.name.startswith("*") or not self._seen.is_new(path):
            return
        before, kind, now = self._files[key], self._kind(path), self._read(path)
        after = settle_edit(before, now, at_rest=at_rest, usable=lambda: self._usable(path, now))
        if after.held and after != before and self._undone(path, before.force):
            self._seen.forget(path)
            now = self._read(path)
            after = settle_edit(before, now, at_rest=lambda: False, usable=lambda: True)
        self._set(key, after)
        if (after.seen, after.force) == ("", before.force):
            self._news.pop(key, None)  # it is as it was, or was taken back
        elif after != before:
            faults = () if after.held or not now else tuple(kind.faults(path))
            edit = self._edit(path, before, now)
            self._news[key] = replace(edit, waits=after.held, serves=not after.seen, faults=faults)

    def _usable(self, path: Path, text: str) -> bool:
        kind = self._kind(path)
        return not (kind.must_serve and text and kind.faults(path))

    def _undone(self, path: Path, force: str) -> bool:
        """Undo an edit of a file whose readers do not ask us, and report it; return whether that was done."""
        kind, edited = self._kind(path), self._read(path)
        if kind.restore is None:
            return False
        try:
            now = read_text(path) if path.exists() else ""
            write_whole(path, kind.restore(now, force).encode())
        except (OSError, UnusableFileError, ValueError) as error:
            log.warning("%s could not be restored: %s", path, error)
            return False
        if (left := self._read(path)) != edited:
            said = f"{path} was changed while an agent worked ({kind.describe(left, edited)})"
            self._incidents.report(f"Supervisor: {said}. It is restored.")
        return left != edited

    def _waiting(self, project: str) -> Iterator[tuple[str, HeldEdit]]:
        for key, kept in list(self._files.items()):
            if kept.held and kept.project in ("", project):
                path = self._file(key)
                if (now := self._read(path)) != kept.force:
                    yield key, self._edit(path, kept, now)

    def _edit(self, path: Path, before: Kept, now: str) -> HeldEdit:
        return HeldEdit(
            path=str(path),
            digest=text_digest(f"{path}\0{now}"),
            summary=self._kind(path).describe(before.force, now),
            before=before.force,
            now=now,
            project=before.project,
            live=self._kind(path).live,
        )

    def _put_in_force(self, key: str, text: str) -> None:
        self._set(key, replace(self._files.get(key, Kept()), force=text, seen="", held=False))
        self._seen.forget(self._file(key))
        self._news.pop(key, None)

    def _set(self, key: str, kept: Kept) -> None:
        self._dirty = self._dirty or self._files.get(key) != kept
        self._files[key] = kept

    def _read(self, path: Path) -> str:
        """Return what of a file steers, "" for no file. What is no readable file is an edit, too."""
        try:
            return self._kind(path).read(path)
        except (FileNotFoundError, NotADirectoryError):
            return UNREADABLE if path.is_symlink() else ""
        except (OSError, UnusableFileError, ValueError):
            return UNREADABLE

    def _copy(self, key: str, text: str) -> Path:
        """Return the path of a copy of the text in force; of no file where there was none."""
        copy = self._copies / f"{text_digest(key)}.text"
        try:
            if not text:
                copy.unlink(missing_ok=True)
            elif self._read(copy) != text:
                ensure_folder(self._copies)
                write_whole(copy, text.encode("utf-8", "replace"))
        except OSError as error:
            log.warning("%s: the text in force could not be written: %s", key, error)
        return copy

    # --- all files ---

    def _kind(self, path: Path) -> SteeringKind:
        names = (self._keys.get(path, ""), f"{path.parent.name}/{path.name}", path.name, f"*{path.suffix}")
        return next((self._kinds[name] for name in names if name in self._kinds), PLAIN)

    def _key(self, path: Path) -> str:
        """Return the name by which a file is known: a short one for the user's own, else its path."""
        if path not in self._keys:
            pattern = self._keys.get(path.with_name(f"*{path.suffix}"))
            key = f"{pattern.rpartition('/')[0]}/{path.name}" if pattern else str(path)
            self._keys[path] = key.encode(errors="backslashreplace").decode()
            self._paths[self._keys[path]] = path
        return self._keys[path]

    def _file(self, key: str) -> Path:
        if key not in self._paths:
            folder, _, name = key.rpartition("/")
            pattern = self._paths.get(f"{folder}/*{Path(name).suffix}")
            self._paths[key] = pattern.with_name(name) if pattern else Path(key)
        return self._paths[key]

    def _meet(self, paths: Collection[Path], project: str) -> None:
        """Remember files that are seen for the first time: what they say now counts."""
        for path in paths:
            key = self._key(path)
            if key in self._files:
                continue
            if path.name.startswith("*"):
                self._set(key, Kept(project=project))
                self._meet(_list_files(path), project)
            else:
                text = self._read(path)
                usable = self._usable(path, text)
                seen = "" if usable else text_digest(text)
                self._set(key, Kept(text if usable else "", seen, project=project))
        self._make_room()
        self._save()

    def _meet_new_files(self, pattern: str) -> None:
        """Remember the files that were made in a known folder: none of them was there before."""
        path = self._file(pattern)
        if pattern not in self._probes:
            self._probes[pattern] = Path(f"{path}\0")  # no file has such a name, so its folder tells
        if self._seen.is_new(self._probes[pattern]):
            for key in map(self._key, _list_files(path)):
                self._set(key, self._files.get(key) or Kept(project=self._files[pattern].project))

    def _make_room(self) -> None:
        old = [
            key
            for key, kept in self._files.items()
            if kept.project and not (kept.held and Path(kept.project).exists())
        ]
        for key in old[: max(0, len(self._files) - MAX_FILES)]:
            del self._files[key]
            self._watched.clear()

    def _load(self) -> None:
        """Read the state file, but write again what the process that decides knows better."""
        stamp = stamp_or_empty(self._path)
        if stamp == self._stamp:
            return
        if self._at_rest is not None:
            self._incidents.report(
                f"Supervisor: {self._path} was {'changed' if stamp else 'removed'}, and not by Supervisor. "
                "What was in force is restored."
            )
            self._dirty = True
            self._save()
            return
        self._stamp = stamp
        try:
            self._files = dict(read_usable_state(self._path, _Document, STATE_LIMIT).files)
        except OSError as error:
            log.warning("%s cannot be read: %s", self._path, error)
        if not stamp:
            self._files = read_older_edits(self._path.parent, self._key)
            self._dirty = bool(self._files)

    def _save(self) -> None:
        if self._dirty:
            try:
                self._write()
            except OSError as error:
                log.warning("%s: what is in force could not be kept: %s", self._path, error)

    def _write(self) -> None:
        self._dirty = False
        data = msgspec.json.encode(_Document(files=self._files)) + b"\n"
        try:
            ensure_folder(self._path.parent)
            write_whole(self._path, data, durable=any(kept.held for kept in self._files.values()))
        finally:
            self._stamp = stamp_or_empty(self._path)


def _list_files(pattern: Path) -> list[Path]:
    """Return the files that a pattern names."""
    try:
        return sorted(file for file in pattern.parent.iterdir() if fnmatch(file.name, pattern.name))
    except OSError:
        return []
