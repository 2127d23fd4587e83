"""Context locks: who may change a project under governance; and the change that is made under each.

One file of the state folder holds all locks. A lock ends when its time is over, when the process that holds
it is gone, or by order. What happens to one is noted before it happens; where it cannot be noted, it does
not happen.

A change is two commits in a repository of our own, its files before and after, and is named by the second.
The audit holds that name, and so, as git names contents by their digests, the contents. They stay in the
repository until the change is delivered or dropped. Every phase puts the change into a fresh copy of the
project as that is now, and git merges the three versions: before, after, and now. So a change is never
reviewed, tested or delivered on files that are not there any more.
"""

from __future__ import annotations

import datetime as dt
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.tree.shadow_repository import ShadowRepositories
from sidecar.evidence.tree.work_tree import WorkTree
from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.evidence import FileChange
from sidecar.kernel.governance import ContextLock, ErrorType
from sidecar.kernel.log import AuditEntry
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.platform.files import ensure_folder, exclusively, is_process_alive, write_whole
from sidecar.platform.git import Git, UnseenError, clean_git_environment, git_config_arguments, join_with_nul
from sidecar.platform.paths import LOCKS_FILE, project_digest
from sidecar.platform.ports import Clock
from sidecar.platform.processes import find_program
from sidecar.platform.state import read_usable_state
from sidecar.systems.governance.audit import Audit
from sidecar.systems.governance.policy.work import LOCK_TOOL, TroubleError
from sidecar.work.place import WorkCopy

# --- changes ------------------------------------------------------------------------------------------------


DIFF_LENGTH: Final = 60_000
"""Characters of the diff that is shown."""
POINTS_SHOWN: Final = 5
"""Points that a message names."""
COMMITTER: Final = "supervisor <supervisor>"
BEFORE, AFTER = "refs/heads/before", "refs/heads/after"
DURABLE: Final = git_config_arguments("core.fsync=all")
DIFF_TREE: Final = ("diff-tree", "-r", "--no-renames")
DIFFERING: Final = (*DIFF_TREE, "-z", "--name-only")
ADD: Final = ("update-index", "--add", "--remove", "-z", "--stdin")


class KeptChange(NamedTuple):
    """The name of a change, its files, those that differ from the change before it, and its diff."""

    name: str
    files: tuple[str, ...]
    new: tuple[str, ...]
    diff: str


