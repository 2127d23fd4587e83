"""Formats journal entries for answers of tools, as data and as lines of text.

Long lists of long texts are shortened, since a list goes into a model's context as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from sidecar.kernel.journal import Author, Priority, Task, TaskStatus
from sidecar.servers.tools.tool import clip_printable

LIST_LENGTH: Final = 20_000
"""Characters of all texts of one list together; about as much as hosts accept from a tool."""
LEAST_LENGTH: Final = 40
"""Minimum number of characters that remain of a shortened text."""


class Brief(Struct, frozen=True, kw_only=True):
    """A task and its status."""

    id: str
    status: TaskStatus
    content: str


class Listed(Brief, frozen=True, kw_only=True):
    """All fields of a task. `depends_on`: IDs of tasks that must be completed first."""

    priority: int
    depends_on: tuple[str, ...]
    by: Author


def brief_task(task: Task) -> Brief:
    """Return a task with its whole text."""
    return Brief(id=task.id, status=task.status, content=task.content)


def full_task(task: Task, most: int | None = None) -> Listed:
    """Return all fields of a task, its text cut to `most` characters."""
    return Listed(
        id=task.id,
        status=task.status,
        content=cut_text(task.content, most),
        priority=task.priority.value,
        depends_on=task.depends_on,
        by=task.by,
    )


def task_line(task: Listed, *, in_group: bool = False) -> str:
    """Format a task as one line, without default values and without what its group already says."""
    marks: list[str] = [] if in_group else [task.status]
    if task.priority != Priority.MEDIUM:
        marks.append(f"priority {task.priority}")
    if task.depends_on:
        marks.append(f"depends_on {' '.join(task.depends_on)}")
    if task.by is Author.USER:
        marks.append("by user")
    marked = f" [{', '.join(marks)}]" if marks else ""
    return f"{task.id}{marked} {flatten_text(task.content)}"


def flatten_text(text: str) -> str:
    """Return the text as one line."""
    return clip_printable(text, len(text))


def length_per_text(texts: Iterable[str]) -> int | None:
    """Return how many characters of each text fit into a list; None if all of them fit completely."""
    lengths = [len(text) for text in texts]
    return None if sum(lengths) <= LIST_LENGTH else max(LEAST_LENGTH, LIST_LENGTH // len(lengths))


def cut_text(text: str, most: int | None) -> str:
    """Return the text, cut if it is longer than `most` characters."""
    return text if most is None or len(text) <= most else f"{text[:most]}..."
