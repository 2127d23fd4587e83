"""Checkpoints of the loop: its state, and with it the project's files.

What a restore replaces is kept as another checkpoint. Nothing that was spent comes back, and no task becomes
completed by it.
"""

from __future__ import annotations

import hashlib
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.diffs import build_file_diffs
from sidecar.evidence.ports import CheckpointError, RestoredTree
from sidecar.kernel.changes import FileDiff
from sidecar.kernel.journal import TaskStatus
from sidecar.kernel.log import LoopCheckpointed
from sidecar.kernel.loop import Loop, LoopCheckpoint
from sidecar.kernel.session import Session
from sidecar.systems.taskloop.policy.loop import restore_loop
from sidecar.systems.taskloop.policy.transitions import LoopOrderError, Step, take_step
from sidecar.systems.taskloop.states import LoopStates

KEPT: Final = 20
"""Checkpoints of a session; of more, the oldest go."""
KEPT_FAILURES: Final = 10
WORD_LENGTH: Final = 8
CONFLICTS_TOLD: Final = 5
ENDED_STATUSES: Final = (TaskStatus.COMPLETED, TaskStatus.FAILED)
"""What a report alone makes of a task."""


class Restore(Struct, frozen=True, kw_only=True):
    """A restore that was shown (`kept` is "") or done. `word` confirms what was shown, and nothing else.

    `kept` is the checkpoint of what was replaced. `left` are files that stay as they are.
    """

    checkpoint: LoopCheckpoint
    word: str
    diffs: tuple[FileDiff, ...] = ()
    left: tuple[str, ...] = ()
    kept: str = ""
    tree: RestoredTree | None = None


class LoopCheckpoints:
    """Saves and restores. Methods raise ToolRuleError where a rule forbids it, OSError, BadInputError."""

    def __init__(self, states: LoopStates) -> None:
        self._states = states
        self._services = states.services
        self._trees = states.services.shared.checkpoints

    async def save(self, session: Session, description: str = "") -> LoopCheckpoint:
        """Save the state and the files as they are."""
        with self._states.reserved(session.key):
            take_step(self._states.of(session.key), Step.TASK)
            saved = await self._trees.save(session.project, self._states.environment(session))
            loop, text = self._states.of(session.key), self._states.mask(session, description)
            made = self._make(loop, text, saved)
            told = LoopCheckpointed(checkpoint=made.id, done="saved", description=text, tree=True)
            self._save_with(session, loop, made, told)
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
            environment = self._states.environment(session)
            done = await self._trees.restore(session.project, environment, found.tree)
            loop = self._states.of(session.key)
            present = self._make(loop, f"before restoring {found.id}", done.present)
            self._restore_statuses(session, found, loop)
            told = LoopCheckpointed(checkpoint=found.id, done="restored", tree=True, kept=present.id)
            back = loop if found.loop is None else restore_loop(loop, found.loop)
            self._save_with(session, back, present, told)
        return replace(shown, kept=present.id, tree=done)

    async def _show(self, session: Session, found: LoopCheckpoint) -> Restore:
        environment = self._states.environment(session)
        difference = await self._trees.difference(session.project, environment, found.tree)
        if difference.conflicts:
            raise CheckpointError("; ".join(difference.conflicts[:CONFLICTS_TOLD]))
        digest = await self._services.shared.workspace.fingerprint(session.project, environment)
        word = hashlib.sha256(f"{found.id}\0{found.tree}\0{digest}".encode()).hexdigest()[:WORD_LENGTH]
        diffs = build_file_diffs(difference.changes, self._services.gates.mask(session))
        return Restore(checkpoint=found, word=word, diffs=diffs, left=difference.left)

    def _restore_statuses(self, session: Session, found: LoopCheckpoint, loop: Loop) -> None:
        """Give tasks the status they had; none becomes completed or failed, and what is held stays so."""
        tasks = {task.id: task for task in self._services.tasks.of(session.key).tasks}
        for ident, status in found.statuses:
            task = tasks.get(ident)
            if task is None or ident in loop.held or status in {*ENDED_STATUSES, task.status}:
                continue
            self._services.tasks.put_task(session.key, replace(task, status=TaskStatus(status)))

    def _make(self, loop: Loop, description: str, tree: str) -> LoopCheckpoint:
        number = max((int(one.id[1:]) for one in loop.checkpoints), default=0) + 1
        tasks = self._services.tasks.of(loop.key).tasks
        return LoopCheckpoint(
            id=f"C{number}",
            at=self._services.shared.clock.now(),
            description=description,
            tree=tree,
            loop=replace(loop, checkpoints=(), failures=loop.failures[-KEPT_FAILURES:]),
            statuses=tuple((task.id, task.status.value) for task in tasks),
        )

    def _save_with(self, session: Session, loop: Loop, made: LoopCheckpoint, told: LoopCheckpointed) -> None:
        self._states.save(session, replace(loop, checkpoints=(*loop.checkpoints, made)[-KEPT:]), told)

    def _find(self, loop: Loop, ident: str) -> LoopCheckpoint:
        known = {one.id: one for one in loop.checkpoints}
        if (found := known.get(ident.strip().upper())) is None:
            raise LoopOrderError(
                "loop-no-checkpoint", checkpoint=ident[:40], known=", ".join(known) or "none"
            )
        return found
