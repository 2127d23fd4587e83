"""What the journal of a session tells of one stop.

- Open tasks, and what the agent noted as stuck since it was set to work, speak against being done. A judge
  has to weigh them; no rule is certain because of them, and checks that decide a goal decide it all the same.
- An older note says nothing any more: who is still stuck says so again.
- That the agent says that the session is complete is a claim.
- A task that is open on the host's own list too is told once.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from sidecar.model.journal import Journal, NoteKind, Priority, Task
from sidecar.model.turn import Planned, Turn
from sidecar.policy.journal import ready

TOLD: Final = 10
"""Open tasks that are told with their text, those first that could be done now."""
STUCK: Final = 3
"""Notes of being stuck that are told, the newest."""
RECENT: Final = 3600.0
"""Seconds before a stop that count as this work where nobody knows when the agent was set to it."""


def with_journal(turn: Turn, journal: Journal, since: float | None, now: float) -> Turn:
    """The turn, and what the journal tells. `since`: when the agent was set to work, None where unknown."""
    begun = now - RECENT if since is None else since
    closed = journal.closed_at
    stuck = [
        note.content
        for note in journal.notes
        if note.kind is NoteKind.STUCK and note.at >= begun and (closed is None or note.at > closed)
    ]
    return replace(
        turn,
        planned=_planned(turn, journal),
        stuck=tuple(stuck[: -STUCK - 1 : -1]),
        complete=closed is not None and closed >= begun,
    )


def _planned(turn: Turn, journal: Journal) -> tuple[Planned, ...]:
    first = [task for task in ready(journal) if task.priority is not Priority.BACKLOG]
    now = frozenset(task.id for task in first)
    others = [task for task in journal.tasks if task.open and task.id not in now]
    listed = frozenset(map(_same, turn.open_todos))
    left = [task for task in (*first, *others) if not listed or _same(task.content) not in listed]
    return tuple(_told(task, at < TOLD, task.id in now) for at, task in enumerate(left))


def _told(task: Task, whole: bool, now: bool) -> Planned:  # noqa: FBT001 - two halves of one state
    return Planned(
        id=task.id, status=task.status.replace("_", " "), text=task.content if whole else "", now=now
    )


def _same(text: str) -> str:
    """What two wordings of one task have in common."""
    return " ".join(text.split()).casefold()
