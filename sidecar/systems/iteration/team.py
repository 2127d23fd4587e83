"""Works on a list of a team: takes tasks, lets a run do each, merges what is done into the remote's branch.

Rules of this module:

- A claim that another machine has taken ends its agent at once, and nothing more is pushed for it. A database
  that is away ends nothing: agents go on, and merging waits until the claim is confirmed.
- A task is done when its merge is pushed. What says so is the remote's branch, so a machine that is killed
  between the push and the database loses nothing: the next one to claim the task finds its trailer.
- The slot of the merge lane only saves work. That two machines never merge one task is due to the push, which
  is refused where the branch moved, and to the look at the branch before each push.
- Whatever ends a task before that, its work is committed to a branch of its own.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Task
from sidecar.kernel.runs import MergeChecks, RunRequest
from sidecar.platform.lane import TRAILER, MergeLane, RemoteAwayError
from sidecar.platform.team.ports import (
    Claim,
    TeamAwayError,
    TeamRefusedError,
    TeamTask,
    TeamTaskState,
)
from sidecar.platform.worktrees import SCRATCH
from sidecar.systems.iteration.loop import AgentLoop
from sidecar.systems.iteration.policy import team as policy
from sidecar.systems.iteration.policy.loop import MAX_AGENT_FAILURES, commit_message, run_ended
from sidecar.systems.iteration.ports import AssignedTask, RunParticipants, SidecarSession
from sidecar.work import progress
from sidecar.work.merging import Trial, WorkMerging, Workplace

if TYPE_CHECKING:
    from sidecar.kernel.masking import SecretMask
    from sidecar.kernel.session import Environment
    from sidecar.kernel.settings import Settings
    from sidecar.platform.ports import Clock
    from sidecar.platform.team.store import TeamStore
    from sidecar.workers.budget import Budget

RENEWALS: Final = 4.5
"""How often what this machine holds is renewed within one lease."""
POLL_S: Final = 5.0
"""Seconds between two looks at a list of which nothing can be claimed."""
LANE_POLL_S: Final = 1.0
"""Seconds between two tries to get the slot of the merge lane."""
PUSH_TRIES: Final = 3
"""How often a task is merged anew where somebody else pushed meanwhile."""
GIVE_BACK_S: Final = 30.0
"""Seconds that an interrupted run takes at most to give a task back."""
UNREACHABLE: Final = (RemoteAwayError, TeamAwayError, TeamRefusedError)
"""What is waited for: a network that fails while a connection is made can look like a refusal."""
INTERRUPTED: Final = policy.TaskEnd(state=TeamTaskState.OPEN, note="it was interrupted")
LEFT: Final = "Left by a run that was killed"

T = TypeVar("T")
TellAll = Callable[[progress.Progress], None]
BuildRun = Callable[[RunRequest, AssignedTask, TellAll], Awaitable[RunParticipants]]


class LostClaimError(Exception):
    """Another machine has the task."""


@dataclass(frozen=True, kw_only=True)
class TeamParticipants:
    """What playing a list needs. `build` builds the run of a task, which tells its progress as told.

    `budget` is one for all tasks. `accepted` maps the exit code of a run to that by which it is taken.
    `lease`: seconds after which what is held and not renewed is lost.
    """

    team: TeamStore
    lane: MergeLane
    build: BuildRun
    clock: Clock
    tell: TellAll
    mask: SecretMask
    environment: Environment
    settings: Settings
    budget: Budget
    accepted: Callable[[int], int]
    lease: float


@dataclass
class _Held:
    """A claim of this machine, the `number`th of this call. `settled`: it is not renewed any more."""

    claim: Claim
    number: int
    lost: bool = False
    settled: bool = False

    @property
    def task(self) -> TeamTask:
        return self.claim.task


class TeamPlayer:
    """One call of `supervisor run --team`."""

    def __init__(self, crew: TeamParticipants, asked: RunRequest) -> None:
        self._crew, self._asked = crew, asked
        lane = crew.lane
        self._merging = WorkMerging(lane.trees, asked.project, crew.environment, crew.mask, self._warn)
        self._asked_about: dict[str, set[str]] = defaultdict(set)
        self._held: dict[asyncio.Task[None], _Held] = {}
        self._busy: set[int] = set()
        self._merge_lock = asyncio.Lock()
        self._slot, self._lane_key = "", f"merge/{asked.team}"
        self._number = self._most = self._failures = 0
        self._stops: policy.TaskEnd | None = None
        self._said = ""
        self._warned = set[progress.Progress]()
        self._away = set[type]()
        crew.budget.others = lambda: len(self._busy)

    async def run(self) -> progress.RunFinished:
        """Work on the list until nothing of it is left that can be done. Raises BadInputError, OSError."""
        await self._open()
        keeping = asyncio.create_task(self._keep_claims())
        try:
            ended = await self._play(keeping)
        finally:
            for task in self._held:
                task.cancel()
            await asyncio.gather(*self._held, return_exceptions=True)
            keeping.cancel()
            with suppress(OSError, BadInputError):
                await self._crew.lane.close()
        self._crew.tell(ended := self._total(ended))
        return ended

    def interrupted(self) -> progress.RunFinished:
        """Return the end of a call that was ended from outside."""
        return self._total(run_ended("interrupted", "it was ended from outside", self._asked))

    def _total(self, ended: progress.RunFinished) -> progress.RunFinished:
        budget = self._crew.budget
        return replace(ended, iterations=self._number, tokens=budget.tokens, cents=budget.cents)

    async def _open(self) -> None:
        """Make the lane, and commit what a killed run left in its worktrees to its branches."""
        crew, asked = self._crew, self._asked
        load = partial(asyncio.to_thread, crew.team.tasks, asked.team)
        tasks = await self._reached(load, (TeamAwayError,))  # what is refused at first ends the call
        if not tasks:
            raise BadInputError(
                f'there is no list {asked.team}. Type: supervisor team add {asked.team} "TASK"'
            )
        self._most = len(tasks)
        await crew.lane.open()
        trees = crew.lane.trees
        await trees.remove(SCRATCH)
        for name in await trees.names():
            if trees.place(name).exists():
                await trees.close(name, LEFT)
        done = sum(task.state in policy.DONE for task in tasks)
        crew.tell(
            progress.RunStarted(
                session=asked.session,
                project=asked.project,
                goal=f"the list {asked.team}: {done} of {self._most} tasks are done",
                most=0,
                resumed=done > 0,
                jobs=asked.jobs,
                then=asked.again(),
            )
        )

    # --- the list ---

    async def _play(self, keeping: asyncio.Task[None]) -> progress.RunFinished:
        """Play until nothing is left; what ends `keeping` ends this, because claims would run out unseen."""
        while True:
            while len(self._held) < self._asked.jobs and (claim := await self._claim()):
                self._number, self._said = self._number + 1, ""
                held = _Held(claim, self._number)
                self._held[asyncio.create_task(self._do(held))] = held
            if not self._held and (ended := await self._ended()):
                return ended
            pause = asyncio.create_task(self._crew.clock.pause(POLL_S))
            done, _ = await asyncio.wait({*self._held, pause, keeping}, return_when=asyncio.FIRST_COMPLETED)
            pause.cancel()
            if keeping in done:
                keeping.result()
            for task in done & self._held.keys():
                self._busy.discard(self._held.pop(task).number)
                if not task.cancelled():
                    task.result()

    async def _claim(self) -> Claim | None:
        """Claim the next task; None where nothing is to begin, or nothing can for now."""
        crew = self._crew
        if self._stops or crew.budget.obstacle(len(self._busy), crew.settings):
            return None
        return await self._shared(crew.team.claim, self._asked.team, crew.lease)

    async def _ended(self) -> progress.RunFinished | None:
        """Return the end of the call where nothing is left to do here; else say what is waited for."""
        crew, asked = self._crew, self._asked
        if self._stops:
            said = self._stops.note.removeprefix(f"{self._stops.stops}: ").rstrip(".:")
            note = f"{said}. Tasks that are left wait for this or another machine"
            return replace(run_ended("broken", note, asked), outcome=self._stops.stops)
        if why := crew.budget.obstacle(0, crew.settings):
            if why.waits:
                self._say(f"waits: {why.text}")
                return None
            return run_ended("exhausted", why.text, asked, *why.way)
        tasks, names, paused = await self._shared(self._look)
        if policy.tasks_left(tasks):
            self._say(policy.describe_waiting(tasks, names, paused=paused))
            return None
        if said := policy.describe_open_tasks(tasks):
            return run_ended("waiting", said, asked)
        detail = f"all {len(tasks)} tasks of {asked.team} are done"
        return progress.RunFinished(outcome="completed", detail=detail, exit_code=0)

    def _look(self) -> tuple[Sequence[TeamTask], dict[str, str], bool]:
        team, name = self._crew.team, self._asked.team
        with team.transaction():
            names = {one.id: one.name for one in team.machines()}
            return team.tasks(name), names, team.is_paused(name)

    async def _keep_claims(self) -> None:
        """Renew what this machine holds, until cancelled; end the work on what another one has."""
        while True:
            await self._crew.clock.pause(self._crew.lease / RENEWALS)
            held = {task: one for task, one in self._held.items() if not one.settled}
            lost = await self._shared(self._renew, [one.claim for one in held.values()])
            for task, one in held.items():
                if one.claim.token in lost and not one.settled:
                    one.lost = True
                    task.cancel()

    def _renew(self, claims: Sequence[Claim]) -> set[str]:
        """Renew claims and the slot; return the tokens of those that are lost."""
        team, lease = self._crew.team, self._crew.lease
        with team.transaction():
            if slot := self._slot:
                team.take_slot(self._lane_key, 1, slot, lease)
            return team.extend_all(claims, lease)

    # --- a task ---

    async def _do(self, held: _Held) -> None:
        end = INTERRUPTED
        try:
            end = await self._work(held)
        except LostClaimError:
            held.lost = True
        except BadInputError as error:
            end = policy.TaskEnd(state=TeamTaskState.HELD, note=self._crew.mask(str(error)))
        except OSError as error:
            self._failures += 1
            stops = "broken" if self._failures == MAX_AGENT_FAILURES else ""
            end = replace(policy.end_to_try_again(held.task, self._crew.mask(str(error))), stops=stops)
        else:
            self._failures = 0
        finally:
            await self._settle(held, end)

    async def _work(self, held: _Held) -> policy.TaskEnd:
        """Let a run do a task, and merge what it did. Raises LostClaimError, OSError, BadInputError."""
        crew, task, name = self._crew, held.task, policy.task_name(held.task)
        request = policy.task_request(self._asked, task)
        await self._reached(crew.lane.update)
        if task.attempts > 1 and await crew.lane.delivered(policy.task_title(task)):
            return policy.TaskEnd(state=TeamTaskState.MERGED)
        if task.branch:
            with suppress(OSError):  # without it the task begins anew
                await self._reached(partial(crew.lane.fetch_branch, task.branch))
        before = policy.earlier_name(task, await self._merging.others(name))
        place = await self._merging.open(name)
        assigned = AssignedTask(
            task=Task(id=task.id, content=task.content),
            place=place,
            feedback=task.note,
            earlier=partial(crew.lane.trees.put_into, name, before),
        )
        run = await crew.build(request, assigned, partial(self._tell_of, held))
        ended = await AgentLoop(run, request).run()
        spent = crew.budget.obstacle(len(self._busy), crew.settings)
        end = policy.end_after_run(task, ended, crew.accepted(ended.exit_code), spent=spent is not None)
        return await self._merge(held, request, run.overseer) if end.state == "merge" else end

    async def _merge(self, held: _Held, request: RunRequest, overseer: SidecarSession) -> policy.TaskEnd:
        """Merge what was done for a task into the remote's branch; return what becomes of the task."""
        task, name = held.task, policy.task_name(held.task)
        message = self._message(task)
        await self._crew.lane.trees.close(name, message)

        async def checks(at: Workplace, only: tuple[str, ...]) -> MergeChecks:
            return await overseer.checks(at.folder, at.environment, only, request.goal.condition)

        trial = Trial(checks=checks, asked_about=self._asked_about[task.id], required=task.checks)
        marked = f"{message}\n\n{TRAILER}: {policy.task_title(task)}"

        async def deliver() -> policy.TaskEnd:
            async with self._in_lane():
                return await self._deliver(held, name, marked, trial)

        return await self._reached(deliver)

    async def _deliver(self, held: _Held, name: str, message: str, trial: Trial) -> policy.TaskEnd:
        lane, task, why, base = self._crew.lane, held.task, "", ""
        for _ in range(PUSH_TRIES):
            await lane.update()
            base, before = await lane.reset(), base
            if why and base == before:
                note = f"the remote refuses a push: {why}"
                return policy.TaskEnd(state=TeamTaskState.OPEN, note=note, stops="broken")
            if await lane.delivered(policy.task_title(task)) or await lane.trees.is_merged(name):
                return policy.TaskEnd(state=TeamTaskState.MERGED)
            refused = (await self._merging.merge(name, message, trial)).why
            if refused:
                return policy.end_to_try_again(task, f"not merged: {refused}")
            if not await self._shared(self._crew.team.extend, held.claim, self._crew.lease):
                raise LostClaimError
            if not (why := await lane.push()):
                return policy.TaskEnd(state=TeamTaskState.MERGED)
        return policy.end_to_try_again(task, "not merged: the branch moved each time it was to be pushed")

    @asynccontextmanager
    async def _in_lane(self) -> AsyncIterator[None]:
        """Have the merge lane of the list while the block lasts."""
        team, token = self._crew.team, secrets.token_hex(16)
        async with self._merge_lock:
            while not await self._shared(team.take_slot, self._lane_key, 1, token, self._crew.lease):
                await self._crew.clock.pause(LANE_POLL_S)
            self._slot = token
            try:
                yield
            finally:
                self._slot = ""
                with suppress(OSError):  # else it runs out
                    await asyncio.to_thread(team.free_slot, self._lane_key, token)

    # --- its end ---

    async def _settle(self, held: _Held, end: policy.TaskEnd) -> None:
        """Keep what is not merged on its branch, give the task its state, and say so."""
        task, merged = held.task, end.state is TeamTaskState.MERGED
        branch = kept = ""
        try:
            async with asyncio.timeout(GIVE_BACK_S if end is INTERRUPTED else None):
                if not merged:
                    kept = await self._keep(held)
                    branch = task.branch
                    if kept and not held.lost:
                        branch = await self._reached(
                            partial(self._crew.lane.push_branch, policy.task_name(task))
                        )
                held.settled = True
                if not held.lost:
                    settle = partial(self._crew.team.settle_task, note=end.note, branch=branch)
                    held.lost = not await self._shared(settle, held.claim, end.state)
                if merged:
                    await self._merging.delete(policy.task_name(task), earlier=True)
                    await self._crew.lane.drop_branch(task.branch)
        except (OSError, BadInputError, TimeoutError) as error:
            self._warn(f"{task.id}: {error}")
        self._stops = self._stops or (end if end.stops else None)
        if merged:
            content = self._crew.mask(task.content)
            self._crew.tell(progress.TaskCompleted(iteration=held.number, id=task.id, content=content))
        else:
            self._warn(policy.describe_end(task, end, kept, lost=held.lost))

    async def _keep(self, held: _Held) -> str:
        """Commit what is in the worktree of a task; return its branch, "" where nothing was done."""
        trees, name = self._crew.lane.trees, policy.task_name(held.task)
        await trees.close(name, self._message(held.task))
        if name not in await trees.names():
            return ""
        if not await trees.is_merged(name):
            return trees.branch(name)
        await trees.delete(name)
        return ""

    def _message(self, task: TeamTask) -> str:
        session = f"{task.list}-{policy.task_name(task)}"
        return commit_message(self._crew.mask(task.content), session, 1)

    # --- what is away, and what is told ---

    async def _shared(self, call: Callable[..., T], *arguments: object) -> T:
        """Ask the team; wait while it does not answer."""
        return await self._reached(partial(asyncio.to_thread, call, *arguments))

    async def _reached(
        self, call: Callable[[], Awaitable[T]], waits: tuple[type[OSError], ...] = UNREACHABLE
    ) -> T:
        """Do what needs the database or the remote; wait while that does not answer."""
        failed: OSError | None = None
        while True:
            try:
                done = await call()
            except waits as error:
                failed = error
                self._unreachable(error)
            else:
                self._away.discard(type(failed))
                return done
            await self._crew.clock.pause(POLL_S)

    def _unreachable(self, error: OSError) -> None:
        """Warn once that the database or the remote does not answer, until it did again."""
        if type(error) not in self._away:
            self._away.add(type(error))
            why = self._crew.mask(str(error))
            self._warn(f"{why}. Agents go on; nothing is begun or merged until it answers")

    def _tell_of(self, held: _Held, what: progress.Progress) -> None:
        """Tell what the run of a task tells: its agents are numbered as the tasks of this call are."""
        if isinstance(what, progress.RunStarted | progress.RunFinished) or what in self._warned:
            return
        if isinstance(what, progress.RunWarning):
            self._warned.add(what)
        if isinstance(what, progress.IterationStarted):
            self._busy.add(held.number)
            what = replace(what, task=f"{held.task.id}: {held.task.content}", most=self._most)
        if isinstance(what, progress.AgentEnded):
            self._busy.discard(held.number)
        numbered = {"iteration": held.number} if hasattr(what, "iteration") else {}
        self._crew.tell(replace(what, **numbered))

    def _say(self, text: str) -> None:
        """Warn of what is waited for, once as long as it stays so."""
        if text != self._said:
            self._said = text
            self._warn(text)

    def _warn(self, text: str) -> None:
        self._crew.tell(progress.RunWarning(text=text))
