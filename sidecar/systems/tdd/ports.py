"""What skills need from the rooms below."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.evidence.gates.approvals import InstructionRegistry
from sidecar.evidence.ports import EvidenceServices
from sidecar.platform.apply import ChangeApplier
from sidecar.rubric.texts import Texts
from sidecar.systems.tdd.policy.skills import Skill
from sidecar.workers.ports import Workers


@dataclass(frozen=True, kw_only=True)
class SkillServices:
    """What skills use beside what all systems share. `texts`: rubric/tdd.md."""

    applier: ChangeApplier
    registry: InstructionRegistry[Skill]
    shared: EvidenceServices
    texts: Texts
    workers: Workers
