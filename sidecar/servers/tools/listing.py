"""How the journal is shown to whoever calls a tool of it: as data, and the same as lines.

A list of many long texts is cut, since it goes into a model's context whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from sidecar.model.journal import Author, Priority, Task, TaskStatus
from sidecar.servers.tools.tool import shown

LISTED: Final = 20_000
"""Characters that the texts of one list have together; about as much as hosts let a tool say."""
LEAST: Final = 40
"""Characters that a text of a list has at least, where it has so many."""


class Brief(Struct, frozen=True, kw_only=True):
    """A task and where it stands."""

    id: str
    status: TaskStatus
    content: str


class Listed(Brief, frozen=True, kw_only=True):
    """All of a task. `depends_on`: ids of tasks that must be completed first."""

    priority: int
    depends_on: tuple[str, ...]
    by: Author


def brief(task: Task) -> Brief:
    """Show a task, whole."""
    return Brief(id=task.id, status=task.status, content=task.content)


def listed(task: Task, most: int | None = None) -> Listed:
    """Show all of a task, with at most so many characters of its text."""
    return Listed(
        id=task.id,
        status=task.status,
        content=cut(task.content, most),
        priority=task.priority.value,
        depends_on=task.depends_on,
        by=task.by,
    )


def line(task: Listed, *, in_group: bool = False) -> str:
    """Write a task on one line; what is as usual is left out, and what the group of tasks it is in says."""
    marks: list[str] = [] if in_group else [task.status]
    if task.priority != Priority.MEDIUM:
        marks.append(f"priority {task.priority}")
    if task.depends_on:
        marks.append(f"depends_on {' '.join(task.depends_on)}")
    if task.by is Author.USER:
        marks.append("by user")
    marked = f" [{', '.join(marks)}]" if marks else ""
    return f"{task.id}{marked} {flat(task.content)}"


def flat(text: str) -> str:
    """Write a text on one line."""
    return shown(text, len(text))


def share(texts: Iterable[str]) -> int | None:
    """How many characters of each text a list has room for; None where all of them fit whole."""
    lengths = [len(text) for text in texts]
    return None if sum(lengths) <= LISTED else max(LEAST, LISTED // len(lengths))


def cut(text: str, most: int | None) -> str:
    """Cut a text that is longer."""
    return text if most is None or len(text) <= most else f"{text[:most]}..."