class KeptChanges:
    """Where changes are kept. `state`: the user's state folder. Methods raise UnseenError, OSError."""

    def __init__(self, state: Path) -> None:
        self._repositories = ShadowRepositories(state / "governance" / "changes")

    async def keep(self, lock: str, copy: WorkCopy, files: Sequence[FileChange], last: str) -> KeptChange:
        """Keep the change of a lock that was made in a copy. `last`: the name of the change before it.

        Raises TroubleError where it cannot be delivered.
        """
        commits = b"".join(_commits(Path(copy.origin), Path(copy.project), _deliverable(files)))
        with self._entered(lock, copy) as (git, _):
            durable = replace(git, argv=(*git.argv, *DURABLE))
            await durable.told("fast-import", "--quiet", "--force", stdin=commits)
            name = (await git.told("rev-parse", AFTER)).decode().strip()
            paths = await git.names(*DIFFERING, BEFORE, AFTER)
            new = await git.names(*DIFFERING, last, AFTER) if last else paths
            diff = (await git.told(*DIFF_TREE, "-p", "--text", BEFORE, AFTER)).decode("utf-8", "replace")
        if len(diff) > DIFF_LENGTH:
            diff = f"{diff[:DIFF_LENGTH]}\n... and {len(diff) - DIFF_LENGTH} characters more\n"
        return KeptChange(name, tuple(paths), tuple(new), diff)

    async def put(self, lock: str, copy: WorkCopy, name: str) -> tuple[str, ...]:
        """Put a change into a copy; return the files that had to be merged.

        Raises ToolRuleError where it is not what its name says, TroubleError where lines conflict.
        """
        before = f"{name}^"
        with self._entered(lock, copy) as (git, _):
            try:
                await git.told("fsck", "--no-dangling", name)
            except UnseenError as error:
                raise ToolRuleError("governance-change-lost", lock=lock) from error
            paths = await git.names(*DIFFERING, before, name)
            await git.told(*ADD, stdin=join_with_nul(paths))
            now = (await git.told("write-tree")).decode().strip()
            moved = await git.names(*DIFFERING, before, now)
            pending = await git.names(*DIFFERING, now, name)
            await git.told("read-tree", "-m", "-u", "--aggressive", before, now, name)
            await git.ask("merge-index", "-o", "-q", "git-merge-one-file", "-a")
            if conflicts := await git.names("diff-files", "--name-only", "--diff-filter=U", "-z"):
                raise TroubleError(ErrorType.CONFLICT, "conflict", files=", ".join(conflicts))
        return tuple(path for path in moved if path in pending)

    def drop(self, lock: str) -> None:
        """Forget the change of a lock."""
        shutil.rmtree(self._repositories.home(Path(lock)), ignore_errors=True)

    def _entered(self, lock: str, copy: WorkCopy) -> AbstractContextManager[tuple[Git, Path]]:
        """Enter a lock's repository, with the copy as its files and an empty index."""
        place, environment = Path(copy.project), clean_git_environment(copy.environment)
        if not (program := find_program("git", copy.environment, copy.project)):
            raise UnseenError("git is not on PATH")
        ground = WorkTree(project=place, top=place, git=Git((program,), place, environment))
        return self._repositories.newest(Path(lock)).entered(ground)


def _deliverable(files: Sequence[FileChange]) -> Sequence[FileChange]:
    """Return the files of a change. Raises TroubleError where one cannot be delivered, and where none is."""
    faults = {one.path: why for one in files if (why := _why_not_deliverable(one))}
    if faults:
        named = [f"{ascii(path)[1:-1]}: {why}" for path, why in faults.items()]
        raise TroubleError(ErrorType.INVALID_ANSWER, "not-deliverable", files="; ".join(named[:POINTS_SHOWN]))
    if not files:
        raise TroubleError(ErrorType.INVALID_ANSWER, "nothing-changed")
    return files


def _why_not_deliverable(one: FileChange) -> str:
    """Say why a file cannot be delivered: what was no UTF-8 has replacement characters now."""
    if one.unread or one.link:
        return one.unread or "it is a link"
    if not one.path.isprintable():
        return "its name is no text"
    if one.path.startswith("../"):
        return "it is outside the project"
    return "it is not UTF-8" if "\ufffd" in f"{one.before}{one.after}" else ""


def _commits(project: Path, copy: Path, files: Sequence[FileChange]) -> Iterator[bytes]:
    """Yield the two commits as `git fast-import` reads them, each with all its files."""
    sides = (
        (BEFORE, "deleteall", {one.old_path or one.path: one.before for one in files}, (project, copy)),
        (AFTER, f"from {BEFORE}\ndeleteall", {one.path: one.after for one in files}, (copy,)),
    )
    for branch, start, texts, folders in sides:
        yield f"commit {branch}\ncommitter {COMMITTER} 0 +0000\ndata 0\n{start}\n".encode()
        for path, text in texts.items():
            if text is not None:
                quoted = path.replace("\\", "\\\\").replace('"', '\\"')
                yield f'M {_git_mode(path, folders)} inline "{quoted}"\ndata {len(text.encode())}\n'.encode()
                yield text.encode() + b"\n"


def _git_mode(path: str, folders: Iterable[Path]) -> str:
    """Return git's mode of a file, as it is in the first of these folders that has it."""
    there = next((folder / path for folder in folders if (folder / path).exists()), None)
    return "100755" if there and os.access(there, os.X_OK) else "100644"


# --- locks --------------------------------------------------------------------------------------------------


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
