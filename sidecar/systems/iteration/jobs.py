"""Agents that work at once: a worktree for each, and what becomes of its work.

Whatever ends an agent, its work is on its branch, and its tasks are settled here or when the session goes on.
"""

from __future__ import annotations

import os
from collections import defaultdict
from functools import partial
from typing import Final

from sidecar.kernel.journal import Author, Journal, Task, completed_task_ids
from sidecar.kernel.runs import MergeChecks, StartedWorker, WorkerChange
from sidecar.platform.worktrees import SCRATCH, MergeEnd, Worktrees
from sidecar.systems.iteration.policy.claims import claimed_by
from sidecar.systems.iteration.policy.loop import FINAL_OUTCOMES, commit_message
from sidecar.systems.iteration.ports import RunParticipants
from sidecar.work.merging import Trial, WorkMerging, Workplace
from sidecar.work.progress import RunWarning

FREE_NAME: Final = "free"
"""In place of its task in the name of an agent's branch, where it has none."""
MACHINE: Final = os.uname().nodename
"""Where the agents of this process run; one machine has one run of a session."""
FILES_TOLD: Final = 100
"""Files of a merge or a conflict that a journal hears of."""
LOST: Final = "its claim ran out, and another agent took the task"


def job_name(started: StartedWorker) -> str:
    """Return the name of an agent's worktree and branch."""
    return f"{started.task.id if started.task else FREE_NAME}-{started.worker}"


class Jobs:
    """The worktrees of one session's agents, named TASK-ITERATION."""

    def __init__(self, crew: RunParticipants, trees: Worktrees, session: str, project: str) -> None:
        self._crew, self._trees, self._session = crew, trees, session
        self._asked_about: dict[str, set[str]] = defaultdict(set)
        self._merging = WorkMerging(trees, project, crew.environment, crew.mask, self._warn)

    async def open(self, started: StartedWorker) -> Workplace:
        """Make the worktree of an agent."""
        task = started.task
        return await self._merging.open(job_name(started), contested=bool(task and task.contested))

    async def finish(self, started: StartedWorker) -> None:
        """Remove the worktree of an agent, merge its work, and settle its tasks.

        Raises InTheWayError, OSError, BadInputError.
        """
        lost = started.task and not claimed_by(await self._journal(), started.worker)
        message = self._message(started.task, started.worker)
        await self._settle(job_name(started), message, LOST if lost else "", fresh=True)

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

    async def _settle(self, name: str, message: str, why: str, *, fresh: bool = False) -> None:
        task, _, number = name.rpartition("-")
        own = claimed_by(await self._journal(), int(number))
        end = MergeEnd(why, tuple(file for one in own for file in one.contested))
        merged = await self._merging.close(name, message)
        if merged and fresh and any(one.claim and one.claim.done for one in own):
            self._warn(f"{name}: completed, and nothing was changed for it")
        if not merged:
            checks = partial(self._checks, await self._asked_for(task))
            trial = Trial(checks=checks, asked_about=self._asked_about[task])
            end = end if why else await self._merging.merge(name, message, trial)
            merged = not end.why
        why = "" if merged else self._merging.kept(name, f"not merged: {end.why}")
        if why:
            self._warn(f"{name}: {why}")
        await self._change(int(number), why, end.files)
        if merged:
            earlier = task in completed_task_ids(await self._journal())
            await self._merging.delete(name, earlier=earlier)

    def _warn(self, text: str) -> None:
        self._crew.tell(RunWarning(text=text))

    async def _change(self, worker: int, refused: str, files: tuple[str, ...] = ()) -> None:
        change = WorkerChange(
            session=self._session, do="settle", worker=worker, refused=refused, files=files[:FILES_TOLD]
        )
        await self._crew.overseer.workers(change)

    def _message(self, task: Task | None, worker: int) -> str:
        return commit_message(self._crew.mask(task.content) if task else "", self._session, worker)

    async def _checks(self, asked: str, at: Workplace, only: tuple[str, ...]) -> MergeChecks:
        return await self._crew.overseer.checks(at.folder, at.environment, only, asked)

    async def _asked_for(self, ident: str) -> str:
        """Return what the user asked for beside the goal, in their own words."""
        own = (one for one in (await self._journal()).tasks if one.id == ident and one.by is Author.USER)
        return "\n".join((self._crew.spec, *(one.content for one in own)))

    async def _journal(self) -> Journal:
        return (await self._crew.overseer.look()).journal
