"""What every Workspace does."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from sidecar.adapters.scripted.workspace import ScriptedWorkspace
from sidecar.adapters.workspace import GitWorkspace

if TYPE_CHECKING:
    from pathlib import Path

    from sidecar.ports import Workspace


class World:
    """A project, and the workspace that looks at it."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._scripted = ScriptedWorkspace()
        self._file = folder / "project" / "file"
        self._file.parent.mkdir()
        if kind == "git":
            subprocess.run(["git", "init", "--quiet"], cwd=self._file.parent, check=True)
        self.workspace: Workspace = self._scripted if kind == "scripted" else GitWorkspace()
        self.write("first")

    def write(self, text: str) -> None:
        self._scripted.tree = text
        self._file.write_text(text)

    def lose(self) -> None:
        self._scripted.tree = ""
        self._file = self._file.parent / "no-such-folder" / "file"

    async def tree(self) -> str:
        return await self.workspace.fingerprint(str(self._file.parent), {"PATH": os.environ["PATH"]})


@pytest.fixture(params=("git", "walk", "scripted"))
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
