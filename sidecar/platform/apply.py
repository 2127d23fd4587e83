"""Replaces files of a project: all of them, or none.

Rules:

- A file that is not what it was when the change was planned is a conflict: then everything is put back.
- Nothing is written outside the project, neither by a path nor through a link; no new link leads out of it.
- Whatever a file holds is applied: text or not, a link, permission to run it.
- New versions are written beside the project's files first, into one folder at its top. Then each file that
  goes is renamed into that folder, and examined there, and each new one is linked into its place. So
  what somebody writes meanwhile is never overwritten, and putting back takes no room on the disk.
- A note in the state folder says what is under way. After a kill, `roll_back` puts back what was, but for
  files that somebody changed meanwhile.

Renaming does not cross file systems: a file below another mount cannot be replaced, which puts everything
back. The files of a closed or read-only folder cannot either.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha1
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.evidence import FileChange
from sidecar.platform.files import (
    OWNER_FOLDER,
    UnusableFileError,
    ensure_folder,
    is_process_alive,
    read_whole,
    write_whole,
)
from sidecar.platform.git import git_blob_name
from sidecar.platform.paths import UNFINISHED_FOLDER, link_leads_out

STAGING_PREFIX: Final = ".supervisor-"
"""How the folder in the project begins. It has a .gitignore that ignores all of it."""
UNFINISHED_LIMIT: Final = 1 << 28
"""Maximum bytes of a note."""
NAMED_FILES: Final = 5
LINK_MODE: Final = "120000"
"""How git calls a symbolic link."""
PLAIN: Final = "100"
"""How git begins the mode of a plain file."""
READ_BLOCK: Final = 1 << 20


class ApplyError(Exception):
    """The changes cannot be applied, and what was written is put back. The message says why."""


class ConflictError(ApplyError):
    """Somebody else changed a file meanwhile."""


class FileStep(Struct, frozen=True, array_like=True):
    """What becomes of one file, relative to the project: its versions before and after, "" where none is.

    A version is as `file_version` gives it.
    """

    path: str
    before: str
    after: str


class _Unfinished(Struct, frozen=True):
    """A note. Paths are bytes, because a file's name may be no text."""

    project: bytes
    folder: bytes
    steps: tuple[tuple[bytes, str, str], ...]


def file_version(place: Path) -> str:
    """Return mode and git object name, such as "100644 <name>"; "" where nothing is. Raises OSError."""
    try:
        about = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if stat.S_ISLNK(about.st_mode):
        return f"{LINK_MODE} {git_blob_name(os.fsencode(place.readlink()))}"
    if not stat.S_ISREG(about.st_mode):
        return "a folder" if stat.S_ISDIR(about.st_mode) else "no plain file"
    named = sha1(b"blob %d\0" % about.st_size, usedforsecurity=False)
    with place.open("rb") as file:
        while block := file.read(READ_BLOCK):
            named.update(block)
    return f"{plain_mode(about.st_mode)} {named.hexdigest()}"


def plain_mode(mode: int) -> str:
    """Return a plain file's mode as in `file_version`: unlike git, with all permissions."""
    return f"100{mode & 0o777:03o}"


