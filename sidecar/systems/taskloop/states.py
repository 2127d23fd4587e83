"""The loops of sessions: read, saved before anybody is answered, and told in the event log.

Files that were kept for a loop (baselines, checkpoints of the tree) go as soon as it is saved without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, get_args

from sidecar.kernel.changes import FileBaseline
from sidecar.kernel.log import EventData, EventFilter, LoggedEvent, event_kind
from sidecar.kernel.loop import Loop
from sidecar.kernel.session import Environment, Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.platform.services import note_event
from sidecar.systems.taskloop.policy.transitions import LoopOrderError
from sidecar.systems.taskloop.ports import LoopServices

SYSTEM: Final = "taskloop"
LOOP_KINDS: Final = tuple(kind for kind in map(event_kind, get_args(EventData)) if kind.startswith("loop-"))
"""The kinds of the loop's events."""


class LoopStates:
    """The loop of each session, and what belongs to it. Between `of` and `save` nothing may await."""

    def __init__(self, services: LoopServices) -> None:
        self.services = services
        self._busy: set[SessionKey] = set()

    def of(self, key: SessionKey) -> Loop:
        """Return a session's loop, an idle one where none is saved. Raises OSError, BadInputError."""
        return self.services.shared.loops.load(key) or Loop(key=key)

    def save(self, session: Session, loop: Loop, *events: EventData) -> Loop:
        """Save a loop, and tell what happened. Raises OSError, also where another process saved it."""
        before = self.of(session.key)
        saved = self.services.shared.loops.save(loop)
        self._drop_files(session.project, before, saved)
        shared = self.services.shared
        for event in events:
            note_event(shared.log, shared.clock, SYSTEM, event, session.key, session.project)
        return saved

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
    at_checkpoints = (one.loop.base for one in loop.checkpoints if one.loop is not None)
    return {base.snapshot: base for base in (loop.base, loop.accepted, *at_checkpoints) if base.snapshot}
