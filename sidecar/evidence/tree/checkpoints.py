"""Checkpoints: the state of a project's files, saved in our own shadow repository, and restored from it.

Rules:

- The user's repository is read and never written: no branch, index, stash, setting, hook or filter of it.
- Bytes on disk count. No attribute, filter or line ending is applied; an LFS pointer is a file like others.
- A checkpoint needs no object of the user's repository: what only that one holds is copied into a pack.
- Only what a checkpoint of the present holds is overwritten or removed. So an ignored file never is, nor one
  that could not be saved; and what the checkpoint's own rules ignore is not removed either.
- All files are replaced, or none (`apply`).

A file's permissions are saved and come back, but not its owner, times, extended attributes and hard links.
Not covered: empty folders, permissions of folders, `.git` itself (of the project, its submodules and nested
repositories, whose files are saved as plain files), files outside a sparse checkout (they stay absent), and
file systems that do not tell upper from lower case. A project that is a folder of a repository is saved with
all of that repository, and restored alone.

Layout: <state>/checkpoints/<project>/<shadow repository>/snapshots/<checkpoint>.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import stat
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ports import CheckpointError, RestoredTree, TreeCheckpoint, TreeDifference
from sidecar.evidence.tree.apply import (
    LINK_MODE,
    ApplyError,
    ChangeApplier,
    FileStep,
    check_folders,
    file_version,
    plain_mode,
)
from sidecar.evidence.tree.checkout import write_files
from sidecar.evidence.tree.contents import FileContent, read_blob_contents
from sidecar.evidence.tree.shadow_repository import ShadowRepositories, ShadowRepository, with_user_objects
from sidecar.evidence.tree.snapshot import TreeState, read_tree_state
from sidecar.evidence.tree.work_tree import WorkTree, find_work_tree
from sidecar.kernel.changes import FileChange, ProjectChanges
from sidecar.platform.files import OWNER_FILE, ensure_folder
from sidecar.platform.git import Git, UnseenError, checked_git_output, join_with_nul, split_at_nul

CHECKPOINTS: Final = 50
"""Checkpoints kept per project; beyond that, the oldest are removed."""
CHECKPOINT_BYTES: Final = 1 << 30
"""Bytes of all checkpoints of a project, above which the oldest are removed."""
SHOWN_FILES: Final = 2_000
"""Changed files whose texts are read; the others are only listed."""
TOO_MANY: Final = f"more than {SHOWN_FILES:,} files would change"
NAMED_CONFLICTS: Final = 5
RECORD_VERSION: Final = 1
CHECKPOINT_ID: Final = re.compile(r"[0-9a-f]{16}")
EXPECTED_ERRORS: Final = (ApplyError, UnseenError, OSError, TimeoutError, ValueError)
"""Errors that the environment can cause. Anything else is a bug."""

T = TypeVar("T")


class _Modes(Struct, frozen=True):
    """Permissions: those that most files have, plain and executable ones, and those of all others."""

    plain: int
    executable: int
    others: dict[bytes, int]

    def version(self, path: str, git_mode: str, name: str) -> str:
        """Return a file's version as `file_version` gives it."""
        if git_mode == LINK_MODE:
            return f"{LINK_MODE} {name}"
        usual = self.executable if git_mode == "100755" else self.plain
        return f"{plain_mode(self.others.get(os.fsencode(path), usual))} {name}"


class _Record(Struct, frozen=True, kw_only=True):
    """What is stored of a checkpoint. `top` is the folder to which the paths of `tree` are relative."""

    version: int = RECORD_VERSION
    top: bytes
    tree: str
    digest: str
    saved_at: float
    modes: _Modes
    unsaved: tuple[bytes, ...]


class _State(Struct, frozen=True):
    """A state of the files: its record, and the version of each file of the project."""

    record: _Record
    files: Mapping[str, str]


