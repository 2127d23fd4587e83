"""Skills over the services of a test, with workers that a test wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sidecar.evidence.gates.approvals import InstructionRegistry
from sidecar.kernel.decoding import InstructionKind
from sidecar.platform.apply import ChangeApplier
from sidecar.platform.installation import plugin_root
from sidecar.rubric.texts import read_texts
from sidecar.systems.supervision.ports import Services
from sidecar.systems.tdd.policy.skills import parse_skill
from sidecar.systems.tdd.skills import Skills
from sidecar.systems.tdd.workbench import SkillServices
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
    parents = [plugin_root() / "rubric"]
    return Skills(
        SkillServices(
            applier=ChangeApplier(state),
            registry=InstructionRegistry(InstructionKind.SKILL, parse_skill, parents, lambda _, __: False),
            shared=services,
            texts=read_texts("tdd.md"),
            workers=workers or ScriptedWorkers(steps),
        )
    )
