"""What the journal of a session adds to one stop, and its tasks and notes as lines for a person.

- Open tasks, and what the agent noted as stuck since it was set to work, speak against being done. A judge
  weighs them; no rule is certain because of them, and checks that decide a goal decide it all the same.
- Older notes do not count: an agent that is still stuck says so again.
- That the agent declares the session complete is a claim.
- A task that is also open on the host's own list is reported once.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.journal import (
    Author,
    Journal,
    NoteKind,
    Priority,
    Task,
    TaskStatus,
    completed_task_ids,
    find_ready_tasks,
)
from sidecar.kernel.text import clean_line
from sidecar.kernel.turn import OpenTask, Turn
from sidecar.systems.supervision.policy.sessions import describe_age

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


# --- The tasks and notes of a session as lines, what needs a person first -----------------------------------


STUCK_SHOWN: Final = 2
"""Newest notes of being stuck that are shown."""
TEXT_LENGTH: Final = 160
"""Characters shown of a task or a note."""
ORDER: Final = {
    TaskStatus.BLOCKED: ("✖", "red"),
    TaskStatus.FAILED: ("✖", "red"),
    TaskStatus.IN_PROGRESS: ("▸", "cyan"),
    TaskStatus.REMAINING: ("○", ""),
}
"""Mark and colour of open tasks, in the order in which they are shown."""
STUCK_RANK: Final = 2
"""How many of these come before the notes of being stuck."""


class StyledLine(Struct, frozen=True):
    """A line, cleaned, and the style in which it is shown."""

    text: str
    style: str = ""


def journal_lines(journal: Journal, most: int, now: float | None) -> list[StyledLine]:
    """Return at most `most` lines, and one that counts; none for an empty journal. Without `now` no ages."""
    done = completed_task_ids(journal)
    ranks = list(ORDER)
    tasks = sorted((task for task in journal.tasks if task.open), key=lambda task: ranks.index(task.status))
    first = [task for task in tasks if ranks.index(task.status) < STUCK_RANK]
    closed = journal.closed_at or 0.0
    stuck = [note for note in journal.notes if note.kind is NoteKind.STUCK and note.at > closed]
    lines = [
        *(_task_line(task, done, now) for task in first),
        *(
            StyledLine(f"! {note.id} stuck{_age(note.at, now)}: {_short(note.content)}", "yellow")
            for note in stuck[: -STUCK_SHOWN - 1 : -1]
        ),
        *(_task_line(task, done, now) for task in tasks[len(first) :]),
    ]
    if not lines and not done:
        return []
    head = f"tasks: {len(done)} of {len(journal.tasks)} completed"
    more = f", {len(lines) - most} lines more" if len(lines) > most else ""
    return [StyledLine(head + more, "bold"), *lines[:most]]


def note_lines(journal: Journal, most: int) -> list[StyledLine]:
    """Return the newest notes of every kind, the newest first."""
    newest = journal.notes[: -most - 1 : -1]
    return [StyledLine(f"note {one.id}, {one.kind}: {_short(one.content)}") for one in newest]


def _task_line(task: Task, done: frozenset[str], now: float | None) -> StyledLine:
    mark, style = ORDER[task.status]
    waits = " ".join(one for one in task.depends_on if one not in done)
    about = task.status.replace("_", " ") + (f", after {waits}" if waits else "")
    by = ", by user" if task.by is Author.USER else ""
    return StyledLine(
        f"{mark} {task.id} {about}{by}{_age(task.changed_at, now)}: {_short(task.content)}", style
    )


def _age(at: float, now: float | None) -> str:
    return f", {describe_age(now - at)}" if at and now is not None else ""


def _short(text: str) -> str:
    return clean_line(text, TEXT_LENGTH)
