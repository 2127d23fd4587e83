"""Rules of claims: which of several agents works on which task, and what becomes of it.

- An agent is named by its iteration, which no other agent of the session has.
- A claim is a lease. It is renewed while its agent works; once it has expired, anybody may take the task.
- A task is completed when the work of its agent is merged, and not before; so what depends on it waits. The
  session is complete when the last one is: no agent is started to say so.
- A change of the checks that nobody asked for is asked about once, as at a stop.
- Whatever is not merged gives its tasks back, with a note that says why and where the work is.
- Nobody begins while an agent without a task works: it plans, and the dependencies may not be written yet.
- What is in conflict is not done again: the next agent of its task goes on with it, on what was merged. From
  then on agents begin one at a time, each on what the last one left, until no task is in conflict and one was
  merged that left the files in conflict alone: tasks that all write one file would conflict each time.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.journal import Journal, NoteKind, Task, TaskClaim, TaskStatus, find_ready_tasks
from sidecar.kernel.runs import StartedWorker
from sidecar.systems.iteration.policy.journal import add_note, begin_next_iteration, with_tasks

LEASE_S: Final = 60.0
"""Seconds for which a task is claimed; longer than a git command or a sidecar's restart usually takes."""


def start_worker(
    journal: Journal, now: float, at_work: Collection[int], *, planning: bool, machine: str = ""
) -> tuple[Journal, StartedWorker | None]:
    """Claim the next task for a new agent; None where it has to wait for others.

    `at_work`: the agents of this run. `planning`: one of them is at work without a task.
    """
    held = {
        task.id
        for task in journal.tasks
        if (claim := task.claim) and (claim.until > now or not claim.until or claim.worker in at_work)
    }
    free = next((task for task in find_ready_tasks(journal) if task.id not in held), None)
    others = bool(at_work) or bool(held)
    if planning or (others and (free is None or journal.contested)):
        return journal, None
    journal = begin_next_iteration(journal)
    if free is None:
        return journal, StartedWorker(worker=journal.iteration)
    claim = TaskClaim(worker=journal.iteration, until=now + LEASE_S, machine=machine)
    task = replace(free, status=TaskStatus.IN_PROGRESS, claim=claim)
    return with_tasks(journal, task), StartedWorker(worker=journal.iteration, task=task)


def renew_claims(journal: Journal, now: float, at_work: Collection[int]) -> Journal:
    """Renew the claims of these agents."""
    return with_tasks(
        journal,
        *(
            replace(task, claim=replace(task.claim, until=now + LEASE_S))
            for task in journal.tasks
            if task.claim and task.claim.worker in at_work
        ),
    )


def settle_worker(
    journal: Journal, worker: int, now: float, refused: str = "", files: tuple[str, ...] = ()
) -> Journal:
    """End the claims of an agent whose work was merged, or not, for the reason `refused`.

    `files` are those that were merged, or those in conflict. Raises JournalError where there are too many
    notes.
    """
    own = [task for task in journal.tasks if task.claim and task.claim.worker == worker]
    journal = with_tasks(journal, *(_settled_task(task, refused, files) for task in own))
    if not refused:
        left = any(task.contested for task in journal.tasks) or {*files}.intersection(journal.contested)
        journal = replace(journal, contested=journal.contested if left else ())
        done = journal.tasks and not any(task.open for task in journal.tasks)
        return replace(journal, closed_at=now) if done else journal
    journal = replace(journal, contested=tuple(dict.fromkeys((*journal.contested, *files))))
    about = ", ".join(task.id for task in own) or f"iteration {worker}"
    return add_note(journal, NoteKind.LEARNING, f"{about}: {refused}", now)[0]


def claimed_by(journal: Journal, worker: int, *, done: bool = False) -> tuple[Task, ...]:
    """Return the tasks of an agent, or those of them that it completed."""
    return tuple(
        task
        for task in journal.tasks
        if task.claim and task.claim.worker == worker and (task.claim.done or not done)
    )


def _settled_task(task: Task, refused: str, files: tuple[str, ...]) -> Task:
    status = TaskStatus.REMAINING if task.status is TaskStatus.IN_PROGRESS else task.status
    if task.claim and task.claim.done and not refused:
        status = TaskStatus.COMPLETED
    return replace(task, claim=None, status=status, contested=files if refused else ())
