"""Reads and writes our own files: written whole or not at all, owner-only, never through a link.

This module does not know what the files contain. An unusable file is set aside with its reason, never
overwritten and never lost (law 11). Several processes may write at the same time, but each path has one
writer.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import re
import stat
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

OWNER_FILE: Final = 0o600
OWNER_FOLDER: Final = 0o700
FRESH_NS: Final = 2_000_000_000
"""Nanoseconds after a change in which a file may change again and look the same to the file system."""
BLOCK: Final = 64 * 1024
"""Bytes per read when a file is read from its end."""

_TEMPORARY = re.compile(r"\..+\.(?P<process>\d+)-[0-9a-f]{8}\.tmp")


class UnusableFileError(Exception):
    """The path is not a usable plain file. The message says what it is instead."""


class FileFault(StrEnum):
    """Why a file was set aside; part of its new name."""

    CORRUPT = "corrupt"
    EDITED = "edited"
    FUTURE = "future-version"
    UNREADABLE = "unreadable"


# --- folders ------------------------------------------------------------------------------------------------


def ensure_folder(folder: Path) -> None:
    """Create the folder and its missing parents, accessible only to the owner.

    A shared folder (one with the sticky bit, such as /tmp) keeps its mode. Raises OSError.
    """
    missing = itertools.takewhile(lambda place: not place.exists(), (folder, *folder.parents))
    for place in reversed(tuple(missing)):
        place.mkdir(mode=OWNER_FOLDER, exist_ok=True)
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(folder))
    if found.st_mode & 0o077 and not found.st_mode & stat.S_ISVTX:
        folder.chmod(OWNER_FOLDER)


def write_readme(folder: Path, text: str) -> None:
    """Write a README that explains the folder, if it is missing or differs. Raises OSError."""
    readme = folder / "README"
    try:
        known = read_whole(readme, len(text.encode()))
    except (FileNotFoundError, UnusableFileError):
        known = b""
    if known != text.encode():
        write_whole(readme, text.encode())


@contextlib.contextmanager
def exclusively(folder: Path) -> Iterator[None]:
    """Wait until no other thread or process is in this block with the folder. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def remove_stale_temporaries(folder: Path) -> None:
    """Remove the temporary files of processes that died while writing. Never raises.

    Call it before the first write to the folder: a file with our own process id is left from an earlier
    process.
    """
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            found = _TEMPORARY.fullmatch(path.name)
            process = int(found["process"]) if found else 0
            if found and (process == os.getpid() or not is_process_alive(process)):
                path.unlink(missing_ok=True)


def is_process_alive(process: int) -> bool:
    """Whether a process of this id runs, whoever's it is."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


# --- reading ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _open_plain_file(path: Path, flags: int, *, follow: bool = False) -> Iterator[int]:
    """A descriptor of a plain file. Raises UnusableFileError for anything else, OSError if there is none."""
    flags |= os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, OWNER_FILE)
    except OSError as error:
        raise _classify_open_error(path, error) from error
    except ValueError as error:
        raise UnusableFileError(f"no possible path: {error}") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise UnusableFileError("a folder" if stat.S_ISDIR(mode) else "no plain file")
        yield descriptor
    finally:
        os.close(descriptor)


def _classify_open_error(path: Path, error: OSError) -> Exception:
    """UnusableFileError if the file is at fault; `error` itself if the folder, disk or process is."""
    known = {errno.ELOOP: "a symbolic link", errno.EISDIR: "a folder", errno.ENXIO: "no plain file"}
    if error.errno in known:
        return UnusableFileError(known[error.errno])
    if isinstance(error, PermissionError):
        with contextlib.suppress(OSError):
            return UnusableFileError(f"not open to its owner (mode {stat.S_IMODE(path.lstat().st_mode):04o})")
    return error


def read_whole(path: Path, limit: int, *, follow: bool = False) -> bytes:
    """The content, at most `limit` bytes. Raises UnusableFileError, OSError (with FileNotFoundError)."""
    with (
        _open_plain_file(path, os.O_RDONLY, follow=follow) as descriptor,
        os.fdopen(descriptor, "rb", closefd=False) as file,
    ):
        data = file.read(limit + 1)
        if len(data) > limit:
            raise UnusableFileError(f"{os.fstat(descriptor).st_size} bytes, more than {limit}")
        return data


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Try to hold a lock that other processes respect; yield whether it is ours. Raises OSError.

    The kernel releases it when the process ends, however that happens.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_FILE)
    try:
        yield _try_lock(descriptor, path)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, path: Path) -> bool:
    """Return whether the lock is ours, and on the file that the next process will open."""
    with contextlib.suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def file_stamp(path: Path) -> tuple[int, ...]:
    """Values that change when the file's content does. Raises OSError."""
    found = path.stat()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def stamp_or_empty(path: Path) -> tuple[int, ...]:
    """The same, () where there is no file, or none that can be looked at."""
    try:
        return file_stamp(path)
    except (OSError, ValueError):
        return ()


