"""Machines that work on one list: each task is merged once, and nothing that was done is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.platform.team.ports import Member, TeamTaskState
from sidecar.platform.team.store import TeamStore
from sidecar.work.progress import AgentEnded, Progress, TaskCompleted
from support.git_projects import commit_all, git
from support.team_scene import LIST, TeamMachine, merged_tasks, remote_of, writes

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def remote(tmp_path: Path) -> Path:
    return remote_of(tmp_path)


def moves_on(*machines: TeamMachine) -> None:
    """Let the machines look at the list again whenever one of them has merged a task."""

    def told(what: Progress) -> None:
        if isinstance(what, TaskCompleted):
            for one in machines:
                one.fakes.clock.advance(6.0)

    for machine in machines:
        machine.when_told = told


async def test_two_machines_merge_each_task_once_and_go_on_with_what_is_in_conflict(
    remote: Path, tmp_path: Path
) -> None:
    met = asyncio.Barrier(2)

    async def agent(ident: str, folder: Path) -> None:
        writes(ident, folder)
        if ident in ("T1", "T2"):
            shared = folder / "shared"
            lines = [one for one in shared.read_text().splitlines() if one[:1] not in "<=>"]
            if not lines:
                await met.wait()  # both began on the same files
            shared.write_text("\n".join(sorted({*lines, ident})) + "\n")

    one, two = (TeamMachine(tmp_path, name, agent, jobs=1) for name in ("one", "two"))
    one.tasks((), (), ("T1",), ("T1", "T2"), (), ("T5",))
    moves_on(one, two)
    ends = await asyncio.gather(one.play(), two.play())
    assert [(end.outcome, end.exit_code) for end in ends] == [("completed", 0)] * 2
    assert sorted(merged_tasks(remote)) == [f"T{number}" for number in range(1, 7)]
    assert git(remote, "show", "main:shared").split() == ["T1", "T2"]
    assert set(one.states().values()) == {"merged"}
    (again,) = [
        prompt
        for machine in (one, two)
        for prompt in machine.prompts
        if prompt.task and prompt.task.contested
    ]
    assert (again.task.contested, "in conflict" in again.feedback) == (("shared",), True)  # type: ignore[union-attr]
    for machine in (one, two):
        assert git(machine.project, "log", "--format=%s") == "first\n", "the user's own branch does not move"
        assert git(machine.project, "branch", "--format=%(refname:short)").split() == ["main"]
        assert len(git(machine.project, "worktree", "list").splitlines()) == 1
    assert git(remote, "branch", "--format=%(refname:short)").split() == ["main"]


async def test_a_claim_that_another_machine_took_ends_the_agent_and_nothing_of_it_is_pushed(
    remote: Path, tmp_path: Path
) -> None:
    ended = asyncio.Event()

    async def agent(ident: str, folder: Path) -> None:
        writes(ident, folder)
        person = TeamStore(slow.team._database, Member(machine="laptop", person="ann"))  # noqa: SLF001 - shared
        assert person.put(LIST, "T1", TeamTaskState.HELD, "I do it myself")
        slow.fakes.clock.advance(21.0)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    slow = TeamMachine(tmp_path, "slow", agent)
    slow.tasks(())
    end = await slow.play()
    assert ended.is_set()
    assert (end.outcome, merged_tasks(remote)) == ("waiting", [])
    assert "T1 is held: I do it myself" in end.detail
    assert "T1: another machine has this task" in slow.warnings()
    assert git(remote, "branch", "--format=%(refname:short)").split() == ["main"]
    assert git(slow.project, "show", "supervisor/sprint/T1-1:T1.txt") == "whole\n"


async def test_a_task_that_was_pushed_before_its_machine_died_is_not_done_again(
    remote: Path, tmp_path: Path
) -> None:
    one = TeamMachine(tmp_path, "one", writes)
    one.tasks(())
    assert (await one.play()).outcome == "completed"
    one.team.put(LIST, "T1", TeamTaskState.OPEN)  # as if the database had not heard of it
    two = TeamMachine(tmp_path, "two", writes)
    assert (await two.play()).outcome == "completed"
    assert (two.prompts, merged_tasks(remote), two.task("T1").attempts) == ([], ["T1"], 2)


async def test_an_agents_own_trailer_completes_nothing(tmp_path: Path) -> None:
    def agent(ident: str, folder: Path) -> None:
        writes(ident, folder)
        commit_all(folder, "mine\n\nSupervisor-Task: sprint/T2")

    machine = TeamMachine(tmp_path, "one", agent, jobs=1)
    machine.tasks((), ())
    machine.team.claim(LIST)
    machine.team.put(LIST, "T1", TeamTaskState.OPEN)
    machine.team.put(LIST, "T2", TeamTaskState.OPEN)
    assert (await machine.play()).outcome == "completed"
    assert [prompt.task.id for prompt in machine.prompts if prompt.task] == ["T1", "T2"]


async def test_what_a_person_pushes_meanwhile_is_merged_with_and_checked(
    remote: Path, tmp_path: Path
) -> None:
    seen: list[list[str]] = []

    def passes(folder: str) -> bool:
        seen.append(sorted(one.name for one in Path(folder).glob("[Tp]*.txt")))
        if len(seen) == 1:
            person = tmp_path / "seed"
            (person / "person.txt").touch()
            commit_all(person, "by hand")
            git(person, "push", "--quiet", str(remote), "HEAD:main")
        return True

    machine = TeamMachine(tmp_path, "one", writes)
    machine.tasks(())
    machine.passes = passes
    assert (await machine.play()).outcome == "completed"
    assert seen == [["T1.txt"], ["T1.txt", "person.txt"]]
    assert git(remote, "log", "--format=%s", "--first-parent", "main").splitlines() == [
        "Merge: part 1", "by hand", "first",
    ]  # fmt: skip


async def test_an_interrupted_task_is_given_back_and_another_machine_goes_on_with_its_work(
    remote: Path, tmp_path: Path
) -> None:
    began = asyncio.Event()

    async def hangs(_: str, folder: Path) -> None:
        (folder / "half.txt").write_text("half\n")
        began.set()
        await asyncio.Event().wait()

    one = TeamMachine(tmp_path, "one", hangs)
    one.tasks(())
    playing = asyncio.create_task(one.play())
    await began.wait()
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    task = one.task("T1")
    assert (task.state, task.branch, task.note) == ("open", "supervisor/sprint/T1-1", "it was interrupted")
    found: list[str] = []

    def goes_on(ident: str, folder: Path) -> None:
        found.append((folder / "half.txt").read_text())
        writes(ident, folder)

    two = TeamMachine(tmp_path, "two", goes_on)
    assert (await two.play()).outcome == "completed"
    assert (found, merged_tasks(remote)) == (["half\n"], ["T1"])
    assert git(remote, "branch", "--format=%(refname:short)").split() == ["main"]


async def test_work_goes_on_while_the_database_is_away_and_is_merged_when_it_is_back(
    remote: Path, tmp_path: Path
) -> None:
    def agent(ident: str, folder: Path) -> None:
        writes(ident, folder)
        machine.team.away = True

    def told(what: Progress) -> None:
        if "away" in getattr(what, "text", ""):
            assert any(isinstance(one, AgentEnded) for one in machine.told)
            assert merged_tasks(remote) == []
            machine.team.away = False
            machine.moves_on()

    machine = TeamMachine(tmp_path, "one", agent)
    machine.tasks(())
    machine.when_told = told
    assert (await machine.play()).outcome == "completed"
    assert "the team's database is away" in machine.warnings()
    assert merged_tasks(remote) == ["T1"]


async def test_a_database_that_is_away_at_the_start_is_waited_for(remote: Path, tmp_path: Path) -> None:
    def told(what: Progress) -> None:
        if "away" in getattr(what, "text", ""):
            machine.team.away = False
            machine.moves_on()

    machine = TeamMachine(tmp_path, "one", writes)
    machine.tasks(())
    machine.team.away, machine.when_told = True, told
    assert (await machine.play()).outcome == "completed"
    assert merged_tasks(remote) == ["T1"]


async def test_an_agent_that_cannot_work_gives_its_task_back_and_ends_this_machine_alone(
    remote: Path, tmp_path: Path
) -> None:
    broken = TeamMachine(tmp_path, "one", lambda *_: "no such model", jobs=1)
    broken.tasks((), ())
    end = await broken.play()
    assert (end.outcome, end.exit_code, len(broken.prompts)) == ("agent-failed", 1, 1)
    assert broken.states() == {"T1": "open", "T2": "open"}
    assert (await TeamMachine(tmp_path, "two", writes).play()).outcome == "completed"
    assert sorted(merged_tasks(remote)) == ["T1", "T2"]


async def test_work_that_breaks_a_check_is_tried_again_and_then_held(remote: Path, tmp_path: Path) -> None:
    machine = TeamMachine(tmp_path, "one", writes)
    machine.tasks(())
    machine.passes = lambda folder: not Path(folder, "T1.txt").exists()
    end = await machine.play()
    assert (end.outcome, end.exit_code) == ("waiting", 1)
    assert "To try again: supervisor team give-back sprint T1" in end.detail
    task = machine.task("T1")
    assert (task.state, task.attempts, task.branch) == ("held", 3, "supervisor/sprint/T1-3")
    assert "`make` does not pass any more" in task.note
    assert (merged_tasks(remote), "T1-3" in git(remote, "branch")) == ([], True)


@pytest.mark.parametrize(("own", "merged"), [((), ["T1"]), (("make",), [])])
async def test_a_tasks_own_check_must_pass_where_it_is_merged_though_it_fails_there_anyway(
    remote: Path, tmp_path: Path, own: tuple[str, ...], merged: list[str]
) -> None:
    machine = TeamMachine(tmp_path, "one", writes)
    machine.tasks((), checks=own)
    machine.passes = lambda _: False
    await machine.play()
    assert merged_tasks(remote) == merged
    assert ("with it `make` does not pass: " in machine.task("T1").note) is bool(own)


async def test_a_paused_list_is_waited_for_and_said(tmp_path: Path) -> None:
    machine = TeamMachine(tmp_path, "one", writes)
    machine.tasks(())
    machine.team.pause(LIST)

    def told(what: Progress) -> None:
        if "paused" in getattr(what, "text", ""):
            machine.team.pause(LIST, paused=False)
            machine.moves_on()

    machine.when_told = told
    assert (await machine.play()).outcome == "completed"
    assert "the list is paused. To go on: supervisor team resume sprint" in machine.warnings()


async def test_a_fault_that_ends_the_renewals_ends_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def agent(*_: object) -> None:
        machine.fakes.clock.advance(21.0)
        await asyncio.Event().wait()

    def broken(*_: object) -> set[str]:
        raise ValueError("a fault of ours")

    machine = TeamMachine(tmp_path, "one", agent)
    machine.tasks(())
    monkeypatch.setattr(machine.team, "extend_all", broken)
    with pytest.raises(ValueError, match="a fault of ours"):
        await machine.play()
