"""Worktrees of agents on real git: what is merged, what is refused, and what stays the user's own."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from sidecar.evidence.tree.checkout import place_ignored_files
from sidecar.kernel.errors import BadInputError
from sidecar.platform.worktrees import InTheWayError, MergeEnd, Worktrees, find_worktrees
from support.git_projects import commit_all, git, repository

pytestmark = pytest.mark.process
LIMIT_S = 60.0
"""Bound of every wait here, in seconds."""

Back = Callable[[str], Awaitable[object]]


async def accepted(_place: Path, _before: str, _after: str, _back: Back) -> str:
    return ""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = repository(tmp_path / "project")
    for name in ("user.name", "user.email"):
        git(made, "config", name, "a@b")
    (made / ".gitignore").write_text(".venv/\n*.log\n")
    commit_all(made, "second")
    return made


async def found(project: Path) -> Worktrees:
    environment = {"PATH": os.environ["PATH"], "HOME": str(project.parent)}
    furnish = partial(place_ignored_files, since=2e10)
    return await find_worktrees(str(project), environment, "demo", project.parent / "trees", furnish)


async def test_a_git_inside_the_project_is_not_run(project: Path) -> None:
    (project / "git").write_text("#!/bin/sh\ntouch ran\n")
    (project / "git").chmod(0o755)
    furnish = partial(place_ignored_files, since=2e10)
    with pytest.raises(BadInputError, match="need git, and none is on PATH outside of the project"):
        await find_worktrees(str(project), {"PATH": str(project)}, "demo", project, furnish)
    assert not (project / "ran").exists()


async def test_without_a_branch_to_merge_into_it_says_what_to_type(project: Path) -> None:
    git(project, "checkout", "--quiet", "--detach")
    with pytest.raises(BadInputError, match=r"none is checked out.* git switch -c NAME"):
        await found(project)


async def worked(trees: Worktrees, name: str, files: dict[str, str]) -> None:
    """An agent that leaves these files behind."""
    place = await trees.open(name)
    for path, text in files.items():
        (place / path).write_text(text)
    await trees.close(name, f"work of {name}")


def nothing_but_the_users_tree(project: Path) -> None:
    assert len(git(project, "worktree", "list").splitlines()) == 1
    assert not (project.parent / "trees").exists()


async def test_what_an_agent_left_is_committed_and_merged_into_the_users_branch(project: Path) -> None:
    trees = await found(project)
    place = await trees.open("T1-1")
    (place / "a" / "__pycache__").mkdir(parents=True)
    for path in ("b.txt", "a/__pycache__/c.pyc"):
        (place / path).write_text("b")
    await trees.close("T1-1", "work of T1-1")
    assert (await trees.names(), (project / "b.txt").exists()) == (["T1-1"], False)
    assert not await trees.is_merged("T1-1")
    assert (await trees.merge("T1-1", "m", accepted)).why == ""
    assert await trees.is_merged("T1-1")
    await trees.delete("T1-1")
    assert ((project / "b.txt").read_text(), await trees.names()) == ("b", [])
    assert git(project, "log", "-1", "--format=%s", "--name-only").split() == ["work", "of", "T1-1", "b.txt"]
    nothing_but_the_users_tree(project)
    assert await trees.moved() == ""
    git(project, "commit", "--allow-empty", "-qm", "by somebody else")
    assert git(project, "log", "--format=%s", await trees.moved()) == "by somebody else\n"
    assert await trees.moved() == ""


class WatchedLock(asyncio.Lock):
    """Tells when somebody has to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = asyncio.Event()

    async def acquire(self) -> Literal[True]:
        if self.locked():
            self.awaited.set()
        return await super().acquire()


