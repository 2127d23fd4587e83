"""Builds governed phases."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from sidecar.evidence.ports import EvidenceServices
from sidecar.kernel.governance import ContextLock
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.installation import plugin_root
from sidecar.platform.ports import Clock, EventLog
from sidecar.platform.services import PlatformServices
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.governance.audit import Audit
from sidecar.systems.governance.changes import KeptChanges
from sidecar.systems.governance.locks import ACQUIRED, Locks
from sidecar.systems.governance.ports import GovernanceServices
from sidecar.systems.governance.service import Governance
from sidecar.workers.ports import Workers

TEXTS_FILE: Final = "governance.md"


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
    texts = plugin_root() / "rubric"
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
            prompts=texts / "governance",
            texts=markdown_sections((texts / TEXTS_FILE).read_text(encoding="utf-8")),
            workers=workers,
        )
    )
