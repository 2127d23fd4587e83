"""Builds governed phases."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sidecar.evidence.ports import EvidenceServices
from sidecar.evidence.tree.apply import ChangeApplier
from sidecar.kernel.governance import ContextLock
from sidecar.platform.installation import plugin_root
from sidecar.platform.services import PlatformServices
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.governance.audit import Audit
from sidecar.systems.governance.changes import KeptChanges
from sidecar.systems.governance.locks import ACQUIRED, Locks
from sidecar.systems.governance.ports import GovernanceServices
from sidecar.systems.governance.service import Governance
from sidecar.workers.ports import Workers

TEXTS_FILE: Final = "governance.md"


def build_governance(
    state: Path, platform: PlatformServices, evidence: EvidenceServices, workers: Workers
) -> Governance:
    """Build governed phases. `state`: the user's state folder."""
    texts = plugin_root() / "rubric"
    audit, changes = Audit(platform.log, platform.clock, state), KeptChanges(state)

    def note(lock: ContextLock, result: str) -> None:
        audit.append_lock(lock, result)
        if result != ACQUIRED:
            changes.drop(lock.id)

    return Governance(
        GovernanceServices(
            applier=ChangeApplier(state),
            audit=audit,
            catalog=evidence.catalog,
            changes=changes,
            clock=platform.clock,
            configuration=platform.configuration,
            gates=evidence.gates,
            kept=state / "governance" / "evidence",
            locks=Locks(state, platform.clock, note),
            old_checks=evidence.old_checks,
            prompts=texts / "governance",
            secrets=platform.secrets,
            texts=markdown_sections((texts / TEXTS_FILE).read_text(encoding="utf-8")),
            workers=workers,
            workspace=evidence.workspace,
        )
    )
