"""Where gates run for a session beside its stops, so that a stop can use what they showed.

Nothing of it holds for a session without a goal: only a goal's baseline tells what changed, and when.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from msgspec.structs import replace

from sidecar.evidence.ports import EvidenceServices, GateContext, Workspace
from sidecar.evidence.proof.check_files import find_product_code
from sidecar.evidence.tree.checkout import NoCopyError, WorkCopy, without_written_files
from sidecar.kernel.evidence import FileBaseline, ProjectChanges
from sidecar.kernel.session import Environment, SessionKey, active_goal
from sidecar.platform.ports import load_readable


async def session_context(
    services: EvidenceServices, key: SessionKey | None, project: str, environment: Environment
) -> GateContext:
    """Return where gates tell what a stop would ask for; without a tree where nothing may be remembered."""
    session = load_readable(services.store, key) if key else None
    at = GateContext(project=project, tree="", environment=environment)
    if session is None or (goal := active_goal(session)) is None:
        return at
    seen = await services.workspace.since(goal.base, project, environment)
    code = await asyncio.to_thread(find_product_code, seen.files)
    return replace(at, tree=seen.tree, since=goal.set_at, base=goal.base, watch=code)


@dataclass(frozen=True, kw_only=True)
class CheckedCopy:
    """A copy in which gates run. `base`: its files before any change; `origin`: the session's project."""

    workspace: Workspace
    copy: WorkCopy
    base: FileBaseline
    origin: GateContext

    async def changes(self) -> ProjectChanges:
        """Return what changed in the copy since its base, but for what tools write. Raises NoCopyError."""
        found = await self.workspace.since(self.base, self.copy.project, self.copy.environment)
        if why := self.base.unseen or found.unseen:
            raise NoCopyError(why)
        return replace(found, files=without_written_files(found.files))

    def context(self, seen: ProjectChanges) -> GateContext:
        """Return where gates run on these changes, and tell what a stop will ask once they are delivered."""
        return GateContext(
            project=self.copy.project,
            tree=seen.tree,
            environment=self.copy.environment,
            since=self.origin.since,
            base=self.base,
            watch=tuple(dict.fromkeys((*self.origin.watch, *find_product_code(seen.files)))),
            origin=self.origin,
        )


async def begin_checked_copy(
    services: EvidenceServices, key: SessionKey | None, project: str, environment: Environment, copy: WorkCopy
) -> CheckedCopy:
    """Remember the files of a copy of a session's project that was just made."""
    origin = await session_context(services, key, project, environment)
    base = await services.workspace.remember(copy.project, copy.environment)
    return CheckedCopy(workspace=services.workspace, copy=copy, base=base, origin=origin)
