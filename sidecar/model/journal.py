"""What an agent plans and learns in one session: tasks, notes, and a summary of each iteration."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from msgspec import Struct


class TaskStatus(StrEnum):
    """Where a task stands."""

    REMAINING = "remaining"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    BLOCKED = "blocked"


class Priority(IntEnum):
    """What comes first; a task has MEDIUM until somebody says otherwise."""

    CRITICAL = 0
    HIGH = 1
    MEDIUM = 2
    LOW = 3
    BACKLOG = 4


class NoteKind(StrEnum):
    """What a note is. STUCK is evidence for the judge."""

    LEARNING = "learning"
    STUCK = "stuck"
    TIP = "tip"
    DECISION = "decision"


class Author(StrEnum):
    """Who wrote it."""

    AGENT = "agent"
    USER = "user"


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task. `id` ("T3") is never given again. `depends_on`: ids of those that must be completed first."""

    id: str
    content: str
    status: TaskStatus = TaskStatus.REMAINING
    priority: Priority = Priority.MEDIUM
    depends_on: tuple[str, ...] = ()
    by: Author = Author.AGENT

    @property
    def open(self) -> bool:
        """Whether it is still to be done, blocked or not."""
        return self.status is not TaskStatus.COMPLETED


class Note(Struct, frozen=True, kw_only=True):
    """One note; `at` is seconds since the epoch."""

    id: str
    kind: NoteKind
    content: str
    at: float


class Summary(Struct, frozen=True, kw_only=True):
    """What one iteration did, in the agent's words."""

    iteration: int
    content: str
    at: float


class Journal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of one session. `serial` is the highest number that a task or note was given.

    `iteration` is the one under way where a loop drives the agent (`supervisor run`), 0 elsewhere.
    `closed_at`: the agent said that the session is complete, in seconds since the epoch; None until then, and
    again when a task is added or opened.
    """

    tasks: tuple[Task, ...] = ()
    notes: tuple[Note, ...] = ()
    summaries: tuple[Summary, ...] = ()
    serial: int = 0
    iteration: int = 0
    closed_at: float | None = None
