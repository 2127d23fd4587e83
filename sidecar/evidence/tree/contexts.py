"""Where gates run for a session beside its stops, so that a stop can use what they showed.

Nothing of it holds for a session without a goal: only a goal's baseline tells what changed, and when.
"""

from __future__ import annotations

import asyncio

from sidecar.evidence.ports import EvidenceServices, GateContext
from sidecar.evidence.proof.check_files import find_product_code
from sidecar.evidence.tree.checkout import WorkCopy
from sidecar.kernel.evidence import FileBaseline, ProjectChanges
from sidecar.kernel.session import Environment, SessionKey, active_goal
from sidecar.platform.ports import load_readable


async def session_context(
    services: EvidenceServices, key: SessionKey | None, project: str, environment: Environment
) -> GateContext:
    """Return where gates tell what a stop would ask for; without a tree where nothing may be remembered."""
    session = load_readable(services.store, key) if key else None
    if session is None or (goal := active_goal(session)) is None:
        return GateContext(project=project, tree="", environment=environment)
    seen = await services.workspace.since(goal.base, project, environment)
    return GateContext(
        project=project,
        tree=seen.tree,
        environment=environment,
        since=goal.set_at,
        base=goal.base,
        watch=await asyncio.to_thread(find_product_code, seen.files),
    )


async def copy_context(
    origin: GateContext, copy: WorkCopy, base: FileBaseline, changes: ProjectChanges
) -> GateContext:
    """Return the same for a copy of it. `base`: the copy's files before these changes."""
    code = await asyncio.to_thread(find_product_code, changes.files)
    return GateContext(
        project=copy.project,
        tree=changes.tree,
        environment=copy.environment,
        since=origin.since,
        base=base,
        watch=tuple(dict.fromkeys((*origin.watch, *code))),
        origin=origin,
    )
