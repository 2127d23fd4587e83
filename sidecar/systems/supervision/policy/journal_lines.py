"""The tasks and notes of a session as lines, what needs a person first."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sidecar.kernel.journal import Author, Journal, NoteKind, Task, TaskStatus, completed_task_ids
from sidecar.kernel.text import clean_line
from sidecar.systems.supervision.policy.activity import describe_age

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
