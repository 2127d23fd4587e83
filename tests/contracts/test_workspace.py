"""What every Workspace does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.evidence import FileBaseline, FileChange, ProjectChanges, RepositoryState
from support.scripted_ports import ScriptedWorkspace

if TYPE_CHECKING:
    from sidecar.evidence.ports import Workspace

pytestmark = pytest.mark.process


class World:
    """A project, and the workspace that looks at it."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._scripted = ScriptedWorkspace()
        self._file = folder / "project" / "file"
        self.branch = "" if kind == "folder" else "main"
        self._file.parent.mkdir()
        if kind == "git":
            subprocess.run(
                ["git", "init", "--quiet", "--initial-branch=main"], cwd=self._file.parent, check=True
            )
        kept = folder / "state" / "kept"
        self.workspace: Workspace = self._scripted if kind == "scripted" else GitWorkspace(kept)
        self._scripted.known = RepositoryState(branch="main")
        self.write("first")

    def write(self, text: str) -> None:
        self._scripted.tree = text
        self._scripted.written = True
        self._file.write_text(text)

    def lose(self) -> None:
        self._scripted.tree = ""
        self._file = self._file.parent / "no-such-folder" / "file"

    def edit(self) -> FileChange:
        """Change the file; what is to be told of it."""
        change = FileChange(path="file", before="first", after="second")
        self._scripted.changes = ProjectChanges(files=(change,))
        self.write("second")
        return change

    def without(self, path: str) -> None:
        self._scripted.missing = {path}

    @property
    def at(self) -> tuple[str, dict[str, str]]:
        """The project and the session's environment."""
        return str(self._file.parent), {"PATH": os.environ["PATH"]}

    async def tree(self) -> str:
        return await self.workspace.fingerprint(*self.at)


@pytest.fixture(params=("git", "folder", "scripted"))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return World(request.param, tmp_path)


async def test_the_same_files_are_the_same_tree(world: World) -> None:
    assert await world.tree() == await world.tree() != ""


async def test_other_files_are_another_tree(world: World) -> None:
    before = await world.tree()
    world.write("other words")
    assert await world.tree() not in (before, "")


async def test_what_cannot_be_seen_is_no_tree(world: World) -> None:
    world.lose()
    assert await world.tree() == ""


@pytest.mark.parametrize(
    "project", ["", "relative", "/no/such/folder", "/dev/null", "/\x00", "/" + "x" * 5000]
)
async def test_it_never_raises(project: str, world: World) -> None:
    assert isinstance(await world.workspace.fingerprint(project, {}), str)
    assert isinstance(await world.workspace.remember(project, {}), FileBaseline)
    for base in (
        FileBaseline(),
        FileBaseline(tree="x", snapshot="../x", head="--help"),
        await world.workspace.remember(*world.at),
    ):
        assert isinstance(await world.workspace.since(base, project, {}), ProjectChanges)
        assert isinstance(await world.workspace.repository(base, project, {}), RepositoryState | None)
        assert isinstance(await world.workspace.touched(project, {}, 0.0), bool)
        assert await world.workspace.moved("x", base, project, {}) == ()
        assert await world.workspace.recent_ignored(base, project, {}) == ()
        assert (await world.workspace.copy_at("x", base, project, {}, Path("/nonexistent"))).unseen
        world.workspace.forget(base, project)


async def test_a_base_is_the_tree_of_its_time(world: World) -> None:
    base = await world.workspace.remember(*world.at)
    assert base.tree == await world.tree()
    assert base.unseen == ""


async def test_nothing_has_changed_since_just_now(world: World) -> None:
    base = await world.workspace.remember(*world.at)
    assert await world.workspace.since(base, *world.at) == ProjectChanges(tree=base.tree)


async def test_what_was_written_is_told_though_it_is_the_same_again(world: World) -> None:
    base = await world.workspace.remember(*world.at)
    world.write("first")
    assert await world.tree() == base.tree
    assert await world.workspace.touched(*world.at, since=1.0)


async def test_a_change_is_told_with_both_texts(world: World) -> None:
    base = await world.workspace.remember(*world.at)
    change = world.edit()
    tree = await world.workspace.fingerprint(*world.at)
    assert tree != base.tree
    found = await world.workspace.since(base, *world.at)
    files = tuple(replace(one, was="", now="") for one in found.files)  # git's names, which fakes do not have
    assert replace(found, files=files) == ProjectChanges(files=(change,), tree=tree)
    assert base.tree != await world.tree()


async def test_with_what_was_not_kept_nothing_is_compared_and_that_is_said(world: World) -> None:
    forgotten = await world.workspace.remember(*world.at)
    world.workspace.forget(forgotten, world.at[0])
    world.edit()
    for base in (forgotten, FileBaseline(), FileBaseline(unseen="for a reason")):
        found = await world.workspace.since(base, *world.at)
        assert found.files == ()
        assert found.unseen
    assert found.unseen == "for a reason"


async def test_what_could_not_be_seen_is_not_kept_and_that_is_said(world: World) -> None:
    world.lose()
    base = await world.workspace.remember(*world.at)
    assert (base.snapshot, base.tree) == ("", "")
    assert base.unseen


async def test_the_branch_is_known_where_there_is_a_repository(world: World) -> None:
    found = await world.workspace.repository(FileBaseline(), *world.at)
    assert (found.branch if found else "") == world.branch


async def test_what_is_not_there_is_told_and_what_is_there_is_not(world: World) -> None:
    world.without("docs/none.md")
    project, _ = world.at
    assert world.workspace.absent(project, ("file", "docs/none.md", "/etc/nothing-of-ours")) == (
        "docs/none.md",
    )