class _Place(Struct, frozen=True):
    """A project, and the shadow repository in which its state is looked up."""

    ground: WorkTree
    room: ShadowRepository

    def within(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield those that are in the project: relative to the top, and to the project."""
        prefix = "" if self.ground.inside == "." else f"{self.ground.inside}/"
        return ((path, path[len(prefix) :]) for path in paths if path.startswith(prefix))


class _Plan(Struct, frozen=True):
    """What a restore does."""

    steps: tuple[FileStep, ...]
    conflicts: tuple[str, ...]
    left: tuple[str, ...]


class GitCheckpoints:
    """Implements `TreeCheckpoints`. `state`: the user's state folder."""

    def __init__(self, state: Path) -> None:
        self._rooms = ShadowRepositories(state / "checkpoints", lasting=True)
        self._applier = ChangeApplier(state)
        self._turns = defaultdict[str, asyncio.Lock](asyncio.Lock)

    async def save(self, project: str, environment: Mapping[str, str]) -> TreeCheckpoint:
        """Save the files as they are."""
        async with self._entered(project, environment) as ground:
            room = await asyncio.to_thread(self._rooms.newest, ground.project)
            return await self._keep(_Place(ground, room), await _read_present(_Place(ground, room)))

    async def difference(
        self, project: str, environment: Mapping[str, str], checkpoint: str
    ) -> TreeDifference:
        """Return what restoring this checkpoint would change."""
        async with self._entered(project, environment) as ground:
            place, target = await self._checkpoint(ground, checkpoint)
            plan = await _plan_restore(place, await _read_present(place), target)
            files = await _describe_steps(place, plan.steps)
            return TreeDifference(
                changes=ProjectChanges(files=files, tree=target.record.digest),
                conflicts=plan.conflicts,
                left=plan.left,
            )

    async def restore(self, project: str, environment: Mapping[str, str], checkpoint: str) -> RestoredTree:
        """Give all files what they had in this checkpoint."""
        async with self._entered(project, environment) as ground:
            place, target = await self._checkpoint(ground, checkpoint)
            present = await _read_present(place)
            plan = await _plan_restore(place, present, target)
            if plan.conflicts:
                raise CheckpointError(
                    f"nothing was restored: {'; '.join(plan.conflicts[:NAMED_CONFLICTS])}"
                    + (f" and {more} more" if (more := len(plan.conflicts) - NAMED_CONFLICTS) > 0 else "")
                )
            saved = await self._keep(place, present, spare=checkpoint)
            if plan.steps:
                await self._replace_files(place, target, plan.steps)
            return RestoredTree(
                present=saved,
                written=tuple(step.path for step in plan.steps if step.after),
                removed=tuple(step.path for step in plan.steps if not step.after),
                left=plan.left,
            )

    def list(self, project: str) -> tuple[TreeCheckpoint, ...]:
        """Return the checkpoints, oldest first."""
        found = []
        for name in self._names(project):
            with suppress(UnseenError):
                found.append(_tell(name, _decode_record(self._rooms.snapshot(name)[1])))
        return tuple(found)

    def forget(self, project: str, checkpoint: str) -> None:
        """Delete a checkpoint. Its contents go when the next one is saved."""
        for name in self._names(project):
            if name.endswith(f"/{checkpoint}") and CHECKPOINT_ID.fullmatch(checkpoint):
                self._rooms.forget(name)

    def _names(self, project: str) -> tuple[str, ...]:
        with suppress(OSError, ValueError, RuntimeError):
            return self._rooms.names(Path(project).resolve())
        return ()

    @asynccontextmanager
    async def _entered(self, project: str, environment: Mapping[str, str]) -> AsyncIterator[WorkTree]:
        """Find the project's files, and keep other processes out. Raises CheckpointError."""
        try:
            ground = await find_work_tree(project, environment)
            if ground is None or ground.bare:
                raise UnseenError("there is no git program" if ground is None else "the repository is bare")
            ensure_folder(self._rooms.kept)
            home = self._rooms.home(ground.project).name
            async with self._turns[home]:
                with _locked(self._rooms.kept / f"{home}.lock"):
                    yield ground
        except EXPECTED_ERRORS as error:
            raise CheckpointError(str(error) or type(error).__name__) from error

    async def _checkpoint(self, ground: WorkTree, checkpoint: str) -> tuple[_Place, _State]:
        """Read a stored checkpoint. Raises UnseenError."""
        names = [name for name in self._names(str(ground.project)) if name.endswith(f"/{checkpoint}")]
        if not names or not CHECKPOINT_ID.fullmatch(checkpoint):
            raise UnseenError(f"there is no checkpoint {checkpoint}")
        room, kept = self._rooms.snapshot(names[0])
        record = _decode_record(kept)
        if record.top != os.fsencode(ground.top):
            raise UnseenError("another repository is around the project now")
        place = _Place(ground, room)
        with room.entered(ground) as (git, _):
            entries = await _tree_entries(git, record.tree)
        return place, _State(record, _versions(place, entries, record.modes))

    async def _keep(self, place: _Place, state: _State, spare: str = "") -> TreeCheckpoint:
        """Store a state for good, and remove what is too much. Raises UnseenError, OSError."""
        name = await asyncio.to_thread(place.room.keep, msgspec.msgpack.encode(state.record))
        kept = _tell(name, state.record)
        await self._tidy(place, spare={spare, kept.id} - {""})
        return kept

    async def _tidy(self, place: _Place, spare: set[str]) -> None:
        """Remove the oldest checkpoints beyond the limits, and the contents that none needs any more."""
        top = place.ground.project
        with suppress(OSError, UnseenError):
            names = [name for name in self._rooms.names(top) if name.rpartition("/")[2] not in spare]
            while len(names) + len(spare) > CHECKPOINTS and names:
                self._rooms.forget(names.pop(0))
            while await asyncio.to_thread(self._rooms.size, top) > CHECKPOINT_BYTES:
                await self._prune(place)
                if not names or await asyncio.to_thread(self._rooms.size, top) <= CHECKPOINT_BYTES:
                    break
                self._rooms.forget(names.pop(0))
            await asyncio.to_thread(self._rooms.tidy, top)

    async def _prune(self, place: _Place) -> None:
        """Delete the contents in all repositories of the project that no checkpoint holds. Packs stay."""
        trees: dict[ShadowRepository, list[str]] = {}
        for name in self._rooms.names(place.ground.project):
            room, kept = self._rooms.snapshot(name)
            trees.setdefault(room, []).append(_decode_record(kept).tree)
        for room, held in trees.items():
            with room.entered(place.ground) as (git, _):
                await git.told("prune", "--expire=now", *held)

    async def _replace_files(self, place: _Place, target: _State, steps: tuple[FileStep, ...]) -> None:
        """Write the new versions beside the files, then swap. Raises ApplyError, UnseenError, OSError."""
        inside = place.ground.inside
        wanted = {step.path: step.after for step in steps if step.after}
        with self._applier.staging(place.ground.project) as staging:
            with place.room.entered(place.ground) as (git, _):
                paths = [path if inside == "." else f"{inside}/{path}" for path in wanted]
                await write_files(git, target.record.tree, staging.new, paths)
            new = staging.new / inside
            await asyncio.to_thread(_set_modes, new, wanted)
            await _to_its_end(asyncio.to_thread(staging.swap, steps, new))


# --- Reading states -----------------------------------------------------------------------------------------


async def _read_present(place: _Place) -> _State:
    """Scan the files, and store their contents. Raises UnseenError, OSError."""
    try:
        seen, entries = await _scan_and_store(place)
    except UnseenError:
        place.room.index.unlink(missing_ok=True)  # it may refer to contents that the user's repository lost
        seen, entries = await _scan_and_store(place)
    modes = await asyncio.to_thread(_read_modes, place.ground.top, entries)
    record = _Record(
        top=os.fsencode(place.ground.top),
        tree=seen.tree,
        digest=seen.digest(),
        saved_at=time.time(),
        modes=modes,
        unsaved=tuple(sorted(os.fsencode(path) for _, path in place.within(seen.unread))),
    )
    return _State(record, _versions(place, entries, modes))


async def _scan_and_store(place: _Place) -> tuple[TreeState, dict[str, tuple[str, str]]]:
    seen = await read_tree_state(place.room, place.ground)
    with place.room.entered(place.ground) as (git, _):
        entries = await _tree_entries(git, seen.tree)
        await _copy_user_objects(git, place, {name for _, name in entries.values()})
    return seen, entries


async def _copy_user_objects(git: Git, place: _Place, names: set[str]) -> None:
    """Copy the contents that only the user's repository has: a `git gc` there could remove them."""
    asked = "".join(f"{name}\n" for name in sorted(names)).encode()
    said = await git.told("cat-file", "--batch-check=%(objectname)", stdin=asked)
    missing = b"".join(line.split(b" ")[0] + b"\n" for line in said.splitlines() if b" " in line)
    if missing:
        packs = place.room.folder / "objects" / "pack"
        packs.mkdir(exist_ok=True)
        packing = ("pack-objects", "--quiet", "--window=0", f"{packs}/pack")
        await with_user_objects(git, place.ground).told(*packing, stdin=missing)


async def _tree_entries(git: Git, tree: str) -> dict[str, tuple[str, str]]:
    """Return git's mode and object name of each file of a tree."""
    lines = (line.partition("\t")[::2] for line in await git.names("ls-tree", "-r", "-z", tree))
    return {path: (about[:6], about[-40:]) for about, path in lines}


def _read_modes(top: Path, entries: Mapping[str, tuple[str, str]]) -> _Modes:
    found: dict[str, dict[str, int]] = {"100644": {}, "100755": {}}
    for path, (mode, _) in entries.items():
        with suppress(OSError):
            if mode in found:
                found[mode][path] = stat.S_IMODE(os.lstat(f"{top}/{path}").st_mode) & 0o777
    usual = [
        Counter(modes.values()).most_common(1)[0][0] if modes else default
        for modes, default in zip(found.values(), (0o644, 0o755), strict=True)
    ]
    others = {
        os.fsencode(path): mode
        for modes, most in zip(found.values(), usual, strict=True)
        for path, mode in modes.items()
        if mode != most
    }
    return _Modes(usual[0], usual[1], others)


def _versions(place: _Place, entries: Mapping[str, tuple[str, str]], modes: _Modes) -> dict[str, str]:
    return {inner: modes.version(path, *entries[path]) for path, inner in place.within(entries)}


def _decode_record(data: bytes) -> _Record:
    try:
        record = msgspec.msgpack.decode(data, type=_Record)
    except msgspec.MsgspecError as error:
        raise UnseenError("the checkpoint is damaged") from error
    if record.version != RECORD_VERSION:
        raise UnseenError("the checkpoint is of another version")
    return record


def _tell(name: str, record: _Record) -> TreeCheckpoint:
    return TreeCheckpoint(
        id=name.rpartition("/")[2],
        tree=record.digest,
        saved_at=record.saved_at,
        unsaved=tuple(map(os.fsdecode, record.unsaved)),
    )


# --- Planning a restore -------------------------------------------------------------------------------------


async def _plan_restore(place: _Place, present: _State, target: _State) -> _Plan:
    """Compare the two states. Raises UnseenError, OSError."""
    now, then = present.files, target.files
    changed = sorted(path for path in now.keys() | then.keys() if now.get(path) != then.get(path))
    removed = [path for path in changed if path not in then]
    unsaved = set(map(os.fsdecode, target.record.unsaved))
    left = await _ignored_by(place, target, removed)
    left |= {path for path in removed if not unsaved.isdisjoint(_with_folders(path))}
    steps = [FileStep(path, now.get(path, ""), then.get(path, "")) for path in changed if path not in left]
    return await asyncio.to_thread(_find_conflicts, place.ground.project, steps, tuple(sorted(left)))


async def _ignored_by(place: _Place, target: _State, paths: list[str]) -> set[str]:
    """Return the paths that the checkpoint's .gitignore files, or today's rules elsewhere, ignore."""
    if not paths:
        return set()
    inside = "" if place.ground.inside == "." else f"{place.ground.inside}/"
    with (
        place.room.entered(place.ground) as (git, _),
        tempfile.TemporaryDirectory(prefix="look-", dir=place.room.folder) as scratch,
    ):
        entries = await _tree_entries(git, target.record.tree)
        rules = [path for path in entries if PurePosixPath(path).name == ".gitignore"]
        await write_files(git, target.record.tree, Path(scratch), rules)
        there = replace(git, folder=Path(scratch), environment={**git.environment, "GIT_WORK_TREE": scratch})
        asking = ("check-ignore", "--no-index", "-z", "--stdin")
        said = await there.ask(*asking, stdin=join_with_nul(f"{inside}{path}" for path in paths))
        found = split_at_nul(said.output if said.exit_code == 1 else checked_git_output(said, asking[0]))
    return {path[len(inside) :] for path in found}


def _with_folders(path: str) -> Iterator[str]:
    """Yield a path and each folder above it, with and without a slash at the end."""
    yield path
    for folder in list(PurePosixPath(path).parents)[:-1]:
        yield from (str(folder), f"{folder}/")


def _find_conflicts(project: Path, steps: list[FileStep], left: tuple[str, ...]) -> _Plan:
    """Find what is where a new file belongs and is in no checkpoint; drop files that are there already."""
    going = {step.path for step in steps if step.before}
    clear: set[str] = set()
    kept, conflicts = [], []
    for step in steps:
        if step.before or not step.after:
            kept.append(step)
        elif _is_there(project, step):
            continue
        elif blocking := _blocking_path(project, step.path, going, clear):
            conflicts.append(f"{blocking} is ignored, or could not be saved, and would be overwritten")
        else:
            kept.append(step)
    return _Plan(tuple(kept), tuple(dict.fromkeys(conflicts)), left)


def _is_there(project: Path, step: FileStep) -> bool:
    with suppress(ApplyError, OSError):
        check_folders(project, step.path)
        return file_version(project / step.path) == step.after
    return False


def _blocking_path(project: Path, path: str, going: set[str], clear: set[str]) -> str:
    """Return what is in the way of a new file and does not go; "" if nothing is. `clear`: known folders."""
    for folder in reversed(list(PurePosixPath(path).parents)[:-1]):
        name = str(folder)
        if name in clear:
            continue
        place = project / folder
        if place.is_symlink() or not place.is_dir():
            return "" if name in going or not os.path.lexists(place) else name
        clear.add(name)
    place = project / path
    if place.is_symlink() or not place.is_dir():
        return path if os.path.lexists(place) else ""
    for folder_name, folders, names in os.walk(place):
        links = [name for name in folders if Path(folder_name, name).is_symlink()]
        for name in (*names, *links):
            inner = str(Path(folder_name, name).relative_to(project))
            if inner not in going:
                return inner
    return ""


async def _describe_steps(place: _Place, steps: tuple[FileStep, ...]) -> tuple[FileChange, ...]:
    """Return both texts of each file."""
    shown = steps[:SHOWN_FILES]
    names = [side.partition(" ")[2] for step in shown for side in (step.before, step.after) if side]
    with place.room.entered(place.ground) as (git, _):
        texts = await read_blob_contents(git, names)
    return tuple(
        _file_change(step, texts) if number < SHOWN_FILES else FileChange(path=step.path, unread=TOO_MANY)
        for number, step in enumerate(steps)
    )


def _file_change(step: FileStep, texts: Mapping[str, FileContent]) -> FileChange:
    was, now = (
        texts[side.partition(" ")[2]] if side else FileContent() for side in (step.before, step.after)
    )
    unread = [f"{when}: {side.unread}" for when, side in (("before", was), ("after", now)) if side.unread]
    return FileChange(
        path=step.path,
        before=was.text,
        after=now.text,
        unread="; ".join(unread),
        link=step.after.startswith(LINK_MODE),
    )


# --- Replacing ----------------------------------------------------------------------------------------------


def _set_modes(new: Path, wanted: Mapping[str, str]) -> None:
    for path, version in wanted.items():
        if not version.startswith(LINK_MODE):
            (new / path).chmod(int(version[3:6], 8))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes respect. Raises UnseenError where one of them holds it, OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, OWNER_FILE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            said = "another process is at work on this project's checkpoints. Try again"
            raise UnseenError(said) from error
        yield
    finally:
        os.close(descriptor)


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for work in a thread, also when cancelled: a folder that it uses must not go meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    finally:
        if not task.done():
            await asyncio.wait([task])