class Staging:
    """The folder in a project from which files are replaced. Only `ChangeApplier.staging` makes one."""

    def __init__(self, project: Path, note: Path, name: str = "") -> None:
        self._project, self._note = project, note
        self.folder = project / (name or f"{STAGING_PREFIX}{os.urandom(8).hex()}")

    @property
    def new(self) -> Path:
        """Where the new versions are to be written, by the numbers of their steps."""
        return self.folder / "new"

    def open(self) -> None:
        """Create the folder. Raises OSError."""
        self.write_note(())
        for folder in (self.folder, self.new, self._old):
            folder.mkdir(mode=OWNER_FOLDER)
        (self.folder / ".gitignore").write_text("*\n")

    def close(self) -> None:
        """Remove the folder and the note, unless something is in the folder that is nowhere else."""
        if not self.folder.exists():
            self._note.unlink(missing_ok=True)
        elif not _is_filled(self._old):
            self._discard()

    def swap(self, steps: Sequence[FileStep]) -> None:
        """Replace the files; those below `new` take their places.

        Raises ApplyError and OSError after everything was put back.
        """
        for number, step in enumerate(steps):
            _check_path(step.path)
            if step.after and file_version(self.new / str(number)) != step.after:
                raise ApplyError(f"{step.path}: its new version is not what was kept, so nothing was changed")
        self.write_note(steps)
        try:
            for number, step in _in_order(steps):
                self._replace(number, step)
        except (OSError, ApplyError) as error:
            if kept := self.put_back(steps):
                raise ApplyError(f"{error}; {self.left_words(kept)}") from error
            raise
        self._discard()

    def put_back(self, steps: Sequence[FileStep]) -> tuple[str, ...]:
        """Put back what was; return the paths of files that are neither version, which are left alone."""
        foreign = []
        for number, step in reversed(_in_order(steps)):
            place, old = self._project / step.path, self._old / str(number)
            try:
                check_folders(self._project, step.path)
                now, was = file_version(place), os.path.lexists(old)
                if now not in ("", step.before, step.after) and (was or not step.before):
                    foreign.append(step.path)
                elif was:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    old.replace(place)
                elif not step.before and now:
                    place.unlink()
                    _remove_empty_folders(place.parent, self._project)
            except (OSError, ApplyError):
                foreign.append(step.path)
        return tuple(foreign)

    def left_words(self, paths: Sequence[str]) -> str:
        """Say which files were left alone."""
        said = f"not put back: {', '.join(paths[:NAMED_FILES])}, changed since"
        return f"{said}; what was there is in {self._old}" if _is_filled(self._old) else said

    def write_note(self, steps: Sequence[FileStep]) -> None:
        """Say in the state folder what is under way; steps survive a power loss. Raises OSError."""
        told = tuple((os.fsencode(step.path), step.before, step.after) for step in steps)
        note = _Unfinished(os.fsencode(self._project), os.fsencode(self.folder.name), told)
        write_whole(self._note, msgspec.json.encode(note), durable=bool(steps))

    @property
    def _old(self) -> Path:
        return self.folder / "old"

    def _replace(self, number: int, step: FileStep) -> None:
        place = self._project / step.path
        check_folders(self._project, step.path)
        if step.before:
            old = self._old / str(number)
            with suppress(FileNotFoundError):
                place.rename(old)
            if file_version(old) != step.before:
                raise ConflictError(f"{step.path} was changed meanwhile, so nothing was changed. Try again")
        if not step.after:
            _remove_empty_folders(place.parent, self._project)
            return
        _remove_empty_tree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            _move_without_replacing(self.new / str(number), place)
        except FileExistsError as error:
            raise ConflictError(f"{step.path} came meanwhile, so nothing was changed. Try again") from error

    def _discard(self) -> None:
        """Remove the folder, and the note last: until then a kill leaves neither behind."""
        try:
            self.write_note(())  # from here on there is nothing to put back
        except OSError:
            self._note.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):
            self._note.unlink(missing_ok=True)


def _in_order(steps: Sequence[FileStep]) -> list[tuple[int, FileStep]]:
    """Number the steps; what goes makes room for what comes."""
    return sorted(enumerate(steps), key=lambda one: one[1].after != "")


def _is_filled(folder: Path) -> bool:
    with suppress(OSError):
        return any(folder.iterdir())
    return False


def _check_path(path: str) -> None:
    """Raise ApplyError for a path out of the project, or into git's own folder."""
    parts = path.split("/")
    if not parts[0] or ".." in parts:
        raise ApplyError(f"{path} leads out of the project, so it is not applied")
    if any(part.lower() == ".git" for part in parts):
        raise ApplyError(f"{path} is git's own, so it is not applied")


def check_folders(project: Path, path: str) -> None:
    """Raise ApplyError where a folder above a file is a link."""
    at = path.find("/")
    while at > 0:
        if os.path.islink(f"{project}/{path[:at]}"):  # noqa: PTH114 - of 50,000 files, and Path is slow
            raise ApplyError(f"{path} leads out of the project or through a link, so it is not applied")
        at = path.find("/", at + 1)


