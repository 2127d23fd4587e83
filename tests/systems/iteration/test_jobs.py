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
from sidecar.kernel.goal import GoalStatus, GoalTerms
from sidecar.kernel.journal import Journal, Task, TaskClaim, TaskStatus
from sidecar.platform.worktrees import find_worktrees
from sidecar.systems.iteration.jobs import MACHINE, Jobs
from sidecar.systems.iteration.loop import BEAT_SECONDS
from sidecar.systems.iteration.policy import journal as rules
from sidecar.work.progress import AgentEnded, IterationStarted, RunWarning
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
    assert {material.task and material.task.id for material in busy.prompts} == {"T1", "T2", "T3"}


async def test_under_a_limit_no_more_agents_are_at_work_than_it_pays_for(project: Path) -> None:
    at_once: list[int] = []

    async def work(task: AgentTask) -> AgentResult:
        at_once.append(len(busy.all(IterationStarted)) - len(busy.all(AgentEnded)))
        completes(busy, task)
        return AgentResult(said="Done.", exit_code=0, tokens=9, cents=30.0)

    busy = await scene(project, work, jobs=4)
    busy.budget.max_cents = 100.0
    busy.fakes.judge.script(*(incomplete(f"point {number}") for number in range(9)))
    ended = await busy.play()
    assert (ended.outcome, ended.iterations, ended.cents) == ("exhausted", 3, 90.0)
    assert (at_once[0], max(at_once), statuses(busy)[-1]) == (1, 2, TaskStatus.REMAINING)


async def test_no_agent_is_started_only_to_say_that_the_session_is_complete(project: Path) -> None:
    def work(task: AgentTask) -> AgentResult:
        completes(busy, task)
        busy.fakes.workspace.tree = f"with {task.prompt}"
        return AgentResult(said="Done.", exit_code=0)

    goal = GoalTerms(condition="the tasks are done", checks=("make",), tasks_alone=True)
    busy = await scene(project, work, goal=goal)
    ended = await busy.play()
    assert (ended.outcome, ended.iterations, statuses(busy)) == ("completed", 4, [TaskStatus.COMPLETED] * 4)


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


@pytest.mark.proves("runs and the journal")
async def test_a_change_of_the_checks_is_asked_about_once_and_idle_work_is_told(project: Path) -> None:
    def work(task: AgentTask) -> AgentResult:
        if "T2" in task.project:
            completes(busy, task, "")
            Path(task.project, "T2.txt").unlink()
        else:
            completes(busy, task, "a check that is gone")
        return AgentResult(said="Done.", exit_code=0)

    busy = await scene(project, work, tasks=TASKS[:2], jobs=1)
    busy.overseer.weakened = lambda folder, _: tuple(file.read_text() for file in Path(folder).glob("T*.txt"))
    busy.fakes.judge.script(incomplete("T1"), incomplete("T2"), complete("E1"))
    assert (await busy.play()).outcome == "achieved"
    asked, idle = busy.all(RunWarning)
    assert asked.text.startswith("T1-8: not merged: it changes checks: a check that is gone")
    assert idle.text == "T2-10: completed, and nothing was changed for it"
    assert statuses(busy) == [TaskStatus.COMPLETED] * 2
    assert git(project, "log", "--format=%s").splitlines() == ["part 1", "first"]


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
    again = busy.again(project=str(project), jobs=2)
    again.worktrees = busy.worktrees
    ended = await again.play()
    assert (ended.outcome, ended.iterations) == ("achieved", 0)  # no agent is started to be told so
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
    claimed = [task for task in journal(busy).tasks if task.claim]  # of whichever agent began first
    assert [task.claim and task.claim.done for task in claimed] == [True]
    await recovered(busy, project)
    assert sorted(statuses(busy)) == [TaskStatus.COMPLETED, *[TaskStatus.REMAINING] * 3]


# --- tasks that write one file ---


def add_line(file: Path, line: str) -> None:
    """Add a line, and keep both sides of a conflict."""
    lines = file.read_text().splitlines() if file.exists() else []
    kept = [one for one in lines if one[:2] not in ("<<", "==", ">>")]
    file.write_text("\n".join(dict.fromkeys((*kept, line))) + "\n")


@pytest.mark.parametrize(("jobs", "agents"), [(2, 7), (3, 8), (4, 9)])
async def test_what_is_in_conflict_goes_on_alone_and_tasks_that_write_one_file_take_turns(
    project: Path, jobs: int, agents: int
) -> None:
    tasks = tuple(Task(id=f"T{number}", content=f"part {number}") for number in range(1, 7))
    at_work, changed = set[str](), asyncio.Condition()

    async def work(task: AgentTask) -> AgentResult:
        own = Path(task.project).name.partition("-")[0]
        async with changed:  # nobody ends before all that were started have a worktree
            at_work.add(own)
            changed.notify_all()
            await changed.wait_for(
                lambda: all(
                    one.id in at_work or not one.claim or one.claim.done for one in journal(busy).tasks
                )
            )
            add_line(Path(task.project, "shared"), own)
            completes(busy, task)
            busy.fakes.workspace.tree = f"with {task.prompt}"
            at_work.discard(own)
        return AgentResult(said="Done.", exit_code=0)

    goal = GoalTerms(condition="the tasks are done", checks=("make",), tasks_alone=True)
    busy = await scene(project, work, tasks=tasks, jobs=jobs, goal=goal, most=40)
    ended = await busy.play()
    assert (ended.outcome, ended.iterations) == ("completed", agents), busy.all(RunWarning)
    assert sorted((project / "shared").read_text().split()) == [one.id for one in tasks]
    gone_on = [one.task.contested for one in busy.prompts if one.task and one.task.contested]
    assert gone_on == [("shared",)] * (jobs - 1)
    assert git(project, "branch", "--list", "supervisor/*") == ""


async def test_a_run_waits_until_the_claims_of_another_machine_run_out(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(task: AgentTask) -> AgentResult:
        completes(busy, task)
        return AgentResult(said="Done.", exit_code=0)

    async def passes(seconds: float) -> None:
        if seconds == BEAT_SECONDS:
            clock.advance(seconds)
        else:
            await pause(seconds)

    busy = await scene(project, work)
    clock, pause = busy.fakes.clock, busy.fakes.clock.pause
    monkeypatch.setattr(clock, "pause", passes)
    claim = TaskClaim(worker=3, until=clock.now() + 25.0, machine="elsewhere")
    busy.fakes.journals.save(KEY, replace(journal(busy), tasks=(replace(TASKS[0], claim=claim),)))
    busy.fakes.judge.script(complete("E1"))
    assert ((await busy.play()).outcome, statuses(busy)) == ("achieved", [TaskStatus.COMPLETED])
    assert clock.now() >= claim.until
