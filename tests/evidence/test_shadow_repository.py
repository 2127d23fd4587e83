"""What is kept is bounded, is the user's alone, and survives crashes and company."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.evidence import FileBaseline
from support.git_projects import commit_all, git, repository
from support.loops import run

pytestmark = pytest.mark.process

NOBODY = 65_534


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "state" / "kept"


def remember(project: Path, kept: Path) -> FileBaseline:
    return run(GitWorkspace(kept).remember(str(project), os.environ))


def paths(base: FileBaseline, project: Path, kept: Path) -> list[str]:
    found = run(GitWorkspace(kept).since(base, str(project), os.environ))
    assert found.unseen == ""
    return [file.path for file in found.files]


def unseen(base: FileBaseline, project: Path, kept: Path) -> str:
    return run(GitWorkspace(kept).since(base, str(project), os.environ)).unseen


def test_another_process_finds_what_was_kept(project: Path, kept: Path) -> None:
    base = remember(project, kept)
    (project / "new").touch()
    assert paths(base, project, kept) == ["new"]


def test_forgetting_removes_one_and_twice_is_no_fault(project: Path, kept: Path) -> None:
    first, second = remember(project, kept), remember(project, kept)
    for _ in range(2):
        GitWorkspace(kept).forget(first, str(project))
    assert "not there any more" in unseen(first, project, kept)
    assert paths(second, project, kept) == []


def grow_old(kept: Path, pattern: str, days: float) -> None:
    past = time.time() - days * 86_400
    for place in kept.glob(pattern):
        os.utime(place, (past, past))


def test_what_is_older_than_thirty_days_goes(project: Path, kept: Path) -> None:
    base = remember(project, kept)
    grow_old(kept, "*/*/snapshots/*", 31)
    other = remember(project, kept)
    assert "not there any more" in unseen(base, project, kept)
    assert paths(other, project, kept) == []


def test_what_a_crash_left_is_not_taken_for_whole_and_goes(project: Path, kept: Path) -> None:
    base = remember(project, kept)
    home = kept / base.snapshot.split("/")[0]
    half = home / ".new-half"
    (half / "snapshots").mkdir(parents=True)
    (half / "HEAD").write_text("ref: refs/heads/none\n")
    look = home / base.snapshot.split("/")[1] / "look-half"
    look.mkdir()
    (look / "index.lock").touch()
    assert paths(base, project, kept) == []
    for left in (half, look):
        os.utime(left, (1, 1))
    assert paths(remember(project, kept), project, kept) == []
    assert not half.exists()
    assert not look.exists()


def test_many_at_the_same_time_do_not_hurt_one_another(project: Path, kept: Path) -> None:
    async def all_at_once() -> list[FileBaseline]:
        (project / "b.txt").write_text("b\n")
        workspaces = [GitWorkspace(kept) for _ in range(6)]
        return await asyncio.gather(*(one.remember(str(project), os.environ) for one in workspaces))

    bases = run(all_at_once())
    assert {base.unseen for base in bases} == {""}
    assert len({base.tree for base in bases}) == 1
    assert len({base.snapshot for base in bases}) == 6
    (project / "b.txt").write_text("c\n")
    assert [paths(base, project, kept) for base in bases] == [["b.txt"]] * 6


@pytest.mark.parametrize("place", ["/dev/null/kept", "/proc/kept"])
def test_where_nothing_can_be_kept_it_is_said(place: str, project: Path) -> None:
    base = remember(project, Path(place))
    assert base.snapshot == ""
    assert base.unseen != ""


@contextmanager
def as_nobody() -> Iterator[None]:
    """As a user to whom files can be closed: for root they never are."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anybody may reach: pytest's own are closed."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_what_is_closed_to_us_is_stood_for(
    closed: str, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(open_folder))
    monkeypatch.setattr("tempfile.tempdir", str(open_folder))
    with as_nobody():
        project = repository(open_folder / "project")
        (project / "folder").mkdir()
        (project / "folder" / "x").write_text("x\n")
        (project / "file").write_text("x\n")
        open_tree = remember(project, open_folder / "kept")
        (project / closed).chmod(0)
        base = remember(project, open_folder / "kept")
        assert base.tree not in (open_tree.tree, "")
        assert base.unseen == ""
        assert remember(project, open_folder / "kept").tree == base.tree
        (project / "a.txt").write_text("b\n")
        assert paths(base, project, open_folder / "kept") == ["a.txt"]
        (project / closed).chmod(0o755)


