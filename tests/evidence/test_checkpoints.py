"""A project's files are saved without touching its repository, and come back byte for byte, or not at all."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.evidence.ports import CheckpointError, RestoredTree, TreeDifference
from sidecar.evidence.tree import checkpoints as under_test
from sidecar.evidence.tree.checkpoints import GitCheckpoints
from sidecar.evidence.tree.shadow_repository import ShadowRepositories
from sidecar.platform.apply import ChangeApplier, FileStep, Staging
from sidecar.platform.paths import UNFINISHED_FOLDER
from support.git_projects import commit_all, everything, git, repository
from support.loops import run

pytestmark = pytest.mark.process

LONG_NAME = "l" * 255
ODD_NAME = os.fsdecode(b"caf\xe9 \n\t")


class Site:
    """A project, and the state folder in which its checkpoints are."""

    def __init__(self, folder: Path) -> None:
        self.project, self.state = folder / "project", folder / "state"

    def save(self) -> str:
        return run(GitCheckpoints(self.state).save(str(self.project), os.environ))

    def difference(self, to: str) -> TreeDifference:
        return run(GitCheckpoints(self.state).difference(str(self.project), os.environ, to))

    def restore(self, to: str) -> RestoredTree:
        return run(GitCheckpoints(self.state).restore(str(self.project), os.environ, to))

    def refused(self, to: str) -> str:
        """Why a restore was refused, which changed nothing."""
        before = self.files()
        with pytest.raises(CheckpointError) as refused:
            self.restore(to)
        assert self.files() == before
        return str(refused.value)

    def files(self) -> dict[str, tuple[str, bytes]]:
        """Everything but git's own: mode or kind, and content or target of a link."""
        found = {}
        for path in sorted(self.project.rglob("*")):
            name = str(path.relative_to(self.project))
            if path.is_symlink():
                found[name] = ("link", os.fsencode(path.readlink()))
            elif path.is_file():
                found[name] = (f"{stat.S_IMODE(path.stat().st_mode):o}", path.read_bytes())
        return {name: about for name, about in found.items() if not name.startswith(".git/")}

    def ids(self) -> list[str]:
        rooms = ShadowRepositories(self.state / "checkpoints", lasting=True)
        return [name.rpartition("/")[2] for name in rooms.names(self.project.resolve())]

    def notes(self) -> list[Path]:
        return [*(self.state / UNFINISHED_FOLDER).glob("*"), *self.project.glob(".supervisor-*")]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def plain(site: Site) -> Site:
    """A project with one committed file, `a.txt`."""
    repository(site.project)
    return site


@pytest.fixture
def dirty(site: Site, tmp_path: Path) -> Site:
    """A project in every state that git knows."""
    project = repository(site.project)
    for name in ("staged", "unstaged", "both", "removed", "unlinked", "renamed from", "run.sh", "crlf.txt"):
        (project / name).write_text(f"{name} as committed\n" * 9)
    (project / ".gitignore").write_text("ignored/\n*.log\n")
    (project / ".gitattributes").write_text("*.txt text eol=lf filter=loud\n")
    (project / "deep/er").mkdir(parents=True)
    (project / "deep/er/file").write_text("deep\n")
    (project / "inside").symlink_to("deep/er")
    commit_all(project, "second")
    (project / "a.txt").write_text("stashed\n")
    git(project, "stash", "push", "--quiet")
    git(project, "branch", "other")
    (project / "staged").write_text("staged\n")
    (project / "both").write_text("one\n")
    git(project, "rm", "--quiet", "removed")
    git(project, "mv", "renamed from", "renamed to")
    git(project, "add", "staged", "both")
    (project / "both").write_text("two\n")
    (project / "unstaged").write_text("unstaged\n")
    (project / "unlinked").unlink()
    (project / "run.sh").chmod(0o755)
    (project / "crlf.txt").write_bytes(b"a\r\nb\n\r\n")
    (project / "untracked").mkdir()
    (project / "untracked/binary").write_bytes(bytes(range(256)) * 40)
    (project / "untracked/private").write_text("mine\n")
    (project / "untracked/private").chmod(0o600)
    (project / "empty").touch()
    (project / LONG_NAME).write_text("long\n")
    (project / ODD_NAME).write_text("odd\n")
    (project / "outside").symlink_to(tmp_path / "outside")
    (project / "dangling").symlink_to("no where")
    (project / "ignored").mkdir()
    (project / "ignored/kept").write_text("kept\n")
    (project / "x.log").write_text("log\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/theirs").write_text("theirs\n")
    return site


