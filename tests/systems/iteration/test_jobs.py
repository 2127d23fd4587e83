"""Several agents of one session at once: what a killed run left is settled, and one budget is for all."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from sidecar.evidence.tree.checkout import place_ignored_files
from sidecar.hosts.ports import AgentResult, AgentTask
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.journal import Journal, Task, TaskClaim, TaskStatus
from sidecar.kernel.runs import IterationStarted, RunWarning
from sidecar.platform.worktrees import find_worktrees
from sidecar.systems.iteration.jobs import MACHINE, Jobs
from sidecar.systems.iteration.policy import journal as rules
from support.cases import complete, incomplete
from support.fakes import LIMIT
from support.git_projects import git, repository
from support.run_scene import KEY, UNKEPT, Scene, Work, agents, made

pytestmark = pytest.mark.process

TASKS: Final = tuple(Task(id=f"T{number}", content=f"part {number}") for number in range(1, 5))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    found = repository(tmp_path / "project")
    for name in ("user.name", "user.email"):
        git(found, "config", name, "a@b")
    return found


async def scene(project: Path, *work: Work, tasks: tuple[Task, ...] = TASKS, **asked: Any) -> Scene:
    fakes = made(UNKEPT)
    fakes.journals.save(KEY, Journal(tasks=tasks, serial=len(tasks), iteration=7))
    found = Scene(fakes, *work, project=str(project), **{"jobs": 2, **asked})
    environment = {"PATH": os.environ["PATH"], "HOME": str(project.parent)}
    furnish = partial(place_ignored_files, since=2e10)
    found.worktrees = await find_worktrees(
        str(project), environment, KEY.id, project.parent / "trees", furnish
    )
    return found


def journal(scene: Scene) -> Journal:
    return scene.overseer.journals.of(KEY)


def statuses(scene: Scene) -> list[TaskStatus]:
    return [task.status for task in journal(scene).tasks]


def completes(scene: Scene, task: AgentTask, text: str = "done") -> None:
    """Do the task of an agent, as its tools would."""
    worker = int(task.access.token.rpartition(".")[2]) if task.access else 0
    own = next(task.id for task in journal(scene).tasks if task.claim and task.claim.worker == worker)
    Path(task.project, f"{own}.txt").write_text(text)
    scene.overseer.journals.change(
        KEY, lambda now: rules.set_task_status(now, own, TaskStatus.COMPLETED, worker)
    )


# --- what a killed run left ---


def claimed(*, done: bool) -> tuple[Task, ...]:
    claim = TaskClaim(worker=7, until=9e9, machine=MACHINE, done=done)
    return (Task(id="T1", content="part 1", status=TaskStatus.IN_PROGRESS, claim=claim),)


async def recovered(left: Scene, project: Path) -> None:
    crew = left.run()._crew  # noqa: SLF001 - what the run would hand on
    assert left.worktrees is not None
    await Jobs(crew, left.worktrees, KEY.id, str(project)).recover()
    assert len(git(project, "worktree", "list").splitlines()) == 1
    assert not (project.parent / "trees").exists()
    assert git(project, "status", "--porcelain") == ""


async def test_an_agent_killed_at_work_gives_its_task_back_with_what_it_wrote_on_its_branch(
    project: Path,
) -> None:
    left = await scene(project, tasks=claimed(done=False))
    assert left.worktrees is not None
    (await left.worktrees.open("T1-7") / "b.txt").write_text("half")
    await recovered(left, project)
    assert (statuses(left), (project / "b.txt").exists()) == ([TaskStatus.REMAINING], False)
    assert git(project, "show", "supervisor/demo/T1-7:b.txt") == "half"
    (note,) = journal(left).notes
    assert note.content.startswith("T1: not merged: it was interrupted. What was done is on the branch super")


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize("when", ["completed", "committed", "merged"])
async def test_work_that_was_completed_before_the_kill_is_merged_once(project: Path, when: str) -> None:
    left = await scene(project, tasks=claimed(done=True))
    trees = left.worktrees
    assert trees is not None
    (await trees.open("T1-7") / "b.txt").write_text("whole")
    if when != "completed":
        await trees.close("T1-7", "part 1")
    if when == "merged":
        git(project, "merge", "--quiet", "supervisor/demo/T1-7")
    git(
        project, "worktree", "add", "--quiet", "--detach", str(trees.place("merge"))
    )  # a merge that was tried
    await recovered(left, project)
    assert (statuses(left), (project / "b.txt").read_text()) == ([TaskStatus.COMPLETED], "whole")
    assert git(project, "log", "--format=%s").splitlines() == ["part 1", "first"]
    assert git(project, "branch", "--list", "supervisor/*") == ""


async def test_a_task_whose_agent_was_killed_before_it_began_is_free_at_once(project: Path) -> None:
    left = await scene(project, tasks=claimed(done=False))
    await recovered(left, project)
    (task,) = journal(left).tasks
    assert (task.status, task.claim, journal(left).notes) == (TaskStatus.REMAINING, None, ())


# --- a whole run ---


@pytest.mark.proves("runs and the journal")
async def test_no_more_agents_are_started_than_the_budget_of_all_together(project: Path) -> None:
    async def work(task: AgentTask) -> AgentResult:
        completes(busy, task)
        return AgentResult(said="Done.", exit_code=0)

    busy = await scene(project, work, jobs=4, most=3)
    busy.fakes.judge.script(*(incomplete(f"point {number}") for number in range(9)))
    ended = await busy.play()
    assert (ended.outcome, ended.iterations, busy.fakes.goal(KEY).spent.continuations) == ("exhausted", 3, 2)
    assert [event.iteration for event in busy.all(IterationStarted)] == [1, 2, 3]
    assert statuses(busy) == [TaskStatus.COMPLETED] * 3 + [TaskStatus.REMAINING]
    assert len(busy.prompts) == 3
    assert git(project, "branch", "--list", "supervisor/*") == ""
    assert [material.task and material.task.id for material in busy.prompts] == ["T1", "T2", "T3"]


@pytest.mark.proves("runs and the journal")
async def test_a_check_that_the_work_breaks_sends_its_task_back_and_the_tree_stays_green(
    project: Path,
) -> None:
    def work(task: AgentTask) -> AgentResult:
        again = any("does not pass any more" in note.content for note in journal(busy).notes)
        completes(busy, task, "good" if again else "bad")
        return AgentResult(said="Done.", exit_code=0)

    busy = await scene(project, work, tasks=TASKS[:1])
    busy.overseer.passes = lambda folder, _: all(
        file.read_text() != "bad" for file in Path(folder).glob("T*.txt")
    )
    busy.fakes.judge.script(incomplete("T1"), complete("E1"))
    assert (await busy.play()).outcome == "achieved"
    assert (statuses(busy), (project / "T1.txt").read_text()) == ([TaskStatus.COMPLETED], "good")
    (warned,) = busy.all(RunWarning)
    assert "with it `make` does not pass any more" in warned.text
    assert git(project, "branch", "--list", "supervisor/*") == ""


async def test_work_on_a_task_that_another_agent_took_meanwhile_is_kept_and_not_merged(project: Path) -> None:
    def work(task: AgentTask) -> AgentResult:
        Path(task.project, "late.txt").touch()
        others = TaskClaim(worker=99, until=9e9, machine="elsewhere")
        busy.overseer.journals.change(
            KEY, lambda now: (replace(now, tasks=(replace(now.tasks[0], claim=others),)), None)
        )
        return AgentResult(said="Done.", exit_code=0)

    busy = await scene(project, work, tasks=TASKS[:1], most=1)
    busy.fakes.judge.script(incomplete("T1"))
    await busy.play()
    assert not (project / "late.txt").exists()
    assert git(project, "show", "supervisor/demo/T1-8:late.txt") == ""
    assert journal(busy).tasks[0].claim is not None


async def test_a_change_of_the_users_in_the_way_ends_the_run_and_the_next_one_merges(project: Path) -> None:
    def work(task: AgentTask) -> AgentResult:
        completes(busy, task)
        (project / "T1.txt").write_text("mine")
        return AgentResult(said="Done.", exit_code=0)

    busy = await scene(project, work, tasks=TASKS[:1])
    ended = await busy.play()
    assert (ended.outcome, ended.exit_code) == ("waiting", 1)
    assert "your own changes are in the way of a merge" in ended.detail
    assert (project / "T1.txt").read_text() == "mine"
    assert busy.fakes.goal(KEY).status is GoalStatus.ACTIVE
    (project / "T1.txt").unlink()
    busy.fakes.judge.script(complete("E1"))
    again = busy.again(
        lambda _task: AgentResult(said="All is done.", exit_code=0), project=str(project), jobs=2
    )
    again.worktrees = busy.worktrees
    assert (await again.play()).outcome == "achieved"
    assert (statuses(busy), (project / "T1.txt").read_text()) == ([TaskStatus.COMPLETED], "done")


async def test_agents_of_an_interrupted_run_are_ended_and_what_was_completed_waits_for_the_next(
    project: Path,
) -> None:
    began: list[AgentTask] = []
    both = asyncio.Event()

    async def work(task: AgentTask) -> AgentResult:
        began.append(task)
        if len(began) == 1:
            completes(busy, task)
        if len(began) == 2:
            both.set()
        await asyncio.Event().wait()
        raise AssertionError

    busy = await scene(project)
    busy.agents = agents(work)
    running = asyncio.create_task(busy.run().run())
    async with asyncio.timeout(LIMIT):
        await both.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert {task.guarded for task in began} == {str(project)}
    assert len(git(project, "worktree", "list").splitlines()) == 1
    first, second, *_ = journal(busy).tasks
    assert first.claim is not None
    assert (first.claim.done, second.claim, second.status) == (True, None, TaskStatus.REMAINING)
    await recovered(busy, project)
    assert statuses(busy)[0] is TaskStatus.COMPLETED