class TestWhatGitKnows:
    def test_a_branch_with_an_upstream(self, project: Path, kept: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "--quiet", "--bare", str(project), "remote.git")
        git(project, "remote", "add", "origin", str(tmp_path / "remote.git"))
        git(project, "push", "--quiet", "--set-upstream", "origin", "main")
        base, workspace = remember(project, kept), GitWorkspace(kept)
        run(workspace.repository(base, str(project), os.environ))
        for text in "bc":
            (project / "a.txt").write_text(text)
            commit_all(project, text)
        (project / "a.txt").write_text("d\n")
        (project / "new").mkdir()
        for name in "xy":
            (project / "new" / name).touch()
        git(project, "update-index", "--assume-unchanged", "a.txt")
        found = run(workspace.repository(base, str(project), os.environ))
        assert found is not None
        assert found.head == git(project, "rev-parse", "HEAD").strip() != base.head
        assert (found.branch, found.upstream, found.remote) == ("main", "origin/main", True)
        assert (found.commits, found.ahead, found.dirty) == (2, 2, 3)

    def test_what_remotes_have_and_old_refs(self, project: Path, kept: Path, tmp_path: Path) -> None:
        for name in ("origin", "mirror"):
            git(tmp_path, "clone", "--quiet", "--bare", str(project), name)
            git(project, "remote", "add", name, str(tmp_path / name))
        git(project, "tag", "v1")
        git(project, "branch", "old")
        base = remember(project, kept)
        (project / "a.txt").write_text("b")
        commit_all(project, "b")
        git(project, "tag", "v2")
        workspace = GitWorkspace(kept)
        before = run(workspace.repository(base, str(project), os.environ))
        git(project, "push", "--quiet", "origin", "main")
        found = run(workspace.repository(base, str(project), os.environ))
        assert before is not None
        assert found is not None
        assert (before.on_remote, found.on_remote) == (False, True)
        assert found.tags == ("v1", "v2")
        assert (found.branches, found.old_branches) == (("main", "old"), ("old",))

    def test_a_name_is_found_in_any_folder_unless_ignored(self, project: Path, kept: Path) -> None:
        for name in ("deep/er/new.py", "out/made.py"):
            (project / name).parent.mkdir(parents=True)
            (project / name).touch()
        (project / ".gitignore").write_text("out/\n")
        names = ("new.py", "er/new.py", "w.py", "made.py", "a.txt")
        found = run(GitWorkspace(kept).followed(str(project), os.environ, names))
        assert found == ("new.py", "er/new.py", "a.txt")

    def test_a_new_one(self, tmp_path: Path, kept: Path) -> None:
        project = repository(tmp_path / "new", commit=False)
        found = run(GitWorkspace(kept).repository(FileBaseline(), str(project), os.environ))
        assert found is not None
        assert (found.head, found.branch, found.commits, found.ahead, found.dirty) == (
            "",
            "main",
            None,
            None,
            1,
        )
        assert not found.remote

    def test_a_detached_head(self, project: Path, kept: Path) -> None:
        git(project, "checkout", "--quiet", "--detach")
        found = run(GitWorkspace(kept).repository(FileBaseline(head="f" * 40), str(project), os.environ))
        assert found is not None
        assert (found.branch, found.commits, found.dirty) == ("", None, 0)

    def test_none(self, tmp_path: Path, kept: Path) -> None:
        assert run(GitWorkspace(kept).repository(FileBaseline(), str(tmp_path), os.environ)) is None
        assert run(GitWorkspace(kept).repository(FileBaseline(), str(tmp_path), {})) is None

    @pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
    def test_a_file_behind_a_flag_is_counted(self, flag: str, project: Path, kept: Path) -> None:
        git(project, "update-index", flag, "a.txt")
        (project / "a.txt").write_text("changed\n")
        assert git(project, "status", "--porcelain") == ""
        found = run(GitWorkspace(kept).repository(FileBaseline(), str(project), os.environ))
        assert found is not None
        assert found.dirty == 1
