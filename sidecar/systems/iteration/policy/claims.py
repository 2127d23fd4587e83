"""Rules of claims: which of several agents works on which task, and what becomes of it.

- An agent is named by its iteration, which no other agent of the session has.
- A claim is a lease. It is renewed while its agent works; once it has expired, anybody may take the task.
- A task is completed when the work of its agent is merged, and not before; so what depends on it waits.
- Whatever is not merged gives its tasks back, with a note that says why and where the work is.
- Nobody begins while an agent without a task works: it plans, and the dependencies may not be written yet.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.journal import Journal, NoteKind, Task, TaskClaim, TaskStatus, find_ready_tasks
from sidecar.kernel.runs import CheckRun, StartedWorker
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
    if planning or (free is None and others):
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


def settle_worker(journal: Journal, worker: int, now: float, refused: str = "") -> Journal:
    """End the claims of an agent whose work was merged, or not, for the reason `refused`.

    Raises JournalError where there are too many notes.
    """
    own = [task for task in journal.tasks if task.claim and task.claim.worker == worker]
    settled = [replace(task, claim=None, status=_settled_status(task, merged=not refused)) for task in own]
    journal = with_tasks(journal, *settled)
    if not refused:
        return journal
    about = ", ".join(task.id for task in own) or f"iteration {worker}"
    return add_note(journal, NoteKind.LEARNING, f"{about}: {refused}", now)[0]


def claimed_by(journal: Journal, worker: int, *, done: bool = False) -> tuple[Task, ...]:
    """Return the tasks of an agent, or those of them that it completed."""
    return tuple(
        task
        for task in journal.tasks
        if task.claim and task.claim.worker == worker and (task.claim.done or not done)
    )


def merge_objection(merged: Collection[CheckRun], before: Collection[CheckRun]) -> str:
    """Return why work may not be merged: what passes without it does not pass with it. "" where it may."""
    passed = {run.id for run in before if run.passed}
    broken = [run for run in merged if not run.passed and run.id in passed]
    return "\n".join(f"with it `{run.command}` does not pass any more: {run.why}" for run in broken)


def _settled_status(task: Task, *, merged: bool) -> TaskStatus:
    if task.claim and task.claim.done and merged:
        return TaskStatus.COMPLETED
    return TaskStatus.REMAINING if task.status is TaskStatus.IN_PROGRESS else task.status
