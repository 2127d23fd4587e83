"""Files of ours: written whole or not at all, for their owner alone, never reached through a link.

What this file does not know: what is inside them. What cannot be used is set aside with its reason; it is
never overwritten and never lost (law 11). Processes may write beside each other, but one path has one writer.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import secrets
import stat
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

OWNER_FILE: Final = 0o600
OWNER_FOLDER: Final = 0o700
BLOCK: Final = 64 * 1024
"""Bytes read at once when a file is read from its end."""

_TEMPORARY = re.compile(r"\..+\.(?P<process>\d+)-[0-9a-f]{8}\.tmp")


class UnfitError(Exception):
    """What lies there is no plain file that could be used. The message says what it is instead."""


class Fault(StrEnum):
    """Why a file was set aside; part of its new name."""

    CORRUPT = "corrupt"
    EDITED = "edited"
    FUTURE = "future-version"
    UNREADABLE = "unreadable"


# --- folders ------------------------------------------------------------------------------------------------


def ensure_folder(folder: Path) -> None:
    """Make the folder and what is missing above it, for its owner alone.

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


def explain(folder: Path, text: str) -> None:
    """Keep a README in the folder that tells a passer-by what it is. Raises OSError."""
    readme = folder / "README"
    try:
        known = read_whole(readme, len(text.encode()))
    except (FileNotFoundError, UnfitError):
        known = b""
    if known != text.encode():
        write_whole(readme, text.encode())


def sweep(folder: Path) -> None:
    """Remove the temporary files of processes that died while writing. Never raises.

    Call it before the first write to the folder: a file of our own process id is left from an earlier one.
    """
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            found = _TEMPORARY.fullmatch(path.name)
            if found and (int(found["process"]) == os.getpid() or not _alive(int(found["process"]))):
                path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


# --- reading ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _opened(path: Path, flags: int, *, follow: bool = False) -> Iterator[int]:
    """A descriptor of a plain file. Raises UnfitError for anything else, OSError where there is none."""
    flags |= os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, OWNER_FILE)
    except OSError as error:
        raise _reason(path, error) from error
    except ValueError as error:
        raise UnfitError(f"no possible path: {error}") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise UnfitError("a folder" if stat.S_ISDIR(mode) else "no plain file")
        yield descriptor
    finally:
        os.close(descriptor)


def _reason(path: Path, error: OSError) -> Exception:
    """Blame the file where it is to blame; else the folder, the disk or the process: `error` itself."""
    known = {errno.ELOOP: "a symbolic link", errno.EISDIR: "a folder", errno.ENXIO: "no plain file"}
    if error.errno in known:
        return UnfitError(known[error.errno])
    if isinstance(error, PermissionError):
        with contextlib.suppress(OSError):
            return UnfitError(f"not open to its owner (mode {stat.S_IMODE(path.lstat().st_mode):04o})")
    return error


def read_whole(path: Path, limit: int, *, follow: bool = False) -> bytes:
    """All of it, at most `limit` bytes. Raises UnfitError and OSError (FileNotFoundError among them)."""
    with (
        _opened(path, os.O_RDONLY, follow=follow) as descriptor,
        os.fdopen(descriptor, "rb", closefd=False) as file,
    ):
        data = file.read(limit + 1)
        if len(data) > limit:
            raise UnfitError(f"{os.fstat(descriptor).st_size} bytes, more than {limit}")
        return data


def lines_backwards(path: Path, within: int) -> Iterator[bytes]:
    """Its lines, the last one first, from the last `within` bytes; an unfinished last line comes too.

    Raises UnfitError and OSError at the first step.
    """
    with _opened(path, os.O_RDONLY) as descriptor:
        end = os.fstat(descriptor).st_size
        first = max(end - within, 0)
        rest = b""
        while end > first:
            start = max(end - BLOCK, first)
            rest, *lines = (os.pread(descriptor, end - start, start) + rest).split(b"\n")
            yield from filter(None, reversed(lines))
            end = start
        if rest and first == 0:
            yield rest


def stamp(path: Path) -> tuple[int, ...]:
    """What changes when the file's content does. Raises OSError."""
    found = path.stat()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


# --- writing ------------------------------------------------------------------------------------------------


def write_whole(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Put `data` in the place of the file in one step; raises OSError, and the old file is still whole then.

    `durable`: it also outlives a loss of power, at the price of two waits for the disk. A link at `path` is
    replaced, not followed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
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


def append_line(path: Path, line: bytes) -> int:
    """Add one line; raises OSError and UnfitError, and nothing was added then. Returns the new size in bytes.

    A line that an earlier process left unfinished is ended first, so that it spoils nothing but itself.
    """
    with _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = (b"\n" if torn else b"") + line + b"\n"
        try:
            _write_all(descriptor, data)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
        return size + len(data)


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


def set_aside(path: Path, fault: Fault, why: str) -> None:
    """Move what lies there out of the way, as `<name>.<fault>-<n>` with a line of reason in `<...>.why`.

    Where nothing lies there, only the reason is kept. n counts through the family: all files whose names are
    the same up to the first dot. Raises OSError where it cannot be moved; then it is still in its place.
    """
    taken = [number for number, _ in _asides(path.parent, _family(path))]
    aside = path.with_name(f"{path.name}.{fault}-{max(taken, default=0) + 1}")
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    with contextlib.suppress(OSError):  # the file itself is safe, and its name says the fault
        write_whole(
            aside.with_name(f"{aside.name}.why"), f"{' '.join(why.split())}\n".encode("utf-8", "replace")
        )


def asides(folder: Path, family: str) -> tuple[str, ...]:
    """What was set aside of this family, oldest first: "<name>: <why>". Raises OSError."""
    return tuple(f"{name}: {_why(folder / f'{name}.why')}" for _, name in sorted(_asides(folder, family)))


def _family(path: Path) -> str:
    return path.name.split(".", 1)[0]


def _asides(folder: Path, family: str) -> set[tuple[int, str]]:
    faults = "|".join(Fault)
    pattern = re.compile(rf"(?P<name>{re.escape(family)}\..+\.(?:{faults})-(?P<number>\d{{1,9}}))(?:\.why)?")
    try:
        matches = [pattern.fullmatch(path.name) for path in folder.iterdir()]
    except FileNotFoundError:
        return set()
    return {(int(found["number"]), found["name"]) for found in matches if found}


def _why(path: Path) -> str:
    try:
        return read_whole(path, BLOCK).decode("utf-8", "replace").strip()
    except (OSError, UnfitError):
        return "no reason was kept"
