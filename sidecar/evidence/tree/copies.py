"""Copies of a project for agents that try things out: what is changed in a copy is dropped with it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from sidecar.evidence.gates.cache import environment_for_copies
from sidecar.evidence.ports import CopyVersion, Workspace
from sidecar.evidence.tree.contents import read_head_commit
from sidecar.evidence.tree.work_tree import find_work_tree
from sidecar.kernel.changes import FileBaseline, FileChange
from sidecar.kernel.session import Environment
from sidecar.platform.environments import written_patterns
from sidecar.platform.git import Git, UnseenError, clean_git_environment
from sidecar.platform.scratch import scratch_folder


class WorkCopy(Struct, frozen=True, kw_only=True):
    """The folder of a copy, and the environment for commands in it."""

    project: str
    environment: Environment


class NoCopyError(Exception):
    """The project cannot be copied completely; the text says why."""


class ProjectCopies:
    """Copies of a project, all as it was when the first was made."""

    def __init__(self, workspace: Workspace, project: str, environment: Environment) -> None:
        self._workspace = workspace
        self._project, self._environment = project, environment
        self._base = FileBaseline()
        self._remembering = asyncio.Lock()

    @asynccontextmanager
    async def open(self, purpose: str, *, history: bool = False) -> AsyncIterator[WorkCopy]:
        """Yield a copy, and remove it. Raises NoCopyError, OSError. Its folder is named for `purpose`.

        `history`: git in the copy shows the project's commits, and the changes since the last one.
        """
        async with self._remembering:
            if not self._base.snapshot:
                self._base = await self._workspace.remember(self._project, self._environment)
        async with scratch_folder(purpose) as folder:
            copy = await self._workspace.copy(
                self._base, self._project, self._environment, CopyVersion.BASE, folder
            )
            if why := self._base.unseen or copy.unseen:
                raise NoCopyError(why)
            if history:
                with suppress(UnseenError, OSError, ValueError):
                    await _show_history(self._project, self._environment, folder)
            yield WorkCopy(project=copy.project, environment=environment_for_copies(copy.environment))


async def _show_history(project: str, environment: Environment, into: Path) -> None:
    """Make a repository that reads the project's objects; what is written there stays in the copy."""
    found = await find_work_tree(project, environment)
    commit = await read_head_commit(found.git) if found else ""
    if found is None or found.objects is None or not commit:
        return
    folder = into / ".git"
    (folder / "objects" / "info").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "objects" / "info" / "alternates").write_bytes(os.fsencode(found.objects.resolve()) + b"\n")
    with suppress(FileNotFoundError):
        shutil.copy2(found.objects.parent / "shallow", folder)
    (folder / "HEAD").write_text(f"{commit}\n", encoding="utf-8")
    await Git(found.git.argv, into, clean_git_environment(environment)).told("read-tree", "HEAD")


def without_written_files(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Leave out what tools write while they run, such as compiled files and caches."""
    folders = {pattern.strip("/") for pattern in written_patterns() if pattern.endswith("/")}
    return tuple(change for change in changes if folders.isdisjoint(change.path.split("/")))
