"""Rules of the session journal: what may be written into it, and which task is next.

- A task is remaining, in progress, completed, blocked or failed. Only a completed task is closed.
- A task that depends on others is ready when each of them is completed. Dependencies have no cycles.
- The next task is the most urgent one that nothing blocks; among equals a task that was begun comes first,
  then the one added first.
- A session is not complete while a task is open; a blocked task is open. Declaring it complete informs the
  judge and binds nobody.
- Nothing is removed: plans that were dropped stay readable. Only a task goes that its person took out of the
  file that they keep it in; a summary is replaced by a later one of the same iteration, and of too many
  summaries the oldest is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.journal import (
    Author,
    Journal,
    JournalSummary,
    Note,
    NoteKind,
    Priority,
    Task,
    TaskClaim,
    TaskStatus,
    completed_task_ids,
)
from sidecar.kernel.log import JournalChanged
from sidecar.kernel.text import clean_line, clean_text

MAX_TASKS: Final = 500
"""Maximum number of open tasks in a session."""
MAX_NOTES: Final = 500
"""Maximum number of notes in a session, and of summaries."""
MAX_TEXT_LENGTH: Final = 4000
"""Maximum characters of a task, a note or a summary; the same as for a goal."""
MAX_JOURNAL_LENGTH: Final = 400_000
"""Maximum characters of a whole journal."""
MAX_TASKS_NAMED: Final = 10
"""Maximum number of tasks that an error names."""
SHORT_TEXT_LENGTH: Final = 80
"""Maximum characters of a task that an error quotes."""


class JournalError(ToolRuleError):
    """A change was refused, and the journal stays as it is."""


# --- tasks --------------------------------------------------------------------------------------------------


def add_tasks(
    journal: Journal, wanted: Sequence[tuple[str, TaskStatus]], by: Author = Author.AGENT
) -> tuple[Journal, tuple[Task, ...]]:
    """Add tasks in order, all or none; raises JournalError."""
    if not wanted:
        raise JournalError("journal-no-tasks")
    if (there := sum(task.open for task in journal.tasks)) + len(wanted) > MAX_TASKS:
        raise JournalError("journal-too-many", what="open tasks", most=MAX_TASKS, there=there)
    new = tuple(
        Task(
            id=f"T{journal.serial + number}",
            content=_clean_text(content, f"task {number}" if len(wanted) > 1 else "the task"),
            status=status,
            by=by,
        )
        for number, (content, status) in enumerate(wanted, 1)
    )
    tasks = (*journal.tasks, *new)
    changed = replace(journal, tasks=tasks, serial=journal.serial + len(new))
    return _reopen_if_unfinished(_check_total_size(changed)), new


def set_task_status(
    journal: Journal, ident: str, status: TaskStatus, worker: int = 0
) -> tuple[Journal, Task]:
    """Set the status of a task; raises JournalError.

    What one of several agents at work (`worker`) completes is done, and stays in progress until its work is
    merged (claims.py); the returned task is completed all the same. No agent changes a task of another one.
    Who is not known to be one (0) completes a claimed task for the agent that has it.
    """
    task = find_task(journal, ident)
    changed = replace(task, status=status)
    if task.claim and status is TaskStatus.COMPLETED:
        worker = worker or task.claim.worker
    if not worker:
        return put_task(journal, changed)
    if task.claim and task.claim.worker != worker:
        raise JournalError("journal-claimed", id=task.id)
    if status is TaskStatus.COMPLETED:
        put_task(journal, changed)  # raises where it waits for others
        claim = replace(task.claim or TaskClaim(worker=worker, until=0.0), done=True)
        return put_task(journal, replace(task, status=TaskStatus.IN_PROGRESS, claim=claim))[0], changed
    kept = replace(task.claim, done=False) if task.claim else None
    return put_task(journal, replace(changed, claim=kept))


def put_task(journal: Journal, task: Task) -> tuple[Journal, Task]:
    """Replace a task by its changed self; raises JournalError where it waits and is completed."""
    if task.status is TaskStatus.COMPLETED and (waits := _unmet_dependencies(journal, task)):
        raise JournalError("journal-waits", id=task.id, on=", ".join(waits))
    return _reopen_if_unfinished(with_tasks(journal, task)), task


def set_task_priority(journal: Journal, ident: str, priority: Priority) -> tuple[Journal, Task]:
    """Set the priority of a task; raises JournalError."""
    task = replace(find_task(journal, ident), priority=priority)
    return with_tasks(journal, task), task


def add_task_dependency(journal: Journal, ident: str, on: str) -> tuple[Journal, Task]:
    """Make one task depend on another; raises JournalError where that would be a cycle."""
    task, other = find_task(journal, ident), find_task(journal, on)
    if other.id in task.depends_on:
        return journal, task
    if path := _dependency_path(journal, other.id, task.id):
        raise JournalError("journal-cycle", path=" -> ".join((task.id, *path)))
    task = replace(task, depends_on=(*task.depends_on, other.id))
    return with_tasks(journal, task), task


def find_task(journal: Journal, ident: str) -> Task:
    """Return the task with this id; raises JournalError."""
    wanted = ident.strip().upper()
    for task in journal.tasks:
        if task.id == wanted:
            return task
    known = ", ".join(task.id for task in journal.tasks[-MAX_TASKS_NAMED:])
    raise JournalError("journal-unknown-task", id=clean_line(ident, SHORT_TEXT_LENGTH), known=known or "none")


def _unmet_dependencies(journal: Journal, task: Task) -> tuple[str, ...]:
    done = completed_task_ids(journal)
    return tuple(ident for ident in task.depends_on if ident not in done)


def _dependency_path(journal: Journal, begin: str, end: str) -> tuple[str, ...]:
    """Return the chain of dependencies from one task to another, including both; () where there is none."""
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


def with_tasks(journal: Journal, *changed: Task) -> Journal:
    """Return the journal with these tasks in place of those of the same ids."""
    by_id = {task.id: task for task in changed}
    return replace(journal, tasks=tuple(by_id.get(task.id, task) for task in journal.tasks))


def _reopen_if_unfinished(journal: Journal) -> Journal:
    """Return the journal, no longer complete where a task is open."""
    return replace(journal, closed_at=None) if any(task.unfinished for task in journal.tasks) else journal


# --- notes, iterations, the end -----------------------------------------------------------------------------


def add_note(
    journal: Journal, kind: NoteKind, content: str, now: float, by: Author = Author.AGENT
) -> tuple[Journal, Note]:
    """Add a note; raises JournalError."""
    if len(journal.notes) >= MAX_NOTES:
        raise JournalError("journal-too-many", what="notes", most=MAX_NOTES, there=len(journal.notes))
    made = Note(
        id=f"N{journal.serial + 1}", kind=kind, content=_clean_text(content, "the note"), at=now, by=by
    )
    changed = replace(journal, notes=(*journal.notes, made), serial=journal.serial + 1)
    return _check_total_size(changed), made


def begin_next_iteration(journal: Journal) -> Journal:
    """Begin the next iteration, one that has no summary yet."""
    return replace(journal, iteration=max(journal.iteration, _last_summary_iteration(journal)) + 1)


def add_iteration_summary(
    journal: Journal, content: str, now: float, worker: int = 0
) -> tuple[Journal, JournalSummary]:
    """Store the summary of an iteration; a later one of the same iteration replaces it. Raises JournalError.

    `worker` is the iteration of one of several agents at work, else 0. Where no loop counts iterations, each
    summary counts as one.
    """
    iteration = worker or journal.iteration or _last_summary_iteration(journal) + 1
    made = JournalSummary(iteration=iteration, content=_clean_text(content, "the summary"), at=now)
    others = tuple(one for one in journal.summaries if one.iteration != made.iteration)
    return _check_total_size(replace(journal, summaries=(*others[1 - MAX_NOTES :], made))), made


def _last_summary_iteration(journal: Journal) -> int:
    """Return the last iteration that has a summary, 0 where none has."""
    return journal.summaries[-1].iteration if journal.summaries else 0


def mark_session_complete(journal: Journal, now: float) -> Journal:
    """Record that the agent declared the session complete; raises JournalError while a task is open."""
    if left := tuple(task for task in journal.tasks if task.unfinished):
        lines = (clean_line(f"{task.id} ({task.status}) {task.content}", SHORT_TEXT_LENGTH) for task in left)
        named = "; ".join(islice(lines, MAX_TASKS_NAMED))
        more = f"; and {len(left) - MAX_TASKS_NAMED} more" if len(left) > MAX_TASKS_NAMED else ""
        raise JournalError("journal-open-tasks", number=len(left), named=named + more)
    return replace(journal, closed_at=now)


def stamp_tasks(before: Journal, after: Journal, now: float) -> Journal:
    """Return the journal with the time on each task that is new or other than before."""
    added = {task.id: task.added_at for task in before.tasks}
    known = frozenset(before.tasks)
    tasks = tuple(
        task if task in known else replace(task, added_at=added.get(task.id, now), changed_at=now)
        for task in after.tasks
    )
    return replace(after, tasks=tasks)


def journal_change(before: Journal, after: Journal) -> JournalChanged:
    """Return what is new or other than before, and the ids of what is gone."""
    ids = {one.id for many in (before.tasks, before.notes) for one in many}
    left = {one.id for many in (after.tasks, after.notes) for one in many}
    return JournalChanged(
        tasks=tuple(task for task in after.tasks if task not in before.tasks),
        notes=tuple(note for note in after.notes if note not in before.notes),
        summaries=tuple(summary for summary in after.summaries if summary not in before.summaries),
        removed=tuple(sorted(ids - left)),
        complete=after.closed_at is not None,
    )


def _clean_text(content: str, what: str) -> str:
    """Remove what a screen obeys or hides; raises JournalError where the text is empty or too long.

    Joiners stay, because words of some scripts and some symbols are written with them.
    """
    if (length := len(content.strip())) > MAX_TEXT_LENGTH:
        raise JournalError("journal-long-text", what=what, length=length, most=MAX_TEXT_LENGTH)
    clean = clean_text("\n".join(content.splitlines())).strip()
    if not any(char.isprintable() and not char.isspace() for char in clean):
        raise JournalError("journal-empty-text", what=what)
    return clean


def _check_total_size(journal: Journal) -> Journal:
    """Return the journal if it is not too big as a whole; raises JournalError."""
    size = sum(len(one.content) for many in (journal.tasks, journal.notes, journal.summaries) for one in many)
    if size > MAX_JOURNAL_LENGTH:
        raise JournalError("journal-full", length=size, most=MAX_JOURNAL_LENGTH)
    return journal
