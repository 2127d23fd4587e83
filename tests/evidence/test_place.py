"""Where the work is: another checkout of the repository, the folder of the session, or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.evidence.gates.approvals import TrustFile
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.gates.runner import gate_folder_objection
from sidecar.evidence.ports import CopyVersion, WorkPlace
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.gate import Gate, GateOrigin, Kind
from sidecar.platform.environments import find_environment, project_environment
from sidecar.platform.git import find_checkout
from support.git_projects import commit_all, git, repository

pytestmark = pytest.mark.process

ELSEWHERE = "the work of this turn is in {}, which nobody looked at"


class Room:
    """A repository with a linked worktree in `.claude/worktrees`, and another repository beside it."""

    def __init__(self, folder: Path) -> None:
        self.main = repository(folder / "main")
        (self.main / ".gitignore").write_text(".venv/\n.env\n")
        (self.main / "sub").mkdir()
        (self.main / "sub" / "b.txt").write_text("b\n")
        commit_all(self.main, "more")
        self.linked = self.main / ".claude" / "worktrees" / "feat"
        git(self.main, "worktree", "add", "--quiet", str(self.linked), "-b", "feat")
        self.other = repository(folder / "other")
        self.inner = repository(self.main / "vendor")
        self.plain = folder / "plain"
        self.plain.mkdir()
        self.workspace = GitWorkspace(folder / "kept")

    def place(self, cwd: Path | None, *edited: Path, project: Path | None = None) -> WorkPlace:
        paths = [str(path) for path in edited]
        return self.workspace.place(str(project or self.main), str(cwd or ""), paths)


def read_text(*place: str) -> str:
    return Path(*place).read_text()


def real(*place: str) -> Path:
    return Path(*place).resolve()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path.resolve())


HERE: dict[str, Callable[[Room], tuple[WorkPlace, Path]]] = {
    "the host does not say": lambda room: (room.place(None), room.main),
    "in the project": lambda room: (room.place(room.main / "sub"), room.main),
    "in a linked worktree": lambda room: (room.place(room.linked), room.linked),
    "below it": lambda room: (room.place(room.linked / "sub"), room.linked),
    "of a session in a subfolder": lambda room: (
        room.place(room.linked, project=room.main / "sub"),
        room.linked / "sub",
    ),
    "of a session that has no such folder there": lambda room: (
        room.place(room.linked, project=room.inner.parent / ".claude"),
        room.linked,
    ),
    "back in the main checkout": lambda room: (room.place(room.main, project=room.linked), room.main),
    "where no repository is": lambda room: (room.place(room.plain), room.main),
    "in a folder that is gone": lambda room: (room.place(room.plain / "gone"), room.main),
    "in a repository that is looked at with the rest": lambda room: (room.place(room.inner), room.main),
    "edits in the worktree": lambda room: (
        room.place(room.linked, room.linked / "a.txt", room.linked / "new" / "x"),
        room.linked,
    ),
    "edits that are merged": lambda room: (room.place(room.main, room.linked / "a.txt"), room.main),
    "notes where no repository is": lambda room: (room.place(room.main, room.plain / "notes"), room.main),
    "edits in a plain folder": lambda room: (
        room.place(room.plain, room.plain / "a", project=room.plain),
        room.plain,
    ),
}
AWAY: dict[str, Callable[[Room], tuple[WorkPlace, Path]]] = {
    "in another repository": lambda room: (room.place(room.other), room.other),
    "edits in another": lambda room: (room.place(room.main, room.other / "a.txt"), room.other),
    "new edits in the worktree": lambda room: (room.place(room.main, room.linked / "new.txt"), room.linked),
    "edits in the main checkout": lambda room: (room.place(room.linked, room.main / "new.txt"), room.main),
}


@pytest.mark.parametrize("name", HERE)
def test_the_checkout_in_which_the_agent_works_is_looked_at(room: Room, name: str) -> None:
    found, folder = HERE[name](room)
    assert found == WorkPlace(str(folder))


@pytest.mark.parametrize("name", AWAY)
def test_work_elsewhere_is_named(room: Room, name: str) -> None:
    found, folder = AWAY[name](room)
    assert found.unseen == ELSEWHERE.format(folder)


def test_a_folder_that_is_gone_says_so(room: Room) -> None:
    found = room.place(None, project=room.plain / "gone")
    assert found.unseen == f"the session's folder {room.plain / 'gone'} is not there any more"


def test_a_folder_that_only_says_that_it_is_a_worktree_is_none(room: Room) -> None:
    (room.plain / ".git").write_text((room.linked / ".git").read_text())
    assert room.place(room.plain).unseen == ELSEWHERE.format(room.plain)


async def test_a_worktree_is_compared_with_the_main_checkout_and_what_is_ignored_is_no_change(
    room: Room, tmp_path: Path
) -> None:
    (room.main / ".env").write_text("CI=1\n")
    base = await room.workspace.remember(str(room.main), os.environ)
    (room.linked / "a.txt").write_text("changed\n")
    seen = await room.workspace.since(base, str(room.linked), os.environ)
    changed = {file.path for file in seen.files if not file.path.startswith("vendor/")}
    assert (seen.unseen, changed) == ("", {"a.txt"})
    assert seen.tree == await room.workspace.fingerprint(str(room.linked), os.environ)
    copy = await room.workspace.copy(base, str(room.linked), os.environ, CopyVersion.BASE, tmp_path / "copy")
    assert (copy.unseen, read_text(copy.project, "a.txt")) == ("", "a\n")
    other = await room.workspace.since(base, str(room.other), os.environ)
    assert other.unseen == "another repository is around the project now"


async def test_a_fresh_worktree_uses_the_environment_of_the_main_checkout(room: Room, tmp_path: Path) -> None:
    def environment(folder: Path) -> Path:
        python = folder / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch()
        return folder / ".venv"

    shared = environment(room.main)
    assert await find_environment(str(room.linked), {}) == shared
    assert project_environment(str(room.linked), {})["VIRTUAL_ENV"] == str(shared)
    base = await room.workspace.remember(str(room.main), os.environ)
    copy = await room.workspace.copy(base, str(room.linked), os.environ, CopyVersion.NOW, tmp_path / "copy")
    assert real(copy.project, ".venv/bin") == shared / "bin"
    own = environment(room.linked)
    assert await find_environment(str(room.linked), {}) == own
    assert await find_environment(str(room.other), {}) is None


async def test_a_subfolder_without_checks_has_those_of_its_repository(room: Room, tmp_path: Path) -> None:
    gate = Gate(id="tests", command="true", why="", kind=Kind.TESTS, origin=GateOrigin.DETECTED)
    detected = {room.main: (gate,)}
    catalog = ProjectCatalog({}, TrustFile(tmp_path / "state"), lambda folder, _: detected.get(folder, ()))
    (found,) = (await catalog.list(str(room.main / "sub"), {})).gates
    assert (found.folder, gate_folder_objection(found, str(room.main / "sub"))) == ("..", "")
    detected[room.main / "sub"] = (gate,)
    assert (await catalog.list(str(room.main / "sub"), {})).gates == (gate,)
    assert (await catalog.list(str(room.inner), {})).gates == ()
    assert "outside the project" in gate_folder_objection(found, str(room.main))
    detected[room.linked] = (gate,)
    assert (await catalog.list(str(room.other), {}, str(room.linked))).gates == (gate,)


def test_all_checkouts_of_a_repository_are_known(room: Room) -> None:
    checkout = find_checkout(room.linked / "sub")
    assert checkout is not None
    assert checkout.tops == (room.main, room.linked)