class SeenFiles:
    """Tells which files may have changed since they were asked for last, with one call for each.

    A file is known by its stamp, and one that was not there by the stamp of the nearest folder above it. What
    changed so lately that it may change again unseen is not remembered.
    """

    def __init__(self) -> None:
        self._seen: dict[Path, tuple[Path, tuple[int, ...]]] = {}

    def same(self, paths: Iterable[Path]) -> bool:
        """Return whether all these were asked for before and none may have changed since."""
        now: dict[Path, tuple[int, ...]] = {}
        for path in paths:
            place, stamp = self._seen.get(path, (path, ()))
            if place not in now:
                now[place] = stamp_or_empty(place)
            if not stamp or now[place] != stamp:
                return False
        return True

    def is_new(self, path: Path) -> bool:
        """Return whether this file may have changed."""
        if self.same((path,)):
            return False
        missing, places = path, iter((path, *path.parents))
        while not (stamp := stamp_or_empty(place := next(places))):
            missing = place
        before, now = self._seen.pop(path, None), (place, stamp)
        may_be_made_elsewhere = place != path and os.path.lexists(missing)  # a link that leads nowhere
        if time.time_ns() - stamp[1] > FRESH_NS and not may_be_made_elsewhere:
            self._seen[path] = now
        return now != before

    def forget(self, path: Path) -> None:
        """Let this file count as new the next time."""
        self._seen.pop(path, None)


# --- writing ------------------------------------------------------------------------------------------------


def write_whole(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace the file with `data` in one step. Raises OSError; the old file is then unchanged.

    `durable`: the write also survives a power loss, at the price of two waits for the disk. A link at `path`
    is replaced, not followed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, OWNER_FILE)
    try:
        try:
            _write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        _sync_folder(path.parent)


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- setting aside ------------------------------------------------------------------------------------------


def set_aside(path: Path, fault: FileFault, why: str) -> Path:
    """Rename the file to `<name>.<fault>-<n>` and write the reason, one line, to `<name>.<fault>-<n>.why`.

    If there is no file, only the reason is written. n counts through the family: all files whose names are
    equal up to the first dot. Returns the new path. Raises OSError if the file
    cannot be renamed; it then stays in its place.
    """
    taken = [number for number, _ in _find_set_aside(path.parent, _file_family(path))]
    aside = path.with_name(f"{path.name}.{fault}-{max(taken, default=0) + 1}")
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    with contextlib.suppress(OSError):  # the file itself is safe, and its name contains the fault
        said = f"{' '.join(why.split())}\n"
        write_whole(aside.with_name(f"{aside.name}.why"), said.encode("utf-8", "replace"))
    return aside


def list_set_aside(folder: Path, family: str) -> tuple[str, ...]:
    """The set-aside files of a family, oldest first, as "<name>: <why>". Raises OSError."""
    found = sorted(_find_set_aside(folder, family))
    return tuple(f"{name}: {_read_reason(folder / f'{name}.why')}" for _, name in found)


def _file_family(path: Path) -> str:
    return path.name.split(".", 1)[0]


def _find_set_aside(folder: Path, family: str) -> set[tuple[int, str]]:
    faults = "|".join(FileFault)
    pattern = re.compile(rf"(?P<name>{re.escape(family)}\..+\.(?:{faults})-(?P<number>\d{{1,9}}))(?:\.why)?")
    try:
        matches = [pattern.fullmatch(path.name) for path in folder.iterdir()]
    except FileNotFoundError:
        return set()
    return {(int(found["number"]), found["name"]) for found in matches if found}


def _read_reason(path: Path) -> str:
    try:
        return read_whole(path, BLOCK).decode("utf-8", "replace").strip()
    except (OSError, UnusableFileError):
        return "no reason was kept"


# --- folders for temporary files that vanish with their purpose, also when their process was killed ---------


@contextlib.asynccontextmanager
async def scratch_folder(purpose: str) -> AsyncIterator[Path]:
    """Make a folder `supervisor-PURPOSE-PROCESS-…`, and remove it in the end without blocking the loop.

    Those of processes that were killed are removed, too. Raises OSError.
    """
    import asyncio  # noqa: PLC0415 - a start does without these
    import shutil  # noqa: PLC0415 - as above
    import tempfile  # noqa: PLC0415 - as above

    start = f"supervisor-{purpose}-"
    await asyncio.to_thread(_remove_abandoned, Path(tempfile.gettempdir()), start)
    folder = tempfile.mkdtemp(prefix=f"{start}{os.getpid()}-")
    try:
        yield Path(folder)
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


def _remove_abandoned(place: Path, start: str) -> None:
    import shutil  # noqa: PLC0415 - as above

    for folder in place.glob(f"{start}*-*"):
        process = folder.name.removeprefix(start).partition("-")[0]
        if process.isdecimal() and not is_process_alive(int(process)):
            shutil.rmtree(folder, ignore_errors=True)
