"""The user's hooks run for real, bounded, masked, and never decide anything. And a session has one run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.settings import RunHooks, TimedHook
from sidecar.platform.secrets import SecretForms
from sidecar.systems.iteration.run_files import PRINTED_LIMIT, IterationCommits, UserHooks, hold_run_lock
from sidecar.work.progress import HookRan
from support.git_projects import commit_all, git, repository

pytestmark = pytest.mark.process

LIMIT_S = 60.0
"""Bound of every wait here, in seconds."""


async def ran(
    folder: Path, *commands: str | TimedHook, seconds: float = LIMIT_S, **facts: str
) -> tuple[str, list[HookRan]]:
    """What the hooks before an iteration printed, and what was told of them."""
    environment = {"PATH": os.environ["PATH"], "API_TOKEN": "hunter2-hunter2"}
    mask = SecretForms().masker(environment)
    hooks = UserHooks([RunHooks(before_iteration=commands)], environment, mask, seconds)
    told: list[HookRan] = []
    async with asyncio.timeout(LIMIT_S):
        printed = await hooks.run("before_iteration", {"project": str(folder), **facts}, told.append)
    return printed, told


async def test_hooks_run_one_after_the_other_in_the_project_and_are_told_what_happened(
    tmp_path: Path,
) -> None:
    printed, told = await ran(
        tmp_path, "pwd; echo one > file", 'cat file; echo "$SUPERVISOR_RUN_TASK"', task="a\0b"
    )
    assert printed == f"{tmp_path}\none\nab"
    assert [each.exit_code for each in told] == [0, 0]


@pytest.mark.proves("runs and the journal")
async def test_a_failing_hook_is_told_and_the_next_one_runs(tmp_path: Path) -> None:
    printed, told = await ran(tmp_path, "echo bad >&2; exit 3", "echo good")
    assert printed == "bad\ngood"
    assert [each.exit_code for each in told] == [3, 0]


async def test_a_hook_that_hangs_is_ended(tmp_path: Path) -> None:
    _, (told,) = await ran(tmp_path, "sleep 600", seconds=0.2)
    assert (told.exit_code, told.trouble) == (None, "it did not end within 0.2 s")


@pytest.mark.proves("runs and the journal")
async def test_a_hook_may_have_a_deadline_of_its_own(tmp_path: Path) -> None:
    _, (late, good) = await ran(tmp_path, TimedHook(run="sleep 600", seconds=1), "true")
    assert (late.command, late.trouble) == ("sleep 600", "it did not end within 1 s")
    assert good.exit_code == 0


@pytest.mark.proves("runs and the journal")
async def test_an_iteration_is_committed_whole_and_only_where_something_changed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    commits = IterationCommits(str(project), {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    commit = commits.commit
    assert (await commits.begin(), "not a git repository" in await commit("first")) == ((), True)
    repository(project)
    commits = IterationCommits(str(project), {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    commit = commits.commit
    for name in ("user.name", "user.email"):
        git(project, "config", name, "a@b")
    (project / "new").touch()
    assert (await commit("second\n\nbody"), await commit("third")) == ("", "")
    assert git(project, "log", "-1", "--format=%s", "--name-only") == "second\n\nnew\n"
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho the linter fails; exit 1\n")
    hook.chmod(0o755)
    (project / "newer").touch()
    assert await commit("fourth") == "this iteration was not committed: the linter fails"


@pytest.fixture
def changed(tmp_path: Path) -> tuple[Path, IterationCommits]:
    """A project with changes of its user's, one of them in a new folder, and what commits in a part of it."""
    project = repository(tmp_path / "project")
    (project / "sub").mkdir()
    (project / "sub" / "mine.txt").touch()
    commit_all(project, "second")
    for name in ("user.name", "user.email"):
        git(project, "config", name, "a@b")
    (project / "sub" / "mine.txt").write_text("mine")
    (project / "staged *.txt").write_text("mine")
    git(project, "add", "staged *.txt")
    (project / "new").mkdir()
    (project / "new" / "mine.txt").touch()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    return project, IterationCommits(str(project / "sub"), environment)


async def test_what_the_user_changed_before_a_run_is_never_committed(
    changed: tuple[Path, IterationCommits],
) -> None:
    project, commits = changed
    assert await commits.begin() == ("staged *.txt", "sub/mine.txt", "new/mine.txt")
    for name in ("a.txt", "staged 1.txt", "new/theirs.txt", "gone.txt"):
        (project / name).write_text("new")
    git(project, "add", "gone.txt")
    (project / "gone.txt").unlink()
    assert (await commits.commit("first"), await commits.commit("nothing more")) == ("", "")
    shown = git(project, "log", "-1", "--format=%s", "--name-only")
    assert shown == "first\n\na.txt\nnew/theirs.txt\nstaged 1.txt\n"
    left = ['A  "staged *.txt"', " M sub/mine.txt", "?? new/mine.txt"]
    assert git(project, "status", "--porcelain").splitlines() == left


