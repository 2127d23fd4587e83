"""What is said to have changed is what changed, with the texts of before and after."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import zlib
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.evidence import TEXT_LIMIT, FileBaseline, FileChange, ProjectChanges
from sidecar.platform.git import git_blob_name
from support.git_projects import commit_all, conflict, everything, git, repository
from support.loops import run

pytestmark = pytest.mark.process


class Memory:
    """A workspace, a project, and the base that was remembered last."""

    def __init__(self, project: Path, kept: Path) -> None:
        self.project = project
        self.workspace = GitWorkspace(kept)
        self.base = FileBaseline()

    def remember(self) -> FileBaseline:
        self.base = run(self.workspace.remember(str(self.project), os.environ))
        return self.base

    def changes(self) -> ProjectChanges:
        return run(self.workspace.since(self.base, str(self.project), os.environ))

    def files(self) -> tuple[FileChange, ...]:
        found = self.changes()
        assert found.unseen == ""
        return tuple(replace(one, was="", now="") for one in found.files)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


@pytest.fixture
def memory(project: Path, tmp_path: Path) -> Memory:
    return Memory(project, tmp_path / "state" / "kept")


def changed(path: str, before: str | None, after: str | None, **more: Any) -> FileChange:
    return FileChange(path=path, before=before, after=after, **more)


def test_nothing_changed_is_no_change(memory: Memory) -> None:
    base = memory.remember()
    assert base.unseen == ""
    assert base.tree == run(memory.workspace.fingerprint(str(memory.project), os.environ)) != ""
    assert base.head == git(memory.project, "rev-parse", "HEAD").strip()
    assert memory.files() == ()


def test_every_kind_of_change_is_told_in_the_order_of_the_paths(memory: Memory) -> None:
    project = memory.project
    (project / "untracked").write_text("u\n")
    (project / "mode").write_text("m\n")
    (project / "link").symlink_to("nowhere")
    (project / "type").write_text("t\n")
    commit_all(project, "second")
    memory.remember()
    (project / "a.txt").write_text("b\n")
    (project / "untracked").unlink()
    (project / "mode").chmod(0o755)
    (project / "link").unlink()
    (project / "link").symlink_to("elsewhere")
    (project / "type").unlink()
    (project / "type").symlink_to("t")
    (project / "new").write_text("n\n")
    assert memory.files() == (
        changed("a.txt", "a\n", "b\n"),
        changed("link", "nowhere", "elsewhere", link=True),
        changed("mode", "m\n", "m\n"),
        changed("new", None, "n\n"),
        changed("type", "t\n", "t", link=True),
        changed("untracked", "u\n", None),
    )


@pytest.mark.parametrize("staged", [True, False], ids=["committed", "left as it is"])
def test_a_commit_hides_nothing(staged: bool, memory: Memory) -> None:  # noqa: FBT001
    (memory.project / "a.txt").write_text("dirty\n")
    memory.remember()
    (memory.project / "a.txt").write_text("b\n")
    if staged:
        commit_all(memory.project, "second")
    since = run(memory.workspace.since(memory.base, str(memory.project), os.environ))
    assert memory.files() == (changed("a.txt", "dirty\n", "b\n"),)
    assert (since.head != memory.base.head) is staged


def test_a_moved_file_is_one_change(memory: Memory) -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    (memory.project / "old name").write_text(text)
    memory.remember()
    (memory.project / "sub").mkdir()
    (memory.project / "old name").rename(memory.project / "sub" / "new\nname")
    (memory.project / "sub" / "new\nname").write_text(text + "more\n")
    assert memory.files() == (changed("sub/new\nname", text, text + "more\n", old_path="old name"),)


def test_what_is_no_text_or_too_big_is_named(memory: Memory) -> None:
    for name in ("binary", "big"):
        (memory.project / name).write_text("x\n")
    memory.remember()
    (memory.project / "binary").write_bytes(b"\0")
    (memory.project / "big").write_text("y" * (TEXT_LIMIT + 1))
    big, binary = memory.files()
    assert (big.before, big.after, big.unread) == ("x\n", None, "after: it is bigger than 512 KiB")
    assert (binary.before, binary.after, binary.unread) == ("x\n", None, "after: it is no text")


class TestIgnored:
    @pytest.mark.parametrize("place", [".gitignore", ".git/info/exclude"])
    def test_files_that_steer_checks_are_compared(self, place: str, memory: Memory) -> None:
        (memory.project / ".git" / "info").mkdir(exist_ok=True)
        (memory.project / place).write_text("conftest.py\nout/\n")
        (memory.project / "conftest.py").write_text("one\n")
        memory.remember()
        (memory.project / "conftest.py").write_text("two\n")
        (memory.project / "out").mkdir()
        (memory.project / "out" / "package.json").write_text("{}\n")
        (memory.project / "out" / "other").write_text("x\n")
        assert memory.files() == (
            changed("conftest.py", "one\n", "two\n"),
            changed("out/package.json", None, "{}\n"),
        )

    def test_a_file_that_a_new_rule_hides_is_still_compared(self, memory: Memory) -> None:
        for name in ("edited.py", "same.py", "conftest.py", "huge"):
            (memory.project / name).write_text("x\n")
        memory.remember()
        (memory.project / ".git" / "info").mkdir(exist_ok=True)
        (memory.project / ".git" / "info" / "exclude").write_text("*.py\nhuge\n")
        (memory.project / "edited.py").write_text("y\n")
        (memory.project / "conftest.py").write_text("z\n")
        with (memory.project / "huge").open("wb") as file:
            file.truncate(2 << 30)
        *files, huge = memory.files()
        assert files == [
            changed(".git/info/exclude", None, "*.py\nhuge\n"),
            changed("conftest.py", "x\n", "z\n"),
            changed("edited.py", "x\n", "y\n"),
        ]
        assert (huge.path, huge.before, huge.after) == ("huge", "x\n", None)

    def test_a_file_that_a_rule_no_longer_hides_is_new(self, memory: Memory) -> None:
        (memory.project / ".gitignore").write_text("*.py\n")
        (memory.project / "hidden.py").write_text("x\n")
        memory.remember()
        (memory.project / ".gitignore").write_text("")
        assert memory.files() == (changed(".gitignore", "*.py\n", ""), changed("hidden.py", None, "x\n"))


class TestRepositories:
    def test_a_bare_one_says_so(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "--quiet", "--bare", "bare.git")
        memory = Memory(tmp_path / "bare.git", tmp_path / "kept")
        assert "bare" in memory.remember().unseen
        assert "bare" in memory.changes().unseen

    def test_a_submodule_from_outside_and_from_inside(self, memory: Memory, tmp_path: Path) -> None:
        other = repository(tmp_path / "other")
        git(
            memory.project,
            *("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "module"),
        )
        inside = Memory(memory.project / "module", tmp_path / "kept")
        memory.remember()
        inside.remember()
        (memory.project / "module" / "a.txt").write_text("b\n")
        commit_all(memory.project / "module", "second")
        assert memory.files() == (changed("module/a.txt", "a\n", "b\n"),)
        assert inside.files() == (changed("a.txt", "a\n", "b\n"),)

    def test_repositories_inside_the_repository(self, memory: Memory) -> None:
        (memory.project / ".gitignore").write_text("*.log\n")
        inner = repository(memory.project / "vendor" / "inner")
        most = repository(inner / "most", commit=False)
        memory.remember()
        (inner / "a.txt").write_text("b\n")
        (most / "a.txt").unlink()
        (most / "x.log").write_text("x\n")
        assert memory.files() == (
            changed("vendor/inner/a.txt", "a\n", "b\n"),
            changed("vendor/inner/most/a.txt", "a\n", None),
        )

    def test_a_sparse_work_tree(self, memory: Memory) -> None:
        for folder in ("in", "out"):
            (memory.project / folder).mkdir()
            (memory.project / folder / "x").write_text("x\n")
        commit_all(memory.project, "folders")
        git(memory.project, "sparse-checkout", "set", "--cone", "in")
        memory.remember()
        (memory.project / "in" / "x").write_text("y\n")
        (memory.project / "out").mkdir()
        (memory.project / "out" / "x").write_text("new\n")
        assert memory.files() == (changed("in/x", "x\n", "y\n"), changed("out/x", None, "new\n"))

    @pytest.mark.parametrize("ignored", [True, False], ids=["ignored by the one around", "none around"])
    def test_without_a_repository(self, ignored: bool, memory: Memory, tmp_path: Path) -> None:  # noqa: FBT001
        if ignored:
            (memory.project / ".gitignore").write_text("*\n")
        memory.project = (memory.project if ignored else tmp_path) / "folder"
        (memory.project / "node_modules").mkdir(parents=True)
        (memory.project / "a.txt").write_text("a\n")
        assert memory.remember().unseen == ""
        (memory.project / "a.txt").write_text("b\n")
        (memory.project / "node_modules" / "x").write_text("x\n")
        assert memory.files() == (changed("a.txt", "a\n", "b\n"),)

    def test_no_git_program_is_said(self, memory: Memory) -> None:
        base = run(memory.workspace.remember(str(memory.project), {"PATH": ""}))
        assert base.tree != ""
        assert "no git program" in base.unseen
        memory.remember()
        gone = run(memory.workspace.since(memory.base, str(memory.project), {"PATH": ""}))
        assert "no git program" in gone.unseen


class TestNobodyCanFakeIt:
    @pytest.mark.parametrize("forger", ["rewritten", "gone"])
    def test_a_forged_or_lost_object_is_not_believed(self, forger: str, memory: Memory) -> None:
        memory.remember()
        (memory.project / "a.txt").write_text("b\n")
        name = git(memory.project, "rev-parse", "HEAD:a.txt").strip()
        place = memory.project / ".git" / "objects" / name[:2] / name[2:]
        place.unlink()
        if forger == "rewritten":
            place.write_bytes(zlib.compress(b"blob 2\0b\n"))
        found = memory.changes()
        assert [(file.path, file.before, file.after) for file in found.files] == [("a.txt", None, "b\n")]
        assert found.files[0].unread.startswith("before: ")
        assert found.unseen != ""

    def test_garbage_collection_is_answered_with_unseen_and_the_next_base_is_whole(
        self, memory: Memory
    ) -> None:
        git(memory.project, "commit", "--quiet", "--amend", "--message=other")
        (memory.project / "b.txt").write_text("only staged\n")
        git(memory.project, "add", ".")
        memory.remember()
        git(memory.project, "reset", "--quiet")
        git(memory.project, "-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now")
        (memory.project / "b.txt").write_text("b\n")
        found = memory.changes()
        assert [(file.path, file.before, file.after) for file in found.files] == [("b.txt", None, "b\n")]
        assert "not in the repository any more" in found.unseen
        memory.remember()
        (memory.project / "b.txt").write_text("c\n")
        assert memory.files() == (changed("b.txt", "b\n", "c\n"),)

    def test_no_program_of_the_repository_runs(self, memory: Memory) -> None:
        spy = memory.project.parent / "spy"
        spy.write_text(f"#!/bin/sh\necho ran >> {memory.project.parent}/ran\ncat\n")
        spy.chmod(0o755)
        for name in ("core.fsmonitor", "diff.external", "diff.spy.command", "diff.spy.textconv"):
            git(memory.project, "config", name, str(spy))
        git(memory.project, "config", "filter.spy.clean", str(spy))
        (memory.project / ".gitattributes").write_text("* diff=spy filter=spy\n")
        memory.remember()
        (memory.project / "a.txt").write_text("b\n")
        assert memory.files() == (changed("a.txt", "a\n", "b\n"),)
        assert run(memory.workspace.repository(memory.base, str(memory.project), os.environ)) is not None
        assert not (memory.project.parent / "ran").exists()


@pytest.mark.parametrize("state", ["clean", "no commit", "mid-merge", "packed"])
def test_the_repository_is_left_byte_for_byte(state: str, tmp_path: Path) -> None:
    project = repository(tmp_path / "project", commit=state != "no commit")
    if state == "mid-merge":
        conflict(project)
    if state == "packed":
        git(project, "gc", "--quiet")
    repository(project / "inner")
    memory = Memory(project, tmp_path / "kept")
    before = everything(project)
    memory.remember()
    assert everything(project) == before
    (project / "new.txt").write_text("new\n")
    before = everything(project)
    assert [file.path for file in memory.files()] == ["new.txt"]
    assert run(memory.workspace.repository(memory.base, str(project), os.environ)) is not None
    memory.workspace.forget(memory.base, str(project))
    assert everything(project) == before


def test_an_object_has_the_name_that_git_gives_it() -> None:
    assert git_blob_name(b"a\n") == sha1(b"blob 2\0a\n", usedforsecurity=False).hexdigest()


JANUARY, FEBRUARY, MARCH = (f"2026-0{month}-01T00:00:00+00:00" for month in (1, 2, 3))


def committed_at(project: Path, when: str, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GIT_COMMITTER_DATE", when)
    (project / "a.txt").write_text(text, encoding="utf-8")
    commit_all(project, when)
    return git(project, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize(
    ("at", "reflog", "base", "guessed"),
    [
        (JANUARY.replace("-01T", "-15T"), True, 0, False),
        (MARCH, True, 1, False),
        (JANUARY.replace("-01T", "-15T"), False, 0, True),
        ("2025-01-01T00:00:00+00:00", True, None, True),
    ],
)
def test_the_commit_of_a_time_is_a_baseline_and_what_is_not_committed_changed(  # noqa: PLR0913 - a table
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, base: int | None, *, reflog: bool, guessed: bool
) -> None:
    project = repository(tmp_path / "project", commit=False)
    commits = [committed_at(project, when, when, monkeypatch) for when in (JANUARY, FEBRUARY)]
    (project / "a.txt").write_text("not committed", encoding="utf-8")
    (project / "new.txt").write_text("new", encoding="utf-8")
    if not reflog:
        shutil.rmtree(project / ".git" / "logs")
    memory = Memory(project, tmp_path / "kept")
    began = dt.datetime.fromisoformat(at).timestamp()
    memory.base, was_guessed = run(memory.workspace.remember_commit(str(project), os.environ, began))
    if base is None:
        assert (memory.base.head, memory.base.unseen) == (
            "",
            "nothing was committed before the session began",
        )
        return
    assert (memory.base.head, was_guessed) == (commits[base], guessed)
    first, second = memory.files()
    assert (first.path, first.before, first.after) == ("a.txt", (JANUARY, FEBRUARY)[base], "not committed")
    assert (second.path, second.before) == ("new.txt", None)
    assert memory.changes().tree == run(memory.workspace.fingerprint(str(project), os.environ))
