"""Builds the task loop."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sidecar.evidence.ports import EvidenceServices
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.installation import plugin_root
from sidecar.platform.services import PlatformServices
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.taskloop.council import Council, CouncilServices
from sidecar.systems.taskloop.policy.agents import parse_agent
from sidecar.systems.taskloop.ports import LoopServices, LoopTasks, SessionGates
from sidecar.wiring.evidence import build_instructions
from sidecar.wiring.workers import build_workers

TEXTS_FILE: Final = "loop.md"


def loop_texts() -> dict[str, str]:
    """Return the sections of rubric/loop.md."""
    return markdown_sections((plugin_root() / "rubric" / TEXTS_FILE).read_text(encoding="utf-8"))


def build_loop_services(
    state: Path,
    platform: PlatformServices,
    evidence: EvidenceServices,
    gates: SessionGates,
    tasks: LoopTasks,
) -> LoopServices:
    """Build what the task loops use. `state`: the user's state folder."""
    return LoopServices(
        agents=build_instructions(InstructionKind.AGENT, parse_agent, state, platform.steering),
        checkpoints=evidence.checkpoints,
        clock=platform.clock,
        configuration=platform.configuration,
        council=Council(
            CouncilServices(
                configuration=platform.configuration,
                secrets=platform.secrets,
                texts=plugin_root() / "rubric",
                workers=build_workers(platform.spending, platform.secrets),
                workspace=evidence.workspace,
            )
        ),
        gates=gates,
        log=platform.log,
        loops=platform.loops,
        old_checks=evidence.old_checks,
        spending=platform.spending,
        tasks=tasks,
        texts=loop_texts(),
        workspace=evidence.workspace,
    )
