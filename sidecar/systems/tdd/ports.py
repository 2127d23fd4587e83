"""What skills need from the rooms below."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.evidence.gates.instructions import InstructionRegistry
from sidecar.evidence.ports import EvidenceServices
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.services import PlatformServices
from sidecar.systems.tdd.policy.skills import Skill
from sidecar.workers.ports import Workers


@dataclass(frozen=True, kw_only=True)
class SkillServices:
    """The adapters that skills use. `texts`: the sections of rubric/tdd.md."""

    applier: ChangeApplier
    evidence: EvidenceServices
    platform: PlatformServices
    registry: InstructionRegistry[Skill]
    texts: dict[str, str]
    workers: Workers
