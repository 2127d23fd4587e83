"""Builds the skills."""

from __future__ import annotations

from pathlib import Path

from sidecar.evidence.ports import EvidenceServices
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.services import PlatformServices
from sidecar.platform.steering import FilesInForce
from sidecar.systems.tdd.policy.skills import parse_skill
from sidecar.systems.tdd.ports import SkillServices
from sidecar.systems.tdd.skills import Skills
from sidecar.wiring.evidence import build_instructions
from sidecar.wiring.texts import read_texts
from sidecar.workers.ports import Workers


def build_skills(
    state: Path,
    platform: PlatformServices,
    evidence: EvidenceServices,
    files: FilesInForce,
    workers: Workers,
) -> Skills:
    """Build the skills. `state`: the user's state folder."""
    return Skills(
        SkillServices(
            applier=ChangeApplier(state),
            evidence=evidence,
            platform=platform,
            registry=build_instructions(InstructionKind.SKILL, parse_skill, state, files),
            texts=read_texts("tdd.md"),
            workers=workers,
        )
    )