async def test_an_agents_work_in_a_file_of_the_users_is_held_out_and_told_each_time(
    changed: tuple[Path, IterationCommits],
) -> None:
    project, commits = changed
    await commits.begin()
    told = "changed further, and not committed because you had changed it before the run: sub/mine.txt"
    for number in range(2):
        (project / "sub" / "mine.txt").write_text(f"mine and the agent's {number}")
        assert await commits.commit(f"held {number}") == told
    assert git(project, "log", "-1", "--format=%s") == "second\n"
    git(project, "commit", "--quiet", "-m", "by its user", "sub/mine.txt")
    assert await commits.commit("nothing") == ""  # from now on it is a file as any other
    (project / "sub" / "mine.txt").write_text("the agent's")
    assert await commits.commit("third") == ""
    assert git(project, "log", "-1", "--format=%s", "--name-only") == "third\n\nsub/mine.txt\n"


async def test_the_users_changes_are_committed_first_where_they_want_that(
    changed: tuple[Path, IterationCommits],
) -> None:
    project, commits = changed
    git(project, "switch", "--quiet", "--detach")
    for mine in (False, True):
        with pytest.raises(BadInputError, match=r"none is checked out. Type: git switch -c NAME"):
            await commits.begin(mine=mine)
    git(project, "switch", "--quiet", "-c", "work")
    assert (await commits.begin(mine=True), git(project, "status", "--porcelain")) == ((), "")
    (project / "sub" / "mine.txt").write_text("mine and the agent's")
    assert await commits.commit("theirs") == ""
    said = ["theirs", "What was changed before agents began", "second", "first"]
    assert git(project, "log", "--format=%s").splitlines() == said


async def test_a_git_inside_the_project_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "git").chmod(0o755)
    assert (
        await IterationCommits(str(tmp_path), {"PATH": str(tmp_path)}).commit("first")
        == "this iteration was not committed: no git is on PATH outside of the project"
    )
    assert not (tmp_path / "ran").exists()


async def test_what_hooks_print_is_bounded_and_masked(tmp_path: Path) -> None:
    printed, (told, _) = await ran(tmp_path, 'echo "$API_TOKEN hunter2-hunter2"', "yes | head -c 1000000")
    assert "hunter2" not in printed
    assert len(printed) <= PRINTED_LIMIT
    assert told.name == "before_iteration"


def test_a_session_is_run_once_at_a_time_and_again_afterwards(tmp_path: Path) -> None:
    with hold_run_lock(tmp_path, "demo"):
        with pytest.raises(BadInputError, match="being run already"), hold_run_lock(tmp_path, "demo"):
            pass
        with hold_run_lock(tmp_path, "other"):
            pass
    with hold_run_lock(tmp_path, "demo"):
        assert [path.name for path in tmp_path.iterdir()] == ["run-demo.lock"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "project", "refused"),
    [("loop", "project", True), ("run", "link", True), ("run", "", False), ("run", "other", False)],
)
def test_agents_of_one_run_at_a_time_write_in_a_project(
    tmp_path: Path, kind: str, project: str, *, refused: bool
) -> None:
    for name in ("project", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("project")
    asked = str(tmp_path / project) if project else ""
    with hold_run_lock(tmp_path, "demo", project=str(tmp_path / "project")):
        try:
            with hold_run_lock(tmp_path, "mine", kind, asked):
                said = ""
        except BadInputError as error:
            said = str(error)
    assert bool(said) is refused
    if refused:
        assert f"(`supervisor run`, session demo, process {os.getpid()})" in said
        assert "with --jobs 2" in said
    assert not list(tmp_path.glob("*.lock"))


def test_the_lock_goes_with_a_killed_process(tmp_path: Path) -> None:
    source = (
        "import sys, pathlib\nfrom sidecar.systems.iteration.run_files import hold_run_lock\n"
        "with hold_run_lock(pathlib.Path(sys.argv[1]), 'demo'):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", source, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BadInputError), hold_run_lock(tmp_path, "demo"):
            pass
        holder.kill()
        holder.wait(LIMIT_S)
    with hold_run_lock(tmp_path, "demo"):
        pass


def test_a_link_in_the_locks_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run-demo.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"), hold_run_lock(tmp_path, "demo"):
        pass
    assert not (tmp_path / "victim").exists()
