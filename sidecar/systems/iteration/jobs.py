"""Agents that work at once: a worktree for each, and what becomes of its work.

Whatever ends an agent, its work is on its branch, and its tasks are settled here or when the session goes on.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sidecar.evidence.tree.checkout import map_environment
from sidecar.kernel.journal import Journal, Task, completed_task_ids
from sidecar.kernel.runs import RunWarning, StartedWorker, WorkerChange
from sidecar.kernel.session import Environment
from sidecar.platform.worktrees import SCRATCH, Worktrees
from sidecar.systems.iteration.policy.claims import claimed_by, merge_objection
from sidecar.systems.iteration.policy.loop import commit_message
from sidecar.systems.iteration.ports import RunParticipants

FREE_NAME: Final = "free"
"""In place of its task in the name of an agent's branch, where it has none."""
MACHINE: Final = os.uname().nodename
"""Where the agents of this process run; one machine has one run of a session."""
FINAL_OUTCOMES: Final = ("achieved", "judged", "completed", "impossible", "cleared")
"""Outcomes after which the same goal does not go on."""
LOST: Final = "its claim ran out, and another agent took the task"


@dataclass(frozen=True)
class Workplace:
    """Where an agent works, and with which environment; `branch` is "" in the project itself."""

    folder: str
    environment: Environment
    branch: str = ""


def job_name(started: StartedWorker) -> str:
    """Return the name of an agent's worktree and branch."""
    return f"{started.task.id if started.task else FREE_NAME}-{started.worker}"


class Jobs:
    """The worktrees of one session's agents, named TASK-ITERATION."""

    def __init__(self, crew: RunParticipants, trees: Worktrees, session: str, project: str) -> None:
        self._crew, self._trees, self._session = crew, trees, session
        self._inside = Path(project).resolve().relative_to(trees.top.resolve())

    async def open(self, started: StartedWorker) -> Workplace:
        """Make the worktree of an agent."""
        name = job_name(started)
        return self._workplace(await self._trees.open(name), self._trees.branch(name))

    async def finish(self, started: StartedWorker) -> None:
        """Remove the worktree of an agent, merge its work, and settle its tasks.

        Raises InTheWayError, OSError, BadInputError.
        """
        lost = started.task and not claimed_by(await self._journal(), started.worker)
        message = self._message(started.task, started.worker)
        await self._settle(job_name(started), message, LOST if lost else "")

    async def recover(self, ending: str = "") -> None:
        """Settle what was left: by a run that was killed, or (`ending`) by this one, which ends so.

        What was completed and not merged is merged at the beginning of a run. At the end it waits for the
        next one, if the goal can go on.
        """
        journal = await self._journal()
        await self._trees.remove(SCRATCH)
        names = await self._trees.names()
        workers = {int(name.rpartition("-")[2]) for name in names}
        claims = [task.claim for task in journal.tasks if task.claim and task.claim.machine == MACHINE]
        for worker in {claim.worker for claim in claims} - workers:  # killed before it began
            await self._change(worker, "its branch is gone" if claimed_by(journal, worker, done=True) else "")
        for name in names:
            worker = int(name.rpartition("-")[2])
            own, done = claimed_by(journal, worker), claimed_by(journal, worker, done=True)
            message = self._message(own[0] if own else None, worker)
            if done and ending and ending not in FINAL_OUTCOMES:
                await self._trees.close(name, message)
            elif own or self._trees.place(name).exists():
                why = "it was interrupted" if not done else ending and f"the run ended ({ending}) before"
                await self._settle(name, message, why)

    async def _settle(self, name: str, message: str, why: str) -> None:
        trees, (task, _, number) = self._trees, name.rpartition("-")
        await trees.close(name, message)
        if moved := await trees.moved():
            self._crew.tell(
                RunWarning(text=f"your branch moved without this run. Not you? Type: git log {moved}")
            )
        merged = await trees.is_merged(name)
        if not merged:
            why = why or await trees.merge(name, message, self._accept)
            merged = not why
        if not merged:
            branch = trees.branch(name)
            why = f"not merged: {why}. What was done is on the branch {branch}: git diff HEAD...{branch}"
            self._crew.tell(RunWarning(text=f"{name}: {self._crew.mask(why)}"))
        await self._change(int(number), "" if merged else why)
        if merged:
            earlier = await trees.names() if task in completed_task_ids(await self._journal()) else []
            await trees.delete(name, *(one for one in earlier if one.startswith(f"{task}-") and one != name))

    async def _change(self, worker: int, refused: str) -> None:
        change = WorkerChange(session=self._session, do="settle", worker=worker, refused=refused)
        await self._crew.overseer.workers(change)

    def _message(self, task: Task | None, worker: int) -> str:
        return commit_message(self._crew.mask(task.content) if task else "", self._session, worker)

    async def _accept(self, place: Path, back: Callable[[], Awaitable[object]]) -> str:
        work, checks = self._workplace(place), self._crew.overseer.checks
        failed: tuple[str, ...] = ()
        for _ in range(2):  # a check that passes when it is run again holds nothing back
            merged = await checks(work.folder, work.environment, failed)
            if not (failed := tuple(run.id for run in merged if not run.passed)):
                return ""
        await back()
        return merge_objection(merged, await checks(work.folder, work.environment, failed))

    def _workplace(self, place: Path, branch: str = "") -> Workplace:
        environment = map_environment(dict(self._crew.environment), self._trees.top, place)
        return Workplace(str(place / self._inside), environment, branch)

    async def _journal(self) -> Journal:
        return (await self._crew.overseer.look()).journal
