"""Checkpoints of the loop: its state, and with it the project's files.

What a restore replaces is kept as another checkpoint. Nothing that was spent comes back, and no task becomes
completed by it.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.diffs import build_file_diffs
from sidecar.evidence.ports import CheckpointError
from sidecar.kernel.changes import FileBaseline, FileDiff
from sidecar.kernel.journal import TaskStatus
from sidecar.kernel.log import LoopCheckpointed
from sidecar.kernel.loop import Loop, LoopCheckpoint
from sidecar.kernel.session import Session, SessionKey
from sidecar.systems.taskloop.policy.loop import restore_loop
from sidecar.systems.taskloop.policy.transitions import LoopOrderError, Step, take_step
from sidecar.systems.taskloop.ports import LoopServices
from sidecar.systems.taskloop.states import LoopStates

KEPT: Final = 20
"""Checkpoints of a session; of more, the oldest go."""
KEPT_FAILURES: Final = 10
WORD_LENGTH: Final = 8
ENDED_STATUSES: Final = (TaskStatus.COMPLETED, TaskStatus.FAILED)
"""What a report alone makes of a task."""


class Restore(Struct, frozen=True, kw_only=True):
    """A restore that was shown (`kept` is "") or done. `word` confirms what was shown, and nothing else.

    `kept` is the checkpoint of what was replaced. `left` are files that stay as they are.
    """

    checkpoint: LoopCheckpoint
    word: str = ""
    diffs: tuple[FileDiff, ...] = ()
    kept: str = ""
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class LoopCheckpoints:
    """Saves and restores. Methods raise ToolRuleError where a rule forbids it, OSError, BadInputError."""

    def __init__(self, states: LoopStates, services: LoopServices) -> None:
        self._states = states
        self._services = services

    async def save(self, session: Session, description: str = "") -> LoopCheckpoint:
        """Save the state and the files as they are."""
        with self._states.reserved(session.key):
            take_step(self._states.of(session.key), Step.TASK)
            tree = ""
            if (trees := self._services.checkpoints) is not None:
                environment = self._services.gates.permitted_environment(session)
                try:
                    tree = (await trees.save(session.project, environment)).id
                except CheckpointError as error:
                    raise LoopOrderError("loop-tree", why=error) from error
            text = self._services.gates.mask(session)(description)
            loop = self._states.of(session.key)
            made = self._make(session, loop, text, tree)
            self._save_with(session, loop, made)
        self._states.note(
            session,
            LoopCheckpointed(checkpoint=made.id, done="saved", description=text, tree=bool(tree)),
        )
        return made

    async def restore(self, session: Session, ident: str, word: str = "") -> Restore:
        """Show what a restore would change, and do it when called again with the word of that."""
        with self._states.reserved(session.key):
            loop = self._states.of(session.key)
            take_step(loop, Step.TASK)
            found = self._find(loop, ident)
            shown = await self._show(session, found)
            if word.strip() != shown.word:
                return shown
            done = await self._restore_tree(session, shown)
            loop = self._states.of(session.key)
            then = msgspec.json.decode(found.loop, type=Loop)
            present = self._make(session, loop, f"before restoring {found.id}", done.kept)
            self._restore_statuses(session, found)
            self._save_with(session, restore_loop(loop, then), present)
        self._states.note(
            session,
            LoopCheckpointed(checkpoint=found.id, done="restored", tree=bool(found.tree), kept=present.id),
        )
        return replace(done, kept=present.id)

    def forget(self, key: SessionKey, project: str) -> None:
        """Remove a session's loop, and the files that were saved for it. Raises OSError, BadInputError."""
        loop = self._states.of(key)
        known = {base.snapshot: base for base in (loop.base, loop.accepted)}
        for base in {**known, **checkpoint_bases(loop)}.values():
            if base.snapshot:
                self._services.workspace.forget(base, project)
        self._drop_trees(loop.checkpoints, project)
        self._services.loops.forget(key)

    async def _show(self, session: Session, found: LoopCheckpoint) -> Restore:
        trees, diffs, digest, left = self._services.checkpoints, tuple[FileDiff, ...](), "", tuple[str, ...]()
        if trees is not None and found.tree:
            environment = self._services.gates.permitted_environment(session)
            mask = self._services.gates.mask(session)
            try:
                difference = await trees.difference(session.project, environment, found.tree)
            except CheckpointError as error:
                raise LoopOrderError("loop-tree", why=error) from error
            if difference.conflicts:
                raise LoopOrderError("loop-tree", why="; ".join(difference.conflicts[:5]))
            diffs, left = build_file_diffs(difference.changes, mask), difference.left
            digest = await self._services.workspace.fingerprint(session.project, environment)
        word = hashlib.sha256(f"{found.id}\0{found.tree}\0{digest}".encode()).hexdigest()[:WORD_LENGTH]
        return Restore(checkpoint=found, word=word, diffs=diffs, left=left)

    async def _restore_tree(self, session: Session, shown: Restore) -> Restore:
        """Restore the files; `kept` is the id of the tree's own checkpoint of the present."""
        trees = self._services.checkpoints
        if trees is None or not shown.checkpoint.tree:
            return shown
        environment = self._services.gates.permitted_environment(session)
        try:
            done = await trees.restore(session.project, environment, shown.checkpoint.tree)
        except CheckpointError as error:
            raise LoopOrderError("loop-tree", why=error) from error
        return replace(
            shown, kept=done.present.id, written=done.written, removed=done.removed, left=done.left
        )

    def _restore_statuses(self, session: Session, found: LoopCheckpoint) -> None:
        """Give tasks the status they had; none becomes completed or failed, and what is held stays so."""
        held = self._states.of(session.key).held
        tasks = {task.id: task for task in self._services.tasks.of(session.key).tasks}
        for ident, status in found.statuses:
            task = tasks.get(ident)
            if task is None or ident in held or status in {*ENDED_STATUSES, task.status}:
                continue
            self._services.tasks.put_task(session.key, replace(task, status=TaskStatus(status)))

    def _make(self, session: Session, loop: Loop, description: str, tree: str) -> LoopCheckpoint:
        number = max((int(one.id[1:]) for one in loop.checkpoints), default=0) + 1
        state = replace(loop, checkpoints=(), failures=loop.failures[-KEPT_FAILURES:])
        tasks = self._services.tasks.of(session.key).tasks
        return LoopCheckpoint(
            id=f"C{number}",
            at=self._services.clock.now(),
            description=description,
            tree=tree,
            loop=msgspec.json.encode(state).decode(),
            statuses=tuple((task.id, task.status.value) for task in tasks),
        )

    def _save_with(self, session: Session, loop: Loop, made: LoopCheckpoint) -> None:
        """Save a loop with one more checkpoint, and delete the files of those that are too many."""
        every = (*loop.checkpoints, made)
        self._states.save(replace(loop, checkpoints=every[-KEPT:]))
        self._drop_trees(every[:-KEPT], session.project)

    def _drop_trees(self, dropped: tuple[LoopCheckpoint, ...], project: str) -> None:
        if (trees := self._services.checkpoints) is not None and project:
            for one in dropped:
                trees.forget(project, one.tree)

    def _find(self, loop: Loop, ident: str) -> LoopCheckpoint:
        wanted = ident.strip().upper()
        for one in loop.checkpoints:
            if one.id == wanted:
                return one
        known = ", ".join(one.id for one in loop.checkpoints) or "none"
        raise LoopOrderError("loop-no-checkpoint", checkpoint=ident[:40], known=known)


def checkpoint_bases(loop: Loop) -> dict[str, FileBaseline]:
    """Return the baselines that checkpoints need, by their snapshots."""
    kept = (msgspec.json.decode(one.loop, type=Loop).base for one in loop.checkpoints if one.loop)
    return {base.snapshot: base for base in kept}
