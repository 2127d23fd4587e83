"""Context locks: who may change a project under governance. One file of the state folder holds them all.

A lock ends when its time is over, when the process that holds it is gone, or by order. What happens to one is
noted before it happens; where it cannot be noted, it does not happen.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.governance import ContextLock
from sidecar.kernel.log import AuditEntry
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.platform.files import ensure_folder, exclusively, is_process_alive, write_whole
from sidecar.platform.paths import LOCKS_FILE, project_digest
from sidecar.platform.ports import Clock
from sidecar.platform.state import read_usable_state
from sidecar.systems.governance.audit import Audit
from sidecar.systems.governance.changes import KeptChanges
from sidecar.systems.governance.policy.work import LOCK_TOOL

ACQUIRED: Final = "acquired"
RELEASED: Final = "released"
BROKEN: Final = "broken"
EXPIRED: Final = "expired"
SHELL: Final = "shell"
"""The holder of a lock that a person acquired."""
LOCKS_LIMIT: Final = 1 << 20
"""Maximum bytes of that file; a lock has some 200."""

SUPERVISOR: Final = "supervisor"
"""The agent of an entry that nobody ordered."""


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


class _HeldLocks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of the held locks, the oldest first."""

    version: int = 1
    locks: tuple[ContextLock, ...] = ()


class Locks:
    """The locks of all projects; several processes may use them. Methods raise OSError."""

    def __init__(self, state: Path, clock: Clock, audit: Audit, *, agent: str, origin: str) -> None:
        """`state`: the user's state folder; `agent` and `origin`: who changes locks."""
        self._file = state / LOCKS_FILE
        self._clock = clock
        self._agent, self._origin = agent, origin
        self.audit, self.changes = audit, KeptChanges(state)

    def acquire(self, project: str, holder: str, mode: Mode, seconds: float, process: int = 0) -> ContextLock:
        """Acquire a project's lock. `process`: the lock ends with it, 0 for none.

        Raises LockHeldError, BadInputError for what is no path of a project.
        """
        digest, now = project_digest(project), self._clock.now()
        if not digest:
            raise BadInputError(f"{project[:200]!r} is no absolute path of a project")
        lock = ContextLock(
            id=f"gov-{secrets.token_hex(4)}",
            project=project,
            holder=holder,
            mode=mode,
            acquired=now,
            expires=now + seconds,
            process=process,
        )
        with self._changing() as held:
            for other in held.values():
                if project_digest(other.project) == digest:
                    raise LockHeldError(other)
            self._note(lock, ACQUIRED)
            held[lock.id] = lock
        return lock

    def find(self, lock: str) -> ContextLock | None:
        """Return the lock of this id while it is held."""
        return next((found for found in self.held() if found.id == lock), None)

    def held(self) -> tuple[ContextLock, ...]:
        """Return all that are held, the oldest first."""
        if not self._file.exists():
            return ()
        with self._changing() as held:
            return tuple(held.values())

    def renew(self, lock: str, seconds: float) -> None:
        """Let a lock end this many seconds from now. Raises LockLostError."""
        with self._changing() as held:
            held[lock] = replace(_find(held, lock), expires=self._clock.now() + seconds)

    def end(self, lock: str, result: str) -> ContextLock:
        """End a lock: RELEASED by its holder, or BROKEN, whoever holds it. Raises LockLostError."""
        with self._changing() as held:
            self._note(_find(held, lock), result)
            return held.pop(lock)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, ContextLock]]:
        """Yield the held locks by their ids, for nobody else meanwhile, and write what became of them."""
        ensure_folder(self._file.parent)
        with exclusively(self._file.parent):
            before = read_usable_state(self._file, _HeldLocks, LOCKS_LIMIT).locks
            held = {lock.id: lock for lock in before}
            try:
                for lock in filter(self._is_over, before):
                    self._note(lock, EXPIRED)
                    del held[lock.id]
                yield held
            finally:
                if not held:
                    self._file.unlink(missing_ok=True)
                elif before != (now := tuple(held.values())):
                    write_whole(self._file, msgspec.json.encode(_HeldLocks(locks=now)) + b"\n")

    def _note(self, lock: ContextLock, result: str) -> None:
        """Append what happens to a lock to the audit, as its session's; a change goes with its lock."""
        host, _, ident = lock.holder.partition(":")
        agent = SUPERVISOR if result == EXPIRED else self._agent
        entry = AuditEntry(tool=LOCK_TOOL, lock=lock.id, mode=lock.mode, agent=agent, result=result)
        session = SessionKey(host, ident) if ident else None
        self.audit.append(entry, session=session, project=lock.project, origin=self._origin)
        if result != ACQUIRED:
            self.changes.drop(lock.id)

    def _is_over(self, lock: ContextLock) -> bool:
        gone = lock.process and not is_process_alive(lock.process)
        return bool(gone) or lock.expires <= self._clock.now()


def _find(held: dict[str, ContextLock], lock: str) -> ContextLock:
    if lock not in held:
        raise LockLostError(lock)
    return held[lock]
