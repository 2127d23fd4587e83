"""The loops of sessions: read, saved before anybody is answered, and noted in the event log; checkpoints.

Files that were kept for a loop (baselines, checkpoints of the tree) go as soon as it is saved without them.
What a restore replaces is kept as another checkpoint: nothing that was spent comes back, and no task becomes
completed by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.diffs import build_file_diffs
from sidecar.evidence.ports import CheckpointError, RestoredTree
from sidecar.kernel.evidence import FileBaseline, FileDiff
from sidecar.kernel.journal import TaskStatus
from sidecar.kernel.log import EventData, EventFilter, LoggedEvent, LoopCheckpointed, event_kind
from sidecar.kernel.loop import Loop, LoopCheckpoint
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.services import note_event
from sidecar.systems.taskloop.policy.loop import restore_loop, share_spending
from sidecar.systems.taskloop.policy.transitions import LoopOrderError, Step, take_step
from sidecar.systems.taskloop.ports import LoopServices

SYSTEM: Final = "taskloop"
LOOP_KINDS: Final = tuple(kind for kind in map(event_kind, get_args(EventData)) if kind.startswith("loop-"))
"""The kinds of the loop's events."""


class LoopStates:
    """The loop of each session, and what belongs to it. Between `of` and `save` nothing may await.

    `home`: the session of which these are parts. What they spend is spent there, and it is told what happens.
    """

    def __init__(self, services: LoopServices, home: Session | None = None) -> None:
        self.services, self.home = services, home
        self._busy: set[SessionKey] = set()

    def of(self, key: SessionKey) -> Loop:
        """Return a session's loop, an idle one where none is saved. Raises OSError, BadInputError."""
        loop = self.services.shared.loops.load(key) or Loop(key=key)
        return share_spending(loop, self._load_home()) if self.home else loop

    def save(self, session: Session, loop: Loop, *events: EventData) -> Loop:
        """Save a loop, and tell what happened. Raises OSError, also where another process saved it."""
        before, shared, home = self.of(session.key), self.services.shared, self.home or session
        if self.home:
            shared.loops.save(share_spending(self._load_home(), loop))
        saved = shared.loops.save(loop)
        self._drop_files(session.project, before, saved)
        for event in events:
            note_event(shared.log, shared.clock, SYSTEM, event, home.key, home.project)
        return saved

    def _load_home(self) -> Loop:
        assert self.home  # noqa: S101 - asked before
        return self.services.shared.loops.load(self.home.key) or Loop(key=self.home.key)

    def forget(self, key: SessionKey, project: str) -> None:
        """Remove a session's loop, and the files that were kept for it. Raises OSError, BadInputError."""
        self._drop_files(project, self.of(key), Loop(key=key))
        self.services.shared.loops.forget(key)

    def check_free(self, key: SessionKey) -> None:
        """Raise LoopOrderError while a report is being checked."""
        if key in self._busy:
            raise LoopOrderError("loop-busy")

    @contextmanager
    def reserved(self, key: SessionKey) -> Iterator[None]:
        """Let nothing else change the loop but its tokens. Raises LoopOrderError."""
        self.check_free(key)
        self._busy.add(key)
        try:
            yield
        finally:
            self._busy.discard(key)

    def settings(self) -> Settings:
        return self.services.shared.configuration.load()[0]

    def environment(self, session: Session) -> Environment:
        """Return a session's environment if commands may run for it now. Raises ToolRuleError."""
        return self.services.gates.permitted_environment(session)

    def mask(self, session: Session, text: str) -> str:
        """Return a text without the session's secrets."""
        return self.services.gates.mask(session)(text)

    def newest(self, key: SessionKey, number: int) -> tuple[LoggedEvent, ...]:
        """Return the loop's newest events, oldest first. Raises OSError."""
        return self.services.shared.log.newest(EventFilter(session=key, kinds=LOOP_KINDS), number)

    def _drop_files(self, project: str, before: Loop, after: Loop) -> None:
        """Delete what only the loop before needs."""
        needed = _baselines(after)
        for snapshot, base in _baselines(before).items():
            if snapshot not in needed:
                self.services.shared.workspace.forget(base, project)
        kept = {one.tree for one in after.checkpoints}
        for one in before.checkpoints:
            if project and one.tree not in kept:
                self.services.shared.checkpoints.forget(project, one.tree)


def _baselines(loop: Loop) -> dict[str, FileBaseline]:
    """Return the baselines that a loop and its checkpoints need, by their snapshots."""
    loops = (loop, *(one.loop for one in loop.checkpoints if one.loop is not None))
    bases = (base for one in loops for base in (one.base, one.began, *(goal.base for goal in one.goals)))
    return {base.snapshot: base for base in bases if base.snapshot}


# --- checkpoints --------------------------------------------------------------------------------------------


KEPT: Final = 20
"""Checkpoints of a session; of more, the oldest go."""
KEPT_FAILURES: Final = 10
WORD_LENGTH: Final = 8
CONFLICTS_SHOWN: Final = 5
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
            event = LoopCheckpointed(checkpoint=made.id, done="saved", description=text, tree=True)
            self._save_with(session, loop, made, event)
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
            event = LoopCheckpointed(checkpoint=found.id, done="restored", tree=True, kept=present.id)
            back = loop if found.loop is None else restore_loop(loop, found.loop)
            self._save_with(session, back, present, event)
        return replace(shown, kept=present.id, tree=done)

    async def _show(self, session: Session, found: LoopCheckpoint) -> Restore:
        environment = self._states.environment(session)
        difference = await self._trees.difference(session.project, environment, found.tree)
        if difference.conflicts:
            raise CheckpointError("; ".join(difference.conflicts[:CONFLICTS_SHOWN]))
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

    def _save_with(self, session: Session, loop: Loop, made: LoopCheckpoint, event: LoopCheckpointed) -> None:
        self._states.save(session, replace(loop, checkpoints=(*loop.checkpoints, made)[-KEPT:]), event)

    def _find(self, loop: Loop, ident: str) -> LoopCheckpoint:
        known = {one.id: one for one in loop.checkpoints}
        if (found := known.get(ident.strip().upper())) is None:
            raise LoopOrderError(
                "loop-no-checkpoint", checkpoint=ident[:40], known=", ".join(known) or "none"
            )
        return found
