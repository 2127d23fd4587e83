"""Copies of a project for agents that try things out: what is changed in a copy is dropped with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct

from sidecar.evidence.gates.cache import environment_for_copies
from sidecar.evidence.ports import CopyVersion, Workspace
from sidecar.kernel.changes import FileBaseline
from sidecar.kernel.session import Environment
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
    async def open(self, purpose: str) -> AsyncIterator[WorkCopy]:
        """Yield a copy, and remove it. Raises NoCopyError, OSError. Its folder is named for `purpose`."""
        async with self._remembering:
            if not self._base.snapshot:
                self._base = await self._workspace.remember(self._project, self._environment)
        async with scratch_folder(purpose) as folder:
            copy = await self._workspace.copy(
                self._base, self._project, self._environment, CopyVersion.BASE, folder
            )
            if why := self._base.unseen or copy.unseen:
                raise NoCopyError(why)
            yield WorkCopy(project=copy.project, environment=environment_for_copies(copy.environment))
