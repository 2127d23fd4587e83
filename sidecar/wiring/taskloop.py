"""Builds the task loop."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.installation import plugin_root
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.supervision.ports import Services
from sidecar.systems.taskloop.council import Council, CouncilServices
from sidecar.systems.taskloop.policy.agents import parse_agent
from sidecar.systems.taskloop.ports import LoopServices, LoopTasks, SessionGates
from sidecar.wiring.evidence import build_instructions
from sidecar.workers.ports import Workers

TEXTS_FILE: Final = "loop.md"


def loop_texts() -> dict[str, str]:
    """Return the sections of rubric/loop.md."""
    return markdown_sections((plugin_root() / "rubric" / TEXTS_FILE).read_text(encoding="utf-8"))


def build_loop_services(
    state: Path,
    services: Services,
    gates: SessionGates,
    tasks: LoopTasks,
    workers: Workers,
) -> LoopServices:
    """Build what the task loops use. `state`: the user's state folder."""
    return LoopServices(
        agents=build_instructions(InstructionKind.AGENT, parse_agent, state, services.steering),
        checkpoints=services.checkpoints,
        clock=services.clock,
        configuration=services.configuration,
        council=Council(
            CouncilServices(
                configuration=services.configuration,
                secrets=services.secrets,
                texts=plugin_root() / "rubric",
                workers=workers,
                workspace=services.workspace,
            )
        ),
        gates=gates,
        log=services.log,
        loops=services.loops,
        old_checks=services.old_checks,
        spending=services.spending,
        tasks=tasks,
        texts=loop_texts(),
        workspace=services.workspace,
    )