def _move_without_replacing(source: Path, place: Path) -> None:
    """Raises FileExistsError where something is, and OSError."""
    try:
        os.link(source, place, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(place):
            raise FileExistsError(place) from None
        source.rename(place)
        return
    source.unlink()


def _remove_empty_folders(folder: Path, project: Path) -> None:
    """Remove a folder and those above it as far as they are empty."""
    with suppress(OSError):
        while folder != project:
            folder.rmdir()
            folder = folder.parent


def _remove_empty_tree(place: Path) -> None:
    """Remove a folder in which there are only folders."""
    if place.is_dir() and not place.is_symlink():
        for folder, _, _ in os.walk(place, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()


class ChangeApplier:
    """Applies changes to projects. `state`: the user's state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / UNFINISHED_FOLDER

    @contextmanager
    def staging(self, project: Path) -> Iterator[Staging]:
        """Yield a folder in the project for new versions of files, removed at the end. Raises OSError."""
        ensure_folder(self._folder)
        staging = Staging(project, self._folder / f"{os.getpid()}-{os.urandom(4).hex()}.json")
        try:
            staging.open()
            yield staging
        finally:
            staging.close()

    def apply(self, project: Path, copy: Path, changes: Sequence[FileChange]) -> None:
        """Give these files of the project the content that they have in the copy, and modes that changed.

        Raises ApplyError, and OSError after everything was put back.
        """
        with self.staging(project) as staging:
            single = enumerate(_single_files(changes))
            staging.swap([_stage(project, copy, one, staging.new / str(number)) for number, one in single])

    def roll_back(self) -> tuple[str, ...]:
        """Undo what processes left unfinished that are dead now; return a line for each project."""
        return tuple(line for note in self._left_behind() for line in _undo(note))

    def _left_behind(self) -> Iterator[Path]:
        with suppress(OSError):
            for note in sorted(self._folder.glob("*.json")):
                process = note.name.partition("-")[0]
                if process.isdecimal() and not is_process_alive(int(process)):
                    yield note


def _single_files(changes: Sequence[FileChange]) -> Iterator[FileChange]:
    """Yield each change; a move is a removed file and a new one."""
    for change in changes:
        if change.old_path and change.old_path != change.path:
            yield FileChange(path=change.old_path, before=change.before, was=change.was)
            yield replace(change, old_path="", before=None, was="")
        else:
            yield change


def _stage(project: Path, copy: Path, change: FileChange, new: Path) -> FileStep:
    """Write what a file becomes, if both versions are those of the change. Raises ApplyError, OSError."""
    path, place, source = change.path, project / change.path, copy / change.path
    _check_path(path)
    check_folders(project, path)
    if change.unread and not (change.was or change.now):
        raise ApplyError(f"{path}: {change.unread}, so it is not applied")
    before = file_version(place)
    if before[7:] != _content_name(change.was, change.before):
        raise ConflictError(f"{path} was changed meanwhile, so nothing was applied. Try again")
    if file_version(source)[7:] != _content_name(change.now, change.after):
        raise ApplyError(f"{path} was changed while the tests ran, so nothing was applied")
    if not os.path.lexists(source):
        return FileStep(path, before, "")
    if source.is_symlink() and link_leads_out(path, str(source.readlink())):
        raise ApplyError(f"{path} is a link out of the project, to {source.readlink()}, so it is not applied")
    shutil.copyfile(source, new, follow_symlinks=False)
    if not source.is_symlink():
        same_mode = not change.now or change.was[:6] == change.now[:6]
        moded = place if same_mode and before.startswith(PLAIN) else source
        new.chmod(moded.stat().st_mode & 0o777)
    return FileStep(path, before, file_version(new))


def _content_name(version: str, text: str | None) -> str:
    """Return git's name of a content: of its version, where that is known, else of its text."""
    return version[7:] or ("" if text is None else git_blob_name(text.encode("utf-8", "surrogateescape")))


def _undo(note: Path) -> Iterator[str]:
    try:
        left = msgspec.json.decode(read_whole(note, UNFINISHED_LIMIT), type=_Unfinished)
    except (OSError, UnusableFileError, msgspec.DecodeError, UnicodeDecodeError):
        note.unlink(missing_ok=True)  # the process died before it was written whole, so before any file
        return
    staging = Staging(Path(os.fsdecode(left.project)), note, os.fsdecode(left.folder))
    steps = [FileStep(os.fsdecode(path), before, after) for path, before, after in left.steps]
    foreign = staging.put_back(steps)
    kept = f"; {staging.left_words(foreign)}" if foreign else ""
    staging.close()
    note.unlink(missing_ok=True)
    if steps:
        project = os.fsdecode(left.project)
        yield f"{project}: a change was applied in part when Supervisor was killed; it is undone{kept}"
