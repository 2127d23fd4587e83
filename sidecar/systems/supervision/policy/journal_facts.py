"""Facts that the journal of a session adds to one stop.

- Open tasks, and what the agent noted as stuck since it was set to work, speak against being done. A judge
  weighs them; no rule is certain because of them, and checks that decide a goal decide it all the same.
- Older notes do not count: an agent that is still stuck says so again.
- That the agent declares the session complete is a claim.
- A task that is also open on the host's own list is reported once.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from sidecar.kernel.journal import Journal, NoteKind, Priority, Task, find_ready_tasks
from sidecar.kernel.turn import OpenTask, Turn

MAX_TASKS_SHOWN: Final = 10
"""Open tasks that are shown with their text, first those that could be done now."""
MAX_STUCK_NOTES: Final = 3
"""Newest notes of being stuck that are shown."""
RECENT_SECONDS: Final = 3600.0
"""Seconds before a stop that count as the current work where its beginning is unknown."""


def add_journal_facts(turn: Turn, journal: Journal, since: float | None, now: float) -> Turn:
    """Add the journal's facts to a turn. `since`: when the agent was set to work, None where unknown."""
    begun = now - RECENT_SECONDS if since is None else since
    closed = journal.closed_at
    stuck = [
        note.content
        for note in journal.notes
        if note.kind is NoteKind.STUCK and note.at >= begun and (closed is None or note.at > closed)
    ]
    return replace(
        turn,
        planned=_open_planned_tasks(turn, journal),
        stuck=tuple(stuck[: -MAX_STUCK_NOTES - 1 : -1]),
        complete=closed is not None and closed >= begun,
    )


def _open_planned_tasks(turn: Turn, journal: Journal) -> tuple[OpenTask, ...]:
    first = [task for task in find_ready_tasks(journal) if task.priority is not Priority.BACKLOG]
    now = frozenset(task.id for task in first)
    others = [task for task in journal.tasks if task.open and task.id not in now]
    listed = frozenset(map(_normalize_text, turn.open_todos))
    left = [task for task in (*first, *others) if not listed or _normalize_text(task.content) not in listed]
    return tuple(_planned_task(task, at < MAX_TASKS_SHOWN, task.id in now) for at, task in enumerate(left))


def _planned_task(task: Task, whole: bool, now: bool) -> OpenTask:  # noqa: FBT001 - two halves of one state
    return OpenTask(
        id=task.id, status=task.status.replace("_", " "), text=task.content if whole else "", now=now
    )


def _normalize_text(text: str) -> str:
    """Normalize case and whitespace, so that two wordings of one task compare equal."""
    return " ".join(text.split()).casefold()
