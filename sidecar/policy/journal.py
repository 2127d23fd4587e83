"""The journal of a session: what may be written into it, and what it says is next.

- A task is remaining, in progress, completed or blocked. Only a completed one is closed.
- A task that depends on others is ready when each of them is completed. Dependencies have no cycles.
- The next task is the most urgent one that nothing blocks; among equals one that was begun, then what was
  added first.
- A session is not complete while a task is open; a blocked one is open. That it is complete informs the judge
  and binds nobody.
- Nothing is removed: what was planned and dropped stays readable. Only a summary is replaced, by a later one
  of the same iteration, and of too many the oldest goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from sidecar.model.journal import Author, Journal, Note, NoteKind, Priority, Summary, Task, TaskStatus

TASKS: Final = 500
"""Tasks of a session."""
NOTES: Final = 500
"""Notes of a session, and as many summaries."""
TEXT: Final = 4000
"""Characters of a task, a note or a summary: as many as a goal has."""
TOTAL: Final = 400_000
"""Characters of a whole journal."""
NAMED: Final = 10
"""Tasks that a refusal names."""
KEPT: Final = "\n\t\u200c\u200d"
"""Characters that no screen prints and a text keeps: line feed, tab, and the two joiners."""
SHORT: Final = 80
"""Characters of a task that a refusal repeats."""


class JournalError(Exception):
    """The journal stays as it is.

    `rule` is the section of rubric/tools.md that says why and what to do instead; `values` are its blanks.
    """

    def __init__(self, rule: str, /, **values: object) -> None:
        """Name the rule that was broken."""
        super().__init__(rule)
        self.rule = rule
        self.values = {name: str(value) for name, value in values.items()}


# --- tasks --------------------------------------------------------------------------------------------------


def add(
    journal: Journal, wanted: Sequence[tuple[str, TaskStatus]], by: Author = Author.AGENT
) -> tuple[Journal, tuple[Task, ...]]:
    """Add tasks in their order, all or none; raises JournalError."""
    if not wanted:
        raise JournalError("journal-no-tasks")
    if len(journal.tasks) + len(wanted) > TASKS:
        raise JournalError("journal-too-many", what="tasks", most=TASKS, there=len(journal.tasks))
    new = tuple(
        Task(
            id=f"T{journal.serial + number}",
            content=_text(content, f"task {number}" if len(wanted) > 1 else "the task"),
            status=status,
            by=by,
        )
        for number, (content, status) in enumerate(wanted, 1)
    )
    tasks = (*journal.tasks, *new)
    changed = replace(journal, tasks=tasks, serial=journal.serial + len(new))
    return _opened(_fitting(changed)), new


def set_status(journal: Journal, ident: str, status: TaskStatus) -> tuple[Journal, Task]:
    """Say where a task stands; raises JournalError."""
    task = find(journal, ident)
    if status is TaskStatus.COMPLETED and (waits := _unmet(journal, task)):
        raise JournalError("journal-waits", id=task.id, on=", ".join(waits))
    changed = replace(task, status=status)
    return _opened(_with(journal, changed)), changed


def prioritize(journal: Journal, ident: str, priority: Priority) -> tuple[Journal, Task]:
    """Say how urgent a task is; raises JournalError."""
    task = replace(find(journal, ident), priority=priority)
    return _with(journal, task), task


def depend(journal: Journal, ident: str, on: str) -> tuple[Journal, Task]:
    """Let one task wait for another; raises JournalError where that would be a cycle."""
    task, other = find(journal, ident), find(journal, on)
    if other.id in task.depends_on:
        return journal, task
    if path := _path(journal, other.id, task.id):
        raise JournalError("journal-cycle", path=" -> ".join((task.id, *path)))
    task = replace(task, depends_on=(*task.depends_on, other.id))
    return _with(journal, task), task


def ready(journal: Journal) -> tuple[Task, ...]:
    """The tasks that nothing blocks, the next one first."""
    order = {task.id: number for number, task in enumerate(journal.tasks)}
    done = _done(journal)
    begun = TaskStatus.IN_PROGRESS
    free = (
        task
        for task in journal.tasks
        if task.status in (TaskStatus.REMAINING, begun) and done.issuperset(task.depends_on)
    )
    return tuple(sorted(free, key=lambda task: (task.priority, task.status is not begun, order[task.id])))


def find(journal: Journal, ident: str) -> Task:
    """The task of this id; raises JournalError."""
    wanted = ident.strip().upper()
    for task in journal.tasks:
        if task.id == wanted:
            return task
    known = ", ".join(task.id for task in journal.tasks[-NAMED:])
    raise JournalError("journal-unknown-task", id=_short(ident), known=known or "none")


def _done(journal: Journal) -> frozenset[str]:
    return frozenset(task.id for task in journal.tasks if not task.open)


def _unmet(journal: Journal, task: Task) -> tuple[str, ...]:
    done = _done(journal)
    return tuple(ident for ident in task.depends_on if ident not in done)


def _path(journal: Journal, begin: str, end: str) -> tuple[str, ...]:
    """The dependencies that lead from one task to another, both named; () where none do."""
    needs = {task.id: task.depends_on for task in journal.tasks}
    ways: list[tuple[str, ...]] = [(begin,)]
    seen = {begin}
    while ways:
        way = ways.pop()
        if way[-1] == end:
            return way
        for ident in needs.get(way[-1], ()):
            if ident not in seen:
                seen.add(ident)
                ways.append((*way, ident))
    return ()


def _with(journal: Journal, task: Task) -> Journal:
    return replace(journal, tasks=tuple(task if one.id == task.id else one for one in journal.tasks))


def _opened(journal: Journal) -> Journal:
    """The journal, complete no more where a task is open."""
    return replace(journal, closed_at=None) if any(task.open for task in journal.tasks) else journal


# --- notes, iterations, the end -----------------------------------------------------------------------------


def note(journal: Journal, kind: NoteKind, content: str, now: float) -> tuple[Journal, Note]:
    """Add a note; raises JournalError."""
    if len(journal.notes) >= NOTES:
        raise JournalError("journal-too-many", what="notes", most=NOTES, there=len(journal.notes))
    made = Note(id=f"N{journal.serial + 1}", kind=kind, content=_text(content, "the note"), at=now)
    changed = replace(journal, notes=(*journal.notes, made), serial=journal.serial + 1)
    return _fitting(changed), made


def iterate(journal: Journal) -> Journal:
    """Begin the next iteration, one that has no summary yet."""
    return replace(journal, iteration=max(journal.iteration, _summarized(journal)) + 1)


def summarize(journal: Journal, content: str, now: float) -> tuple[Journal, Summary]:
    """Keep what an iteration did; a later summary of the same one replaces it. Raises JournalError.

    Where no loop counts iterations, each summary is one.
    """
    iteration = journal.iteration or _summarized(journal) + 1
    made = Summary(iteration=iteration, content=_text(content, "the summary"), at=now)
    others = tuple(one for one in journal.summaries if one.iteration != made.iteration)
    return _fitting(replace(journal, summaries=(*others[1 - NOTES :], made))), made


def _summarized(journal: Journal) -> int:
    """The last iteration that has a summary, 0 where none has."""
    return journal.summaries[-1].iteration if journal.summaries else 0


def close(journal: Journal, now: float) -> Journal:
    """The agent says that all is done; raises JournalError while a task is open."""
    if left := tuple(task for task in journal.tasks if task.open):
        named = "; ".join(f"{task.id} ({task.status}) {_short(task.content)}" for task in left[:NAMED])
        more = f"; and {len(left) - NAMED} more" if len(left) > NAMED else ""
        raise JournalError("journal-open-tasks", number=len(left), named=named + more)
    return replace(journal, closed_at=now)


def _text(content: str, what: str) -> str:
    """A text without what a screen obeys or hides; raises JournalError where it is empty or too long.

    Joiners stay: words of some scripts, and some signs, are written with them.
    """
    if (length := len(content.strip())) > TEXT:
        raise JournalError("journal-long-text", what=what, length=length, most=TEXT)
    lines = "\n".join(content.splitlines())
    spaced = "".join(char if char in KEPT or not char.isspace() else " " for char in lines)
    clean = "".join(char for char in spaced if char.isprintable() or char in KEPT).strip()
    if not any(char.isprintable() and not char.isspace() for char in clean):
        raise JournalError("journal-empty-text", what=what)
    return clean


def _fitting(journal: Journal) -> Journal:
    """The journal, where it is not too big as a whole; raises JournalError."""
    size = sum(len(one.content) for many in (journal.tasks, journal.notes, journal.summaries) for one in many)
    if size > TOTAL:
        raise JournalError("journal-full", length=size, most=TOTAL)
    return journal


def _short(content: str) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in content[: SHORT * 2]).split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"
