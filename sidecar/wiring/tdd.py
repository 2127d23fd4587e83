"""Builds the skills."""

from __future__ import annotations

from pathlib import Path

from sidecar.evidence.ports import EvidenceServices
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.installation import plugin_root
from sidecar.platform.services import PlatformServices
from sidecar.platform.steering import FilesInForce
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.tdd.policy.skills import parse_skill
from sidecar.systems.tdd.ports import SkillServices
from sidecar.systems.tdd.skills import Skills
from sidecar.wiring.evidence import build_instructions
from sidecar.workers.ports import Workers

TEXTS_FILE = "tdd.md"


def build_skills(
    state: Path,
    platform: PlatformServices,
    evidence: EvidenceServices,
    files: FilesInForce,
    workers: Workers,
) -> Skills:
    """Build the skills. `state`: the user's state folder."""
    texts = plugin_root() / "rubric"
    return Skills(
        SkillServices(
            applier=ChangeApplier(state),
            evidence=evidence,
            platform=platform,
            registry=build_instructions(InstructionKind.SKILL, parse_skill, state, files),
            texts=markdown_sections((texts / TEXTS_FILE).read_text(encoding="utf-8")),
            workers=workers,
        )
    )