async def test_a_worktree_is_made_whole_before_others_are_pruned(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, log = tmp_path / "begun", tmp_path / "go", tmp_path / "log"
    for pipe in (begun, go):
        os.mkfifo(pipe)
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    real = shutil.which("git")
    adds = f'*"worktree add"*) echo > "{begun}"; read _ < "{go}"; "{real}" "$@"; echo add >> "{log}"; exit;;'
    prunes = f'*"worktree prune"*) echo prune >> "{log}";;'
    slow.write_text(f'#!/bin/sh\ncase "$*" in {adds} {prunes} esac\nexec "{real}" "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    trees, lock = await found(project), WatchedLock()
    monkeypatch.setattr(trees, "changing", lock)
    making = asyncio.create_task(trees.open("T2-2"))
    async with asyncio.timeout(LIMIT_S):
        await asyncio.to_thread(begun.read_text)
        removing = asyncio.create_task(trees.remove("T1-1"))
        waiting = asyncio.create_task(lock.awaited.wait())
        await asyncio.wait((removing, waiting), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.to_thread(go.write_text, "\n")
        assert (await making).is_dir()
        await removing
    waiting.cancel()
    assert log.read_text().split() == ["add", "prune"]
    await trees.close("T2-2", "m")
    assert not (project.parent / "trees").exists()


async def test_a_conflict_and_a_refusal_change_nothing_and_say_why(project: Path) -> None:
    trees = await found(project)
    for name in ("T1-1", "T2-2"):
        await trees.open(name)
    for name in ("T1-1", "T2-2"):
        (trees.place(name) / "a.txt").write_text(name)
        await trees.close(name, name)
    assert (await trees.merge("T1-1", "m", accepted)).why == ""
    assert await trees.merge("T2-2", "m", accepted) == MergeEnd(
        "it is in conflict with what was merged before, in a.txt", ("a.txt",)
    )
    place = await trees.open("T2-4", earlier="T2-2")  # goes on with it, on what was merged
    assert (place / "a.txt").read_text().startswith("<<<<<<< HEAD\nT1-1\n=======\nT2-2\n>>>>>>> ")
    await trees.close("T2-4", "nothing was done to it")
    left = MergeEnd("marks of a conflict are left in a.txt", ("a.txt",))
    assert await trees.merge("T2-4", "m", accepted) == left
    place = await trees.open("T2-5", earlier="T2-4")
    (place / "a.txt").write_text("both")
    await trees.close("T2-5", "both")
    assert await trees.merge("T2-5", "m", accepted) == MergeEnd("", ("a.txt",))
    assert git(project, "log", "--format=%s").splitlines() == ["both", "T1-1", "second", "first"]
    before = git(project, "rev-parse", "HEAD")
    await worked(trees, "T3-3", {"c.txt": "c"})
    seen: list[bool] = []

    async def refused(place: Path, before: str, _after: str, go: Back) -> str:
        seen.append((place / "c.txt").exists())
        await go(before)
        seen.append((place / "c.txt").exists())
        return "a check fails"

    assert (await trees.merge("T3-3", "m", refused)).why == "a check fails"
    assert (seen, git(project, "rev-parse", "HEAD")) == ([True, False], before)
    assert git(project, "status", "--porcelain") == ""
    nothing_but_the_users_tree(project)


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(("mine", "in_the_way"), [("a.txt", True), ("b.txt", True), ("c.txt", False)])
async def test_changes_of_the_user_are_kept_whole_and_may_be_in_the_way(
    project: Path, mine: str, *, in_the_way: bool
) -> None:
    trees = await found(project)
    await worked(trees, "T1-1", {"a.txt": "theirs", "b.txt": "theirs"})
    (project / mine).write_text("mine")
    if in_the_way:
        with pytest.raises(InTheWayError, match=rf"{mine}.*Commit or stash them"):
            await trees.merge("T1-1", "m", accepted)
        assert git(project, "status", "--porcelain").split() == ["M" if mine == "a.txt" else "??", mine]
    else:
        assert (await trees.merge("T1-1", "m", accepted)).why == ""
        assert (project / "b.txt").read_text() == "theirs"
    assert (project / mine).read_text() == "mine"
    nothing_but_the_users_tree(project)


async def test_nothing_is_merged_into_another_branch_than_the_run_began_on(project: Path) -> None:
    trees = await found(project)
    await worked(trees, "T1-1", {"b.txt": "b"})
    git(project, "checkout", "--quiet", "-b", "other")
    git(project, "branch", "supervisor/demo/notes-of-mine")
    with pytest.raises(InTheWayError, match="another branch is checked out"):
        await trees.merge("T1-1", "m", accepted)
    git(project, "checkout", "--quiet", "main")
    assert (await trees.merge("T1-1", "m", accepted)).why == ""
    assert await trees.names() == ["T1-1"]


async def test_what_is_ignored_is_at_hand_and_never_committed_even_by_an_agent_itself(project: Path) -> None:
    (project / ".venv").mkdir()
    (project / ".venv" / "pyvenv.cfg").touch()
    (project / "old.log").write_text("kept")
    trees = await found(project)
    place = await trees.open("T1-1")
    linked = place / ".venv" / "pyvenv.cfg"
    assert (linked.is_symlink(), (place / "old.log").read_text()) == (True, "kept")
    (place / "b.txt").touch()
    commit_all(place, "all of it")
    await trees.close("T1-1", "rest")
    assert (await trees.merge("T1-1", "m", accepted)).why == ""
    assert ((project / "b.txt").exists(), (project / ".venv" / "pyvenv.cfg").is_symlink()) == (True, False)
    assert ".venv" not in git(project, "ls-files")


async def test_a_run_that_is_interrupted_while_the_users_tree_moves_lets_it_move_whole(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = await found(project)
    await worked(trees, "T1-1", {f"{number}.txt": "b" for number in range(200)})
    merging: list[asyncio.Task[MergeEnd]] = []
    remove = trees.remove

    async def removed(name: str) -> None:  # the last thing before the user's tree moves
        await remove(name)
        if merging:
            asyncio.get_running_loop().call_soon(merging[0].cancel)

    monkeypatch.setattr(trees, "remove", removed)
    merging.append(asyncio.create_task(trees.merge("T1-1", "m", accepted)))
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await merging[0]
    assert await trees.is_merged("T1-1")
    assert git(project, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda project: (project / "new").touch(), r"clean work tree.*\(new\).*git stash"),
        (lambda project: (project / "a.txt").write_text("x"), r"clean work tree.*\(a.txt\)"),
        (lambda project: (project / ".git").rename(project / "no"), "git init"),
        (lambda project: git(project, "config", "user.useConfigOnly", "true"), "no name for commits"),
    ],
)
async def test_a_project_that_is_not_fit_for_it_is_refused_with_what_to_type(
    project: Path, spoil: Callable[[Path], object], why: str
) -> None:
    if "no name" in why:
        for name in ("user.name", "user.email"):
            git(project, "config", "--unset", name)
    spoil(project)
    with pytest.raises(BadInputError, match=why):
        await found(project)
