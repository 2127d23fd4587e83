"""The journal of a session: the agent's tasks, its notes, and a summary of each iteration."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from msgspec import Struct

from sidecar.kernel.work import Standing


class TaskStatus(StrEnum):
    """The status of a task."""

    REMAINING = "remaining"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    FAILED = "failed"


class Priority(IntEnum):
    """The priority of a task, most urgent first; the default is MEDIUM."""

    CRITICAL = 0
    HIGH = 1
    MEDIUM = 2
    LOW = 3
    BACKLOG = 4


class NoteKind(StrEnum):
    """The kind of a note. STUCK is evidence for the judge."""

    LEARNING = "learning"
    STUCK = "stuck"
    TIP = "tip"
    DECISION = "decision"


class Author(StrEnum):
    """The author of an entry."""

    AGENT = "agent"
    USER = "user"


class TaskClaim(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who works on a task: the agent of which iteration, and until when nobody else may take it.

    `until` is seconds since the epoch. `machine` is where its agent runs. `done`: the agent completed it, and
    its work is not merged yet.
    """

    worker: int
    until: float
    machine: str = ""
    done: bool = False


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task. `id` ("T3") is never reused. `depends_on`: ids of tasks that must be completed first.

    `claim`: where several agents work at once, which of them works on it.

    `added_at` and `changed_at` are seconds since the epoch, 0 where unknown.
    The others are the task loop's: `complexity` is 1 to 14, 0 where unknown; `agent` is the one that works on
    it; `scope_files` are globs of what may be changed, all files where there is none; `sprint` groups tasks;
    `iteration` counts the reports on it; `checks` are commands of the user's that must pass for it; `shown`
    says how it stood when it was done, None where no loop looked at it. `contested`: files in which what was
    done for it is in conflict with what was merged meanwhile; it goes on from there.
    """

    id: str
    content: str
    status: TaskStatus = TaskStatus.REMAINING
    priority: Priority = Priority.MEDIUM
    depends_on: tuple[str, ...] = ()
    by: Author = Author.AGENT
    claim: TaskClaim | None = None
    added_at: float = 0.0
    changed_at: float = 0.0
    complexity: int = 0
    agent: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    scope_files: tuple[str, ...] = ()
    sprint: str = ""
    iteration: int = 0
    checks: tuple[str, ...] = ()
    contested: tuple[str, ...] = ()
    shown: Standing | None = None

    @property
    def open(self) -> bool:
        """Whether the task is not completed; a blocked or failed task is open too."""
        return self.status is not TaskStatus.COMPLETED

    @property
    def unfinished(self) -> bool:
        """Whether there is work left on it, besides merging what was done."""
        return self.open and not (self.claim and self.claim.done)


class Note(Struct, frozen=True, kw_only=True):
    """One note of its author `by`; `at` is seconds since the epoch."""

    id: str
    kind: NoteKind
    content: str
    at: float
    by: Author = Author.AGENT


class JournalSummary(Struct, frozen=True, kw_only=True):
    """What one iteration did, in the agent's words."""

    iteration: int
    content: str
    at: float


class Journal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The journal of one session. `serial` is the highest number given to a task or note so far.

    `iteration` is the current one where a loop drives the agent (`supervisor run`), 0 elsewhere. `closed_at`
    is when the agent declared the session complete, in seconds since the epoch; None until then, and again
    when a task is added or reopened. `contested`: files in which agents that work at once came into conflict;
    see systems/iteration/policy/claims.py. `revision` counts how often it was saved.
    """

    tasks: tuple[Task, ...] = ()
    notes: tuple[Note, ...] = ()
    summaries: tuple[JournalSummary, ...] = ()
    serial: int = 0
    iteration: int = 0
    closed_at: float | None = None
    contested: tuple[str, ...] = ()
    revision: int = 0


def find_ready_tasks(journal: Journal) -> tuple[Task, ...]:
    """Return the tasks that nothing blocks, the next one first."""
    order = {task.id: number for number, task in enumerate(journal.tasks)}
    done = completed_task_ids(journal)
    begun = TaskStatus.IN_PROGRESS
    free = (
        task
        for task in journal.tasks
        if task.status in (TaskStatus.REMAINING, begun) and done.issuperset(task.depends_on)
    )
    return tuple(sorted(free, key=lambda task: (task.priority, task.status is not begun, order[task.id])))


def completed_task_ids(journal: Journal) -> frozenset[str]:
    """Return the ids of the tasks that are completed."""
    return frozenset(task.id for task in journal.tasks if not task.open)
