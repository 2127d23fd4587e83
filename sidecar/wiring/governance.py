"""Builds governed phases."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sidecar.evidence.ports import EvidenceServices
from sidecar.kernel.governance import ContextLock
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.installation import plugin_root
from sidecar.platform.ports import Clock, EventLog
from sidecar.platform.services import PlatformServices
from sidecar.systems.governance.audit import Audit
from sidecar.systems.governance.changes import KeptChanges
from sidecar.systems.governance.locks import ACQUIRED, Locks
from sidecar.systems.governance.ports import GovernanceServices
from sidecar.systems.governance.service import Governance
from sidecar.wiring.texts import read_texts
from sidecar.workers.ports import Workers


class LocksAndAudit(NamedTuple):
    """The context locks, the audit in which each of their changes is, and the changes that end with them."""

    locks: Locks
    audit: Audit
    changes: KeptChanges


def build_locks(
    state: Path, log: EventLog, clock: Clock, *, agent: str = "supervisor", origin: str = ""
) -> LocksAndAudit:
    """Build them. `agent` and `origin`: who changes a lock."""
    audit, changes = Audit(log, clock, state), KeptChanges(state)

    def note(lock: ContextLock, result: str) -> None:
        audit.append_lock(lock, result, agent=agent, origin=origin)
        if result != ACQUIRED:
            changes.drop(lock.id)

    return LocksAndAudit(Locks(state, clock, note), audit, changes)


def build_governance(
    state: Path, platform: PlatformServices, evidence: EvidenceServices, workers: Workers
) -> Governance:
    """Build governed phases. `state`: the user's state folder."""
    locks, audit, changes = build_locks(state, platform.log, platform.clock)
    return Governance(
        GovernanceServices(
            applier=ChangeApplier(state),
            audit=audit,
            changes=changes,
            evidence=evidence,
            kept=state / "governance" / "evidence",
            locks=locks,
            platform=platform,
            prompts=plugin_root() / "rubric" / "governance",
            texts=read_texts("governance.md"),
            workers=workers,
        )
    )
