"""Plays the tasks of a session at once, each by a loop and in a worktree of its own, for `--jobs`.

- The session's journal says where each task stands: its claim names the worktree, and is `done` once the loop
  completed it and its work is not merged. Only what is merged is completed, so that what depends on it waits.
- Each step can be done again. Whatever is killed when, the same command goes on from the journal.
- What cannot be merged is played once more, on the files as they are then. Its branch stays.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.journal import Author, Journal, Task, TaskClaim, TaskStatus
from sidecar.kernel.log import LoopReportRuled
from sidecar.kernel.loop import LoopFailure
from sidecar.kernel.runs import MergeChecks
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.worktrees import SCRATCH, InTheWayError, Worktrees
from sidecar.systems.taskloop.player import (
    HELD,
    EndedError,
    LoopPlayer,
    PlayEnd,
    PlayOutcome,
    PlayRequest,
)
from sidecar.systems.taskloop.ports import LoopServices, LoopTasks
from sidecar.systems.taskloop.reports import task_goal
from sidecar.systems.taskloop.service import TaskLoops
from sidecar.work.merging import Trial, WorkMerging, Workplace
from sidecar.work.progress import Tell

EVENTS: Final = 500
"""Newest events of a session in which it is looked up what was told of a task's checks."""


class OwnTask:
    """Implements `LoopTasks` for the loop of one task: what is done there is not merged in the session."""

    def __init__(self, tasks: LoopTasks, home: SessionKey, ident: str) -> None:
        self._tasks, self._home, self._ident = tasks, home, ident

    def of(self, key: SessionKey) -> Journal:
        return Journal(tasks=(self.task(key, self._ident),))

    def task(self, key: SessionKey, ident: str) -> Task:  # noqa: ARG002 - the port's
        task = self._tasks.task(self._home, ident)
        status = TaskStatus.COMPLETED if is_done(task) else task.status
        return replace(task, depends_on=(), status=status)

    def add_task(self, key: SessionKey, content: str, by: Author) -> Task:  # noqa: ARG002 - the port's
        return self._tasks.add_task(self._home, content, by)

    def drop_task(self, key: SessionKey, ident: str) -> None:  # noqa: ARG002 - the port's
        self._tasks.drop_task(self._home, ident)

    def put_task(self, key: SessionKey, task: Task) -> None:  # noqa: ARG002 - the port's
        known, done = self._tasks.task(self._home, task.id), task.status is TaskStatus.COMPLETED
        status = TaskStatus.IN_PROGRESS if done else task.status
        claim = known.claim and replace(known.claim, done=done)
        self._tasks.put_task(
            self._home, replace(task, depends_on=known.depends_on, claim=claim, status=status)
        )


def is_done(task: Task) -> bool:
    """Whether a task is completed, and its work is not merged."""
    return task.claim is not None and task.claim.done


