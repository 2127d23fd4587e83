"""Context locks: who may change a project under governance. One file per project, in the state folder.

A lock ends when its time is over, when the process that holds it is gone, or by order. What happens to one is
noted before it happens; where it cannot be noted, it does not happen.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.audit import Mode
from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.governance import ContextLock
from sidecar.platform.files import ensure_folder, exclusively, is_process_alive, write_whole
from sidecar.platform.paths import project_digest
from sidecar.platform.ports import Clock
from sidecar.platform.state import read_usable_state

ACQUIRED: Final = "acquired"
RELEASED: Final = "released"
BROKEN: Final = "broken"
EXPIRED: Final = "expired"
SHELL: Final = "shell"
"""The holder of a lock that a person acquired."""
LOCK_LIMIT: Final = 64 * 1024
"""Maximum bytes of a lock's file."""

Note = Callable[[ContextLock, str], object]
"""Called with a lock and one of the four results."""


class LockHeldError(ToolRuleError):
    """Another one holds the project's lock."""

    def __init__(self, lock: ContextLock) -> None:
        until = dt.datetime.fromtimestamp(lock.expires, tz=dt.UTC).astimezone()
        super().__init__(
            "governance-held", lock=lock.id, holder=lock.holder, expires=f"{until:%Y-%m-%d %H:%M}"
        )


class LockLostError(ToolRuleError):
    """There is no such lock, or none any more."""

    def __init__(self, lock: str) -> None:
        super().__init__("governance-no-lock", lock=lock)


class _LockFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int = 1
    lock: ContextLock | None = None


class Locks:
    """The locks of all projects; several processes may use them. Methods raise OSError."""

    def __init__(self, state: Path, clock: Clock, note: Note = lambda *_: None) -> None:
        """`state`: the user's state folder."""
        self._folder = state / "governance" / "locks"
        self._clock = clock
        self._note = note

    def acquire(self, project: str, holder: str, mode: Mode, seconds: float, process: int = 0) -> ContextLock:
        """Acquire a project's lock. `process`: the lock ends with it, 0 for none.

        Raises LockHeldError, BadInputError for what is no path of a project.
        """
        name = project_digest(project)
        if not name:
            raise BadInputError(f"{project[:200]!r} is no absolute path of a project")
        path, now = self._folder / f"{name}.json", self._clock.now()
        with self._alone():
            held = self._read(path)
            if held is not None:
                raise LockHeldError(held)
            lock = ContextLock(
                id=f"gov-{secrets.token_hex(4)}",
                project=project,
                holder=holder,
                mode=mode,
                acquired=now,
                expires=now + seconds,
                process=process,
            )
            self._note(lock, ACQUIRED)
            _write(path, lock)
        return lock

    def find(self, lock: str) -> ContextLock | None:
        """Return the lock of this id while it is held."""
        return next((found for found in self.held() if found.id == lock), None)

    def held(self) -> tuple[ContextLock, ...]:
        """Return all that are held, the oldest first."""
        if not self._folder.exists():
            return ()
        with self._alone():
            held = [lock for path in self._paths() if (lock := self._read(path)) is not None]
        return tuple(sorted(held, key=lambda lock: lock.acquired))

    def renew(self, lock: str, seconds: float) -> ContextLock:
        """Let a lock end this many seconds from now. Raises LockLostError."""
        with self._alone():
            path, held = self._find(lock)
            renewed = replace(held, expires=self._clock.now() + seconds)
            _write(path, renewed)
        return renewed

    def end(self, lock: str, result: str) -> ContextLock:
        """End a lock: RELEASED by its holder, or BROKEN, whoever holds it. Raises LockLostError."""
        with self._alone():
            path, held = self._find(lock)
            self._note(held, result)
            path.unlink()
        return held

    @contextmanager
    def _alone(self) -> Iterator[None]:
        ensure_folder(self._folder)
        with exclusively(self._folder):
            yield

    def _find(self, lock: str) -> tuple[Path, ContextLock]:
        for path in self._paths():
            held = self._read(path)
            if held is not None and held.id == lock:
                return path, held
        raise LockLostError(lock)

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))

    def _read(self, path: Path) -> ContextLock | None:
        """Return the lock in a file, None where there is none any more."""
        lock = read_usable_state(path, _LockFile, LOCK_LIMIT).lock
        if lock is None:
            return None
        if lock.expires > self._clock.now() and (not lock.process or is_process_alive(lock.process)):
            return lock
        self._note(lock, EXPIRED)
        path.unlink()
        return None


def _write(path: Path, lock: ContextLock) -> None:
    write_whole(path, msgspec.json.encode(_LockFile(lock=lock)) + b"\n")
