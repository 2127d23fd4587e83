"""Builds governed phases."""

from __future__ import annotations

from pathlib import Path

from sidecar.evidence.ports import EvidenceServices
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.installation import plugin_root
from sidecar.platform.ports import Clock, EventLog
from sidecar.platform.services import PlatformServices
from sidecar.systems.governance.audit import Audit
from sidecar.systems.governance.locks import SUPERVISOR, Locks
from sidecar.systems.governance.ports import GovernanceServices
from sidecar.systems.governance.service import Governance
from sidecar.wiring.texts import read_texts
from sidecar.workers.ports import Workers


def build_locks(
    state: Path, log: EventLog, clock: Clock, *, agent: str = SUPERVISOR, origin: str = ""
) -> Locks:
    """Build the context locks and their audit. `agent` and `origin`: who changes a lock."""
    return Locks(state, clock, Audit(log, clock, state), agent=agent, origin=origin)


def build_governance(
    state: Path, platform: PlatformServices, evidence: EvidenceServices, workers: Workers
) -> Governance:
    """Build governed phases. `state`: the user's state folder."""
    locks = build_locks(state, platform.log, platform.clock)
    return Governance(
        GovernanceServices(
            applier=ChangeApplier(state),
            evidence=evidence,
            kept=state / "governance" / "evidence",
            locks=locks,
            platform=platform,
            prompts=plugin_root() / "rubric" / "governance",
            texts=read_texts("governance.md"),
            workers=workers,
        )
    )