class JobsPlayer(LoopPlayer):
    """Plays one session, `most` tasks at once."""

    def __init__(
        self, services: LoopServices, asked: PlayRequest, tell: Tell, trees: Worktrees, most: int
    ) -> None:
        super().__init__(TaskLoops(services), services, asked, tell)
        self.most, self._trees = most, trees
        mask = services.gates.mask(asked.session)
        self._merging = WorkMerging(trees, asked.session.project, asked.environment, mask, self._warn)
        self._again: dict[str, str] = {}

    async def _play_tasks(self) -> None:
        try:
            await self._trees.remove(SCRATCH)
            work = {task.id for task in self._journal().tasks if task.open}
            for name in await self._trees.names():  # killed after its task was completed, or it was left out
                if name.rpartition("-")[0] not in work and await self._merging.close(name, name):
                    await self._trees.delete(name)
            await super()._play_tasks()
        except InTheWayError as error:
            raise EndedError(str(error)) from None

    def _accept(self, task: Task) -> None:
        if task.claim is None:
            super()._accept(task)
        else:  # what was done for it is merged first
            self._put(task, TaskStatus.REMAINING, replace(task.claim, done=True))

    def _give_back(self, task: Task) -> None:
        self._loops.check_status(self._own(task.id), task.id, TaskStatus.REMAINING, Author.USER)
        self._put(task, TaskStatus.REMAINING, task.claim)

    async def _play_task(self, ident: str) -> PlayEnd | None:
        task = await self._take(ident)
        while True:
            name = _tree_name(task)
            if not is_done(task) and (end := await self._work_in(name, ident)) is not None:
                return end
            task = self._listed(ident)
            why = await self._deliver(name, task)
            if not why:
                self._put(task, TaskStatus.COMPLETED, None)
                await self._merging.delete(name, earlier=True)
                self._loops.states.forget(self._own(ident).key, "")
                return None
            why = self._merging.kept(name, f"{ident} is not merged: {why}")
            self._warn(why)
            if ident in self._again:
                self._put(task, TaskStatus.FAILED, task.claim)
                return PlayEnd(outcome=PlayOutcome.FAILED, message=why)
            self._again[ident] = why
            self._put(task, TaskStatus.REMAINING, None)
            task = await self._take(ident)

    async def _take(self, ident: str) -> Task:
        """Return a task with its claim. One without begins with a new loop, in a worktree that nobody had."""
        task = self._listed(ident)
        if task.claim:
            return task
        names = (name.rpartition("-") for name in await self._trees.names())
        number = 1 + max((int(last) for first, _, last in names if first == ident), default=0)
        states, own = self._loops.states, self._own(ident)
        states.forget(own.key, "")
        if why := self._again.get(ident):
            known = LoopFailure(iteration=0, task=ident, model="", errors=(why,))
            states.save(own, replace(states.of(own.key), failures=(known,)))
        self._put(task, TaskStatus.IN_PROGRESS, TaskClaim(worker=number, until=0.0))
        return self._listed(ident)

    async def _work_in(self, name: str, ident: str) -> PlayEnd | None:
        """Let the loop of a task play it, or go on with it; return how it was lost."""
        place = await self._merging.open(name, go_on=True)
        services = dataclasses.replace(self._services, tasks=OwnTask(self._tasks, self._session.key, ident))
        own = TaskLoops(services, self._session)
        own.models, home = self._loops.models, self._loops.of(self._session.key)
        asked = replace(
            self._asked,
            session=replace(self._own(ident), project=place.folder),
            environment=place.environment,
            guarded=self._session.project,
            mode=home.mode,
            kind=home.command_type,
        )
        try:
            end = await LoopPlayer(own, services, asked, self._show).play_alone(ident)
        except EndedError as error:
            if (task := self._listed(ident)).status in HELD:
                raise EndedError(await self._keep(name, task, error.end.message), error.end.outcome) from None
            raise
        return end and replace(end, message=await self._keep(name, self._listed(ident), end.message))

    async def _keep(self, name: str, task: Task, why: str) -> str:
        """Commit what was done for a task that is lost; say where it is, and why."""
        await self._merging.close(name, self._message(task))
        return self._merging.kept(name, why)

    async def _deliver(self, name: str, task: Task) -> str:
        """Merge what was done for a task; return why it was not."""
        message = self._message(task)
        if await self._merging.close(name, message):
            return ""
        told = {
            line
            for event in self._loops.states.newest(self._session.key, EVENTS)
            if isinstance(event.data, LoopReportRuled) and event.data.task == task.id
            for line in event.data.weakened
        }
        base, accepted = FileBaseline(), task.id in map(str.upper, self._asked.accept)

        async def look(at: Workplace) -> None:
            nonlocal base
            base = await self._services.shared.workspace.remember(at.folder, at.environment)

        async def checks(at: Workplace, only: tuple[str, ...]) -> MergeChecks:
            if accepted:  # a person looked at it
                return MergeChecks()
            goal = task_goal(task, self._loops.of(self._session.key), base, self._services.shared.clock.now())
            session = replace(self._session, goal=goal)
            return await self._services.gates.run_elsewhere(session, at.folder, at.environment, only)

        trial = Trial(checks=checks, asked_about=told, look=look)
        return (await self._merging.merge(name, message, trial)).why

    # --- parts ---

    def _listed(self, ident: str) -> Task:
        return self._tasks.task(self._session.key, ident)

    def _put(self, task: Task, status: TaskStatus, claim: TaskClaim | None) -> None:
        self._tasks.put_task(self._session.key, replace(task, status=status, claim=claim))

    def _own(self, ident: str) -> Session:
        """Return the part of the session that is a task's loop."""
        key = self._session.key
        return Session(key=SessionKey(key.host, f"{key.id}-{ident}"))

    def _message(self, task: Task) -> str:
        gates = self._loops.of(self._own(task.id).key).gates
        return self._loops.words.commit(self._session.key.id, task, gates)

    def _warn(self, text: str) -> None:
        self._tell("merge", text)


def _tree_name(task: Task) -> str:
    return f"{task.id}-{task.claim.worker if task.claim else 0}"
