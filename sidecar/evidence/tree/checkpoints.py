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
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from sidecar.evidence.ports import CheckpointError, RestoredTree, TreeDifference
from sidecar.evidence.tree.checkpoint_states import (
    CheckpointPlace,
    FilesState,
    decode_record,
    describe_steps,
    plan_restore,
    read_present,
    read_stored,
    write_versions,
)
from sidecar.evidence.tree.shadow_repository import ShadowRepositories, ShadowRepository
from sidecar.evidence.tree.work_tree import WorkTree, find_work_tree
from sidecar.kernel.evidence import ProjectChanges
from sidecar.platform.apply import ApplyError, ChangeApplier
from sidecar.platform.concurrency import run_to_its_end
from sidecar.platform.files import ensure_folder, hold_lock
from sidecar.platform.git import UnseenError

CHECKPOINTS: Final = 50
"""Checkpoints kept per project; beyond that, the oldest are removed."""
CHECKPOINT_BYTES: Final = 1 << 30
"""Bytes of all checkpoints of a project, above which the oldest are removed."""
NAMED_CONFLICTS: Final = 5
EXPECTED_ERRORS: Final = (ApplyError, UnseenError, OSError, ValueError)
"""Errors that the environment can cause. Anything else is a bug."""


class GitCheckpoints:
    """Implements `TreeCheckpoints`. `state`: the user's state folder."""

    def __init__(self, state: Path) -> None:
        self._rooms = ShadowRepositories(state / "checkpoints", lasting=True)
        self._applier = ChangeApplier(state)
        self._turns = defaultdict[Path, asyncio.Lock](asyncio.Lock)

    async def save(self, project: str, environment: Mapping[str, str]) -> str:
        """Save the files as they are, and return the id."""
        async with self._entered(project, environment) as ground:
            place = CheckpointPlace(ground, await asyncio.to_thread(self._rooms.newest, ground.project))
            return await self._keep(place, await read_present(place))

    async def difference(
        self, project: str, environment: Mapping[str, str], checkpoint: str
    ) -> TreeDifference:
        """Return what restoring this checkpoint would change."""
        async with self._entered(project, environment) as ground:
            place, target = await self._stored(ground, checkpoint)
            plan = await plan_restore(place, await read_present(place), target)
            files = await describe_steps(place, plan.steps)
            return TreeDifference(
                changes=ProjectChanges(files=files), conflicts=plan.conflicts, left=plan.left
            )

    async def restore(self, project: str, environment: Mapping[str, str], checkpoint: str) -> RestoredTree:
        """Give all files what they had in this checkpoint."""
        async with self._entered(project, environment) as ground:
            place, target = await self._stored(ground, checkpoint)
            present = await read_present(place)
            plan = await plan_restore(place, present, target)
            if plan.conflicts:
                more = len(plan.conflicts) - NAMED_CONFLICTS
                said = "; ".join(plan.conflicts[:NAMED_CONFLICTS]) + (f" and {more} more" if more > 0 else "")
                raise UnseenError(f"nothing was restored: {said}")
            saved = await self._keep(place, present, spare=checkpoint)
            with self._applier.staging(ground.project) as staging:
                await write_versions(place, plan.steps, staging.new)
                await run_to_its_end(asyncio.to_thread(staging.swap, plan.steps))  # which uses a folder
            return RestoredTree(
                present=saved,
                written=tuple(step.path for step in plan.steps if step.after),
                removed=tuple(step.path for step in plan.steps if not step.after),
                left=plan.left,
            )

    def forget(self, project: str, checkpoint: str) -> None:
        """Delete a checkpoint. Its contents go with the last one of its repository, or for want of room."""
        for name in self._names(project, checkpoint) if checkpoint else ():
            self._rooms.forget(name)
            top = Path(project).resolve()
            with suppress(UnseenError, OSError), self._alone(top):
                self._rooms.remove_empty(top)

    def _names(self, project: str, checkpoint: str = "") -> tuple[str, ...]:
        """Return the stored names of all checkpoints, or of this one."""
        with suppress(OSError, ValueError, RuntimeError):
            names = self._rooms.names(Path(project).resolve())
            return tuple(name for name in names if checkpoint in ("", _id_of(name)))
        return ()

    @asynccontextmanager
    async def _entered(self, project: str, environment: Mapping[str, str]) -> AsyncIterator[WorkTree]:
        """Find the project's files, and keep others out. Raises CheckpointError."""
        try:
            ground = await find_work_tree(project, environment)
            if ground is None or ground.bare:
                raise UnseenError("there is no git program" if ground is None else "the repository is bare")
            async with self._turns[ground.project]:
                with self._alone(ground.project):
                    yield ground
        except EXPECTED_ERRORS as error:
            raise CheckpointError(str(error) or type(error).__name__) from error

    @contextmanager
    def _alone(self, top: Path) -> Iterator[None]:
        """Hold a lock that other processes respect. Raises UnseenError where one holds it, OSError."""
        ensure_folder(self._rooms.kept)
        with hold_lock(self._rooms.home(top).with_suffix(".lock")) as ours:
            if not ours:
                raise UnseenError("another process is at work on this project's checkpoints. Try again")
            yield

    async def _stored(self, ground: WorkTree, checkpoint: str) -> tuple[CheckpointPlace, FilesState]:
        """Read a stored checkpoint. Raises UnseenError."""
        names = self._names(str(ground.project), checkpoint)
        if not names or not checkpoint:
            raise UnseenError(f"there is no checkpoint {checkpoint}")
        room, kept = self._rooms.snapshot(names[0])
        record = decode_record(kept)
        if record.top != os.fsencode(ground.top):
            raise UnseenError("another repository is around the project now")
        place = CheckpointPlace(ground, room)
        return place, await read_stored(place, record)

    async def _keep(self, place: CheckpointPlace, state: FilesState, spare: str = "") -> str:
        """Store a state for good, and remove what is too much, but not `spare`. Raises OSError."""
        name = await asyncio.to_thread(place.room.keep, msgspec.msgpack.encode(state.record))
        with suppress(OSError, UnseenError):
            await self._tidy(place, {spare, _id_of(name)} - {""})
        return _id_of(name)

    async def _tidy(self, place: CheckpointPlace, spare: set[str]) -> None:
        """Remove the oldest checkpoints beyond the limits, and the contents that none needs any more."""
        top = place.ground.project
        names = [name for name in self._rooms.names(top) if _id_of(name) not in spare]
        while names and (len(names) + len(spare) > CHECKPOINTS or await self._is_too_big(place)):
            self._rooms.forget(names.pop(0))
        if not names:
            await self._is_too_big(place)
        await asyncio.to_thread(self._rooms.tidy, top)

    async def _is_too_big(self, place: CheckpointPlace) -> bool:
        """Whether all is too big, even without the contents that no checkpoint needs."""
        size, top = self._rooms.size, place.ground.project
        if await asyncio.to_thread(size, top) <= CHECKPOINT_BYTES:
            return False
        await self._prune(place)
        return await asyncio.to_thread(size, top) > CHECKPOINT_BYTES

    async def _prune(self, place: CheckpointPlace) -> None:
        """Delete the contents in all repositories of the project that no checkpoint holds. Packs stay."""
        trees: dict[ShadowRepository, list[str]] = {}
        for name in self._rooms.names(place.ground.project):
            room, kept = self._rooms.snapshot(name)
            trees.setdefault(room, []).append(decode_record(kept).tree)
        for room, held in trees.items():
            with room.entered(place.ground) as (git, _):
                await git.told("prune", "--expire=now", *held)


def _id_of(name: str) -> str:
    return name.rpartition("/")[2]