def wreck(project: Path) -> None:
    """Change, remove, replace and add files in every way."""
    for name in ("staged", "crlf.txt", "untracked/binary", "empty"):
        (project / name).write_text("wreck\n")
    for name in ("both", LONG_NAME, ODD_NAME, "outside", "dangling", "renamed to"):
        (project / name).unlink()
    shutil.rmtree(project / "untracked")
    (project / "untracked").write_text("a file where a folder was\n")
    (project / "unstaged").unlink()
    (project / "unstaged/now").mkdir(parents=True)
    (project / "unstaged/now/a folder").write_text("where a file was\n")
    (project / "renamed to/only folders").mkdir(parents=True)
    (project / "run.sh").chmod(0o644)
    (project / "inside").unlink()
    shutil.move(project / "deep", project / "inside")
    (project / "dangling").write_text("a file where a link was\n")
    (project / "a.txt").unlink()
    (project / "a.txt").symlink_to("ignored/kept")
    (project / "removed").write_text("here again\n")
    (project / "new/er").mkdir(parents=True)
    (project / "new/er/file").write_bytes(b"\0new")


def repository_facts(project: Path) -> tuple[object, ...]:
    own = {name: about for name, about in everything(project / ".git").items() if "objects" not in name}
    return (
        own,
        git(project, "--no-optional-locks", "status", "--porcelain=v2"),
        git(project, "stash", "list"),
        git(project, "for-each-ref"),
        git(project, "reflog"),
        git(project, "count-objects", "-v"),
    )


@pytest.mark.proves("the loop")
def test_a_dirty_tree_comes_back_as_it_was_and_so_does_its_wreck(dirty: Site, tmp_path: Path) -> None:
    project = dirty.project
    before, facts = dirty.files(), repository_facts(project)
    first = dirty.save()

    wreck(project)
    wrecked = dirty.files()
    restored = dirty.restore(first)
    assert dirty.files() == before
    assert repository_facts(project) == facts
    assert not (project / "new").exists()
    assert dirty.notes() == []
    assert (tmp_path / "outside/theirs").read_text() == "theirs\n"

    again = dirty.restore(restored.present)
    assert dirty.files() == wrecked
    assert dirty.ids() == [first, restored.present, again.present]
    assert dirty.restore(again.present).written
    assert dirty.files() == before


def test_the_difference_says_what_a_restore_would_change(plain: Site) -> None:
    (plain.project / "b.bin").write_bytes(b"\0b")
    (plain.project / "run").write_text("run\n")
    (plain.project / "run").chmod(0o755)
    first = plain.save()
    before = plain.files()
    (plain.project / "a.txt").write_text("wreck\n")
    (plain.project / "b.bin").unlink()
    (plain.project / "b.bin").symlink_to("a.txt")
    (plain.project / "run").chmod(0o644)
    (plain.project / "new").write_text("new\n")
    changed = plain.files()

    found = plain.difference(first)
    assert [(file.path, file.before, file.after, file.unread) for file in found.changes.files] == [
        ("a.txt", "wreck\n", "a\n", ""),
        ("b.bin", "a.txt", None, "after: it is no text"),
        ("new", "new\n", None, ""),
        ("run", "run\n", "run\n", ""),
    ]
    assert plain.files() == changed
    assert plain.ids() == [first]

    restored = plain.restore(first)
    assert (restored.written, restored.removed) == (("a.txt", "b.bin", "run"), ("new",))
    assert plain.files() == before
    assert plain.difference(first) == TreeDifference(changes=plain.difference(first).changes)
    assert plain.difference(first).changes.files == ()


def block_by_file(project: Path) -> str:
    (project / "notes").write_text("mine\n")
    return "notes"


def block_by_folder(project: Path) -> str:
    (project / "notes/deep").mkdir(parents=True)
    (project / "notes/deep/x").write_text("mine\n")
    return "notes/deep/x"


def block_by_link(project: Path) -> str:
    shutil.rmtree(project / "folder")
    (project / "folder").symlink_to(project.parent)
    return "folder"


def block_by_big_file(project: Path) -> str:
    with (project / "notes").open("wb") as file:
        file.truncate((64 << 20) + 1)
    return "notes"


@pytest.mark.parametrize(
    ("rules", "block"),
    [
        ("notes\n", block_by_file),
        ("notes\n", block_by_folder),
        ("folder\n", block_by_link),
        ("", block_by_big_file),
    ],
)
def test_what_is_in_no_checkpoint_is_never_overwritten(
    plain: Site, rules: str, block: Callable[[Path], str]
) -> None:
    (plain.project / "notes").write_text("notes\n")
    (plain.project / "folder").mkdir()
    (plain.project / "folder/x").write_text("x\n")
    first = plain.save()
    (plain.project / "notes").unlink()
    (plain.project / ".gitignore").write_text(rules)
    blocking = block(plain.project)

    assert plain.difference(first).conflicts == (
        f"{blocking} is ignored, or could not be saved, and would be overwritten",
    )
    assert f"nothing was restored: {blocking} is ignored" in plain.refused(first)
    assert plain.ids() == [first]


