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
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION: Final = 1
"""The flag of CREATE_RULESET that asks for the version."""
BELOW: Final = 1
"""The kind of a rule about a file, or a folder with all that is below."""
NO_NEW_PRIVILEGES: Final = 38
"""The option of prctl without which only the administrator may restrict a process."""
WRITE: Final = 1 << 1
CHANGE_FOLDER: Final = sum(1 << bit for bit in range(4, 14))
"""To make, remove, rename and link entries, also from one folder to another (which needs version 2)."""
TRUNCATE: Final = 1 << 14
"""Known since version 3; before, it is part of WRITE but for the call that takes a path."""
SHARED_BY_WORKTREES: Final = ("objects", "refs", "logs", "worktrees", "lfs")
"""What git writes of a repository when somebody works in another worktree of it: no hooks, no settings."""
HOME_FOLDERS: Final = (".cache", ".config", ".local")
"""Where programs keep what is theirs, in a user's home."""


class _Rule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def _call(number: int, *arguments: object) -> int:
    system = ctypes.CDLL(None, use_errno=True)
    done = int(system.syscall(number, *arguments))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


def _landlock_version() -> int:
    """Return what this kernel knows of it, 0 for nothing."""
    with suppress(OSError, AttributeError):
        if sys.platform == "linux":
            return _call(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)
    return 0


def close_folders(closed: Iterable[str], opened: Iterable[str]) -> None:
    """Let this thread, and all that it starts, write nothing in the closed folders, but in the opened ones.

    All are real paths. Raises OSError.
    """
    handled = ctypes.c_uint64(WRITE | CHANGE_FOLDER | (TRUNCATE if _landlock_version() > 2 else 0))  # noqa: PLR2004
    ruleset = _call(CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), 0)
    for path in (*_places_beside(set(closed)), *opened):
        with suppress(OSError):  # it is gone, or none of ours
            place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            allowed = handled.value
            try:
                if not stat.S_ISDIR(os.fstat(place).st_mode):
                    allowed &= ~CHANGE_FOLDER
                _call(ADD_RULE, ruleset, BELOW, ctypes.byref(_Rule(allowed, place)), 0)
            finally:
                os.close(place)
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _places_beside(closed: set[str]) -> Iterable[str]:
    """Yield what lies beside the ways to the closed folders."""
    inside = tuple(f"{path}/" for path in closed)
    ways = {str(way) for path in closed for way in Path(path).parents if not f"{way}/".startswith(inside)}
    for way in ways:
        with suppress(OSError), os.scandir(way) as entries:
            for entry in entries:
                if entry.path not in ways | closed and not entry.is_symlink():
                    yield entry.path


# --- what the sidecar asks ----------------------------------------------------------------------------------


@cache
def can_close_folders() -> bool:
    """Whether this system does it, found out by doing it once, in a thread that ends with that."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not at start
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - not at start

    def is_refused(folder: str) -> bool:
        close_folders((folder,), ())
        try:
            Path(folder, "new").touch()
        except PermissionError:
            return True
        return False

    if _landlock_version() < 2:  # noqa: PLR2004 - without it, nothing can be moved from one folder to another
        return False
    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as aside, suppress(OSError):
        return aside.submit(is_refused, os.path.realpath(folder)).result()
    return False


def confined_command(
    command: Sequence[str], place: str, project: str, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a command that does the same and cannot write in the project, but in `place`, where it works.

    It is the same command where `project` is "" and where that is not possible: another system, a project
    that holds the user's home or lies in the temporary folder, a program that is not there. What the
    place links of the project's environments stays open.
    """
    import shutil  # noqa: PLC0415 - the program that this file is does without these
    from tempfile import gettempdir  # noqa: PLC0415 - as above

    from sidecar.platform.environments import known_environments  # noqa: PLC0415 - as above
    from sidecar.platform.git import find_checkout  # noqa: PLC0415 - as above

    own, at = find_checkout(Path(project)), find_checkout(Path(place))
    top = own.top if own else Path(project).resolve()
    main = own.common.parent if own and own.common.name == ".git" else own.common if own else top
    temporary, home = (
        Path(path).resolve()
        for path in (environment.get("TMPDIR") or gettempdir(), environment.get("HOME", "/"))
    )
    program = str(Path(place, command[0])) if "/" in command[0] else command[0]
    if (
        not project
        or any(folder.is_relative_to(temporary) or home.is_relative_to(folder) for folder in (top, main))
        or not shutil.which(program, path=environment.get("PATH", os.defpath))
        or not can_close_folders()
    ):
        return tuple(command)
    for name in HOME_FOLDERS:  # they could not be made any more
        with suppress(OSError):
            (home / name).mkdir(exist_ok=True)
    known, work = known_environments(), Path(place).resolve()
    copy = (work, *work.parents)[len(Path(project).resolve().relative_to(top).parts)]
    linked = (name for name in (*known.python, *known.linked) if (copy / name).is_symlink())
    opened = [str(work), str(temporary), *(str(top / name) for name in (*linked, *known.linked_by_entry))]
    if own and at and at.top != top and at.common == own.common:
        opened += [str(own.common / name) for name in SHARED_BY_WORKTREES]
    folders = json.dumps((tuple({str(top), str(main)}), opened))
    return (sys.executable, "-I", "-S", __file__, folders, *command)


if __name__ == "__main__":
    import signal

    closed_ones, opened_ones = json.loads(sys.argv[1])
    close_folders(closed_ones, opened_ones)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and its successor would, too
        signal.signal(ignored, signal.SIG_DFL)
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606, TID251 - the process is there already
