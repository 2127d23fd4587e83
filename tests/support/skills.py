"""Skills over the services of a test, with workers that a test wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sidecar.evidence.gates.instructions import InstructionRegistry
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.installation import plugin_root
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.supervision.ports import Services
from sidecar.systems.tdd.policy.skills import parse_skill
from sidecar.systems.tdd.ports import SkillServices
from sidecar.systems.tdd.skills import Skills
from sidecar.workers.ports import Workers
from support.scripted_workers import ScriptedWorkers, Step


def skills_over(
    services: Services,
    steps: Sequence[Step] = (),
    *,
    state: Path = Path("nowhere"),
    workers: Workers | None = None,
) -> Skills:
    """Skills of a project are not approved."""
    texts = plugin_root() / "rubric"
    return Skills(
        SkillServices(
            applier=ChangeApplier(state),
            evidence=services,
            platform=services,
            registry=InstructionRegistry(InstructionKind.SKILL, parse_skill, [texts], lambda _, __: False),
            texts=markdown_sections((texts / "tdd.md").read_text(encoding="utf-8")),
            workers=workers or ScriptedWorkers(steps),
        )
    )