def test_a_checkpoint_needs_nothing_of_the_users_repository(plain: Site) -> None:
    before = plain.files()
    first = plain.save()
    for path in (plain.project / ".git", plain.project / "a.txt"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (plain.project / "new").touch()
    plain.restore(first)
    assert plain.files() == before


def test_a_checkpoint_of_another_repository_or_of_none_is_refused(site: Site, tmp_path: Path) -> None:
    site.project.mkdir()
    (site.project / "a.txt").write_text("a\n")
    first = site.save()
    assert "there is no checkpoint" in site.refused("0" * 16)
    (lock,) = (site.state / "checkpoints").glob("*.lock")
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "another process" in site.refused(first)
    repository(tmp_path)
    assert "another repository" in site.refused(first)


def test_a_folder_without_a_repository(site: Site) -> None:
    (site.project / "b").mkdir(parents=True)
    (site.project / "b/a.txt").write_text("a\n")
    before = site.files()
    first = site.save()
    shutil.rmtree(site.project / "b")
    (site.project / "new").touch()
    site.restore(first)
    assert site.files() == before


def test_a_project_in_a_repository_is_restored_alone(plain: Site) -> None:
    top = plain.project
    plain.project = top / "part"
    plain.project.mkdir()
    (plain.project / "b.txt").write_text("b\n")
    before = plain.files()
    first = plain.save()
    for path in (top / "a.txt", plain.project / "b.txt", plain.project / "new"):
        path.write_text("changed\n")

    assert [file.path for file in plain.difference(first).changes.files] == ["b.txt", "new"]
    assert plain.restore(first).written == ("b.txt",)
    assert plain.files() == before
    assert (top / "a.txt").read_text() == "changed\n"


# --- Failures in the middle ---------------------------------------------------------------------------------


def test_a_failure_in_the_middle_puts_everything_back(dirty: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dirty.save()
    wreck(dirty.project)
    replace, count = Staging._replace, 12

    def fails(staging: Staging, number: int, step: FileStep) -> None:
        if number == count:
            raise OSError(28, "No space left on device")
        replace(staging, number, step)

    monkeypatch.setattr(Staging, "_replace", fails)
    assert "No space left" in dirty.refused(first)
    assert dirty.notes() == []


def test_a_kill_in_the_middle_is_undone_at_the_next_start(dirty: Site) -> None:
    first = dirty.save()
    wreck(dirty.project)
    wrecked = dirty.files()
    assert kill_while_restoring(dirty, first) == 9
    assert {name for name in dirty.files() if ".supervisor-" in name}
    assert "?? .supervisor" not in git(dirty.project, "--no-optional-locks", "status", "--porcelain")

    (said,) = ChangeApplier(dirty.state).roll_back()
    assert "it is undone" in said
    assert dirty.files() == wrecked
    assert dirty.notes() == []
    assert ChangeApplier(dirty.state).roll_back() == ()
    assert dirty.ids()[0] == first
    dirty.restore(first)


KILLED = """
import asyncio, os, sys
from pathlib import Path
from sidecar.platform.apply import Staging
from sidecar.evidence.tree.checkpoints import GitCheckpoints
replace = Staging._replace
def killed(staging, number, step):
    if number == 12:
        os._exit(9)
    replace(staging, number, step)
Staging._replace = killed
asyncio.run(GitCheckpoints(Path(sys.argv[1])).restore(sys.argv[2], os.environ, sys.argv[3]))
"""


def kill_while_restoring(site: Site, to: str) -> int:
    arguments = (str(site.state), str(site.project), to)
    return subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False).returncode


def test_a_content_that_was_altered_is_not_restored(plain: Site) -> None:
    (plain.project / "b.txt").write_text("b\n")
    first = plain.save()
    (plain.project / "b.txt").write_text("c\n")
    plain.difference(first)
    rooms = plain.state / "checkpoints"
    names = [
        next(rooms.glob(f"*/*/objects/{name[:2]}/{name[2:]}"))
        for name in (git_name(plain.project, "b\n"), git_name(plain.project, "c\n"))
    ]
    names[0].chmod(0o600)
    names[0].write_bytes(names[1].read_bytes())
    plain.refused(first)


def git_name(project: Path, text: str) -> str:
    return subprocess.run(
        ["git", "hash-object", "--stdin"],
        input=text,
        cwd=project,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def test_a_cancelled_restore_ends_whole(dirty: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dirty.files()
    first = dirty.save()
    wreck(dirty.project)
    swap = Staging.swap

    async def cancelled() -> None:
        loop = asyncio.get_running_loop()
        restoring = asyncio.ensure_future(
            GitCheckpoints(dirty.state).restore(str(dirty.project), os.environ, first)
        )

        def swapped(staging: Staging, steps: tuple[FileStep, ...]) -> None:
            loop.call_soon_threadsafe(restoring.cancel)
            swap(staging, steps)

        monkeypatch.setattr(Staging, "swap", swapped)
        with pytest.raises(asyncio.CancelledError):
            await restoring

    run(cancelled())
    assert dirty.files() == before
    assert dirty.notes() == []


# --- Company, limits, faults --------------------------------------------------------------------------------


def test_of_many_the_oldest_go_but_not_the_one_that_is_restored(
    plain: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_test, "CHECKPOINTS", 3)
    saved = [plain.save() for _ in range(4)]
    assert plain.ids() == saved[1:]
    restored = plain.restore(saved[1])
    assert plain.ids() == [saved[1], saved[3], restored.present]
