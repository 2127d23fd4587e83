"""Lets a program write everywhere but in some folders: `python -I -S confine.py FOLDERS PROGRAM ...`.

Linux's Landlock does it (kernel 5.19 or newer): it needs no privilege, works in most containers, and holds
all that the program starts. It can only allow, each time with all that is below. So allowed is what lies
beside the way to a closed folder, and nothing new can be made directly in a folder on that way, such as the
user's home.

As a program, this file sees the standard library alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Landlock's system calls, the same on all processors."""
NO_NEW_PRIVILEGES: Final = 38
"""The option of prctl without which only the administrator may restrict a process."""
WRITE: Final = 1 << 1
CHANGE_FOLDER: Final = 0b11_1111_1111 << 4
"""To make, remove, rename and link entries, also from one folder to another (not known before version 2)."""
TRUNCATE, TRUNCATE_SINCE = 1 << 14, 3
SHARED_BY_WORKTREES: Final = ("objects", "refs", "logs", "worktrees", "lfs")
"""What git writes of a repository when somebody works in another worktree of it: no hooks, no settings."""
HOME_FOLDERS: Final = (".cache", ".config", ".local", ".npm")
"""Where programs keep what is theirs in a user's home."""
MARK: Final = "SUPERVISOR_PLACE"
"""The variable that names its place to a program, and shows what it started."""


def close_folders(closed: Iterable[str], opened: Iterable[str]) -> None:
    """Let this thread, and all that it starts, write nothing in the closed folders, but in the opened ones.

    All are real paths. Raises OSError.
    """
    flags = os.O_PATH | os.O_NOFOLLOW  # other systems know none of these
    version = _call(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    handled = WRITE | CHANGE_FOLDER | (TRUNCATE if version >= TRUNCATE_SINCE else 0)
    ruleset = _call(CREATE_RULESET, struct.pack("=Q", handled), ctypes.c_size_t(8), 0)
    for path in (*_places_beside(set(closed)), *opened):
        with suppress(OSError), ExitStack() as cleanup:  # it is gone, or nobody's to write
            place = os.open(path, flags)
            cleanup.callback(os.close, place)
            allowed = handled if stat.S_ISDIR(os.fstat(place).st_mode) else handled & ~CHANGE_FOLDER
            _call(ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, place), 0)
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _call(number: int, *arguments: object) -> int:
    done: int = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


def _places_beside(closed: set[str]) -> Iterable[str]:
    """Yield what lies beside the ways to the closed folders."""
    inside = tuple(f"{path}/" for path in closed)
    ways = {str(way) for path in closed for way in Path(path).parents if not f"{way}/".startswith(inside)}
    for way in ways:
        with suppress(OSError), os.scandir(way) as entries:
            yield from (one.path for one in entries if one.path not in ways | closed and not one.is_symlink())


# --- what the sidecar asks ----------------------------------------------------------------------------------


@cache
def can_close_folders() -> bool:
    """Whether this system does it, found out by doing it once, in a thread that ends with that."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not at start
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - not at start

    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as aside, suppress(OSError, AttributeError):
        aside.submit(close_folders, (os.path.realpath(folder),), ()).result()
        return isinstance(aside.submit(Path(folder, "new").touch).exception(), PermissionError)
    return False


@contextmanager
def confined(
    command: Sequence[str], place: str, project: str, environment: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """Yield a command that does the same and cannot write in the project, but in `place`, where it works.

    It is the same command where `project` is "" and where that is not possible: another system, a project
    that holds the user's home or lies in the temporary folder. What the place links of the project's
    environments stays open. A daemon that it left is killed in the end, for it would serve others, too.
    """
    from tempfile import gettempdir  # noqa: PLC0415 - the program that this file is does without these

    from sidecar.platform.environments import known_environments  # noqa: PLC0415 - as above
    from sidecar.platform.git import find_checkout  # noqa: PLC0415 - as above

    work, here = Path(place).resolve(), Path(project).resolve()
    own, at, known = find_checkout(here), find_checkout(work), known_environments()
    top, common = (own.top, own.common) if own else (here, here)
    closed = {top, common.parent if common.name == ".git" else common}
    temporary = Path(environment.get("TMPDIR") or gettempdir()).resolve()
    home = Path(environment.get("HOME") or "/nonexistent").resolve()
    is_apart = not any(one.is_relative_to(temporary) or home.is_relative_to(one) for one in closed)
    if not (project and is_apart and can_close_folders()):
        yield tuple(command)
        return
    for name in HOME_FOLDERS if top.is_relative_to(home) else ():  # they could not be made any more
        with suppress(OSError):
            (home / name).mkdir(exist_ok=True)
    copy = (work, *work.parents)[len(here.relative_to(top).parts)]
    linked = (name for name in (*known.python, *known.linked) if (copy / name).is_symlink())
    shared = SHARED_BY_WORKTREES if at and at.top != top and at.common == common else ()
    opened = (work, temporary, *(top / name for name in (*linked, *known.linked_by_entry)))
    folders = (*map(str, closed),), (*map(str, opened), *(str(common / name) for name in shared))
    try:
        yield (sys.executable, "-I", "-S", __file__, json.dumps(folders), *command)
    finally:
        _kill_marked(os.fsencode(f"{MARK}={work}"))


def _kill_marked(variable: bytes) -> None:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


if __name__ == "__main__":
    close_folders(*(folders := json.loads(sys.argv[1])))
    os.environ[MARK] = folders[1][0]
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and its successor would, too
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606, TID251 - the process is there already
